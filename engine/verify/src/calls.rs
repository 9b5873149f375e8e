//! Calls of all shapes, which together run all code of a model: many numbers of rows, strides, threads.

use crate::expected::{ExpectedResults, PerKind};
use crate::rows::count;
use sched_llvm::runtime::{Dtype, OutputKind};
use sched_llvm::{PackedResults, PackedRows, PredictOptions};
use schedc_data::FeatureValues;
use schedc_driver::Predictor;
use std::collections::BTreeSet;
use std::fmt;
use std::time::Instant;

/// Numbers of rows per call, around the widths of vectors.
const ROW_COUNTS: [usize; 26] =
    [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 129, 255, 257];
/// Outputs that are also computed in small calls, the most informative first.
const SMALL_CALL_KINDS: [OutputKind; 3] = [OutputKind::Leaf, OutputKind::Raw, OutputKind::Value];
/// Values between rows in calls with a stride.
const STRIDE_GAP: usize = 3;
/// Threads of multi-threaded calls.
const SEVERAL_THREADS: i32 = 3;
/// Number of guard values after the results, which calls must not change.
const GUARD_VALUES: usize = 8;
/// Most differences that are recorded for the calls with a block of rows.
const MAX_DIFFERENCES: usize = 256;

/// Layout and threads of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallShape {
    /// Whether rows are `f64`.
    pub doubles: bool,
    /// Number of rows.
    pub rows: usize,
    /// Values between the end of a row and the start of the next.
    pub gap: usize,
    /// Most threads of the call.
    pub threads: i32,
}

impl fmt::Display for CallShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.rows == 1 { "row" } else { "rows" };
        write!(f, "{} {noun} of {}", self.rows, if self.doubles { "f64" } else { "f32" })?;
        if self.gap > 0 {
            write!(f, ", {} values apart", self.gap)?;
        }
        if self.threads > 1 {
            write!(f, ", {} threads", self.threads)?;
        }
        Ok(())
    }
}

/// A result that differs from the walker's.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// The output.
    pub kind: OutputKind,
    /// The row's index in the block.
    pub row: usize,
    /// The column of the output.
    pub column: usize,
    /// The code's result.
    pub found: f64,
    /// The walker's result.
    pub expected: f64,
    /// The call.
    pub shape: CallShape,
}

/// A pass of calls over all rows.
struct CallPass {
    /// Rows per call, repeated cyclically.
    counts: Vec<usize>,
    gap: usize,
    threads: i32,
    kinds: Vec<OutputKind>,
}

/// All outputs, the most informative first.
pub fn kinds() -> Vec<OutputKind> {
    let others = OutputKind::ALL.into_iter().filter(|kind| !SMALL_CALL_KINDS.contains(kind));
    SMALL_CALL_KINDS.into_iter().chain(others).collect()
}

/// The code to call, and the rules of the comparison.
pub struct CallChecker<'a> {
    /// The code.
    pub code: &'a dyn Predictor,
    /// Whether sums must equal the trainer's in all bits.
    pub is_exact: bool,
    /// Numbers of rows per call to use, among them those at which the schedule runs other code.
    pub row_counts: BTreeSet<usize>,
    /// Whether calls are slow, so that only few are made.
    pub is_slow: bool,
    /// Columns of each output that is compared; 0 for the others.
    pub widths: PerKind<usize>,
    /// Deadline of the calls.
    pub deadline: Instant,
}

/// Counts of calls and of compared results, and the first differences.
#[derive(Default)]
pub struct CallSummary {
    /// Number of calls.
    pub calls: u64,
    /// Number of results that were compared.
    pub compared: PerKind<u64>,
    /// The first differences, at most [`MAX_DIFFERENCES`] of them.
    pub differences: Vec<Difference>,
    /// Whether time ran out.
    pub stopped: bool,
}

/// Numbers of rows per call: the usual ones, and those around the requested ones.
pub fn row_counts(requested: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
    let around = requested.into_iter().flat_map(|rows| [rows.saturating_sub(1), rows, rows + 1]);
    around.chain(ROW_COUNTS).filter(|rows| (1..=4096).contains(rows)).collect()
}

