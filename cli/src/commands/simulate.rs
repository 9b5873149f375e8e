//! Predictions by the simulator: code for a GPU run without one, thread by thread, and its accesses counted.

mod report;

use super::predict::Predictor;
use crate::terminal::Terminal;
use sched_diagnostics::internal;
use sched_forest::Forest;
use sched_ir::interp::{Fault, LaunchCost, Memory, Options, count_launches};
use sched_ir::lir::{Interface, KernelKind, Module, Scalar};
use sched_ir::lower;
use sched_llvm::runtime::Kind;
use sched_llvm::{Extras, Output as Results, Rows};
use schedc_data::Number;
use schedc_driver::Failure;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

/// Threads that run in step on the GPU that is simulated.
const WARP: u32 = 32;
/// What a run may use up: it is the user who waits.
const OPTIONS: Options = Options { steps: u64::MAX, memory: 1 << 36, seed: 0, columns: false };

/// The code of a model, run by the interpreter.
pub struct Simulator {
    forest: Arc<Forest>,
    lir: Module,
    /// What launches have cost so far.
    costs: RefCell<Vec<LaunchCost>>,
    /// Why a run stopped.
    fault: RefCell<Option<Fault>>,
}

impl Simulator {
    /// A simulator of compiled code.
    pub fn new(forest: Arc<Forest>, lir: Module) -> Simulator {
        Simulator { forest, lir, costs: RefCell::default(), fault: RefCell::default() }
    }

    /// Prints what launches cost.
    pub fn report(&self, terminal: &Terminal) {
        report::lines(&self.costs.borrow()).iter().for_each(|line| terminal.say(line));
    }

    /// Writes what launches cost for programs.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let text = format!("{:#}\n", report::json(&self.costs.borrow()));
        std::fs::write(path, text).map_err(|error| {
            let message = format!("the report cannot be written: {error}");
            Failure::new(
                schedc_data::codes::UNWRITABLE,
                message,
                "name a file in a folder that can be written",
            )
            .of(path.display())
        })
    }

    /// What the simulator has found to be wrong with the code, if that is why a prediction failed.
    pub fn failure(&self) -> Option<Failure> {
        let fault = self.fault.borrow();
        let wrong = fault.as_ref().filter(|fault| {
            use Fault::{Malformed, OutOfBounds, Race, ReadOnly, Uninitialised};
            matches!(fault, Malformed(_) | OutOfBounds(_) | Race(_) | ReadOnly(_) | Uninitialised(_))
        });
        wrong.map(|fault| Failure::new(internal::SIMULATED, fault, internal::REPORT))
    }

    /// Runs a kernel on some rows.
    fn run(&self, kind: KernelKind, rows: usize, input: &[u8], output: &mut [u8]) -> Result<(), String> {
        let (_, kernel) = self
            .lir
            .kernels
            .iter()
            .find(|(found, _)| *found == kind)
            .ok_or_else(|| "the model has no such output".to_string())?;
        let memory =
            Memory { rows: i64::try_from(rows).unwrap_or(i64::MAX), input, output, tables: &self.lir.tables };
        match count_launches(kernel, memory, &OPTIONS, WARP) {
            Ok(found) => report::add(&mut self.costs.borrow_mut(), found),
            Err(fault) => {
                let text = fault.to_string();
                self.fault.replace(Some(fault));
                return Err(text);
            }
        }
        Ok(())
    }

    /// Runs the kernel that reads rows in as many runs as it needs.
    fn run_on_rows(
        &self,
        kind: KernelKind,
        input: &[u8],
        n: usize,
        per_row: usize,
    ) -> Result<Vec<u8>, String> {
        let mut output = vec![0; n * per_row];
        let most = self.lir.rows_per_run.and_then(|rows| usize::try_from(rows).ok()).unwrap_or(n).max(1);
        let row_bytes = self.forest.num_features * self.lir.types.rows.bytes() as usize;
        let mut first = 0;
        while first < n {
            let count = most.min(n - first);
            let rows = &input[first * row_bytes..(first + count) * row_bytes];
            let place = &mut output[first * per_row..(first + count) * per_row];
            self.run(kind, count, rows, place)?;
            first += count;
        }
        Ok(output)
    }

    /// The margins of rows, as bytes.
    fn margins(&self, input: &[u8], n: usize) -> Result<Vec<u8>, String> {
        let per_row = self.forest.num_margins * self.lir.types.margins.bytes() as usize;
        self.run_on_rows(KernelKind::Raw, input, n, per_row)
    }

    /// What a kernel makes of margins, or the margins where there is none.
    fn finished(&self, kind: KernelKind, margins: Vec<u8>, n: usize) -> Result<(Vec<u8>, Scalar), String> {
        let (from, to) = self.lir.types.of(kind);
        if !self.lir.kernels.iter().any(|(found, _)| *found == kind) {
            return Ok((margins, from));
        }
        let columns = match kind {
            KernelKind::Class => 1,
            _ => lower::value_columns(&self.forest),
        };
        let mut output = vec![0; n * columns * to.bytes() as usize];
        self.run(kind, n, &margins, &mut output)?;
        Ok((output, to))
    }
}

/// Values as the bytes of an element.
fn bytes(values: impl Iterator<Item = f64>, element: Scalar) -> Vec<u8> {
    match element {
        Scalar::F64 => values.flat_map(f64::to_le_bytes).collect(),
        _ => values.flat_map(|x| (x as f32).to_le_bytes()).collect(),
    }
}

/// The bytes of an element as numbers that hold its values.
fn doubles(bytes: &[u8], element: Scalar) -> Vec<f64> {
    let (fours, _) = bytes.as_chunks::<4>();
    let (eights, _) = bytes.as_chunks::<8>();
    match element {
        Scalar::F64 => eights.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect(),
        _ => fours.iter().map(|bytes| f32::from_le_bytes(*bytes).into()).collect(),
    }
}

