//! The plain scalar walker: the reference for all compiled code.
//!
//! # Promises
//! Margins are those of the trainer to the last bit: a feature is rounded to the forest's input type,
//! compared in the wider of input and threshold type, and leaf values are added **one by one in tree order,
//! starting from the base value, in the accumulator's type**. Predictions are equal to the last bit where the
//! trainer's C library has the same exponentials and logarithms (see [`Transform`](crate::Transform)). A NaN
//! feature is a missing value.

use std::fmt;

use crate::category::is_nearly_zero;
use crate::definition::{LeafResult, OutputDefinition};
use crate::forest::{
    Comparison, Float, Forest, Inner, Leaf, LinearLeaf, LinearMissing, NodeRef, Predicate, Tree, TreeTarget,
};
use crate::output::{Transform, apply_steps};
use crate::real::{Real, rounded};
use crate::row_values::RowValues;
use sched_outputs::{Element, OutputCounts, OutputKind};

/// The reason why rows cannot be predicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WalkError {
    /// The number of values is no multiple of the number of features.
    Ragged {
        /// Values given.
        values: usize,
        /// Features per row.
        features: usize,
    },
    /// The slice for the results has the wrong length.
    OutputSize {
        /// Values that fit.
        given: usize,
        /// Values that are needed.
        needed: usize,
    },
    /// The caller wants classes of a model that predicts none.
    NotAClassifier {
        /// The model's objective.
        objective: String,
    },
}

impl fmt::Display for WalkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WalkError::Ragged { values, features } => {
                write!(f, "{values} values do not fill whole rows of {features} features")
            }
            WalkError::OutputSize { given, needed } => {
                write!(f, "the results need room for {needed} values, not {given}")
            }
            WalkError::NotAClassifier { objective } => {
                write!(f, "the model has the objective `{objective}`, which predicts no classes")
            }
        }
    }
}

impl std::error::Error for WalkError {}

/// Computes the margins of rows: `num_margins` values for each.
///
/// `rows` holds the rows one after the other. Results are rounded to the type of `out`, which loses nothing
/// if that is the accumulator's type or wider.
///
/// # Errors
/// A [`WalkError`] if sizes do not fit.
pub fn predict_margins<X: Real, Y: Real>(
    forest: &Forest,
    rows: &[X],
    out: &mut [Y],
) -> Result<(), WalkError> {
    after_margins(forest, (&[], forest.num_margins), rows, out, Y::narrow)
}

/// Computes the trainer's predictions of rows: [`Forest::value_columns`] values for each, rounded to the
/// forest's output type and then to that of `out`.
///
/// # Errors
/// A [`WalkError`] if sizes do not fit.
pub fn predict<X: Real, Y: Real>(forest: &Forest, rows: &[X], out: &mut [Y]) -> Result<(), WalkError> {
    let steps = (&*forest.output.value, forest.value_columns());
    after_margins(forest, steps, rows, out, |value| Y::narrow(rounded(value, forest.types.output)))
}

/// Predicts class numbers: one per row, or one per margin for a model with several independent yes-or-no
/// outputs (see [`Forest::num_class_numbers`]).
///
/// The class follows the model's [`ClassRule`](crate::ClassRule), for example the largest of several
/// probabilities, the first of equal ones.
///
/// # Errors
/// A [`WalkError`] if sizes do not fit or the model is no classifier.
pub fn predict_classes<X: Real>(forest: &Forest, rows: &[X], out: &mut [u32]) -> Result<(), WalkError> {
    let steps = forest.output.class_steps();
    let steps = steps.ok_or_else(|| WalkError::NotAClassifier { objective: forest.objective.clone() })?;
    after_margins(forest, (&steps, forest.num_class_numbers()), rows, out, |class| class as u32)
}

/// Finds the leaves that rows end in: one number per row and tree, the trainer's own number of the node.
///
/// # Errors
/// A [`WalkError`] if sizes do not fit.
pub fn predict_leaves<X: Real>(forest: &Forest, rows: &[X], out: &mut [u32]) -> Result<(), WalkError> {
    by_tree(forest, (LeafResult::Index, forest.trees.len()), rows, out, |leaf| leaf as u32)
}

/// Finds what trees add to their margins: one number per row and tree, in the accumulator's type.
///
/// # Errors
/// A [`WalkError`] if sizes do not fit: a row has [`Forest::num_tree_values`] results.
pub fn predict_tree_values<X: Real, Y: Real>(
    forest: &Forest,
    rows: &[X],
    out: &mut [Y],
) -> Result<(), WalkError> {
    by_tree(forest, (LeafResult::Value, forest.num_tree_values()), rows, out, Y::narrow)
}

