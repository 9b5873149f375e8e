//! Solves rows and verifies code on them, block by block.

use crate::calls::{CallChecker, CallShape, CallSummary, Difference};
use crate::code::ModelCode;
use crate::expected::{ExpectedResults, PerKind};
use crate::origin::ExplainedDifference;
use crate::rows::{count, row_of, type_name};
use sched_forest::{Boundary, BoundaryOptions, Coverage, Float, Forest, TreeTarget};
use sched_llvm::runtime::{Needs, OutputKind};
use schedc_data::FeatureValues;
use schedc_driver::UnfoldedPipeline;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Most rows of a block.
const MOST_ROWS: usize = 8192;
/// Most rows of the first block, whose time limits the number of rows of the next one. It is small, since
/// large models take long.
const FIRST_ROWS: usize = 64;
/// A block, and the solving of its rows, take at most this part of the time that is left.
const PARTS_OF_LIMIT: u32 = 4;
/// Most rows of a block for code in the simulator, which is slow. Of the solved rows, it runs only one block.
const MOST_SIMULATED_ROWS: usize = 192;
/// Most values of a block, and most leaf indices of its results.
const MAX_BLOCK_VALUES: usize = 1 << 22;

/// A search for rows on which code differs from its model.
pub struct Search<'a> {
    /// The model.
    pub forest: &'a Forest,
    /// The model before all passes, if it is a pipeline.
    pub unfolded: Option<&'a UnfoldedPipeline>,
    /// The model's code.
    pub code: &'a ModelCode,
    /// The type of the rows of all calls; `None` for both.
    pub row_type: Option<Float>,
    /// Deadline of the search.
    pub deadline: Instant,
}

/// Counts and coverage of the rows of one float type.
pub struct RowSummary {
    /// `f32` or `f64`.
    pub float: &'static str,
    /// Number of solved rows.
    pub solved: usize,
    /// Number of given rows.
    pub given: usize,
    /// The nodes, values and leaves that the solved rows cover.
    pub coverage: Coverage,
}

/// The results of a search.
#[derive(Default)]
pub struct VerificationResult {
    /// Rows of each type.
    pub rows: Vec<RowSummary>,
    /// Counts and first differences of the calls.
    pub outcome: CallSummary,
    /// Unreachable leaves: tree and leaf, by the model's numbers.
    pub unreachable: Vec<(u32, u32)>,
    /// The first difference.
    pub first_difference: Option<ExplainedDifference>,
    /// Whether the pipeline before all passes defines the expected result of the first difference.
    pub is_of_unfolded: bool,
    /// Rows that are predicted differently, from the first block of rows that has some.
    pub failing_rows: Option<FeatureValues>,
}

