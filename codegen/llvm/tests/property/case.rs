//! Cases of the property test: a random forest under a random legal schedule on random rows. The interpreter
//! and machine code are compared with the reference walker.

use super::launches::{add_up, one_wavefront};
use sched_forest::{
    Float, Forest, Profile, RowMagnitudes, predict, predict_leaves, predict_margins, predict_tree_values,
};
use sched_ir::hir::choose_set_tests;
use sched_ir::interp::{self, CallMemory};
use sched_ir::lir::{Function, KernelKind, Module};
use sched_ir::tiles::Tiling;
use sched_ir::{Budget, CompileError, Compiled, FetchCosts, KernelForests, compile};
use sched_lang::{CheckOptions, CheckPurpose, check};
use sched_llvm::runtime::{CallStatus, Dtype, OutputKind};
use sched_llvm::{CompiledCode, Cpu, EntryInfo, Jit, PackedResults, PackedRows, PredictOptions};
use sched_nest::{Accumulation, Axis, ModelInfo, Nest, Reduce, StageInfo, StageKind, Variants};
use sched_pipeline::{PreparedForest, SetTests};
use sched_testing::{Rng, schedules};
use sched_testing::{computed, forests, linear};
use std::sync::Arc;

/// A case, ready to run.
pub struct Case {
    /// Seed of all random choices.
    pub seed: u64,
    /// The forest.
    pub forest: Forest,
    /// The schedule.
    pub schedule: String,
    /// The checked nest of the schedule, in some cases with small-batch variants.
    pub nests: Variants<Nest>,
    /// Hits of leaves, for tiling by probability.
    pub profile: Profile,
    /// Row-major values.
    pub rows: Vec<f64>,
}

/// The forest of a seed. Except for tests that are not numeric, each kind of forest draws from a separate
/// random generator. A new kind therefore does not change the schedules of existing seeds.
pub fn forest_of(seed: u64, rng: &mut Rng) -> Forest {
    let forest = forests::forest(rng);
    let forest = forests::with_other_tests(rng, forest);
    let forest = forests::with_oblivious_trees(&mut Rng(!seed), forest);
    let forest = forests::with_logarithms(&mut Rng(!seed ^ 1), forest);
    let forest = forests::with_powers_of_two(seed, forest);
    let forest = forests::with_linear_leaves(seed, forest);
    let forest = linear::with_linear_models(seed, forest);
    let forest = computed::with_computed_columns(seed, forest);
    let forest = computed::with_output_expressions(seed, forest);
    forests::with_single_margins(seed, forest)
}

impl Case {
    /// Makes the case of a seed.
    pub fn new(seed: u64) -> Case {
        let mut rng = Rng(seed.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ 0x1405_7b7e_f767_814f);
        let forest = forest_of(seed, &mut rng);
        let profile = forests::profile(&mut rng, &forest);
        let model = info(&forest);
        let schedule = with_params(schedules::schedule(rng.next_u64(), &model), &mut rng);
        let options = CheckOptions {
            model: Some(model.into()),
            purpose: CheckPurpose::Compile,
            ..CheckOptions::default()
        };
        let nest_of = |schedule: &str| {
            let checked = check(schedule, &options);
            checked.nest().cloned().unwrap_or_else(|| {
                panic!("seed {seed}: a legal schedule has errors\n{schedule}\n{:#?}", checked.diagnostics)
            })
        };
        // In few random schedules, all walks use the layout that holds sets.
        let holds_sets = has_classes(&forest) && !rng.one_in(4);
        let holding = |schedule: String| {
            let held = if holds_sets { in_preorder(&schedule) } else { schedule.clone() };
            if check(&held, &options).nest().is_some() { held } else { schedule }
        };
        let schedule = holding(schedule);
        let mut nests = Variants::only(nest_of(&schedule));
        if rng.one_in(3) {
            let other = holding(schedules::schedule(rng.next_u64(), &info(&forest)));
            nests.insert(rng.below(40) as u32, nest_of(&other)).expect("no bound is taken");
        }
        let rows = forests::rows(&mut rng, &forest, widest_group(nests.rest()));
        Case { seed, forest, schedule, nests, profile, rows }.with_sums_in_bounds()
    }

    /// Removes the transformation of raw output if trees are not added in the model's order. The margins are
    /// then compared within bounds.
    pub fn with_sums_in_bounds(mut self) -> Case {
        if !self.exact() {
            self.forest.output.raw.clear();
        }
        self
    }

