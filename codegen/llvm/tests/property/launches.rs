//! Cases of schedules for GPUs. The interpreter runs their launches; no machine code is generated for them.

use super::case::{Case, bytes, doubles, forest_of, same_bits, with_params};
use sched_forest::{Float, Forest, Profile, predict, predict_classes};
use sched_ir::interp::AccessCost;
use sched_ir::lir::{KernelKind, OutputKind};
use sched_ir::lower::is_by_margin;
use sched_ir::mir::{MirStmt, SlotMargins};
use sched_ir::{Budget, Compiled, codes, compile};
use sched_lang::{CheckOptions, CheckPurpose, check};
use sched_nest::{Axis, Body, GpuAxis, GpuDimension, GpuLevel, LoopId, Nest, Variants};
use sched_testing::{Rng, forests, schedules, wide};

/// Whether the code generator supports a nest on GPUs, and the nest keeps limits that the checker does not
/// know.
pub fn has_code(forest: &Forest, profile: &Profile, nest: &Nest) -> bool {
    let compiled = compile(
        forest.clone(),
        Some(profile),
        Variants::only(nest.clone()),
        &[OutputKind::Raw],
        &Budget::default(),
    );
    compiled.err().is_none_or(|error| error.code != codes::SHARED_MEMORY)
}

/// Compiles a schedule for a forest; returns nothing if the checker refuses it.
pub fn compiled(forest: &Forest, schedule: &str) -> Option<Compiled> {
    let options = CheckOptions {
        model: Some(forests::model_info(forest).into()),
        purpose: CheckPurpose::Compile,
        ..CheckOptions::default()
    };
    let nests = check(schedule, &options).nests?;
    compile(forest.clone(), None, nests, &[OutputKind::Raw], &Budget::default()).ok()
}

/// All stages of the compiler as text.
pub fn stages(compiled: &Compiled) -> String {
    let each = compiled.variants.iter().map(|(_, s)| format!("{}\n{}\n{}\n", s.hir, s.mir, s.plan));
    each.collect::<String>() + &compiled.lir.to_string()
}

/// Adds the places of the folds outside of launches and at their ends: the last block, each block, and a
/// second launch.
fn add_folds(stmts: &[MirStmt], folds: &mut (bool, bool, bool)) {
    for stmt in stmts {
        match stmt {
            MirStmt::Fold(_) => folds.2 = true,
            MirStmt::Launch(launch) => {
                let last = launch.last_block.as_ref().filter(|last| !last.folds.is_empty());
                let members = last.map(|last| last.members.is_empty());
                folds.0 |= members == Some(false);
                folds.1 |= members == Some(true);
            }
            other => other.inside().into_iter().for_each(|body| add_folds(body, folds)),
        }
    }
}

impl Case {
    /// Makes the case of a seed, under a schedule for GPUs. Some cases have small-batch variants, some of
    /// which run on the processor.
    pub fn on_gpu(seed: u64) -> Case {
        let mut rng = Rng(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x6a09_e667_f3bc_c908);
        let forest = forests::with_margins_in_turn(seed, forest_of(seed, &mut rng));
        let forest = wide::with_untested_features(seed, forest);
        let profile = forests::profile(&mut rng, &forest);
        let model = forests::model_info(&forest);
        let has_code = |nest: &Nest| iterations(nest) <= MOST_ITERATIONS && has_code(&forest, &profile, nest);
        let schedule = if rng.one_in(3) {
            schedules::gpu_schedule_with_blocks(rng.next_u64(), &model, &has_code).text
        } else {
            let text = schedules::gpu_schedule(rng.next_u64(), &model, &has_code);
            format!("target gpu\n{}", with_params(text, &mut rng))
        };
        let options = CheckOptions {
            model: Some(model.into()),
            purpose: CheckPurpose::Compile,
            ..CheckOptions::default()
        };
        let checked = check(&schedule, &options);
        let nests = checked.nests.unwrap_or_else(|| {
            panic!("seed {seed}: a legal schedule has errors\n{schedule}\n{:#?}", checked.diagnostics)
        });
        let count = number_of_rows(&mut rng, &schedule);
        let rows = forests::rows_of(&mut rng, &forest, count);
        Case { seed, forest, schedule, nests, profile, rows }.with_sums_in_bounds()
    }

