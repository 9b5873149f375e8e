//! Forests with linear leaves: whether leaves read copied rows, and whether all trees are single leaves.

use super::leaf_loop::LeafLoop;
use crate::columns::runs::ColumnRuns;
use sched_forest::Forest;
use sched_nest::Layout;

/// Whether linear leaves of a forest read the rows that walks read, which may be copies, instead of the
/// call's rows.
pub fn linear_leaves_read_walked_rows(forest: &Forest, columns: Option<&ColumnRuns>) -> bool {
    is_linear_model(forest) || adds_columns(forest, columns)
}

/// Whether each tree of a forest is one leaf for one margin, and some leaves are linear.
pub fn is_linear_model(forest: &Forest) -> bool {
    forest.has_linear_leaves()
        && !forest.has_leaf_vectors()
        && forest.trees.iter().all(|tree| tree.inner.is_empty())
}

/// Whether linear leaves of a forest add computed columns.
fn adds_columns(forest: &Forest, columns: Option<&ColumnRuns>) -> bool {
    let Some(columns) = columns else { return false };
    let mut terms = forest.linear.iter().flatten().flat_map(|leaf| &leaf.terms);
    terms.any(|(feature, _)| columns.column_features.get(*feature as usize).is_none_or(Option::is_none))
}

/// Replaces a layout that compares bins by one that compares values, since linear leaves add values.
pub fn replace_bin_layout(leaf_loop: &mut LeafLoop) {
    if leaf_loop.layout.compares_bins() {
        leaf_loop.layout = Layout::Sparse;
    }
}