    /// Makes a case of given parts.
    pub fn of(forest: Forest, schedule: &str, rows: Vec<f64>) -> Case {
        let model = Some(info(&forest).into());
        let options = CheckOptions { model, purpose: CheckPurpose::Compile, ..CheckOptions::default() };
        let nest = check(schedule, &options).nest().cloned().expect("a legal schedule");
        Case {
            seed: 0,
            forest,
            profile: Profile::default(),
            schedule: schedule.to_string(),
            nests: Variants::only(nest),
            rows,
        }
    }

    /// Whether the node tiles of some tree follow the likely paths.
    pub fn has_likely_tiles(&self) -> bool {
        let tiles = self.nests.rest().tiles().filter(|tiles| tiles.by_probability);
        let tiling = tiles.and_then(|tiles| Tiling::new(&self.forest, tiles, Some(&self.profile)).ok());
        tiling.is_some_and(|tiling| tiling.biased > 0)
    }

    /// Whether some sets are tested by the class of a category.
    pub fn tests_classes(&self) -> bool {
        let tested = choose_set_tests(&self.forest, self.nests.iter().map(|(_, nest)| nest));
        class_features(&self.forest, tested) > 0
    }

    /// Whether the schedule adds trees in the model's order.
    pub(crate) fn exact(&self) -> bool {
        self.nests.iter().all(|(_, nest)| nest.accumulation == Accumulation::Exact)
    }

    /// Whether there are so few rows that unroll-and-jam interleaves several trees.
    pub fn walks_few_rows(&self) -> bool {
        let rows = self.num_rows();
        let nest = self.nests.for_rows(rows);
        rows > 0
            && rows <= widest_group(nest) / 2
            && nest.loops.iter().any(|this| this.annotations.unroll_and_jam)
    }

    pub(super) fn compile(&self, kernels: &[OutputKind]) -> Result<Compiled, CompileError> {
        let (forest, profile) = (self.forest.clone().for_rows(self.row_type()), Some(&self.profile));
        let base_is_given = self.base_is_given();
        let budget = Budget { fetch: self.fetch_costs(), base_is_given, ..Budget::default() };
        compile(forest, profile, self.nests.clone(), kernels, &budget)
    }

    /// Costs of fetch strategies, since machines differ: gathers are as fast as loads, or very slow.
    fn fetch_costs(&self) -> FetchCosts {
        let usual = FetchCosts::default();
        match self.seed % 3 {
            0 => usual,
            1 => FetchCosts { register_bytes: 32, gather: 0.2, convert: 0.2, ..usual },
            _ => FetchCosts { register_bytes: 32, gather: 20.0, ..usual },
        }
    }

    /// Whether calls pass rows as doubles, in half of the cases. A model whose rows are floats rounds them.
    pub(crate) fn in_doubles(&self) -> bool {
        self.seed.is_multiple_of(2)
    }

    /// The type of rows that the code reads: often narrower than the model's, if calls pass no wider rows.
    /// Scores that are columns need rows in the type of sums.
    pub fn row_type(&self) -> Float {
        if self.arranges_scores() && self.forest.types.accumulator == Float::F64 {
            return Float::F64;
        }
        let is_computed = !self.forest.computed.read_by_trees.is_empty();
        let narrow = !self.in_doubles() && !self.seed.is_multiple_of(5) && !is_computed;
        if narrow { Float::F32 } else { self.forest.types.input }
    }

    /// Whether the schedule has loops for the scores of a linear model.
    pub(crate) fn arranges_scores(&self) -> bool {
        let mut stages = self.nests.iter().flat_map(|(_, nest)| &nest.stages);
        stages.any(|stage| stage.stage.kind == StageKind::Scores)
    }

    /// Values that calls pass.
    pub(crate) fn given(&self) -> impl Iterator<Item = f64> {
        let in_doubles = self.in_doubles();
        self.rows.iter().map(move |x| if in_doubles { *x } else { f64::from(*x as f32) })
    }

    pub(crate) fn num_rows(&self) -> usize {
        self.rows.len() / self.forest.num_features
    }

    /// Whether sums depend on the order in which threads run.
    pub(crate) fn atomic(&self) -> bool {
        self.nests
            .iter()
            .flat_map(|(_, nest)| &nest.loops)
            .any(|l| l.annotations.reduce == Some(Reduce::Atomic))
    }