impl CallChecker<'_> {
    fn width(&self, kind: OutputKind) -> usize {
        self.widths[kind as usize]
    }

    fn passes(&self, rows: usize) -> Vec<CallPass> {
        let pass = |counts: Vec<usize>, gap, threads, kinds: &[OutputKind]| CallPass {
            counts,
            gap,
            threads,
            kinds: kinds.to_vec(),
        };
        let all = kinds();
        let mut mixed: Vec<usize> = self.row_counts.iter().copied().collect();
        // Calls of the larger counts come first, then those of the smaller ones.
        let half = mixed.len() / 2;
        mixed.rotate_left(half);
        if self.is_slow {
            return vec![pass(vec![rows], 0, 1, &all), pass(vec![1, 33, 7], 0, 1, &SMALL_CALL_KINDS[..1])];
        }
        vec![
            pass(vec![rows], 0, 1, &all),
            pass(vec![rows], STRIDE_GAP, SEVERAL_THREADS, &SMALL_CALL_KINDS),
            pass(vec![1], 0, 1, &all),
            pass(mixed.clone(), STRIDE_GAP, 1, &SMALL_CALL_KINDS),
            pass(mixed, 0, SEVERAL_THREADS, &SMALL_CALL_KINDS),
        ]
    }

    /// Makes all calls with a block of rows.
    ///
    /// # Errors
    /// The code's message if a call fails.
    pub fn run(
        &self,
        rows: &FeatureValues,
        features: usize,
        expected: &ExpectedResults,
        outcome: &mut CallSummary,
    ) -> Result<(), String> {
        let count = count(rows, features);
        let mut passes = self.passes(count);
        let bounds = self
            .row_counts
            .iter()
            .filter(|rows| !self.is_slow && !ROW_COUNTS.contains(rows) && **rows < count);
        passes.extend(bounds.map(|rows| CallPass {
            counts: vec![*rows],
            gap: 0,
            threads: 1,
            kinds: vec![OutputKind::Raw],
        }));
        for pass in &passes {
            for kind in pass.kinds.iter().filter(|kind| self.width(**kind) > 0) {
                if Instant::now() > self.deadline {
                    outcome.stopped = true;
                    return Ok(());
                }
                self.pass(pass, *kind, rows, (features, count), expected, outcome)?;
            }
        }
        Ok(())
    }

    fn pass(
        &self,
        pass: &CallPass,
        kind: OutputKind,
        rows: &FeatureValues,
        (features, count): (usize, usize),
        expected: &ExpectedResults,
        outcome: &mut CallSummary,
    ) -> Result<(), String> {
        // Each number of rows is used at least once; rows repeat if they are too few.
        let all = count.max(pass.counts.iter().sum());
        let (mut first, mut turn) = (0, 0);
        while first < all && count > 0 {
            if Instant::now() > self.deadline {
                outcome.stopped = true;
                return Ok(());
            }
            let doubles = matches!(rows, FeatureValues::F64(_));
            let n = pass.counts[turn % pass.counts.len()].min(all - first);
            let shape = CallShape { doubles, rows: n, gap: pass.gap, threads: pass.threads };
            let found = self.call(kind, rows, features, (first, count), shape)?;
            outcome.calls += 1;
            let width = self.width(kind);
            outcome.compared[kind as usize] += (n * width) as u64;
            for (at, found) in found.into_iter().enumerate() {
                let (row, column) = ((first + at / width) % count, at % width);
                let (wanted, slack) = self.expected(kind, row * width + column, expected);
                if !is_same(found, wanted, slack) && outcome.differences.len() < MAX_DIFFERENCES {
                    outcome.differences.push(Difference {
                        kind,
                        row,
                        column,
                        found,
                        expected: wanted,
                        shape,
                    });
                }
            }
            (first, turn) = (first + n, turn + 1);
        }
        Ok(())
    }

    /// The walker's result, and its tolerance, which is 0 unless sums are added in another order.
    fn expected(&self, kind: OutputKind, at: usize, expected: &ExpectedResults) -> (f64, f64) {
        let slack = match kind {
            OutputKind::Raw => &expected.slack[..],
            OutputKind::Tree => &expected.tree_slack,
            _ => &[],
        };
        let slack = slack.get(at).copied().filter(|_| !self.is_exact);
        (expected.number(kind, at), slack.unwrap_or(0.0))
    }

    /// Whether `found`, in place of the difference's result, would equal the walker's.
    pub fn is_right(&self, difference: &Difference, found: f64, expected: &ExpectedResults) -> bool {
        let at = difference.row * self.width(difference.kind) + difference.column;
        let (wanted, slack) = self.expected(difference.kind, at, expected);
        is_same(found, wanted, slack)
    }

    /// A call on rows from `first` on; after the last row, the rows repeat.
    ///
    /// # Errors
    /// The code's message if the call fails.
    pub fn call(
        &self,
        kind: OutputKind,
        rows: &FeatureValues,
        features: usize,
        (first, count): (usize, usize),
        shape: CallShape,
    ) -> Result<Vec<f64>, String> {
        let (floats, doubles);
        let stride = if shape.gap == 0 { 0 } else { features + shape.gap };
        let laid = match rows {
            FeatureValues::F32(values) => {
                floats = lay_out_rows(values, features, (first, count), shape, f32::NAN);
                PackedRows::F32(&floats)
            }
            FeatureValues::F64(values) => {
                doubles = lay_out_rows(values, features, (first, count), shape, f64::NAN);
                PackedRows::F64(&doubles)
            }
        };
        let wanted = shape.rows * self.width(kind);
        let room = wanted + GUARD_VALUES;
        let extras = PredictOptions { threads: shape.threads, stride, ..PredictOptions::default() };
        let call = |out: PackedResults| {
            self.code.predict(kind, laid, shape.rows, out, extras).map_err(|error| error.message)
        };
        // The results are initialized with a number that no code computes. It shows missing results, and
        // writes behind the results.
        const MARK: i32 = i32::MIN + 7;
        let mark = f64::from(MARK);
        let mut found: Vec<f64> = match self.code.output_type(kind) {
            Dtype::F32 => {
                let mut out = vec![MARK as f32; room];
                call(PackedResults::F32(&mut out))?;
                out.into_iter().map(f64::from).collect()
            }
            Dtype::F64 => {
                let mut out = vec![mark; room];
                call(PackedResults::F64(&mut out))?;
                out
            }
            Dtype::I32 => {
                let mut out = vec![MARK; room];
                call(PackedResults::I32(&mut out))?;
                out.into_iter().map(f64::from).collect()
            }
        };
        let behind = found.split_off(wanted);
        if behind.iter().any(|x| *x != mark && *x != f64::from(MARK as f32)) {
            return Err(format!("a call with {shape} writes behind its results"));
        }
        Ok(found)
    }
}

/// The rows of a call in memory, with `between` in the gaps.
fn lay_out_rows<T: Copy>(
    values: &[T],
    features: usize,
    (first, count): (usize, usize),
    shape: CallShape,
    between: T,
) -> Vec<T> {
    let mut laid = Vec::with_capacity(shape.rows * (features + shape.gap));
    for row in (first..first + shape.rows).map(|row| row % count.max(1)) {
        laid.extend(values.iter().skip(row * features).take(features));
        laid.extend(std::iter::repeat_n(between, shape.gap));
    }
    laid
}

/// Whether a result equals the expected one within the tolerance. All NaNs are equal.
fn is_same(found: f64, wanted: f64, slack: f64) -> bool {
    if found.is_nan() || wanted.is_nan() {
        return found.is_nan() == wanted.is_nan();
    }
    found.to_bits() == wanted.to_bits()
        || (slack > 0.0 && ((found - wanted).abs() <= slack || found == wanted))
}
