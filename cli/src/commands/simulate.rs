//! Predictions by the simulator: code for a GPU run without one, thread by thread, and its accesses counted.

use super::predict::Predictor;
use crate::terminal::Terminal;
use sched_forest::Forest;
use sched_ir::interp::{AccessCost, Memory, Options, count_accesses};
use sched_ir::lir::{KernelKind, Module, Scalar};
use sched_ir::lower;
use sched_llvm::runtime::Kind;
use sched_llvm::{Output as Results, Rows};
use std::cell::RefCell;
use std::sync::Arc;

/// Threads that run in step on the GPU that is simulated.
const WARP: u32 = 32;
/// Statements whose accesses are listed.
const LISTED: usize = 20;
/// What a run may use up: it is the user who waits.
const OPTIONS: Options = Options { steps: u64::MAX, memory: 1 << 36, seed: 0 };

/// The code of a model, run by the interpreter.
pub struct Simulator {
    forest: Arc<Forest>,
    lir: Module,
    /// What accesses have cost so far, by statement.
    costs: RefCell<Vec<AccessCost>>,
}

impl Simulator {
    /// A simulator of compiled code.
    pub fn new(forest: Arc<Forest>, lir: Module) -> Simulator {
        Simulator { forest, lir, costs: RefCell::default() }
    }

    /// Prints what the accesses of launches cost, the dearest first.
    pub fn report(&self, terminal: &Terminal) {
        let mut costs = self.costs.borrow().clone();
        if costs.is_empty() {
            return;
        }
        costs.sort_by_key(|cost| std::cmp::Reverse(cost.pieces));
        let more = costs.len().saturating_sub(LISTED);
        terminal.say("no races, and no accesses that go wrong");
        terminal.say(&format!("accesses of a warp of {WARP} threads, on average, and how many there were"));
        for cost in costs.iter().take(LISTED) {
            let AccessCost { statement, shared, warps, pieces, .. } = cost;
            let (place, unit) = if *shared { ("shared", "wavefronts") } else { ("global", "sectors") };
            let average = *pieces as f64 / (*warps).max(1) as f64;
            terminal.say(&format!("  {place} {average:5.1} {unit:<10} x {warps:>8}  {statement}"));
        }
        if more > 0 {
            terminal.say(&format!("  and {more} more"));
        }
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
        let found = count_accesses(kernel, memory, &OPTIONS, WARP).map_err(|fault| fault.to_string())?;
        let mut costs = self.costs.borrow_mut();
        for cost in found {
            match costs
                .iter_mut()
                .find(|known| known.statement == cost.statement && known.buffer == cost.buffer)
            {
                Some(known) => {
                    known.warps += cost.warps;
                    known.lanes += cost.lanes;
                    known.pieces += cost.pieces;
                }
                None => costs.push(cost),
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
        }
    }

    fn predict(&self, kind: Kind, rows: Rows, n: usize, out: Results, _: i32) -> Result<(), String> {
        let element = self.lir.types.rows;
        let input = match rows {
            Rows::F32(values) => bytes(values.iter().map(|x| f64::from(*x)), element),
            Rows::F64(values) => bytes(values.iter().copied(), element),
        };
        let floats = || {
            let margins = self.margins(&input, n)?;
            let (values, element) = match kind {
                Kind::Value => self.finished(KernelKind::Value, margins, n)?,
                Kind::Class => self.finished(KernelKind::Class, margins, n)?,
                Kind::Raw | Kind::Leaf => (margins, self.lir.types.margins),
            };
            Ok::<_, String>(doubles(&values, element))
        };
        match out {
            Results::F32(out) => out.iter_mut().zip(floats()?).for_each(|(place, x)| *place = x as f32),
            Results::F64(out) => out.copy_from_slice(&floats()?),
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
