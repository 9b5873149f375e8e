//! Results of the reference walker, which all code is compared with.

use sched_forest::{Forest, Real, Transform, TreeTarget, WalkError, predict_output};
use sched_llvm::runtime::OutputKind;
use schedc_data::FeatureValues;
use std::thread::Builder;

/// An array with a value for each output, by the output's number.
pub type PerKind<T> = [T; OutputKind::ALL.len()];

/// Results of rows, widened.
#[derive(Default)]
pub struct ExpectedResults {
    /// The numbers of each output, row by row; none if the model lacks the output.
    outputs: PerKind<Vec<f64>>,
    /// Tolerance of each margin if the order of additions is free.
    pub slack: Vec<f64>,
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
        let size = 1e-6 * margin_difference_factor(forest);
        for row in rows.chunks_exact(forest.num_features.max(1)) {
            expected.slack.extend(magnitudes(forest, row).into_iter().map(|sum| sum * size));
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

/// The magnitudes of a row's margins: |base| + the sum of |leaf|. Columns that linear leaves read have the
/// magnitudes of their own sums.
fn magnitudes<X: Real>(forest: &Forest, row: &[X]) -> Vec<f64> {
    let mut sums: Vec<f64> = forest.base.iter().map(|base| base.abs()).collect();
    let values = forest.row_values(row);
    let of_values = forest.row_magnitudes(row);
    let of_value = |number: u32| of_values.get(number as usize).copied().unwrap_or(f64::NAN);
    for (number, tree) in forest.trees.iter().enumerate() {
        let leaf = forest.leaf(tree, &values);
        // A linear leaf's sum is bounded by the magnitudes of its terms.
        let linear = forest.linear.get(number).filter(|leaves| !leaves.is_empty());
        let terms = linear.map_or(0.0, |leaves| {
            let place = tree.leaves.iter().position(|other| std::ptr::eq(other, leaf)).unwrap_or(0);
            let terms = leaves[place].terms.iter();
            leaves[place].constant.abs()
                + terms.map(|(feature, factor)| factor.abs() * of_value(*feature)).sum::<f64>()
        });
        match tree.target {
            TreeTarget::One(margin) => sums[margin as usize] += leaf.values[0].abs() + terms,
            TreeTarget::All => sums.iter_mut().zip(&leaf.values).for_each(|(sum, value)| *sum += value.abs()),
        }
    }
    sums
}