impl Forest {
    /// Number of values of [`predict_tree_values`] for a row: one for each tree, or 0 if leaves hold vectors.
    pub fn num_tree_values(&self) -> usize {
        let scalar = self.trees.iter().all(|tree| tree.target != TreeTarget::All);
        if scalar { self.trees.len() } else { 0 }
    }

    /// The counts that decide how many columns each output has.
    pub fn counts(&self) -> OutputCounts {
        OutputCounts {
            values: self.value_columns(),
            margins: self.num_margins,
            classes: self.class_columns(),
            trees: self.trees.len(),
            tree_values: self.num_tree_values(),
        }
    }

    /// Whether a feature value, widened, goes to the left child of a node of this forest.
    pub fn goes_left(&self, inner: &Inner, value: f64) -> bool {
        goes_left(self, inner, value)
    }

    /// The sum of a margin after the addition of a value, in the margin's precision.
    pub fn rounded_sum(&self, margin: usize, sum: f64, value: f64) -> f64 {
        match self.types.accumulator {
            Float::F64 if self.single_margins.get(margin) != Some(&true) => sum + value,
            // Rounding the sum of two singles first to double and then to single precision gives the same
            // result as rounding once.
            _ => f64::from((sum + value) as f32),
        }
    }

    /// The leaf of a tree that a row ends in.
    pub fn leaf<'a, X: Real>(&self, tree: &'a Tree, row: &RowValues<'_, X>) -> &'a Leaf {
        find_leaf(self, tree, row)
    }

    /// The index of the leaf of a tree that a row ends in.
    pub fn leaf_index<X: Real>(&self, tree: &Tree, row: &RowValues<'_, X>) -> u32 {
        leaf_index(self, tree, row)
    }

    /// The value, widened, that a leaf adds to the margin of its tree. `tree` and `leaf` are indices; the
    /// tree's leaves hold no vectors.
    pub fn leaf_value<X: Real>(&self, tree: usize, leaf: usize, row: &RowValues<'_, X>) -> f64 {
        tree_value(self, tree, leaf, row)
    }
}

/// Computes an output of rows in the types that callers get, widened. Each row has
/// [`Forest::columns_of_output`] numbers.
///
/// # Errors
/// A [`WalkError`] if the rows are not whole.
pub fn predict_output<X: Real>(forest: &Forest, kind: OutputKind, rows: &[X]) -> Result<Vec<f64>, WalkError> {
    let columns = forest.columns_of_output(kind);
    if columns == 0 {
        return Ok(Vec::new());
    }
    let size = (rows.len() / forest.num_features).saturating_mul(columns);
    let mut out = vec![0.0; size];
    match OutputDefinition::of(kind) {
        OutputDefinition::Trees(result) => {
            by_tree(forest, (result, columns), rows, &mut out, |result| result)?
        }
        OutputDefinition::Margins(steps) => {
            let steps = steps(forest).unwrap_or_default();
            after_margins(forest, (&steps, columns), rows, &mut out, |result| result)?;
        }
    }
    if kind.element() == Element::Result && forest.types.output == Float::F32 {
        out.iter_mut().for_each(|value| *value = f64::from(*value as f32));
    }
    Ok(out)
}

/// Computes the results of steps after the margins: `width` numbers for each row.
fn after_margins<X: Real, Y>(
    forest: &Forest,
    (steps, width): (&[Transform], usize),
    rows: &[X],
    out: &mut [Y],
    convert: impl Fn(f64) -> Y,
) -> Result<(), WalkError> {
    let mut values = Vec::new();
    for_each_row(forest, rows, out, width, |row, out| {
        row_sums(forest, row, &mut values);
        forest.output.margins(forest.types.accumulator, &mut values);
        apply_steps(steps, forest.types.accumulator, &mut values);
        out.iter_mut().zip(&values).for_each(|(out, value)| *out = convert(*value));
    })
}

/// Computes the result of each of the first `width` trees.
fn by_tree<X: Real, Y>(
    forest: &Forest,
    (result, width): (LeafResult, usize),
    rows: &[X],
    out: &mut [Y],
    convert: impl Fn(f64) -> Y,
) -> Result<(), WalkError> {
    for_each_row(forest, rows, out, width, |row, out| {
        for ((number, tree), out) in forest.trees.iter().enumerate().zip(out) {
            let leaf = leaf_index(forest, tree, row) as usize;
            *out = convert(match result {
                LeafResult::Index => tree.leaves[leaf].source.into(),
                LeafResult::Value => rounded(tree_value(forest, number, leaf, row), forest.types.accumulator),
            });
        }
    })
}

