//! Margins of forests as inputs of expressions, while a graph is read.

use sched_columns::{ColumnId, Columns, Expr};
use sched_forest::Float;

/// The margin of a forest among the inputs of expressions: `num_features` features of a row come first.
pub(super) fn margin_input(num_features: usize, margin: usize, float: Float) -> Expr {
    Expr::Input { feature: (num_features + margin) as u32, float }
}

/// Whether one of some columns depends on margins.
pub(super) fn reads_margins(columns: &Columns, wanted: &[ColumnId], num_features: usize) -> bool {
    columns.needed_for(wanted).into_iter().any(|needed| match columns.expr(needed) {
        Expr::Input { feature, .. } => *feature as usize >= num_features,
        _ => false,
    })
}
