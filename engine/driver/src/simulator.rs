//! Predictions by the simulator, which interprets GPU code thread by thread, without a GPU, and counts its
//! accesses.

use crate::compile::RowRules;
use crate::failure::Failure;
use crate::outputs;
use crate::predictor::Predictor;
use sched_diagnostics::internal;
use sched_forest::Forest;
use sched_ir::interp::{
    AccessCost, CallMemory, InterpreterError, InterpreterOptions, LaunchCost, count_launches,
};
use sched_ir::lir::{KernelKind, Module, Scalar};
use sched_llvm::runtime::{CallError, Dtype, OutputKind, dtype};
use sched_llvm::{PackedResults, PackedRows, PredictOptions};
use std::cell::RefCell;
use std::sync::Arc;

/// Threads of a warp of the simulated GPU.
pub const WARP: u32 = 32;
/// Limits of a run: none on steps, since the user can interrupt it, and 64 GiB of memory.
const OPTIONS: InterpreterOptions = InterpreterOptions {
    max_steps: u64::MAX,
    max_memory: 1 << 36,
    seed: 0,
    input_is_columns: false,
    adds_to_output: false,
};

/// A predictor that interprets a model's code.
pub struct Simulator {
    forest: Arc<Forest>,
    lir: Module,
    /// Whether kernels add to initial margins.
    base_is_given: bool,
    /// The accumulated costs of launches.
    costs: RefCell<Vec<LaunchCost>>,
    /// The fault that stopped a run.
    fault: RefCell<Option<InterpreterError>>,
}

impl Simulator {
    /// A simulator of code that was compiled for rows with these properties.
    pub fn new(forest: Arc<Forest>, lir: Module, rules: RowRules) -> Simulator {
        let base_is_given = rules.base_margin;
        Simulator { forest, lir, base_is_given, costs: RefCell::default(), fault: RefCell::default() }
    }

    /// Returns the costs of all runs: the launches in the order of their first run.
    pub fn costs(&self) -> Vec<LaunchCost> {
        self.costs.borrow().clone()
    }

    /// The bug in the generated code that made a prediction fail, if a bug is the cause.
    pub fn failure(&self) -> Option<Failure> {
        let fault = self.fault.borrow();
        let wrong = fault.as_ref().filter(|fault| {
            use InterpreterError::{Malformed, OutOfBounds, Race, ReadOnly, Uninitialised};
            matches!(fault, Malformed(_) | OutOfBounds(_) | Race(_) | ReadOnly(_) | Uninitialised(_))
        });
        wrong.map(|fault| Failure::new(internal::SIMULATED, fault, internal::BUG_REPORT_HELP))
    }

    /// Runs a kernel once on some rows. With `adds_to_output`, the kernel adds to the content of `output`;
    /// otherwise it overwrites it.
    fn run(
        &self,
        kind: KernelKind,
        rows: usize,
        input: &[u8],
        (output, adds_to_output): (&mut [u8], bool),
    ) -> Result<(), String> {
        let (_, kernel) = self
            .lir
            .kernels
            .iter()
            .find(|(found, _)| *found == kind)
            .ok_or_else(|| "the model has no such output".to_string())?;
        let memory = CallMemory {
            rows: i64::try_from(rows).unwrap_or(i64::MAX),
            input,
            output,
            tables: &self.lir.tables,
        };
        match count_launches(kernel, memory, &InterpreterOptions { adds_to_output, ..OPTIONS }, WARP) {
            Ok(found) => add(&mut self.costs.borrow_mut(), found),
            Err(fault) => {
                let text = fault.to_string();
                self.fault.replace(Some(fault));
                return Err(text);
            }
        }
        Ok(())
    }

    /// Runs a kernel that reads rows, in several runs if the code limits the rows of a run. `output` has the
    /// bytes of all results, and initial margins if the kernel adds to them.
    fn run_on_rows(
        &self,
        kind: KernelKind,
        input: &[u8],
        n: usize,
        (mut output, adds_to_output): (Vec<u8>, bool),
    ) -> Result<Vec<u8>, String> {
        let per_row = output.len() / n.max(1);
        let most = self.lir.rows_per_run.and_then(|rows| usize::try_from(rows).ok()).unwrap_or(n).max(1);
        let row_bytes = self.forest.num_features * self.lir.types.rows.bytes() as usize;
        let mut first = 0;
        while first < n {
            let count = most.min(n - first);
            let rows = &input[first * row_bytes..(first + count) * row_bytes];
            let place = &mut output[first * per_row..(first + count) * per_row];
            self.run(kind, count, rows, (place, adds_to_output))?;
            first += count;
        }
        Ok(output)
    }

