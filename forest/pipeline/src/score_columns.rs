//! The scores of a linear model as columns.
//!
//! A linear model is a forest of single leaves, each with a weighted sum: its scores. If each sum becomes a
//! computed column instead, and the leaf only passes it on, then the sums are a layer like those before them,
//! and a schedule can arrange the loops over their terms. The bits of the scores stay the same: a leaf and a
//! column both begin with the constant and add the products in order, each operation rounded.

use crate::fault::{PassFault, seeded};
use sched_columns::{ColumnId, ColumnValue, Columns, Expr, OperandTypeError, Term};
use sched_forest::{
    ComputedColumns, Float, Forest, ForestParts, LinearLeaf, LinearMissing, ModelError, TreeTarget, codes,
};

/// The terms that each sum of a linear model adds, if all sums add the same columns in the same order: the
/// number of these columns. `None` for other models.
pub fn score_terms(forest: &Forest) -> Option<usize> {
    let is_sum = |(tree, leaves): (&sched_forest::Tree, &Vec<LinearLeaf>)| {
        tree.inner.is_empty() && leaves.len() == 1 && matches!(tree.target, TreeTarget::One(_))
    };
    let terms = |leaves: &Vec<LinearLeaf>| {
        leaves.first().map_or(Vec::new(), |leaf| leaf.terms.iter().map(|(feature, _)| *feature).collect())
    };
    let shared = terms(forest.linear.first()?);
    let is_plain = !forest.trees.is_empty()
        && forest.linear.len() == forest.trees.len()
        && forest.linear_missing == LinearMissing::Nan
        && forest.trees.iter().zip(&forest.linear).all(is_sum)
        && forest.linear.iter().all(|leaves| terms(leaves) == shared);
    // Computed columns have the type of rows, which stays the same. It must hold every score.
    let holds_scores = forest.computed.read_by_trees.is_empty() || !is_narrow(forest);
    (is_plain && holds_scores && !shared.is_empty()).then_some(shared.len())
}

/// The linear model with its scores as computed columns. If rows are in single precision and the sums in
/// double precision, the new model reads rows in double precision. `None` for models without [`score_terms`].
///
/// # Errors
/// A [`ModelError`] if the new forest is not valid, which does not occur for a valid one.
pub fn scores_as_columns(forest: &Forest) -> Option<Result<Forest, ModelError>> {
    score_terms(forest).map(|_| with_score_columns(forest))
}

fn is_narrow(forest: &Forest) -> bool {
    (forest.types.input, forest.types.accumulator) == (Float::F32, Float::F64)
}

fn with_score_columns(forest: &Forest) -> Result<Forest, ModelError> {
    let impossible = |error: OperandTypeError| ModelError::new(codes::BAD_VALUE, error.to_string());
    let ForestParts { mut types, computed, num_features, mut linear, .. } = forest.clone().into_parts();
    if is_narrow(forest) {
        types.input = types.accumulator;
    }
    let ComputedColumns { mut columns, read_by_trees } = computed;
    let mut read = Vec::with_capacity(linear.len());
    for (number, leaf) in linear.iter_mut().flatten().enumerate() {
        let operand = |columns: &mut Columns, feature: u32| {
            let column = match (feature as usize).checked_sub(num_features) {
                Some(computed) => read_by_trees[computed],
                None => columns.input(feature, types.input),
            };
            // The model rounds the values of wider rows.
            let rounded = columns.cast(column, forest.types.input.into())?;
            columns.cast(rounded, types.accumulator.into())
        };
        let constant = |value| ColumnValue::F64(value).cast(types.accumulator.into());
        let mut terms = Vec::with_capacity(leaf.terms.len());
        for (feature, weight) in &leaf.terms {
            let column = operand(&mut columns, *feature).map_err(impossible)?;
            terms.push(Term { column, weight: constant(*weight) });
        }
        if seeded(PassFault::ScoreLosesTerm) {
            terms.pop();
        }
        let sum = Expr::Dot { start: constant(leaf.constant), terms: terms.into() };
        let sum: ColumnId = columns.add(sum).map_err(impossible)?;
        read.push(columns.cast(sum, types.input.into()).map_err(impossible)?);
        // Adding to -0 changes no number, not even -0.
        *leaf = LinearLeaf { constant: -0.0, terms: vec![((num_features + number) as u32, 1.0)] };
    }
    let computed = ComputedColumns { columns, read_by_trees: read };
    Forest::new(ForestParts { types, computed, linear, ..forest.clone().into_parts() })
}
