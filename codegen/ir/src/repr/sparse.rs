//! The sparse layout: only nodes that exist, each with the number of its left child (SilvanForge
//! section 6).
//!
//! The root is node 0, and siblings have consecutive numbers. A leaf's child number is 0, which no
//! child has.

use super::cursor::{Cursor, Step};
use super::leaves::Leaves;
use super::order;
use super::records::{Records, TableNames};
use super::representation::Representation;
use super::request::Request;
use super::schema::TableBytes;
use super::spans::Spans;
use super::test::Test;
use super::traverse::Lane;
use super::traverse::speculate::{LevelOrder, NodeTest};
use super::tree::{Buffers, TreeState};
use super::tree_tables::InOrder;
use crate::error::CompileError;
use crate::lir::{Builder, Cmp, Value};
use sched_forest::Forest;

/// Existing nodes with child numbers.
pub struct Sparse(Records);

const NAMES: TableNames =
    TableNames { nodes: "sparse_nodes", trees: "sparse_trees", leaf_indices: "sparse_leaf_indices" };

impl Sparse {
    /// The layout for a forest.
    pub fn new(request: &Request) -> Result<Sparse, CompileError> {
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
        b.int_of(b.index_type(lanes), 0)
    }

    fn step(&self, b: &mut Builder, buffers: &Buffers, lane: &Lane, at: &Cursor, step: Step) -> Cursor {
        let Lane { state, row, .. } = lane;
        let node = at.node;
        // A leaf's feature is 0, which exists whenever a tree has inner nodes.
        let decision = self.0.record.decision(b, buffers, state, row, node, None);
        let left = self.0.record.load_child(b, buffers, state, node);
        let next = b.add(left, decision);
        if step != Step::Masked {
            return Cursor::of(next);
        }
        let done = self.done(b, buffers, state, node);
        Cursor::of(b.select(done, node, next))
    }

    fn done(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value {
        let child = self.0.record.load_child(b, buffers, state, node);
        let none = b.int_of(b.ty(child), 0);
        b.cmp(Cmp::Eq, child, none)
    }

    fn leaves(&self) -> &Leaves {
        &self.0.leaves
    }
}

impl InOrder for Sparse {
    fn trees(&self) -> Spans<'_> {
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