fn for_each_row<X: Real, Y>(
    forest: &Forest,
    rows: &[X],
    out: &mut [Y],
    width: usize,
    mut predict: impl FnMut(&RowValues<'_, X>, &mut [Y]),
) -> Result<(), WalkError> {
    let features = forest.num_features;
    if !rows.len().is_multiple_of(features) {
        return Err(WalkError::Ragged { values: rows.len(), features });
    }
    let needed = (rows.len() / features).saturating_mul(width);
    if out.len() != needed {
        return Err(WalkError::OutputSize { given: out.len(), needed });
    }
    if width == 0 {
        return Ok(());
    }
    let rows = rows.chunks_exact(features).map(|row| forest.row_values(row));
    rows.zip(out.chunks_exact_mut(width)).for_each(|(row, out)| predict(&row, out));
    Ok(())
}

fn row_sums<X: Real>(forest: &Forest, row: &RowValues<'_, X>, margins: &mut Vec<f64>) {
    margins.clear();
    margins.extend_from_slice(&forest.base);
    let mut add = |margin: usize, value| margins[margin] = forest.rounded_sum(margin, margins[margin], value);
    for (number, tree) in forest.trees.iter().enumerate() {
        let index = leaf_index(forest, tree, row) as usize;
        match tree.target {
            TreeTarget::One(margin) => add(margin as usize, tree_value(forest, number, index, row)),
            TreeTarget::All => {
                let values = &tree.leaves[index].values;
                values.iter().enumerate().for_each(|(margin, value)| add(margin, *value));
            }
        }
    }
}

/// The value that a leaf without a vector adds.
fn tree_value<X: Real>(forest: &Forest, tree: usize, leaf: usize, row: &RowValues<'_, X>) -> f64 {
    let linear = forest.linear.get(tree).and_then(|leaves| leaves.get(leaf));
    let value = linear.and_then(|linear| linear_value(forest, linear, row));
    value.unwrap_or(forest.trees[tree].leaves[leaf].values[0])
}

/// The sum of a linear leaf; `None` if the leaf's value takes its place, since a feature is missing.
fn linear_value<X: Real>(forest: &Forest, leaf: &LinearLeaf, row: &RowValues<'_, X>) -> Option<f64> {
    let round = |x: f64| match forest.types.accumulator {
        Float::F32 => f64::from(x as f32),
        Float::F64 => x,
    };
    leaf.terms.iter().try_fold(leaf.constant, |sum, &(feature, coefficient)| {
        let x = row.of(feature);
        (!x.is_nan() || forest.linear_missing == LinearMissing::Nan)
            .then(|| round(sum + round(coefficient * x)))
    })
}

fn find_leaf<'a, X: Real>(forest: &Forest, tree: &'a Tree, row: &RowValues<'_, X>) -> &'a Leaf {
    &tree.leaves[leaf_index(forest, tree, row) as usize]
}

/// The index of the leaf of a tree that a row ends in.
pub(crate) fn leaf_index<X: Real>(forest: &Forest, tree: &Tree, row: &RowValues<'_, X>) -> u32 {
    let mut node = tree.root;
    loop {
        match node {
            NodeRef::Leaf(leaf) => return leaf,
            NodeRef::Inner(index) => {
                let inner = &tree.inner[index as usize];
                let left = goes_left(forest, inner, row.of(inner.feature));
                node = if left { inner.left } else { inner.right };
            }
        }
    }
}

/// Whether a feature value passes the test of a node.
///
/// Comparing widened values is the same as comparing in the trainer's types: widening is exact and keeps the
/// order.
pub(crate) fn goes_left(forest: &Forest, inner: &Inner, value: f64) -> bool {
    let compare = |threshold: f64| match forest.comparison {
        Comparison::Less => value < threshold,
        Comparison::LessOrEqual => value <= threshold,
    };
    match inner.predicate {
        _ if value.is_nan() => inner.missing_left,
        Predicate::NumericNotZero { .. } if is_nearly_zero(value) => inner.missing_left,
        Predicate::Numeric { threshold } | Predicate::NumericNotZero { threshold } => compare(threshold),
        Predicate::Equal { value: other } => value == other,
        Predicate::Member { set } => is_member(forest, set, value),
    }
}

/// Whether the category of a value is in the set of this number.
fn is_member(forest: &Forest, set: u32, value: f64) -> bool {
    let category = forest.category_rule.category(value);
    category.is_some_and(|category| forest.sets.get(set as usize).is_some_and(|set| set.contains(category)))
}
