//! Where the trees of a layout lie, and what walks load of a tree before they take steps.

use super::schema::Schema;
use super::spans::Spans;
use super::tree::{Buffers, Loaded, TreeLanes, TreeState, WalkShape};
use crate::lir::{Builder, Value};

/// The tables of a layout, and how walks find a tree there.
pub trait TreeTables {
    /// The tables.
    fn schema(&self) -> &Schema;

    /// Loads what is needed once per tree.
    fn load_tree(&self, b: &mut Builder, buffers: &Buffers, tree: Value, walks: WalkShape) -> TreeState;

    /// The same for a vector of trees of which `tree` is the first.
    fn load_trees(&self, b: &mut Builder, buffers: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState;

    /// Where trees lie, if neighbours lie next to each other and walks read nothing else of their tables: copies of some
    /// trees can stand for the tables then.
    fn spans(&self) -> Option<Spans<'_>> {
        None
    }

    /// Brings a tree near.
    fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value);
}

/// A layout whose trees lie one after the other, with a table of where each begins.
pub trait InOrder {
    /// Where trees lie.
    fn trees(&self) -> Spans<'_>;

    /// Whether walks read nothing of a tree that lies elsewhere.
    fn reads_only_trees(&self) -> bool {
        true
    }

    /// What is loaded of a tree beside its beginning.
    fn load_more(&self, _: &mut Builder, _: &Buffers, _tree: Value, _start: Value, _: WalkShape) -> Loaded {
        Loaded::Nothing
    }

    /// The same for a vector of trees.
    fn load_more_of_trees(&self, _: &mut Builder, _tree: Value, _: TreeLanes) -> Loaded {
        Loaded::Nothing
    }
}

impl<L: InOrder> TreeTables for L {
    fn schema(&self) -> &Schema {
        self.trees().schema
    }

    fn load_tree(&self, b: &mut Builder, buffers: &Buffers, tree: Value, walks: WalkShape) -> TreeState {
        let start = self.trees().start.load(b, buffers, tree);
        TreeState { loaded: self.load_more(b, buffers, tree, start, walks), ..TreeState::at(start) }
    }

    fn load_trees(&self, b: &mut Builder, buffers: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState {
        let state = self.trees().start.trees(b, buffers, tree, lanes);
        TreeState { loaded: self.load_more_of_trees(b, tree, lanes), ..state }
    }

    fn spans(&self) -> Option<Spans<'_>> {
        self.reads_only_trees().then(|| self.trees())
    }

    fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value) {
        let Spans { schema, start, .. } = self.trees();
        start.prefetch(b, buffers, schema, tree);
    }
}