/// Rows without what lies between them.
fn packed<T: Copy + Into<f64>>(values: &[T], features: usize, stride: usize) -> Vec<f64> {
    let row = if stride == 0 { features.max(1) } else { stride };
    values.chunks(row).flat_map(|row| row.iter().take(features)).map(|value| (*value).into()).collect()
}

impl Predictor for Simulator {
    fn num_features(&self) -> usize {
        self.forest.num_features
    }

    fn num_outputs(&self, kind: Kind) -> usize {
        match kind {
            Kind::Value => lower::value_columns(&self.forest),
            Kind::Raw => self.forest.num_margins,
            Kind::Class => lower::class_columns(&self.forest),
            Kind::Leaf => self.forest.trees.len(),
            Kind::Tree => self.forest.num_tree_values(),
        }
    }

    fn number(&self, kind: Kind) -> Number {
        match (kind, self.lir.types) {
            (Kind::Leaf, _) => Number::I32,
            (Kind::Value | Kind::Raw, Interface { results: Scalar::F64, .. }) => Number::F64,
            (Kind::Tree, Interface { margins: Scalar::F64, .. }) => Number::F64,
            _ => Number::F32,
        }
    }

    fn predict(
        &self,
        kind: Kind,
        rows: Rows,
        n: usize,
        out: Results,
        extras: Extras<'_>,
    ) -> Result<(), String> {
        // What simulates has no entry points that rows could come to in another shape.
        let stride = extras.stride;
        let features = self.num_features();
        let values = match rows {
            Rows::F32(values) => packed(values, features, stride),
            Rows::F64(values) => packed(values, features, stride),
            Rows::Columns(columns) => {
                let row = |row| columns.iter().map(move |column| column.value(row));
                (0..n).flat_map(row).collect()
            }
        };
        let element = self.lir.types.rows;
        let input = match &self.lir.columns {
            None => bytes(values.into_iter(), element),
            Some(columns) => {
                // Columns are made of values in the type of the model's rows.
                let rounded = doubles(&bytes(values.into_iter(), element), element);
                bytes(columns.rows(&rounded).into_iter(), element)
            }
        };
        let floats = || {
            let is_direct = |(kind, _): &(KernelKind, _)| *kind == KernelKind::Direct;
            if kind == Kind::Value && self.lir.kernels.iter().any(is_direct) {
                let element = self.lir.types.results;
                let per_row = lower::value_columns(&self.forest) * element.bytes() as usize;
                let values = self.run_on_rows(KernelKind::Direct, &input, n, per_row)?;
                return Ok(doubles(&values, element));
            }
            if kind == Kind::Tree {
                let element = self.lir.types.margins;
                let per_row = self.forest.num_tree_values() * element.bytes() as usize;
                return Ok(doubles(&self.run_on_rows(KernelKind::Tree, &input, n, per_row)?, element));
            }
            let margins = self.margins(&input, n)?;
            let (values, element) = match kind {
                Kind::Value => self.finished(KernelKind::Value, margins, n)?,
                Kind::Class => self.finished(KernelKind::Class, margins, n)?,
                Kind::Raw | Kind::Leaf | Kind::Tree => (margins, self.lir.types.margins),
            };
            Ok::<_, String>(doubles(&values, element))
        };
        match out {
            Results::F32(out) => out.iter_mut().zip(floats()?).for_each(|(place, x)| *place = x as f32),
            Results::F64(out) => out.iter_mut().zip(floats()?).for_each(|(place, x)| *place = x),
            Results::I32(out) => {
                let leaves = self.run_on_rows(KernelKind::Leaf, &input, n, 4 * self.forest.trees.len())?;
                let (numbers, _) = leaves.as_chunks::<4>();
                for (place, bytes) in out.iter_mut().zip(numbers) {
                    *place = i32::from_le_bytes(*bytes);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_forest::{ForestParts, Leaf, NodeRef, Target, Tree};
    use sched_ir::lir::{Address, Build, Builder, ProcessorKind, Space};
    use sched_nest::Variants;

    /// A kernel whose two blocks write the same margin.
    fn racing() -> Simulator {
        let leaf = Leaf { source: 0, values: [1.0].into() };
        let tree = Tree {
            root: NodeRef::Leaf(0),
            inner: Vec::new(),
            leaves: vec![leaf],
            target: Target::One(0),
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
        let kernels = vec![(KernelKind::Raw, b.finish())];
        let lir = Module {
            kernels,
            tables: Vec::new(),
            types,
            rows_per_run: None,
            places: Variants::only(ProcessorKind::Device),
            columns: None,
            columns_from: None,
            transfer: None,
        };
        Simulator::new(Arc::new(Forest::new(parts).expect("a forest")), lir)
    }

    #[test]
    fn a_race_is_a_bug_of_schedc_with_a_code() {
        let simulator = racing();
        assert!(simulator.failure().is_none());
        let mut margins = [0.0];
        let told =
            simulator.predict(Kind::Raw, Rows::F32(&[1.0]), 1, Results::F32(&mut margins), Extras::default());
        assert!(told.is_err_and(|told| told.starts_with("race on bytes 0..4 of `result`")));
        let failure = simulator.failure().expect("a finding");
        assert_eq!(failure.status(), 101);
        let Failure::Refused(diagnostic) = failure else { panic!("it is told as a diagnostic") };
        assert_eq!(diagnostic.code, internal::SIMULATED);
        assert!(diagnostic.message.contains("thread 0 of block"), "{}", diagnostic.message);
    }
}
