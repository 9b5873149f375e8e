//! Access to the trees of a layout: the values that walks load before they take steps.

use super::schema::Schema;
use super::spans::{RecordSpan, TreeSpans};
use super::tree::{Buffers, TreeExtra, TreeLanes, TreeState, WalkShape};
use crate::lir::{Builder, Value};

/// Tables of a layout, and the code that finds a tree in them.
pub trait TreeTables {
    /// Schema of the tables.
    fn schema(&self) -> &Schema;

    /// Loads the state of a tree.
    fn load_tree(&self, b: &mut Builder, buffers: &Buffers, tree: Value, walks: WalkShape) -> TreeState;

    /// Loads the state of a vector of trees, of which `tree` is the first.
    fn load_trees(&self, b: &mut Builder, buffers: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState;

    /// Records of at most `trees` consecutive trees, in each table that walks read, so that copies of these
    /// trees can replace the tables. `None` if walks also read data that belongs to no tree.
    fn spans(&self, _trees: u64) -> Option<Vec<RecordSpan>> {
        None
    }

    /// Prefetches a tree.
    fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value);
}

/// A layout that stores trees one after the other, with a table of first records.
pub trait InOrder {
    /// Records of each tree.
    fn tree_spans(&self) -> TreeSpans<'_>;

    /// Records of at most `trees` consecutive trees in further tables, whose first records no table lists.
    /// `None` if walks also read data that belongs to no tree.
    fn spans_beside(&self, _trees: u64) -> Option<Vec<RecordSpan>> {
        Some(Vec::new())
    }

    /// Loads other values of a tree.
    fn load_extra(
        &self,
        _: &mut Builder,
        _: &Buffers,
        _tree: Value,
        _start: Value,
        _: WalkShape,
    ) -> TreeExtra {
        TreeExtra::Nothing
    }

    /// Loads other values of a vector of trees.
    fn load_extra_of_trees(&self, _: &mut Builder, _: &Buffers, _tree: Value, _: TreeLanes) -> TreeExtra {
        TreeExtra::Nothing
    }
}

impl<L: InOrder> TreeTables for L {
    fn schema(&self) -> &Schema {
        self.tree_spans().schema
    }

    fn load_tree(&self, b: &mut Builder, buffers: &Buffers, tree: Value, walks: WalkShape) -> TreeState {
        let start = self.tree_spans().start_field.load(b, buffers, tree);
        TreeState { extra: self.load_extra(b, buffers, tree, start, walks), ..TreeState::at(start) }
    }

    fn load_trees(&self, b: &mut Builder, buffers: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState {
        let state = self.tree_spans().start_field.load_tree_states(b, buffers, tree, lanes);
        TreeState { extra: self.load_extra_of_trees(b, buffers, tree, lanes), ..state }
    }

    fn spans(&self, trees: u64) -> Option<Vec<RecordSpan>> {
        let mut all = self.tree_spans().of(trees);
        all.extend(self.spans_beside(trees)?);
        Some(all)
    }

    fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value) {
        let TreeSpans { schema, start_field, .. } = self.tree_spans();
        start_field.prefetch(b, buffers, schema, tree);
    }
}
