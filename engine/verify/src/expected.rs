//! Results of the reference walker, which all code is compared with.

use sched_forest::{
    Float, Forest, Real, Target, Transform, WalkError, predict, predict_classes, predict_leaves,
    predict_margins, predict_trees,
};
use sched_llvm::runtime::Kind;
use schedc_data::Values;
use std::thread::Builder;

/// Results of rows, widened.
#[derive(Default)]
pub struct Expected {
    /// The trainer's numbers of the leaves.
    pub leaves: Vec<u32>,
    /// Margins, in the type of results.
    pub margins: Vec<f64>,
    /// Tolerance of each margin if the order of additions is free.
    pub slack: Vec<f64>,
    /// Predictions.
    pub values: Vec<f64>,
    /// Values of the trees' leaves; none where leaves hold vectors.
    pub trees: Vec<f64>,
    /// Classes; empty if the model has none.
    pub classes: Vec<u32>,
}

impl Expected {
    /// Walks rows of a forest.
    ///
    /// # Errors
    /// When the walker refuses the rows.
    pub fn of(forest: &Forest, rows: &Values) -> Result<Expected, WalkError> {
        match rows {
            Values::F32(values) => Expected::new(forest, values),
            Values::F64(values) => Expected::new(forest, values),
        }
    }

    /// Walks all rows, in two threads if the system allows.
    fn new<X: Real + Sync>(forest: &Forest, rows: &[X]) -> Result<Expected, WalkError> {
        let count = rows.len() / forest.num_features.max(1);
        let (first, second) = rows.split_at(count / 2 * forest.num_features);
        let (first, second) = std::thread::scope(|scope| {
            let other = Builder::new().spawn_scoped(scope, || Expected::part(forest, first));
            let second = Expected::part(forest, second);
            let first = match other {
                Ok(other) => other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(_) => Expected::part(forest, first),
            };
            (first, second)
        });
        let (mut all, more) = (first?, second?);
        all.leaves.extend(more.leaves);
        all.margins.extend(more.margins);
        all.slack.extend(more.slack);
        all.values.extend(more.values);
        all.classes.extend(more.classes);
        all.trees.extend(more.trees);
        Ok(all)
    }

    /// A number of an output, by its position among the numbers of all rows.
    pub fn number(&self, kind: Kind, at: usize) -> f64 {
        match kind {
            Kind::Leaf => self.leaves[at].into(),
            Kind::Raw => self.margins[at],
            Kind::Value => self.values[at],
            Kind::Class => self.classes[at].into(),
            Kind::Tree => self.trees[at],
        }
    }

    /// All numbers of an output, row by row.
    pub fn numbers(&self, kind: Kind) -> Vec<f64> {
        let count = match kind {
            Kind::Leaf => self.leaves.len(),
            Kind::Raw => self.margins.len(),
            Kind::Value => self.values.len(),
            Kind::Class => self.classes.len(),
            Kind::Tree => self.trees.len(),
        };
        (0..count).map(|at| self.number(kind, at)).collect()
    }

    fn part<X: Real>(forest: &Forest, rows: &[X]) -> Result<Expected, WalkError> {
        let count = rows.len() / forest.num_features.max(1);
        let mut expected = Expected {
            leaves: vec![0; count * forest.trees.len()],
            margins: vec![0.0; count * forest.num_margins],
            slack: Vec::new(),
            trees: vec![0.0; count * forest.num_tree_values()],
            values: vec![0.0; count * forest.num_outputs()],
            classes: if forest.is_classifier() {
                vec![0; count * forest.num_classes_out()]
            } else {
                Vec::new()
            },
        };
        predict_leaves(forest, rows, &mut expected.leaves)?;
        predict_margins(forest, rows, &mut expected.margins)?;
        predict_trees(forest, rows, &mut expected.trees)?;
        if forest.types.output == Float::F32 {
            expected.margins.iter_mut().for_each(|x| *x = f64::from(*x as f32));
        }
        predict(forest, rows, &mut expected.values)?;
        if forest.is_classifier() {
            predict_classes(forest, rows, &mut expected.classes)?;
        }
        let size = 1e-6 * margin_difference_factor(forest);
        for row in rows.chunks_exact(forest.num_features.max(1)) {
            expected.slack.extend(magnitudes(forest, row).into_iter().map(|sum| sum * size));
        }
        Ok(expected)
    }
}

/// The factor by which the steps between sums and margins enlarge differences.
fn margin_difference_factor(forest: &Forest) -> f64 {
    let factor = |step: &Transform| match step {
        Transform::Scale { factor, .. } => factor.abs(),
        Transform::Divide { by } => 1.0 / by.abs(),
        // Other steps follow the margins.
        _ => 1.0,
    };
    forest.output.raw.iter().map(factor).product()
}

/// The magnitudes of a row's margins: |base| + the sum of |leaf|.
fn magnitudes<X: Real>(forest: &Forest, row: &[X]) -> Vec<f64> {
    let mut sums: Vec<f64> = forest.base.iter().map(|base| base.abs()).collect();
    let values = forest.row_values(row);
    for (number, tree) in forest.trees.iter().enumerate() {
        let leaf = forest.leaf(tree, &values);
        // A linear leaf's sum is bounded by the magnitudes of its terms.
        let linear = forest.linear.get(number).filter(|leaves| !leaves.is_empty());
        let terms = linear.map_or(0.0, |leaves| {
            let place = tree.leaves.iter().position(|other| std::ptr::eq(other, leaf)).unwrap_or(0);
            let terms = leaves[place].terms.iter();
            leaves[place].constant.abs()
                + terms.map(|(feature, factor)| (factor * values.of(*feature)).abs()).sum::<f64>()
        });
        match tree.target {
            Target::One(margin) => sums[margin as usize] += leaf.values[0].abs() + terms,
            Target::All => sums.iter_mut().zip(&leaf.values).for_each(|(sum, value)| *sum += value.abs()),
        }
    }
    sums
}
