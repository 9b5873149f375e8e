//! Interface of all layouts: encode the tables, and emit a step of a walk and the access to its leaf.

use super::cursor::{Cursor, Step};
use super::leaves::Leaves;
use super::payload::{LeafRange, LeafValue};
use super::schema::TableBytes;
use super::traverse::Lane;
use super::traverse::speculate::LevelOrder;
use super::traverse::sweep::Sweep;
use super::traverse::test_mask::TestMask;
use super::tree::{Buffers, TreeState};
use super::tree_tables::TreeTables;
use crate::lir::{Builder, Scalar, Table, Value};
use sched_forest::Forest;

/// End of a walk, or of a vector of walks, at a leaf.
#[derive(Clone, Copy, Debug)]
pub struct WalkEnd {
    /// Node number of the leaf.
    pub node: Value,
    /// Steps to the leaf, if all walks take the same number.
    pub steps: Option<u32>,
}

/// A layout of trees in memory and the code that walks it.
pub trait Representation: TreeTables {
    /// Writes the tables. `forest` must be the forest for which the layout was made.
    fn fill(&self, forest: &Forest, bytes: &mut TableBytes);

    /// Access to whole levels of nodes, if the layout numbers nodes level by level.
    fn level_order(&self) -> Option<&dyn LevelOrder> {
        None
    }

    /// Access to a tree's nodes one after the other, if the layout stores them in an order for sweeps.
    fn sweep(&self) -> Option<&dyn Sweep> {
        None
    }

    /// Access to all tests of a tree as bits, if the layout has tables for them.
    fn test_mask(&self) -> Option<&dyn TestMask> {
        None
    }

    /// Builds the tables.
    fn encode(&self, forest: &Forest) -> Vec<Table> {
        let mut bytes = self.schema().zeroed_bytes();
        self.fill(forest, &mut bytes);
        self.schema().tables(bytes)
    }

    /// Node number of the root: an index, a vector of `i32` for several lanes, or with `bytes` a vector of
    /// bytes. The default, 1, is for layouts in which the children of `n` are `2n` and `2n + 1`.
    fn root(&self, b: &mut Builder, lanes: u16, bytes: bool) -> Value {
        let ty = b.number_type(lanes);
        b.int_of(if bytes { ty.with(Scalar::I8) } else { ty }, 1)
    }

    /// Emits one step of a walk, from the node of `at` to the child that the row leads to. If the node is a
    /// vector, a vector of walks takes the step.
    fn step(&self, b: &mut Builder, buffers: &Buffers, lane: &Lane, at: &Cursor, step: Step) -> Cursor;

    /// Number of complete levels at the top of all trees, if nodes below them are stored otherwise. Walks
    /// take straight-line steps down these levels, and then enter a subtree.
    fn complete_levels(&self) -> Option<u32> {
        None
    }

    /// Node number of a subtree's root or of a leaf, for the number of a position below the complete levels.
    fn enter_subtree(&self, _: &mut Builder, _: &Buffers, _: &TreeState, node: Value) -> Value {
        node
    }

    /// Largest number of levels of a tree that one step descends.
    fn levels_per_step(&self) -> u32 {
        1
    }

    /// Whether the node is a leaf, an `i1`. The default is true, for layouts whose walks take a fixed number
    /// of steps and are then at a leaf.
    fn is_leaf(&self, b: &mut Builder, _: &Buffers, _: &TreeState, node: Value) -> Value {
        b.int_of(b.ty(node).with(Scalar::I1), 1)
    }

    /// Tables of the leaves.
    fn leaves(&self) -> &Leaves;

    /// Base and record number of a leaf in the tables of leaves. By default they are those of the leaf's
    /// node.
    fn leaf_record(&self, _: &mut Builder, state: &TreeState, end: WalkEnd) -> (TreeState, Value) {
        (*state, end.node)
    }

    /// Leaves of a tree that a register look-up covers, addressed by the low bits of the node number;
    /// `None` if leaves are loaded from memory.
    fn leaves_looked_up(&self, _: &Builder, _: WalkEnd) -> Option<u64> {
        None
    }

    /// Number of records of a tree in the tables of leaves, if `leaves` leaves are looked up in registers.
    fn records_of_tree(&self, _: &mut Builder, _: &TreeState, _leaves: u64) -> Option<Value> {
        None
    }

    /// Loads the content of a walk's leaf.
    fn leaf(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, end: WalkEnd) -> LeafValue {
        let payload = &self.leaves().payload;
        let leaves = self.leaves_looked_up(b, end);
        let found = leaves.and_then(|leaves| payload.look_up(b, buffers, state.base, leaves, end.node));
        found.unwrap_or_else(|| {
            let (state, record) = self.leaf_record(b, state, end);
            self.leaves().value(b, buffers, &state, record)
        })
    }

    /// Looks up one margin of the leaf vectors of a vector of walks, if the layout supports it.
    fn leaf_margin(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        end: WalkEnd,
        margin: Value,
    ) -> Option<Value> {
        let leaves = self.leaves_looked_up(b, end)?;
        let records = self.records_of_tree(b, state, leaves)?;
        self.leaves().payload.look_up_margin(
            b,
            buffers,
            LeafRange { first: state.base, records, leaves },
            end.node,
            margin,
        )
    }

    /// Loads the leaf index of a walk's leaf, an `i32`.
    fn leaf_index(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, end: WalkEnd) -> Value {
        let (state, record) = self.leaf_record(b, state, end);
        self.leaves().leaf_index(b, buffers, &state, record)
    }
}