    /// Describes the case, down to the loop nest.
    pub fn describe(&self) -> String {
        let compiled = self.compile(&[OutputKind::Raw]);
        let stages = compiled.map_or_else(
            |e| e.to_string(),
            |c| {
                let each = c.variants.iter().map(|(_, stages)| format!("{}\n{}\n", stages.hir, stages.mir));
                each.collect::<String>() + &c.lir.to_string()
            },
        );
        format!("{}\n{} rows\n{stages}", self.schedule, self.num_rows())
    }

    /// Compiles and runs the case; fails with a description of the first difference.
    pub fn run(&self) -> Result<(), String> {
        let compiled = self.compile(&OutputKind::ALL).map_err(|error| error.to_string())?;
        let n = self.num_rows();
        let given: Vec<f64> = self.given().collect();
        let expected = self.walked(self.forest.num_margins, predict_margins)?;
        let mut leaves = vec![0u32; n * self.forest.trees.len()];
        predict_leaves(&self.forest, &given, &mut leaves).map_err(|e| e.to_string())?;

        // The interpreter runs first: it detects accesses out of bounds before machine code makes them.
        let interpreted = self.interpret(&compiled, n * self.forest.num_margins)?;
        self.compare_margins("interpreter", &interpreted, &expected)?;
        let numbers = self.interpret_leaves(&compiled, leaves.len())?;
        same("interpreted leaf", &numbers, &leaves)?;
        let mut trees = vec![0f64; n * self.forest.num_tree_values()];
        predict_tree_values(&self.forest, &given, &mut trees).map_err(|e| e.to_string())?;
        if !trees.is_empty() {
            let accumulator = self.forest.types.accumulator;
            let input = self.kernel_rows();
            let size = trees.len() * accumulator.bytes();
            let found = self.run_kernel(&compiled, OutputKind::Tree, &input, size)?;
            self.compare_trees("interpreted ", &doubles(&found, accumulator), &trees)?;
        }
        self.interpret_columns(&compiled, &interpreted, &leaves)?;
        if self.has_launches() {
            self.interpret_bins(&compiled, &interpreted)?;
            self.interpret_base(&compiled)?;
            self.interpret_direct(&compiled, &interpreted)?;
            return self.interpret_transforms(&compiled, &interpreted);
        }
        let jit = self.jit(&compiled)?;
        self.machine(&jit, &interpreted, &expected, &leaves)?;
        self.machine_trees(&jit, &trees)
    }

    /// Compares the value that each tree adds, as computed by machine code.
    fn machine_trees(&self, jit: &Jit, expected: &[f64]) -> Result<(), String> {
        let n = self.num_rows();
        let (mut floats, mut doubles) = (vec![0f32; expected.len()], vec![0f64; expected.len()]);
        if self.forest.num_tree_values() == 0 {
            let status = self.predict(jit, OutputKind::Tree, n, PackedResults::F32(&mut floats));
            return status.map_or(Ok(()), |()| Err("leaves with vectors have values of trees".to_string()));
        }
        let found: Vec<f64> = match self.forest.types.accumulator {
            Float::F32 => {
                self.predict(jit, OutputKind::Tree, n, PackedResults::F32(&mut floats))?;
                floats.into_iter().map(f64::from).collect()
            }
            Float::F64 => {
                self.predict(jit, OutputKind::Tree, n, PackedResults::F64(&mut doubles))?;
                doubles
            }
        };
        self.compare_trees("", &found, expected)
    }

    /// Compares machine code, called through the entry points.
    fn machine(
        &self,
        jit: &Jit,
        interpreted: &[f64],
        expected: &[f64],
        leaves: &[u32],
    ) -> Result<(), String> {
        let n = self.num_rows();
        let raw = self.results(jit, OutputKind::Raw, expected.len())?;
        if self.row_type().bytes() < self.forest.types.input.bytes() {
            let mut leaves = vec![0i32; leaves.len()];
            let wide = jit.predict(
                OutputKind::Leaf,
                PackedRows::F64(&self.rows),
                n,
                PackedResults::I32(&mut leaves),
                1,
            );
            if wide.map_err(CallStatus::code) != Err(CallStatus::ROWS) {
                return Err("rows that have to be rounded are accepted".to_string());
            }
        }
        let rounded: Vec<f64> = interpreted.iter().map(|x| self.result(*x)).collect();
        if self.atomic() {
            self.compare_margins("machine code", &raw, expected)?;
        } else {
            same_bits("margin of machine code", &raw, &rounded)?;
        }
        let mut numbers = vec![0i32; leaves.len()];
        self.predict(jit, OutputKind::Leaf, n, PackedResults::I32(&mut numbers))?;
        self.machine_on_columns(jit, &raw, &numbers)?;
        same("leaf", &numbers.iter().map(|x| *x as u32).collect::<Vec<_>>(), leaves)?;

        // The largest of several sums is not defined if one is NaN.
        if self.exact() && !expected.iter().any(|sum| sum.is_nan()) {
            let wanted = self.walked(self.forest.value_columns(), predict)?;
            let values = self.results(jit, OutputKind::Value, wanted.len())?;
            same_bits("prediction", &values, &wanted)?;
        }
        Ok(())
    }