    /// Whether some loop is mapped to a GPU.
    pub fn has_launches(&self) -> bool {
        self.nests.iter().any(|(_, nest)| launches(nest))
    }

    /// Whether the lanes of each warp walk adjacent rows with values of four bytes. Their reads of rows in
    /// shared memory then use a bank for each lane, whatever features their nodes test.
    pub fn reads_bank_by_lane(&self) -> bool {
        let columns = forests::num_tested_columns(&self.forest) as i64;
        let in_blocks = |nest: &Nest| {
            nest.loops.iter().all(|this| match this.annotations.gpu_dimension {
                Some(GpuDimension { level: GpuLevel::Block, axis }) => {
                    let one_row = this.step.as_int() == Some(1) && this.annotations.interleave.is_none();
                    // With fewer rows, the distance between features of a copy is odd. Threads that read the
                    // same rows then use separate banks if there are enough banks for all of them.
                    let ends = this.start.as_int().zip(this.stop.as_int());
                    let apart = ends
                        .map(|(start, stop)| stop - start)
                        .is_some_and(|n| n >= 32 || columns * (n | 1) <= 32);
                    axis == GpuAxis::X && this.axis == Axis::Row && one_row && apart
                }
                Some(_) => true,
                // Lanes whose walks have different lengths reach different rows at the same time.
                None => this.axis == Axis::Tree,
            })
        };
        // Linear leaves also differ in their numbers of terms.
        let alike = self.row_type() == Float::F32 && !self.forest.has_linear_leaves();
        alike && self.nests.iter().all(|(_, nest)| !launches(nest) || in_blocks(nest))
    }

    /// Whether some launch computes columns in its blocks, and whether some launch does so for all rows.
    pub fn places_of_columns(&self) -> (bool, bool) {
        let launched = self.nests.iter().any(|(_, nest)| launches(nest));
        let Some(compiled) = self.compile(&[OutputKind::Raw]).ok().filter(|_| launched) else {
            return (false, false);
        };
        let mut places = (false, false);
        for stages in compiled.variants.iter().map(|(_, stages)| stages) {
            if stages.hir.columns.is_some() && stages.mir.has_launches() {
                let in_launch = stages.mir.computes_columns_in_launch();
                places = (places.0 || !in_launch, places.1 || in_launch);
            }
        }
        places
    }

    /// Whether the threads of a block copy the values of the tested features alone.
    pub fn copies_tested_features(&self) -> bool {
        let launched = self.nests.iter().any(|(_, nest)| launches(nest));
        let compiled = self.compile(&[OutputKind::Raw]).ok().filter(|_| launched);
        let plans = compiled.iter().flat_map(|compiled| compiled.variants.iter());
        plans.map(|(_, stages)| &stages.plan).any(|plan| plan.copies.values().any(|copy| copy.holds_tested))
    }

    /// Whether the last block of a group folds slots in device memory, whether each block folds its own, and
    /// whether a second launch folds.
    pub fn folds(&self) -> (bool, bool, bool) {
        let launched = self.nests.iter().any(|(_, nest)| launches(nest));
        let Some(compiled) = self.compile(&[OutputKind::Raw]).ok().filter(|_| launched) else {
            return (false, false, false);
        };
        let mut folds = (false, false, false);
        for (_, stages) in compiled.variants.iter().filter(|(_, stages)| stages.mir.has_launches()) {
            add_folds(&stages.mir.body, &mut folds);
        }
        folds
    }

