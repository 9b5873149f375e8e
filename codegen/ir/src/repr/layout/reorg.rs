//! The reorg layout: the same node of all trees in adjacent records (SilvanForge section 6).
//!
//! All trees are complete and of one depth. The root is node 1 and the children of node `n` are `2n`
//! and `2n + 1`, as in the array layout. Node `n` of tree `t` is record `n * trees + t`. Threads or lanes
//! that walk neighbouring trees read neighbouring records if they are at the same node number, as at the
//! root. In a GPU's shared memory, threads at different nodes also read different banks if the records of a
//! node fill all banks evenly.

use crate::error::CompileError;
use crate::lir::{Builder, Value};
use crate::repr::cursor::{Cursor, Step};
use crate::repr::layout::{FormatInfo, Formats};
use crate::repr::leaf_indices::LeafIndices;
use crate::repr::leaves::Leaves;
use crate::repr::order;
use crate::repr::record::Record;
use crate::repr::representation::{Representation, WalkEnd};
use crate::repr::request::LayoutRequest;
use crate::repr::schema::{Schema, TableBytes};
use crate::repr::spans::RecordSpan;
use crate::repr::starts::too_many_records;
use crate::repr::test::Test;
use crate::repr::traverse::Lane;
use crate::repr::traverse::speculate::{LevelOrder, NodeTest};
use crate::repr::tree::{Buffers, TreeExtra, TreeLanes, TreeState, WalkShape};
use crate::repr::tree_tables::TreeTables;
use sched_forest::{Forest, NodeRef};
use sched_nest::footprint::complete_nodes;

/// Complete trees, node by node.
pub struct Reorg {
    schema: Schema,
    record: Record,
    leaves: Leaves,
    /// Whether each tree has records.
    used: Vec<bool>,
    /// Number of records of a tree.
    nodes: u64,
}

/// The formats of the layout.
pub const FORMATS: Formats = Formats {
    all: &[FormatInfo::new(
        "complete trees of one depth, the same node of all trees adjacent, records",
        |request| Ok(Box::new(Reorg::new(request)?)),
    )],
    for_access: |_| 0,
};

/// Number of top levels of a tree that are prefetched. Deeper levels have too many cache lines.
const NEAR_LEVELS: u32 = 3;

impl Reorg {
    /// The layout for a forest.
    ///
    /// # Errors
    ///
    /// If 31 bits cannot number the records.
    pub fn new(request: &LayoutRequest) -> Result<Reorg, CompileError> {
        let deepest = request.depths_of_used().into_iter().flatten().max().unwrap_or(0);
        let nodes = complete_nodes(deepest);
        let records = nodes.saturating_mul(request.used.len() as u64);
        if i32::try_from(records).is_err() {
            return Err(too_many_records(records, "node records"));
        }
        let mut schema = Schema::default();
        let record = Record::declare(request, &mut schema, "reorg_nodes", records, None)?;
        let leaf_indices = LeafIndices::declare(request, &mut schema, "reorg_leaf_indices", records);
        let leaves = Leaves::new(record.payload(), leaf_indices);
        Ok(Reorg { schema, record, leaves, used: request.used.to_vec(), nodes })
    }

    /// Distance from the tree's record of node 0 to that of `node`.
    fn place(&self, b: &mut Builder, state: &TreeState, node: Value) -> Value {
        let trees = b.int_of(b.ty(node), self.distance(state));
        b.mul(node, trees)
    }

    /// Number of records from a node of a tree to the tree's next node.
    fn distance(&self, state: &TreeState) -> i64 {
        match state.extra {
            TreeExtra::SideBySide(trees) => trees,
            _ => self.used.len() as i64,
        }
    }

    /// The state with the distance between nodes of a tree, if the buffers are copies of only some trees.
    fn tree(buffers: &Buffers, tree: TreeState) -> TreeState {
        let copied = buffers.copied.map(|copied| TreeExtra::SideBySide(copied.capacity));
        TreeState { extra: copied.unwrap_or(TreeExtra::Nothing), ..tree }
    }
}

impl TreeTables for Reorg {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn load_tree(&self, b: &mut Builder, buffers: &Buffers, tree: Value, _: WalkShape) -> TreeState {
        Reorg::tree(buffers, TreeState::at(buffers.index_of_tree(b, tree)))
    }

    fn load_trees(&self, b: &mut Builder, buffers: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState {
        let first = TreeState::at(buffers.index_of_tree(b, tree));
        Reorg::tree(buffers, TreeState { lanes: Some(lanes.distance), ..first })
    }

    fn spans(&self, trees: u64) -> Option<Vec<RecordSpan>> {
        Some(RecordSpan::side_by_side(&self.schema, (self.nodes, self.used.len() as u64), trees))
    }

    fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value) {
        for node in 1..1 << NEAR_LEVELS {
            let from = b.add_int(tree, node * self.used.len() as i64);
            let to = b.add_int(from, 1);
            self.schema.prefetch(b, buffers, from, to);
        }
    }
}

impl Representation for Reorg {
    fn fill(&self, forest: &Forest, bytes: &mut TableBytes) {
        let mut first_leaf = 0u32;
        for (at, tree) in forest.trees.iter().enumerate() {
            let placed = if self.used[at] { order::complete(tree) } else { Vec::new() };
            for placed in placed {
                let record = placed.number as usize * self.used.len() + at;
                match placed.node {
                    NodeRef::Inner(inner) => {
                        self.record.write_inner(bytes, record, &tree.inner[inner as usize], placed.child);
                    }
                    NodeRef::Leaf(leaf) => {
                        let source = &tree.leaves[leaf as usize];
                        self.record.mark_leaf(bytes, record);
                        self.leaves.write(bytes, record, source, first_leaf + leaf);
                    }
                }
            }
            first_leaf = first_leaf.saturating_add(tree.leaves.len() as u32);
        }
    }

    fn level_order(&self) -> Option<&dyn LevelOrder> {
        Some(self)
    }

    fn step(&self, b: &mut Builder, buffers: &Buffers, lane: &Lane, at: &Cursor, step: Step) -> Cursor {
        let Lane { state, row, .. } = lane;
        let node = at.node;
        let place = self.place(b, state, node);
        let done = (step == Step::Masked).then(|| self.record.is_marked(b, buffers, state, place));
        let decision = self.record.decision(b, buffers, state, row, place, done);
        let left = b.add(node, node);
        let next = b.add(left, decision);
        Cursor::of(done.map_or(next, |done| b.select(done, node, next)))
    }

    fn is_leaf(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value {
        let place = self.place(b, state, node);
        self.record.is_marked(b, buffers, state, place)
    }

    fn leaf_record(&self, b: &mut Builder, state: &TreeState, end: WalkEnd) -> (TreeState, Value) {
        (*state, self.place(b, state, end.node))
    }

    fn leaves(&self) -> &Leaves {
        &self.leaves
    }
}

impl LevelOrder for Reorg {
    fn test(&self) -> &Test {
        self.record.test()
    }

    fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, number: u64) -> NodeTest {
        let place = state.number(b, number * self.distance(state) as u64);
        self.record.node(b, buffers, state, place)
    }
}
