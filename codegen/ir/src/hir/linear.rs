//! Forests with linear leaves: the rows that leaves read, and the forests without inner nodes.

use super::Hir;
use super::leaf_loop::LeafLoop;
use crate::columns::runs::ColumnRuns;
use sched_forest::{Forest, LinearLeaf};
use sched_nest::Layout;

impl Hir {
    /// Whether linear leaves read the rows of their walks, which may be copies, instead of the call's. They
    /// do if they add computed columns, and in a model of sums alone.
    pub fn adds_walked_rows(&self) -> bool {
        adds_walked_rows(&self.forest, self.columns.as_deref())
    }

    /// Whether all trees are single leaves, and some leaves are linear: a linear model.
    pub fn has_sums_alone(&self) -> bool {
        has_sums_alone(&self.forest)
    }

    /// Terms of a tree of one leaf: features of the forest with coefficients.
    pub fn terms(&self, tree: usize) -> &[(u32, f64)] {
        let leaf = self.forest.linear.get(tree).and_then(|leaves| leaves.first());
        leaf.map_or(&[], |LinearLeaf { terms, .. }| terms)
    }

    /// Features whose values all trees of one leaf add, in order. `None` if trees differ in them.
    pub fn shared_terms(&self) -> Option<Vec<u32>> {
        let of_tree = |tree| self.terms(tree).iter().map(|(feature, _)| *feature);
        let is_shared = (1..self.forest.trees.len()).all(|tree| of_tree(tree).eq(of_tree(0)));
        is_shared.then(|| of_tree(0).collect())
    }
}

/// Whether linear leaves of a forest read the rows of their walks.
pub fn adds_walked_rows(forest: &Forest, columns: Option<&ColumnRuns>) -> bool {
    has_sums_alone(forest) || adds_columns(forest, columns)
}

/// Whether each tree of a forest is one leaf, and some leaves are linear.
fn has_sums_alone(forest: &Forest) -> bool {
    forest.has_linear_leaves() && forest.trees.iter().all(|tree| tree.inner.is_empty())
}

/// Whether linear leaves of a forest read columns that are no features.
fn adds_columns(forest: &Forest, columns: Option<&ColumnRuns>) -> bool {
    let Some(columns) = columns else { return false };
    let mut terms = forest.linear.iter().flatten().flat_map(|leaf| &leaf.terms);
    terms.any(|(feature, _)| columns.values.get(*feature as usize).is_none_or(Option::is_none))
}

/// Replaces a layout that reads bins, which have no values to add.
pub fn walk_values(leaf_loop: &mut LeafLoop) {
    if leaf_loop.layout.compares_bins() {
        leaf_loop.layout = Layout::Sparse;
    }
}
