//! Results of the reference walker, which all code is compared with.

use sched_forest::{Forest, Real, RowMagnitudes, Transform, WalkError, predict_output};
use sched_llvm::runtime::OutputKind;
use schedc_data::FeatureValues;
use std::thread::Builder;

/// Largest error of a sum in another order, as a part of the magnitudes of its terms.
const MOST_ERROR: f64 = 1e-6;

/// Largest error of a sum of columns in single precision, as such a part.
const MOST_SINGLE_ERROR: f64 = 1e-5;

/// An array with a value for each output, by the output's number.
pub type PerKind<T> = [T; OutputKind::ALL.len()];

/// Results of rows, widened.
#[derive(Default)]
pub struct ExpectedResults {
    /// The numbers of each output, row by row; none if the model lacks the output.
    outputs: PerKind<Vec<f64>>,
    /// Tolerance of each margin if the order of additions is free.
    pub slack: Vec<f64>,
    /// Tolerance of the value of each tree, whose linear leaves may read sums. None if trees read no computed
    /// columns.
    pub tree_slack: Vec<f64>,
}

impl ExpectedResults {
    /// Walks rows of a forest.
    ///
    /// # Errors
    /// When the walker refuses the rows.
    pub fn of(forest: &Forest, rows: &FeatureValues) -> Result<ExpectedResults, WalkError> {
        match rows {
            FeatureValues::F32(values) => ExpectedResults::new(forest, values),
            FeatureValues::F64(values) => ExpectedResults::new(forest, values),
        }
    }

    /// Walks all rows, in two threads if the system allows.
    fn new<X: Real + Sync>(forest: &Forest, rows: &[X]) -> Result<ExpectedResults, WalkError> {
        let count = rows.len() / forest.num_features.max(1);
        let (first, second) = rows.split_at(count / 2 * forest.num_features);
        let (first, second) = std::thread::scope(|scope| {
            let other = Builder::new().spawn_scoped(scope, || ExpectedResults::part(forest, first));
            let second = ExpectedResults::part(forest, second);
            let first = match other {
                Ok(other) => other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(_) => ExpectedResults::part(forest, first),
            };
            (first, second)
        });
        let (mut all, more) = (first?, second?);
        all.outputs.iter_mut().zip(more.outputs).for_each(|(all, more)| all.extend(more));
        all.slack.extend(more.slack);
        all.tree_slack.extend(more.tree_slack);
        Ok(all)
    }

    /// A number of an output, by its position among the numbers of all rows.
    pub fn number(&self, kind: OutputKind, at: usize) -> f64 {
        self.outputs[kind as usize][at]
    }

    /// All numbers of an output, row by row.
    pub fn numbers(&self, kind: OutputKind) -> Vec<f64> {
        self.outputs[kind as usize].clone()
    }

    fn part<X: Real>(forest: &Forest, rows: &[X]) -> Result<ExpectedResults, WalkError> {
        let mut expected = ExpectedResults::default();
        for kind in OutputKind::ALL {
            expected.outputs[kind as usize] = predict_output(forest, kind, rows)?;
        }
        let singles = forest.computed.columns.adds_singles(&forest.computed.read_by_trees);
        let most = if singles { MOST_SINGLE_ERROR } else { MOST_ERROR };
        let size = most * margin_difference_factor(forest);
        for row in rows.chunks_exact(forest.num_features.max(1)) {
            let RowMagnitudes { margins, trees } = forest.magnitudes(row);
            let with_base = margins.iter().zip(&forest.base).map(|(sum, base)| sum + base.abs());
            expected.slack.extend(with_base.map(|sum| sum * size));
            if !forest.computed.read_by_trees.is_empty() {
                expected.tree_slack.extend(trees.into_iter().map(|magnitude| magnitude * most));
            }
        }
        Ok(expected)
    }
}

/// The factor by which the steps from sums to margins enlarge a difference of the sums.
fn margin_difference_factor(forest: &Forest) -> f64 {
    let factor = |step: &Transform| match step {
        Transform::Scale { factor, .. } => factor.abs(),
        Transform::Divide { by } => 1.0 / by.abs(),
        // All other steps come after the margins.
        _ => 1.0,
    };
    forest.output.raw.iter().map(factor).product()
}
