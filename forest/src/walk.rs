//! The plain scalar walker: the reference that every other way to predict is compared with.
//!
//! # What it promises
//! Margins are those of the trainer to the last bit: a feature is rounded to the forest's input type, compared in the
//! wider of input and threshold type, and leaf values are added **one by one in tree order, starting from the base
//! value, in the accumulator's type**. Predictions are equal to the last bit where the trainer's C library has the same
//! `expf` and `logf` (see [`Transform`](crate::Transform)). A NaN feature is a missing value.

use std::fmt;

use crate::Transform;
use crate::forest::{Comparison, Float, Forest, Inner, Leaf, NodeRef, Predicate, Target, Tree, Types};
use crate::transform::arg_max;

/// A type of feature values and results: `f32` or `f64`.
pub trait Real: Copy {
    /// The same value in double precision.
    fn widen(self) -> f64;
    /// The nearest value of this type.
    fn narrow(value: f64) -> Self;
}

impl Real for f32 {
    fn widen(self) -> f64 {
        f64::from(self)
    }
    fn narrow(value: f64) -> f32 {
        value as f32
    }
}

impl Real for f64 {
    fn widen(self) -> f64 {
        self
    }
    fn narrow(value: f64) -> f64 {
        value
    }
}

/// Why rows cannot be predicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WalkError {
    /// The number of values is no multiple of the number of features.
    Ragged {
        /// Values given.
        values: usize,
        /// Features per row.
        features: usize,
    },
    /// The place for the results has the wrong size.
    OutputSize {
        /// Values that fit.
        given: usize,
        /// Values that are needed.
        needed: usize,
    },
    /// Classes were asked of a model that does not predict any.
    NotAClassifier {
        /// The model's objective.
        objective: String,
    },
}

impl fmt::Display for WalkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WalkError::Ragged { values, features } => {
                write!(f, "{values} values are no whole number of rows of {features} features")
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
/// `rows` holds the rows one after the other. Results are rounded to the type of `out`, which loses nothing if that is
/// the accumulator's type or wider.
///
/// # Errors
/// A [`WalkError`] if sizes do not fit.
pub fn predict_margins<X: Real, Y: Real>(
    forest: &Forest,
    rows: &[X],
    out: &mut [Y],
) -> Result<(), WalkError> {
    let mut margins = vec![0.0; forest.num_margins];
    for_each_row(forest, rows, out, forest.num_margins, |row, out| {
        row_margins(forest, row, &mut margins);
        narrow(&margins, out);
        Ok(())
    })
}

/// Computes the trainer's predictions of rows: [`Forest::num_outputs`] values for each, rounded to the forest's output
/// type and then to that of `out`.
///
/// # Errors
/// A [`WalkError`] if sizes do not fit.
pub fn predict<X: Real, Y: Real>(forest: &Forest, rows: &[X], out: &mut [Y]) -> Result<(), WalkError> {
    let mut margins = vec![0.0; forest.num_margins];
    for_each_row(forest, rows, out, forest.num_outputs(), |row, out| {
        row_margins(forest, row, &mut margins);
        forest.transform.apply(forest.types.accumulator, &mut margins);
        match forest.types.output {
            Float::F32 => margins.iter_mut().for_each(|value| *value = f64::from(*value as f32)),
            Float::F64 => {}
        }
        narrow(&margins, out);
        Ok(())
    })
}

/// Predicts classes: one number per row, or for a model that gives several independent yes-or-no answers one per margin
/// (see [`Forest::num_classes_out`]).
///
/// A probability above one half means class 1; of several probabilities the largest wins, and the first of equals.
///
/// # Errors
/// A [`WalkError`] if sizes do not fit or the model is no classifier.
pub fn predict_classes<X: Real>(forest: &Forest, rows: &[X], out: &mut [u32]) -> Result<(), WalkError> {
    let mut margins = vec![0.0; forest.num_margins];
    for_each_row(forest, rows, out, forest.num_classes_out(), |row, out| {
        row_margins(forest, row, &mut margins);
        forest.classes(&mut margins, out)
    })
}

/// Finds the leaves that rows end in: one number per row and tree, the trainer's own number of the node.
///
/// # Errors
/// A [`WalkError`] if sizes do not fit.
pub fn predict_leaves<X: Real>(forest: &Forest, rows: &[X], out: &mut [u32]) -> Result<(), WalkError> {
    for_each_row(forest, rows, out, forest.trees.len(), |row, out| {
        for (tree, out) in forest.trees.iter().zip(out) {
            *out = find_leaf(forest, tree, row).source;
        }
        Ok(())
    })
}

impl Forest {
    /// Values per row of [`predict_classes`].
    pub fn num_classes_out(&self) -> usize {
        match self.transform {
            Transform::Softmax | Transform::ArgMax => 1,
            _ => self.num_margins,
        }
    }