impl Search<'_> {
    /// Number of columns of each output that is compared with the walker's results for `defining`; 0 for the
    /// others. An output is compared if code and model have the same number of columns for it, if its error
    /// has a known bound, and, for outputs of single trees, if the model has the trees of `defining`.
    pub fn widths(&self, defining: &Forest) -> PerKind<usize> {
        let counts = defining.counts();
        // Passes that merge trees, or make trees of sums, change the targets.
        let trees = |forest: &Forest| -> Vec<(u32, TreeTarget)> {
            forest.trees.iter().map(|tree| (tree.source, tree.target)).collect()
        };
        let has_its_trees = trees(self.forest) == trees(defining);
        OutputKind::ALL.map(|kind| {
            // The error of results that follow sums in another order has no bound.
            let is_finished = matches!(kind.needs(), Needs::Finish | Needs::FinishOrNone);
            let columns = kind.columns(&counts);
            let is_compared = self.code.predictor.num_outputs(kind) == columns
                && (self.code.is_exact || !is_finished)
                && (has_its_trees || !kind.walks_itself());
            if is_compared { columns } else { 0 }
        })
    }

    /// Solves and verifies rows, and then the given rows: of both types, the model's own type first, unless
    /// the search is for one type.
    ///
    /// # Errors
    /// The code's message if a call fails.
    pub fn run(
        &self,
        given: &[FeatureValues],
        progress: &mut dyn FnMut(u64),
    ) -> Result<VerificationResult, String> {
        let mut verified = VerificationResult::default();
        let own = self.forest.types.input;
        let other = if own == Float::F32 { Float::F64 } else { Float::F32 };
        let now = Instant::now();
        let whole = self.deadline.saturating_duration_since(now);
        let parts = match self.row_type {
            Some(float) => vec![(float, self.deadline)],
            None => vec![(own, now + whole.mul_f64(0.6)), (other, self.deadline)],
        };
        for (number, (float, deadline)) in parts.into_iter().enumerate() {
            let options = BoundaryOptions { rows: float, finite: false };
            let mut boundary = Boundary::new(self.forest, options);
            let mut of_columns = self.unfolded.map(|unfolded| Boundary::new(&unfolded.forest, options));
            let mut rows =
                RowSummary { float: type_name(float), solved: 0, given: 0, coverage: boundary.coverage() };
            let sources = (&mut boundary, of_columns.as_mut());
            self.verify_solved(sources, float, deadline, &mut rows, &mut verified, progress)?;
            for values in
                given.iter().filter(|values| matches!(values, FeatureValues::F64(_)) == (float == Float::F64))
            {
                rows.given += self.verify_given(values, &mut verified)?;
            }
            rows.coverage = boundary.coverage();
            verified.rows.push(rows);
            if number == 0 {
                let leaves = boundary.unreachable_leaves();
                verified.unreachable = leaves.map(|(tree, leaf)| self.numbers_in_file(tree, leaf)).collect();
            }
            if verified.first_difference.is_some() {
                break;
            }
        }
        Ok(verified)
    }

    /// The numbers of a tree and of a leaf in the model's file.
    fn numbers_in_file(&self, tree: usize, leaf: u32) -> (u32, u32) {
        let tree = &self.forest.trees[tree];
        (tree.source, tree.leaves[leaf as usize].source)
    }

    fn rows_of_block(&self) -> usize {
        let widest = self.forest.num_features.max(self.forest.trees.len()).max(1);
        (MAX_BLOCK_VALUES / widest)
            .clamp(1, if self.code.is_simulated { MOST_SIMULATED_ROWS } else { MOST_ROWS })
    }

    /// Verifies solved rows: those on boundaries of the model, and then those on edges of the columns of the
    /// pipeline's file.
    fn verify_solved(
        &self,
        (boundary, mut of_columns): (&mut Boundary, Option<&mut Boundary>),
        float: Float,
        deadline: Instant,
        rows: &mut RowSummary,
        verified: &mut VerificationResult,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), String> {
        let mut most = self.rows_of_block().min(FIRST_ROWS);
        let mut row = vec![0.0; self.forest.num_features];
        let mut met = 0;
        loop {
            let mut block = Vec::new();
            let since = Instant::now();
            let limit = deadline.saturating_duration_since(since) / PARTS_OF_LIMIT;
            for _ in 0..most {
                let is_made = boundary.next_row(&mut row)
                    || of_columns.as_mut().is_some_and(|of_columns| of_columns.next_row(&mut row));
                if !is_made {
                    break;
                }
                block.extend_from_slice(&row);
                // Solving may be slow: a small block is better than none.
                if since.elapsed() > limit {
                    break;
                }
            }
            // A model without tests also gets one row.
            if block.is_empty() && rows.solved == 0 {
                block.extend_from_slice(&row);
            }
            if block.is_empty() {
                return Ok(());
            }
            let solved = block.len() / self.forest.num_features.max(1);
            rows.solved += solved;
            let values = match float {
                Float::F32 => FeatureValues::F32(block.iter().map(|x| *x as f32).collect()),
                Float::F64 => FeatureValues::F64(block),
            };
            self.verify_block(&values, verified)?;
            let now = boundary.coverage().met_values;
            progress(now - met);
            met = now;
            verified.outcome.stopped |= Instant::now() > deadline;
            if verified.first_difference.is_some() || Instant::now() > deadline || self.code.is_simulated {
                return Ok(());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            most = self.rows_of_block().min(rows_within(left / PARTS_OF_LIMIT, solved, since.elapsed()));
        }
    }

    fn verify_given(
        &self,
        values: &FeatureValues,
        verified: &mut VerificationResult,
    ) -> Result<usize, String> {
        let size = self.rows_of_block() * self.forest.num_features.max(1);
        let blocks: Vec<FeatureValues> = match values {
            FeatureValues::F32(values) => {
                values.chunks(size).map(|block| FeatureValues::F32(block.to_vec())).collect()
            }
            FeatureValues::F64(values) => {
                values.chunks(size).map(|block| FeatureValues::F64(block.to_vec())).collect()
            }
        };
        let mut rows = 0;
        for block in &blocks {
            if verified.first_difference.is_some() {
                break;
            }
            self.verify_block(block, verified)?;
            rows += count(block, self.forest.num_features);
        }
        Ok(rows)
    }

    /// Compares the code's results for a block of rows with the walker's. For a pipeline, also compares them
    /// with the walker's results before all passes, after moving each value to one that its rows can hold.
    fn verify_block(&self, rows: &FeatureValues, verified: &mut VerificationResult) -> Result<(), String> {
        self.compare_with(self.forest, rows, verified)?;
        if let (Some(unfolded), None) = (self.unfolded, &verified.first_difference) {
            let valid = valid_rows(unfolded, rows, self.forest.num_features);
            self.compare_with(&unfolded.forest, &valid, verified)?;
            verified.is_of_unfolded = verified.first_difference.is_some();
        }
        Ok(())
    }

    /// Compares the code's results with the walker's results for `defining`.
    fn compare_with(
        &self,
        defining: &Forest,
        rows: &FeatureValues,
        verified: &mut VerificationResult,
    ) -> Result<(), String> {
        let features = defining.num_features;
        let expected = ExpectedResults::of(defining, rows).map_err(|error| error.to_string())?;
        let calls = CallChecker {
            code: self.code.predictor.as_ref(),
            is_exact: self.code.is_exact,
            row_counts: self.code.row_counts.clone(),
            is_slow: self.code.is_simulated,
            widths: self.widths(defining),
            deadline: self.deadline,
        };
        calls.run(rows, features, &expected, &mut verified.outcome)?;
        let differences = &verified.outcome.differences;
        // A wrong leaf identifies the tree and the node, so it is preferred.
        let telling = differences.iter().find(|difference| difference.kind == OutputKind::Leaf);
        let Some(difference) = telling.or(differences.first()).copied() else { return Ok(()) };
        let place = (difference.row, count(rows, features));
        let shape = CallShape { rows: 1, gap: 0, threads: 1, ..difference.shape };
        let alone = calls.call(difference.kind, rows, features, place, shape)?;
        let differs =
            alone.get(difference.column).is_some_and(|x| !calls.is_right(&difference, *x, &expected));
        verified.failing_rows = Some(rows_of_differences(rows, features, differences));
        let row = row_of(rows, features, difference.row);
        verified.first_difference =
            Some(ExplainedDifference::new(defining, difference, row, differs, self.code.is_exact));
        Ok(())
    }
}