    /// A number in the type of results.
    fn result(&self, x: f64) -> f64 {
        round(x, self.forest.types.output)
    }

    /// Predicts, and returns results as doubles.
    fn results(&self, jit: &Jit, kind: OutputKind, count: usize) -> Result<Vec<f64>, String> {
        let (mut floats, mut doubles) = (vec![0f32; count], vec![0f64; count]);
        let (output, other) = match self.forest.types.output {
            Float::F32 => (PackedResults::F32(&mut floats), PackedResults::F64(&mut doubles)),
            Float::F64 => (PackedResults::F64(&mut doubles), PackedResults::F32(&mut floats)),
        };
        let n = self.num_rows();
        if self.predict(jit, kind, n, other).is_ok() {
            return Err("results of another type are accepted".to_string());
        }
        self.predict(jit, kind, n, output)?;
        Ok(match self.forest.types.output {
            Float::F32 => floats.into_iter().map(f64::from).collect(),
            Float::F64 => doubles,
        })
    }

    fn jit(&self, compiled: &Compiled) -> Result<Jit, String> {
        let model = EntryInfo {
            num_features: self.forest.num_features as i32,
            counts: self.forest.counts(),
            trainer_row_type: if self.forest.types.input == Float::F64 { Dtype::F64 } else { Dtype::F32 },
            // A high cost of rows makes several threads take part even in small calls.
            ns_per_row: 1e6,
            info: "{}".to_string(),
            feature_names: Vec::new(),
            base: self.base_is_given().then(|| self.forest.base.clone()),
            ..EntryInfo::default()
        };
        // Processors differ in the lengths of their registers, and in their instructions for look-ups.
        let cpus: Vec<Cpu> = Cpu::all().filter(|cpu| cpu.runs_here()).collect();
        let cpu = cpus.get((self.seed / 2) as usize % cpus.len().max(1)).copied().unwrap_or_default();
        let module: &Module = &compiled.lir;
        Jit::compile(module, cpu, &model, &OutputKind::ALL).map_err(|error| error.to_string())
    }

    fn predict(&self, jit: &Jit, kind: OutputKind, n: usize, out: PackedResults) -> Result<(), String> {
        let narrow: Vec<f32> = self.rows.iter().map(|x| *x as f32).collect();
        let rows = if self.in_doubles() { PackedRows::F64(&self.rows) } else { PackedRows::F32(&narrow) };
        self.predict_rows(jit, (kind, rows, n), out)
    }

    /// Predicts rows, with base margins if the case has some and the kind of output needs sums.
    pub(crate) fn predict_rows(
        &self,
        jit: &Jit,
        (kind, rows, n): (OutputKind, PackedRows, usize),
        out: PackedResults,
    ) -> Result<(), String> {
        let double = self.base_margins().filter(|_| !kind.walks_itself());
        let single: Option<Vec<f32>> =
            double.as_ref().map(|base| base.iter().map(|value| *value as f32).collect());
        let base_margin = match self.forest.types.accumulator {
            Float::F32 => single.as_deref().map(PackedRows::F32),
            Float::F64 => double.as_deref().map(PackedRows::F64),
        };
        let extras =
            PredictOptions { threads: 1 + (self.seed % 3) as i32, base_margin, ..PredictOptions::default() };
        jit.predict_with(kind, rows, n, out, extras).map_err(|status| status.to_string())
    }

    fn interpret(&self, compiled: &Compiled, count: usize) -> Result<Vec<f64>, String> {
        let accumulator = self.forest.types.accumulator;
        let input = self.kernel_rows();
        let found = self.run_kernel(compiled, OutputKind::Raw, &input, count * accumulator.bytes())?;
        Ok(doubles(&found, accumulator))
    }

