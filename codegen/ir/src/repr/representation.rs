//! What every layout can do: encode its tables, and emit a step of a walk and what ends it.

use super::cursor::{Cursor, Step};
use super::leaves::Leaves;
use super::payload::{LeafValue, Run};
use super::schema::Bytes;
use super::traverse::Lane;
use super::traverse::speculate::LevelOrder;
use super::traverse::sweep::Sweep;
use super::traverse::test_mask::TestMask;
use super::tree::{Buffers, TreeState};
use super::tree_tables::TreeTables;
use crate::lir::{Builder, Scalar, Table, Value};
use sched_forest::Forest;

/// Where a walk, or a vector of walks, has come to a leaf.
#[derive(Clone, Copy, Debug)]
pub struct WalkEnd {
    /// The leaf's node number.
    pub node: Value,
    /// Steps to it, where all walks have taken the same number.
    pub steps: Option<u32>,
}

/// A layout of trees in memory and the code that walks it.
pub trait Representation: TreeTables {
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

    /// The root's node number: an index, or a vector of `i32` for several lanes, or one of bytes where the
    /// plan says so. It is 1 where the children of `n` are `2n` and `2n + 1`.
    fn root(&self, b: &mut Builder, lanes: u16, bytes: bool) -> Value {
        let ty = b.index_type(lanes);
        b.int_of(if bytes { ty.with(Scalar::I8) } else { ty }, 1)
    }

    /// One step: the child that the row leads to. A vector of nodes makes a vector of walks take the step.
    fn step(&self, b: &mut Builder, buffers: &Buffers, lane: &Lane, at: &Cursor, step: Step) -> Cursor;

    /// Levels of a tree that a step goes down at most.
    fn levels_of_step(&self) -> u32 {
        1
    }

    /// Whether the node is a leaf, an `i1`. Where all walks are straight-line to the leaf, nobody asks before
    /// it is.
    fn done(&self, b: &mut Builder, _: &Buffers, _: &TreeState, node: Value) -> Value {
        b.int_of(b.ty(node).with(Scalar::I1), 1)
    }

    /// The leaves' tables.
    fn leaves(&self) -> &Leaves;

    /// How these tables are entered for a leaf: as its node's tables are, or from another record on with another number.
    fn leaf_record(&self, _: &mut Builder, state: &TreeState, end: WalkEnd) -> (TreeState, Value) {
        (*state, end.node)
    }

    /// How many leaves of a tree a vector of walks looks up in registers, where their numbers need only end in the leaves'
    /// places; none if leaves are loaded.
    fn looked_up(&self, _: &Builder, _: WalkEnd) -> Option<u64> {
        None
    }

    /// How many records a tree has of which so many leaves are looked up.
    fn records_of_tree(&self, _: &mut Builder, _: &TreeState, _leaves: u64) -> Option<Value> {
        None
    }

    /// What the leaf holds.
    fn leaf(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, end: WalkEnd) -> LeafValue {
        let payload = &self.leaves().payload;
        let leaves = self.looked_up(b, end);
        let found = leaves.and_then(|leaves| payload.look_up(b, buffers, state.base, leaves, end.node));
        found.unwrap_or_else(|| {
            let (state, record) = self.leaf_record(b, state, end);
            self.leaves().value(b, buffers, &state, record)
        })
    }

    /// One margin of the leaf vectors of a vector of walks, if the layout looks them up.
    fn leaf_margin(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        end: WalkEnd,
        margin: Value,
    ) -> Option<Value> {
        let count = self.looked_up(b, end)?;
        let size = self.records_of_tree(b, state, count)?;
        self.leaves().payload.look_up_margin(
            b,
            buffers,
            Run { first: state.base, size, count },
            end.node,
            margin,
        )
    }

    /// The leaf's number in the model, an `i32`.
    fn leaf_index(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, end: WalkEnd) -> Value {
        let (state, record) = self.leaf_record(b, state, end);
        self.leaves().number(b, buffers, &state, record)
    }
}
