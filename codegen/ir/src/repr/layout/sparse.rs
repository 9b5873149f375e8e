//! The sparse layout: only nodes that exist, each with the number of its left child (SilvanForge
//! section 6).
//!
//! The root is node 0, and siblings have consecutive numbers. A leaf's child number is 0, which no
//! child has.

mod packed;
mod tiled;

use crate::error::CompileError;
use crate::lir::{Builder, Cmp, Value};
use crate::repr::cursor::{Cursor, Step};
use crate::repr::layout::{FormatInfo, Formats, Walking};
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
use packed::PackedNodes;
use sched_forest::Forest;
use tiled::Tiled;

/// Existing nodes with child numbers.
pub struct Sparse(Records);

/// Index of the format with a record for each node, which has a child number.
const CHILD_RECORDS: usize = 0;
/// Index of the format with a record for each tile of nodes.
const NODE_TILES: usize = 1;
/// Index of the format with each node packed into 64 bits.
const PACKED_NODES: usize = 2;

/// The formats of the layout.
pub const FORMATS: Formats = Formats {
    all: &[
        FormatInfo {
            for_tiles: Some(NODE_TILES),
            ..FormatInfo::new("existing nodes breadth first, records", |request| {
                Ok(Box::new(Sparse::new(request)?))
            })
        },
        FormatInfo {
            holds_tiles: true,
            ..FormatInfo::new("tiles of existing nodes, records", |request| {
                Ok(Box::new(Tiled::new(request)?))
            })
        },
        FormatInfo {
            fallback: Some((PackedNodes::fits, CHILD_RECORDS)),
            ..FormatInfo::new("existing nodes breadth first, packed into 64 bits", |request| {
                Ok(Box::new(PackedNodes::new(request)?))
            })
        },
    ],
    for_access: |walking| match walking {
        Walking::Single(_) => CHILD_RECORDS,
        Walking::Vectors(_) => PACKED_NODES,
    },
};

const NAMES: TableNames =
    TableNames { nodes: "sparse_nodes", trees: "sparse_trees", leaf_indices: "sparse_leaf_indices" };

impl Sparse {
    /// The layout for a forest.
    pub fn new(request: &LayoutRequest) -> Result<Sparse, CompileError> {
        let used = request.forest.trees.iter().zip(request.used).filter(|(_, used)| **used);
        let largest = used.map(|(tree, _)| order::size(tree)).max().unwrap_or(0);
        Ok(Sparse(Records::new(request, NAMES, Some(largest), |tree, _| order::size(tree))?))
    }
}

impl Representation for Sparse {
    fn fill(&self, forest: &Forest, bytes: &mut TableBytes) {
        self.0.fill(forest, bytes, order::existing);
    }

    fn level_order(&self) -> Option<&dyn LevelOrder> {
        Some(self)
    }

    fn root(&self, b: &mut Builder, lanes: u16, _: bool) -> Value {
        b.int_of(b.number_type(lanes), 0)
    }

    fn step(&self, b: &mut Builder, buffers: &Buffers, lane: &Lane, at: &Cursor, step: Step) -> Cursor {
        let Lane { state, row, .. } = lane;
        let node = at.node;
        // Leaves have feature 0, which exists whenever a tree has inner nodes.
        let decision = self.0.record.decision(b, buffers, state, row, node, None);
        let left = self.0.record.load_child(b, buffers, state, node);
        let next = b.add(left, decision);
        if step != Step::Masked {
            return Cursor::of(next);
        }
        let done = self.is_leaf(b, buffers, state, node);
        Cursor::of(b.select(done, node, next))
    }

    fn is_leaf(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value {
        let child = self.0.record.load_child(b, buffers, state, node);
        let none = b.int_of(b.ty(child), 0);
        b.cmp(Cmp::Eq, child, none)
    }

    fn leaves(&self) -> &Leaves {
        &self.0.leaves
    }
}

impl InOrder for Sparse {
    fn tree_spans(&self) -> TreeSpans<'_> {
        self.0.spans()
    }
}

impl LevelOrder for Sparse {
    fn test(&self) -> &Test {
        self.0.record.test()
    }

    fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, number: u64) -> NodeTest {
        let number = state.number(b, number - 1);
        self.0.record.node(b, buffers, state, number)
    }
}
