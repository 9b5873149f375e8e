//! What every layout can do: encode its tables, and emit a step of a walk and what ends it.

use super::cursor::{Cursor, Step};
use super::schema::{Bytes, Schema};
use super::spans::Spans;
use super::traverse::speculate::LevelOrder;
use super::traverse::sweep::Sweep;
use super::traverse::test_mask::TestMask;
use super::tree::{Buffers, TreeLanes, TreeState, WalkShape};
use crate::lir::{Builder, Scalar, Table, Value};
use crate::rows::Row;
use sched_forest::Forest;

/// What a leaf holds.
#[derive(Clone, Copy, Debug)]
pub enum LeafValue {
    /// The value itself, in the accumulator's type.
    Scalar(Value),
    /// The first element of the leaf's vector in the forest's table of leaf vectors, an index.
    Vector(Value),
}

/// A layout of trees in memory and the code that walks it.
pub trait Representation {
    /// The tables.
    fn schema(&self) -> &Schema;

    /// Writes the tables. `forest` is the one that the layout was made for.
    fn fill(&self, forest: &Forest, bytes: &mut Bytes);

    /// Its nodes by level, if they are numbered level by level. The plan asks this and what follows, lowering
    /// does not.
    fn level_order(&self) -> Option<&dyn LevelOrder> {
        None
    }

    /// Its nodes in an order in which all of them can be tested, if they stand in one.
    fn sweep(&self) -> Option<&dyn Sweep> {
        None
    }

    /// All tests of a tree as bits, if it is stored for that.
    fn test_mask(&self) -> Option<&dyn TestMask> {
        None
    }

    /// Builds the tables.
    fn encode(&self, forest: &Forest) -> Vec<Table> {
        let mut bytes = self.schema().blank();
        self.fill(forest, &mut bytes);
        self.schema().tables(bytes)
    }

    /// Loads what is needed once per tree.
    fn load_tree(&self, b: &mut Builder, buffers: &Buffers, tree: Value, walks: WalkShape) -> TreeState;

    /// The same for a vector of trees of which `tree` is the first.
    fn load_trees(&self, b: &mut Builder, buffers: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState;

    /// The root's node number: an index, or a vector of `i32` for several lanes, or one of bytes where the
    /// plan says so. It is 1 where the children of `n` are `2n` and `2n + 1`.
    fn root(&self, b: &mut Builder, lanes: u16, bytes: bool) -> Value {
        let ty = b.index_type(lanes);
        b.int_of(if bytes { ty.with(Scalar::I8) } else { ty }, 1)
    }

    /// One step: the child that the row leads to. A vector of nodes makes a vector of walks take the step.
    fn step(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        row: &Row,
        at: &Cursor,
        step: Step,
    ) -> Cursor;

    /// Whether the node is a leaf, an `i1`. Where all walks are straight-line to the leaf, nobody asks before
    /// it is.
    fn done(&self, b: &mut Builder, _: &Buffers, _: &TreeState, node: Value) -> Value {
        b.int_of(b.ty(node).with(Scalar::I1), 1)
    }

    /// What the leaf holds. `steps` is the number of steps to it, where all walks have taken the same number.
    fn leaf(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        steps: Option<u32>,
    ) -> LeafValue;

    /// The leaf's number in the model, an `i32`.
    fn leaf_index(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        steps: Option<u32>,
    ) -> Value;

    /// Where trees lie, if neighbours lie next to each other and walks read nothing else of their tables: copies of some
    /// trees can stand for the tables then.
    fn spans(&self) -> Option<Spans<'_>> {
        None
    }

    /// Brings a tree near.
    fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value);
}