    /// Whether slots of sums have one margin each, although the forest has several.
    pub fn has_slots_of_one_margin(&self) -> bool {
        fn any(stmts: &[MirStmt]) -> bool {
            stmts.iter().any(|stmt| match stmt {
                MirStmt::Private(private) if private.margins == SlotMargins::InTurn => true,
                other => other.inside().into_iter().any(any),
            })
        }
        let compiled = self.compile(&[OutputKind::Raw]).ok().filter(|_| self.has_launches());
        compiled.is_some_and(|compiled| compiled.variants.iter().any(|(_, stages)| any(&stages.mir.body)))
    }

    /// Whether blocks compute predictions from all margins of a row at the end of a launch, and whether a
    /// second launch does.
    pub fn row_predictions(&self) -> (bool, bool) {
        let compiled = self.compile(&[OutputKind::Raw, OutputKind::Value]).ok();
        let Some(compiled) = compiled.filter(|_| self.has_launches()) else { return (false, false) };
        let of_rows = compiled.lir.has(OutputKind::Value.into()) && !is_by_margin(&self.forest);
        let in_launch = compiled.lir.has(KernelKind::Direct);
        (of_rows && in_launch, of_rows && !in_launch)
    }

    /// Compares the predictions of the kernel that reads rows with those of the kernel that reads margins.
    pub fn interpret_direct(&self, compiled: &Compiled, margins: &[f64]) -> Result<(), String> {
        if self.atomic() || !compiled.lir.has(KernelKind::Direct) {
            return Ok(());
        }
        let types = self.forest.types;
        let size = self.num_rows() * self.forest.value_columns() * types.output.bytes();
        let input = bytes(margins.iter().copied(), types.accumulator);
        let wanted = self.run_kernel(compiled, OutputKind::Value, &input, size)?;
        let found = self.run_kernel(compiled, KernelKind::Direct, &self.kernel_rows(), size)?;
        same_bits("prediction of rows", &doubles(&found, types.output), &doubles(&wanted, types.output))
    }

    /// If rows are transferred as bins, compares the margins of the kernels that read bins with those of the
    /// kernel that reads values.
    pub fn interpret_bins(&self, compiled: &Compiled, margins: &[f64]) -> Result<(), String> {
        let (types, n) = (self.forest.types, self.num_rows());
        let chosen = self.nests.bounded().iter().all(|other| n > other.max_rows as usize);
        let Some(transfer) = compiled.lir.transfer.filter(|_| chosen && !self.atomic()) else {
            return Ok(());
        };
        let input = self.kernel_rows();
        let size = transfer.bytes(n as u64) as usize;
        let bins = self.run_kernel(compiled, KernelKind::Quantize, &input, size)?;
        let size = margins.len() * types.accumulator.bytes();
        let found = self.run_kernel(compiled, KernelKind::RawOfBins, &bins, size)?;
        same_bits("margin from bins", &doubles(&found, types.accumulator), margins)?;
        if compiled.lir.has(KernelKind::DirectOfBins) {
            let size = n * self.forest.value_columns() * types.output.bytes();
            let wanted = self.run_kernel(compiled, KernelKind::Direct, &input, size)?;
            let found = self.run_kernel(compiled, KernelKind::DirectOfBins, &bins, size)?;
            let values = |bytes: &[u8]| doubles(bytes, types.output);
            same_bits("prediction from bins", &values(&found), &values(&wanted))?;
        }
        Ok(())
    }