    /// The bytes of the rows in the type that kernels read.
    pub(crate) fn kernel_rows(&self) -> Vec<u8> {
        let input = self.row_type();
        bytes(self.given().map(|x| round(x, input)), input)
    }

    fn interpret_leaves(&self, compiled: &Compiled, count: usize) -> Result<Vec<u32>, String> {
        let input = self.kernel_rows();
        let found = self.run_kernel(compiled, OutputKind::Leaf, &input, count * 4)?;
        Ok(found.as_chunks::<4>().0.iter().map(|x| u32::from_le_bytes(*x)).collect())
    }

    /// Runs a kernel in the interpreter, which counts accesses of launches in half of the cases.
    pub(crate) fn run_kernel(
        &self,
        compiled: &Compiled,
        kernel: impl Into<KernelKind>,
        input: &[u8],
        size: usize,
    ) -> Result<Vec<u8>, String> {
        let kernel = kernel.into();
        let (mut output, adds_to_output) = self.output_before(kernel, size);
        let function = function(&compiled.lir, kernel)?;
        let rows = self.num_rows() as i64;
        let memory = CallMemory { rows, input, output: &mut output, tables: &compiled.lir.tables };
        let options = interp::InterpreterOptions {
            seed: self.seed,
            adds_to_output,
            ..interp::InterpreterOptions::default()
        };
        let stopped = |fault: interp::InterpreterError| format!("interpreter: {fault}");
        if self.has_launches() && self.seed.is_multiple_of(2) {
            let warp = [1, 64, 32, 32, 32, 32, 32, 32][(self.seed / 2) as usize % 8];
            let costs = interp::count_accesses(function, memory, &options, warp).map_err(stopped)?;
            add_up(&costs, warp)?;
            if warp == 32 && self.reads_bank_by_lane() {
                one_wavefront(&costs)?;
            }
        } else {
            interp::run_with(function, memory, &options).map_err(stopped)?;
        }
        Ok(output)
    }

    /// Compares margins: exact sums bit for bit, others within a millionth of their magnitude.
    fn compare_margins(&self, who: &str, found: &[f64], expected: &[f64]) -> Result<(), String> {
        if self.exact() {
            return same_bits(&format!("margin of the {who}"), found, expected);
        }
        let (margins, of_rows) = (self.forest.num_margins, self.row_magnitudes());
        for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
            let (row, margin) = (at / margins, at % margins);
            let magnitude = self.base_of(row)[margin].abs() + of_rows[row].margins[margin];
            if (found - expected).abs() > 1e-6 * magnitude {
                return Err(format!("margin {at} of the {who} is {found}, not {expected} (of {magnitude})"));
            }
        }
        Ok(())
    }

    /// Compares values of trees. They have the walker's bits, unless sums that linear leaves read add their
    /// terms in another order.
    fn compare_trees(&self, who: &str, found: &[f64], expected: &[f64]) -> Result<(), String> {
        let what = format!("{who}value of a tree");
        let stages = self.nests.iter().flat_map(|(_, nest)| &nest.stages);
        if stages.into_iter().all(|stage| stage.nest.accumulation == Accumulation::Exact) {
            return same_bits(&what, found, expected);
        }
        let magnitudes = self.row_magnitudes().into_iter().flat_map(|row| row.trees);
        for (at, (magnitude, (found, expected))) in magnitudes.zip(found.iter().zip(expected)).enumerate() {
            if (found - expected).abs() > 1e-6 * magnitude {
                return Err(format!("{what} {at} is {found}, not {expected} (of {magnitude})"));
            }
        }
        Ok(())
    }

    /// The magnitudes of the sums of each row.
    fn row_magnitudes(&self) -> Vec<RowMagnitudes> {
        let rows: Vec<f64> = self.given().collect();
        rows.chunks(self.forest.num_features).map(|row| self.forest.magnitudes(row)).collect()
    }
}

/// The properties of a forest for the checker, with its stages.
fn info(forest: &Forest) -> ModelInfo {
    let forests = KernelForests::from(Arc::new(forest.clone()));
    let stages = StageInfo::of_model(forests.column_stages(), ("", forest.trees.len() as u32));
    ModelInfo { stages, ..forests::model_info(forest) }
}