    /// Whether the objective predicts classes.
    pub fn is_classifier(&self) -> bool {
        match self.transform {
            Transform::Sigmoid => self.objective.starts_with("binary:"),
            Transform::Hinge | Transform::Softmax | Transform::ArgMax => true,
            Transform::Identity => self.objective == "binary:logitraw",
            Transform::Exp => false,
        }
    }

    /// Turns the margins of one row, widened, into classes; the margins are used up.
    ///
    /// # Errors
    /// [`WalkError::NotAClassifier`].
    pub fn classes(&self, margins: &mut [f64], out: &mut [u32]) -> Result<(), WalkError> {
        if !self.is_classifier() {
            return Err(WalkError::NotAClassifier { objective: self.objective.clone() });
        }
        self.transform.apply(self.types.accumulator, margins);
        let boundary = if self.transform == Transform::Identity { 0.0 } else { 0.5 };
        match self.transform {
            Transform::Softmax => out.fill(arg_max(margins) as u32),
            Transform::ArgMax => out.fill(margins.first().map_or(0, |&class| class as u32)),
            _ => {
                for (out, margin) in out.iter_mut().zip(margins) {
                    *out = u32::from(*margin > boundary);
                }
            }
        }
        Ok(())
    }

    /// The leaf of a tree that a row ends in.
    ///
    /// Values beyond the end of a row that is too short count as missing.
    pub fn leaf<'a, X: Real>(&self, tree: &'a Tree, row: &[X]) -> &'a Leaf {
        find_leaf(self, tree, row)
    }
}

fn for_each_row<X, Y>(
    forest: &Forest,
    rows: &[X],
    out: &mut [Y],
    width: usize,
    mut predict: impl FnMut(&[X], &mut [Y]) -> Result<(), WalkError>,
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
    rows.chunks_exact(features).zip(out.chunks_exact_mut(width)).try_for_each(|(row, out)| predict(row, out))
}

fn narrow<Y: Real>(values: &[f64], out: &mut [Y]) {
    for (out, value) in out.iter_mut().zip(values) {
        *out = Y::narrow(*value);
    }
}

fn row_margins<X: Real>(forest: &Forest, row: &[X], margins: &mut [f64]) {
    margins.copy_from_slice(&forest.base);
    let add = |margin: &mut f64, value: f64| match forest.types.accumulator {
        Float::F32 => *margin = f64::from(*margin as f32 + value as f32),
        Float::F64 => *margin += value,
    };
    for tree in &forest.trees {
        let leaf = find_leaf(forest, tree, row);
        match tree.target {
            Target::One(margin) => add(&mut margins[margin as usize], leaf.values[0]),
            Target::All => {
                margins.iter_mut().zip(&leaf.values).for_each(|(margin, &value)| add(margin, value))
            }
        }
    }
}

fn find_leaf<'a, X: Real>(forest: &Forest, tree: &'a Tree, row: &[X]) -> &'a Leaf {
    &tree.leaves[leaf_index(forest, tree, row) as usize]
}

/// The index of the leaf of a tree that a row ends in.
pub(crate) fn leaf_index<X: Real>(forest: &Forest, tree: &Tree, row: &[X]) -> u32 {
    let mut node = tree.root;
    loop {
        match node {
            NodeRef::Leaf(leaf) => return leaf,
            NodeRef::Inner(index) => {
                let inner = &tree.inner[index as usize];
                let value = row.get(inner.feature as usize).map_or(f64::NAN, |value| value.widen());
                let left = goes_left(inner, value, forest.comparison, forest.types);
                node = if left { inner.left } else { inner.right };
            }
        }
    }
}

/// Whether a feature value passes the test of a node.
///
/// Comparing widened values is the same as comparing in the trainer's types: widening is exact and keeps the order.
fn goes_left(inner: &Inner, value: f64, comparison: Comparison, types: Types) -> bool {
    let value = match types.input {
        Float::F32 => f64::from(value as f32),
        Float::F64 => value,
    };
    if value.is_nan() {
        return inner.missing_left;
    }
    match &inner.predicate {
        Predicate::Numeric { threshold } => match comparison {
            Comparison::Less => value < *threshold,
            Comparison::LessOrEqual => value <= *threshold,
        },
        Predicate::Category { left } => {
            let code = value.trunc();
            (0.0..4294967296.0).contains(&code) && left.binary_search(&(code as u32)).is_ok()
        }
    }
}