    /// Compares the predictions and classes that the interpreter computes from margins.
    pub fn interpret_transforms(&self, compiled: &Compiled, margins: &[f64]) -> Result<(), String> {
        if !self.exact() || margins.iter().any(|margin| margin.is_nan()) {
            return Ok(());
        }
        let types = self.forest.types;
        let input = bytes(margins.iter().copied(), types.accumulator);
        if compiled.lir.has(OutputKind::Value.into()) {
            let wanted = self.walked(self.forest.value_columns(), predict)?;
            let size = wanted.len() * types.output.bytes();
            let found = self.run_kernel(compiled, OutputKind::Value, &input, size)?;
            same_bits("interpreted prediction", &doubles(&found, types.output), &wanted)?;
        }
        if compiled.lir.has(OutputKind::Class.into()) {
            let wanted = self.walked(self.forest.class_columns(), predict_classes)?;
            let found = self.run_kernel(compiled, OutputKind::Class, &input, 4 * wanted.len())?;
            let wanted: Vec<f64> = wanted.into_iter().map(f64::from).collect();
            same_bits("interpreted class", &doubles(&found, Float::F32), &wanted)?;
        }
        Ok(())
    }
}

/// Most iterations of a case's nest. Threads without rows also go through them, which in larger nests takes
/// long and tests nothing new.
const MOST_ITERATIONS: i64 = 1 << 17;

/// Lower bound of a nest's iterations, for any number of rows.
fn iterations(nest: &Nest) -> i64 {
    fn of(nest: &Nest, id: LoopId) -> i64 {
        let this = nest.get(id);
        let [start, stop, step] = [&this.start, &this.stop, &this.step].map(|sym| sym.as_int().unwrap_or(0));
        let trips = (stop.saturating_sub(start) / step.max(1)).max(1);
        let inside = match &this.body {
            Body::Walk => 1,
            Body::Seq(list) => list.iter().fold(0, |all: i64, id| all.saturating_add(of(nest, *id))),
            Body::Cases(cases) => {
                cases.concat().into_iter().fold(0, |all: i64, id| all.saturating_add(of(nest, id)))
            }
        };
        trips.saturating_mul(inside)
    }
    nest.roots.iter().fold(0, |all: i64, root| all.saturating_add(of(nest, *root)))
}

/// Whether some loop of a nest is mapped to a GPU.
pub fn launches(nest: &Nest) -> bool {
    nest.loops.iter().any(|this| this.annotations.gpu_dimension.is_some())
}

/// Draws a number of rows: none, one, or about the rows of a tile or of several.
fn number_of_rows(rng: &mut Rng, schedule: &str) -> usize {
    const MOST: usize = 130;
    let sizes: Vec<usize> = schedule
        .lines()
        .filter_map(|line| {
            line.trim().strip_prefix("tile(b")?.strip_suffix(')')?.rsplit(", ").next()?.parse().ok()
        })
        .filter(|size| *size <= MOST)
        .collect();
    let tile = rng.pick(&sizes).copied().unwrap_or(32);
    match rng.below(12) {
        0 => 0,
        1 => 1,
        2 => tile - 1,
        3 => tile,
        4 => tile + 1,
        5 => (2 * tile).min(MOST),
        6 | 7 => (2 * tile + 1 + rng.below(tile)).min(MOST),
        _ => rng.below(MOST),
    }
}

/// Checks that rows in shared memory are read without conflicts.
pub fn one_wavefront(costs: &[AccessCost]) -> Result<(), String> {
    let reads =
        |cost: &&AccessCost| cost.buffer.starts_with("shared_rows") && cost.statement.contains(" = load ");
    let bad = costs.iter().filter(reads).find(|cost| cost.transfers > cost.warp_executions);
    bad.map_or(Ok(()), |cost| Err(format!("lanes want words of one bank: {cost:?}")))
}

/// Checks invariants of counted accesses.
pub fn add_up(costs: &[AccessCost], warp: u32) -> Result<(), String> {
    let bad = costs.iter().find(|cost| {
        let lanes_fit = cost.warp_executions <= cost.active_lanes
            && cost.active_lanes <= cost.warp_executions * u64::from(warp);
        // A lane touches at most two words or sectors: elements have at most eight bytes.
        !lanes_fit || cost.transfers < cost.warp_executions || cost.transfers > 2 * cost.active_lanes
    });
    bad.map_or(Ok(()), |cost| Err(format!("accesses of warps of {warp} lanes do not add up: {cost:?}")))
}