    /// The margins of rows, as bytes. Sums start with the base margin if the code takes one.
    fn margins(&self, input: &[u8], n: usize, base: Option<PackedRows>) -> Result<Vec<u8>, String> {
        let element = self.lir.types.margins;
        let begin = match (self.base_is_given, base) {
            (false, _) => vec![0; n * self.forest.num_margins * element.bytes() as usize],
            (true, Some(PackedRows::F32(base))) => bytes(base.iter().map(|x| f64::from(*x)), element),
            (true, Some(PackedRows::F64(base))) => bytes(base.iter().copied(), element),
            (true, _) => bytes((0..n).flat_map(|_| self.forest.base.iter().copied()), element),
        };
        self.run_on_rows(OutputKind::Raw.into(), input, n, (begin, self.base_is_given))
    }

    /// Computes an output from margins: by its kernel, or the margins themselves if the model needs no such
    /// kernel. Returns the bytes and the type of their elements.
    fn finish_output(
        &self,
        kind: OutputKind,
        input: &[u8],
        n: usize,
        base: Option<PackedRows>,
    ) -> Result<(Vec<u8>, Scalar), String> {
        let margins = self.margins(input, n, base)?;
        let kernel = kind.into();
        if !kind.finishes_margins() || !self.lir.has(kernel) {
            return Ok((margins, self.lir.types.margins));
        }
        let (_, element) = self.lir.types.of_kernel(kernel);
        let mut output = vec![0; n * self.num_outputs(kind) * element.bytes() as usize];
        self.run(kernel, n, &margins, (&mut output, false))?;
        Ok((output, element))
    }

    /// Computes an output of rows. Returns the bytes and the type of their elements.
    fn compute_output(
        &self,
        kind: OutputKind,
        input: &[u8],
        n: usize,
        base: Option<PackedRows>,
    ) -> Result<(Vec<u8>, Scalar), String> {
        let is_direct = kind == OutputKind::Value && self.lir.has(KernelKind::Direct);
        let kernel = if is_direct { KernelKind::Direct } else { kind.into() };
        if !is_direct && !kind.walks_itself() {
            return self.finish_output(kind, input, n, base);
        }
        let (_, element) = self.lir.types.of_kernel(kernel);
        let output = vec![0; n * self.num_outputs(kind) * element.bytes() as usize];
        Ok((self.run_on_rows(kernel, input, n, (output, false))?, element))
    }
}

/// Adds the costs of a run to those of earlier runs.
fn add(all: &mut Vec<LaunchCost>, found: Vec<LaunchCost>) {
    for launch in found {
        let same = |known: &&mut LaunchCost| known.name == launch.name && known.block == launch.block;
        let Some(known) = all.iter_mut().find(same) else {
            all.push(launch);
            continue;
        };
        known.runs += launch.runs;
        known.blocks += launch.blocks;
        known.barriers += launch.barriers;
        known.shared_bytes = known.shared_bytes.max(launch.shared_bytes);
        for (most, extent) in known.grid.iter_mut().zip(launch.grid) {
            *most = (*most).max(extent);
        }
        for cost in launch.accesses {
            let same =
                |known: &&mut AccessCost| known.statement == cost.statement && known.buffer == cost.buffer;
            match known.accesses.iter_mut().find(same) {
                Some(known) => {
                    known.warp_executions += cost.warp_executions;
                    known.active_lanes += cost.active_lanes;
                    known.transfers += cost.transfers;
                }
                None => known.accesses.push(cost),
            }
        }
    }
}

/// Converts values to the bytes of elements of one type.
fn bytes(values: impl Iterator<Item = f64>, element: Scalar) -> Vec<u8> {
    match element {
        Scalar::F64 => values.flat_map(f64::to_le_bytes).collect(),
        _ => values.flat_map(|x| (x as f32).to_le_bytes()).collect(),
    }
}

/// Converts the bytes of elements to doubles.
fn doubles(bytes: &[u8], element: Scalar) -> Vec<f64> {
    let (fours, _) = bytes.as_chunks::<4>();
    let (eights, _) = bytes.as_chunks::<8>();
    match element {
        Scalar::F64 => eights.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect(),
        _ => fours.iter().map(|bytes| f32::from_le_bytes(*bytes).into()).collect(),
    }
}

/// Rows without the padding between them.
fn packed<T: Copy + Into<f64>>(values: &[T], features: usize, stride: usize) -> Vec<f64> {
    let row = if stride == 0 { features.max(1) } else { stride };
    values.chunks(row).flat_map(|row| row.iter().take(features)).map(|value| (*value).into()).collect()
}

