//! Margins of forests as inputs of expressions: while a graph is read, they come after the features of a row.

use sched_columns::{ColumnId, Columns, Expr};
use sched_forest::Float;

/// The input that stands for a margin.
pub(super) fn margin_input(num_features: usize, margin: usize, float: Float) -> Expr {
    Expr::Input { feature: (num_features + margin) as u32, float }
}

/// Whether some of the columns depends on margins.
pub(super) fn reads_margins(columns: &Columns, wanted: &[ColumnId], num_features: usize) -> bool {
    columns.needed_for(wanted).into_iter().any(|needed| match columns.expr(needed) {
        Expr::Input { feature, .. } => *feature as usize >= num_features,
        _ => false,
    })
}