/// Number of rows, at least one, that take `time` if `rows` rows took `elapsed`.
fn rows_within(time: Duration, rows: usize, elapsed: Duration) -> usize {
    let each = elapsed.as_secs_f64() / rows.max(1) as f64;
    ((time.as_secs_f64() / each.max(1e-9)) as usize).max(1)
}

/// The rows with each value moved to the nearest one that rows of the pipeline can hold.
fn valid_rows(unfolded: &UnfoldedPipeline, rows: &FeatureValues, features: usize) -> FeatureValues {
    let valid = |row: usize| {
        let mut values = row_of(rows, features, row);
        unfolded.make_valid(&mut values);
        values
    };
    let all = (0..count(rows, features)).flat_map(valid);
    match rows {
        FeatureValues::F32(_) => FeatureValues::F32(all.map(|x| x as f32).collect()),
        FeatureValues::F64(_) => FeatureValues::F64(all.collect()),
    }
}

/// The rows of the differences, each once.
fn rows_of_differences(rows: &FeatureValues, features: usize, differences: &[Difference]) -> FeatureValues {
    let numbers: BTreeSet<usize> = differences.iter().map(|difference| difference.row).collect();
    let all = numbers.iter().flat_map(|row| row_of(rows, features, *row));
    match rows {
        FeatureValues::F32(_) => FeatureValues::F32(all.map(|x| x as f32).collect()),
        FeatureValues::F64(_) => FeatureValues::F64(all.collect()),
    }
}