impl Predictor for Simulator {
    fn num_features(&self) -> usize {
        self.forest.num_features
    }

    fn num_outputs(&self, kind: OutputKind) -> usize {
        outputs::columns(kind, &self.forest, &self.lir)
    }

    fn output_type(&self, kind: OutputKind) -> Dtype {
        dtype(self.lir.types.output(kind))
    }

    fn predict(
        &self,
        kind: OutputKind,
        rows: PackedRows,
        n: usize,
        out: PackedResults,
        extras: PredictOptions<'_>,
    ) -> Result<(), CallError> {
        // The simulator has no entry points for rows of another shape.
        let stride = extras.stride;
        let features = self.num_features();
        let values = match rows {
            PackedRows::F32(values) => packed(values, features, stride),
            PackedRows::F64(values) => packed(values, features, stride),
            PackedRows::Columns(columns) => {
                let row = |row| columns.iter().map(move |column| column.value(row));
                (0..n).flat_map(row).collect()
            }
        };
        let element = self.lir.types.rows;
        let input = bytes(values.into_iter(), element);
        let (results, element) = self.compute_output(kind, &input, n, extras.base_margin)?;
        match (out, element) {
            (PackedResults::I32(out), Scalar::I32) => {
                let (numbers, _) = results.as_chunks::<4>();
                out.iter_mut().zip(numbers).for_each(|(place, bytes)| *place = i32::from_le_bytes(*bytes));
            }
            (PackedResults::F32(out), Scalar::F32 | Scalar::F64) => {
                let values = doubles(&results, element);
                out.iter_mut().zip(values).for_each(|(place, x)| *place = x as f32);
            }
            (PackedResults::F64(out), Scalar::F32 | Scalar::F64) => {
                out.iter_mut().zip(doubles(&results, element)).for_each(|(place, x)| *place = x);
            }
            _ => return Err(format!("results of `{}` have another type", kind.word()).into()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_forest::{ForestParts, Leaf, NodeRef, Tree, TreeTarget};
    use sched_ir::lir::{Address, BuildStmts, Builder, Interface, ProcessorKind, Space};
    use sched_nest::Variants;

    /// A simulator of a kernel whose two blocks write the same margin: a race.
    fn racing() -> Simulator {
        let leaf = Leaf { source: 0, values: [1.0].into() };
        let tree = Tree {
            root: NodeRef::Leaf(0),
            inner: Vec::new(),
            leaves: vec![leaf],
            target: TreeTarget::One(0),
            source: 0,
        };
        let parts =
            ForestParts { trees: vec![tree], num_features: 1, base: vec![0.5], ..ForestParts::default() };
        let mut b = Builder::with_index("raw", Scalar::I32);
        b.buffer("rows", Space::Input, Scalar::F32);
        let out = b.buffer("result", Space::Output, Scalar::F32);
        let [one, two] = [1, 2].map(|n| b.int(n));
        b.launch("work", [two, one, one], [1, 1, 1], |b| {
            let (zero, value) = (b.int(0), b.float(sched_ir::lir::Ty::of(Scalar::F32), 1.0));
            b.store(Address::element(out, zero, Scalar::F32), value);
        });
        let types = Interface { rows: Scalar::F32, margins: Scalar::F32, results: Scalar::F32 };
        let kernels = vec![(OutputKind::Raw.into(), b.finish())];
        let lir = Module {
            kernels,
            tables: Vec::new(),
            types,
            rows_per_run: None,
            processors: Variants::only(ProcessorKind::Device),
            least_column_rows: None,
            transfer: None,
        };
        Simulator::new(Arc::new(Forest::new(parts).expect("a forest")), lir, RowRules::default())
    }

    #[test]
    fn a_race_is_a_bug_of_schedc_with_a_code() {
        let simulator = racing();
        assert!(simulator.failure().is_none());
        let mut margins = [0.0];
        let result = simulator.predict(
            OutputKind::Raw,
            PackedRows::F32(&[1.0]),
            1,
            PackedResults::F32(&mut margins),
            PredictOptions::default(),
        );
        assert!(result.is_err_and(|fault| fault.message.starts_with("race on bytes 0..4 of `result`")));
        let failure = simulator.failure().expect("a finding");
        assert_eq!(failure.status(), 101);
        let Failure::Refused(diagnostic) = failure else { panic!("the failure has no diagnostic") };
        assert_eq!(diagnostic.code, internal::SIMULATED);
        assert!(diagnostic.message.contains("thread 0 of block"), "{}", diagnostic.message);
    }
}