/// Whether some feature has enough sets that rows may have classes of its categories.
fn has_classes(forest: &Forest) -> bool {
    class_features(forest, SetTests::OfClasses) > 0
}

/// Number of features whose sets are tested by class.
fn class_features(forest: &Forest, tested: SetTests) -> usize {
    let prepared = PreparedForest::of(forest, tested).ok().flatten();
    prepared.map_or(0, |prepared| prepared.class_features)
}

/// The schedule, changed so that all walks use `preorder`.
fn in_preorder(schedule: &str) -> String {
    let other = |line: &&str| !["representation(", "tileTrees("].iter().any(|call| line.starts_with(call));
    let lines = schedule.lines().filter(other).chain(["representation(preorder)"]);
    lines.map(|line| format!("{line}\n")).collect()
}

/// Values as the bytes of a type.
pub fn bytes(values: impl Iterator<Item = f64>, float: Float) -> Vec<u8> {
    match float {
        Float::F64 => values.flat_map(f64::to_le_bytes).collect(),
        Float::F32 => values.flat_map(|x| (x as f32).to_le_bytes()).collect(),
    }
}

/// The bytes of a type as values.
pub fn doubles(bytes: &[u8], float: Float) -> Vec<f64> {
    match float {
        Float::F64 => bytes.as_chunks::<8>().0.iter().map(|x| f64::from_le_bytes(*x)).collect(),
        Float::F32 => bytes.as_chunks::<4>().0.iter().map(|x| f64::from(f32::from_le_bytes(*x))).collect(),
    }
}

pub(crate) fn function(module: &Module, kernel: KernelKind) -> Result<&Function, String> {
    let found = module.kernels.iter().find(|(kind, _)| *kind == kernel);
    found.map(|(_, function)| function).ok_or_else(|| format!("there is no kernel {kernel:?}"))
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &[T], expected: &[T]) -> Result<(), String> {
    match found.iter().zip(expected).position(|(a, b)| a != b) {
        None if found.len() == expected.len() => Ok(()),
        None => Err(format!("{} {what}s, not {}", found.len(), expected.len())),
        Some(at) => Err(format!("{what} {at} is {:?}, not {:?}", found[at], expected[at])),
    }
}

/// Compares numbers bit for bit, except that all NaNs are equal: linear leaves may add infinities, and no
/// trainer defines the sign of the resulting NaN.
pub fn same_bits(what: &str, found: &[f64], expected: &[f64]) -> Result<(), String> {
    let of = |x: &f64| if x.is_nan() { f64::NAN } else { *x }.to_bits();
    let bits = |values: &[f64]| values.iter().map(of).collect::<Vec<_>>();
    let position = bits(found).iter().zip(&bits(expected)).position(|(a, b)| a != b);
    match position {
        None => Ok(()),
        Some(at) => Err(format!("{what} {at} is {:?}, not {:?}", found[at], expected[at])),
    }
}

/// Largest number of rows in a group of interleaved vectors; 0 without vectors.
fn widest_group(nest: &Nest) -> usize {
    let loops = nest.loops.iter().filter(|this| this.axis == Axis::Row);
    let rows = loops.filter_map(|this| {
        let (lanes, vectors) = this.annotations.vectorize.zip(this.annotations.interleave)?;
        (lanes > 1 && vectors > 1).then_some((lanes * vectors) as usize)
    });
    rows.max().unwrap_or(0)
}

/// Replaces some tile sizes by a `param` or a `const`.
pub fn with_params(schedule: String, rng: &mut Rng) -> String {
    let mut header = String::new();
    let mut body = String::new();
    for (at, line) in schedule.lines().enumerate() {
        let size = line.strip_prefix("tile(").and_then(|rest| rest.strip_suffix(')')?.rsplit_once(", "));
        match size {
            Some((rest, size)) if rng.one_in(3) => {
                header += &match rng.below(2) {
                    0 => format!("param SIZE{at} = {size} in {{{size}, 5}}\n"),
                    _ => format!("const SIZE{at} = {size} * num_trees / num_trees\n"),
                };
                body += &format!("tile({rest}, SIZE{at})\n");
            }
            _ => body += &format!("{line}\n"),
        }
    }
    header + &body
}

/// A number rounded to a type.
fn round(x: f64, float: Float) -> f64 {
    match float {
        Float::F32 => f64::from(x as f32),
        Float::F64 => x,
    }
}
