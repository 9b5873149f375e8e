//! The array layout: each tree as a complete tree in level order (SilvanForge section 6).
//!
//! The root is node 1 and the children of node `n` are `2n` and `2n + 1`, so a step needs no child
//! number. A tree of depth `d` takes `2^(d+1)` records, including those of missing nodes.

use crate::error::CompileError;
use crate::lir::{Builder, Value};
use crate::repr::cursor::{Cursor, Step};
use crate::repr::layout::{FormatInfo, Formats};
use crate::repr::leaves::Leaves;
use crate::repr::order;
use crate::repr::records::{Records, TableNames};
use crate::repr::representation::Representation;
use crate::repr::request::LayoutRequest;
use crate::repr::schema::TableBytes;
use crate::repr::spans::TreeSpans;
use crate::repr::test::Test;
use crate::repr::traverse::Lane;
use crate::repr::traverse::speculate::{LevelOrder, NodeTest};
use crate::repr::tree::{Buffers, TreeState};
use crate::repr::tree_tables::InOrder;
use sched_forest::Forest;
use sched_nest::footprint::complete_nodes;

/// Complete trees in level order.
pub struct Array(Records);

const NAMES: TableNames =
    TableNames { nodes: "array_nodes", trees: "array_trees", leaf_indices: "array_leaf_indices" };

/// The formats of the layout.
pub const FORMATS: Formats = Formats {
    all: &[FormatInfo::new("complete trees in level order, records", |request| {
        Ok(Box::new(Array::new(request)?))
    })],
    for_access: |_| 0,
};

impl Array {
    /// The layout for a forest.
    pub fn new(request: &LayoutRequest) -> Result<Array, CompileError> {
        Ok(Array(Records::new(request, NAMES, None, |_, depth| complete_nodes(depth))?))
    }
}

impl Representation for Array {
    fn fill(&self, forest: &Forest, bytes: &mut TableBytes) {
        self.0.fill(forest, bytes, order::complete);
    }

    fn level_order(&self) -> Option<&dyn LevelOrder> {
        Some(self)
    }

    fn step(&self, b: &mut Builder, buffers: &Buffers, lane: &Lane, at: &Cursor, step: Step) -> Cursor {
        let Lane { state, row, .. } = lane;
        let node = at.node;
        let done = (step == Step::Masked).then(|| self.is_leaf(b, buffers, state, node));
        let decision = self.0.record.decision(b, buffers, state, row, node, done);
        let left = b.add(node, node);
        let next = b.add(left, decision);
        Cursor::of(done.map_or(next, |done| b.select(done, node, next)))
    }

    fn is_leaf(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value {
        self.0.record.is_marked(b, buffers, state, node)
    }

    fn leaves(&self) -> &Leaves {
        &self.0.leaves
    }
}

impl InOrder for Array {
    fn tree_spans(&self) -> TreeSpans<'_> {
        self.0.spans()
    }
}

impl LevelOrder for Array {
    fn test(&self) -> &Test {
        self.0.record.test()
    }

    fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, number: u64) -> NodeTest {
        let number = state.number(b, number);
        self.0.record.node(b, buffers, state, number)
    }
}
