//! What layouts of whole records share: trees one after the other in one table, and where each starts.

use super::numbers::LeafNumbers;
use super::record::Record;
use super::representation::{Buffers, LeafValue};
use super::request::Request;
use super::tree::TreeState;
use crate::error::CompileError;
use crate::lir::{Address, Build, Builder, Gather, Scalar, Table, Value};
use sched_forest::{Forest, NodeRef, Tree};

/// A node's number in its tree, the node, and the number of its left child (0 for a leaf).
pub type Placed = (u64, NodeRef, u64);

/// Records of all used trees in one table.
#[derive(Clone, Debug)]
pub struct Records {
    /// The layout of a record.
    pub record: Record,
    /// The first record of each tree, and one past the last tree's. Unused trees have no records.
    starts: Vec<u64>,
    leaf_numbers: LeafNumbers,
}

/// Tables of a packed layout, in order.
const NODES: usize = 0;
const STARTS: usize = 1;
const LEAF_NUMBERS: usize = 2;

impl Records {
    /// Reserves `slots(tree, depth)` records for each used tree.
    pub fn new(
        request: &Request,
        record: Record,
        slots: impl Fn(&Tree, u32) -> u64,
    ) -> Result<Records, CompileError> {
        let mut starts = vec![0u64];
        let mut next = 0u64;
        for (at, tree) in request.forest.trees.iter().enumerate() {
            if request.used[at] {
                next = next.saturating_add(slots(tree, request.depths[at].0));
            }
            starts.push(next);
        }
        if i32::try_from(next).is_err() {
            return Err(CompileError::new(
                CompileError::LAYOUT_BUDGET,
                format!("the layout needs {next} node records, more than 31 bits count"),
                "use representation(sparse), which stores only nodes that exist",
            ));
        }
        Ok(Records { record, starts, leaf_numbers: LeafNumbers::of(request) })
    }

    fn slots(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// How many tables there are.
    fn count(&self) -> usize {
        if self.leaf_numbers.wanted() { 3 } else { 2 }
    }

    /// Bytes of all tables.
    pub fn footprint(&self) -> u64 {
        let records = self.slots().saturating_mul(self.record.bytes().into());
        let numbers = self.leaf_numbers.bytes(self.slots());
        records.saturating_add(numbers).saturating_add(self.starts.len() as u64 * 4)
    }

    /// The tables' names and elements.
    pub fn tables(&self, prefix: [&'static str; 3]) -> Vec<(&'static str, Scalar)> {
        let numbers = self.leaf_numbers.element();
        [(prefix[NODES], Scalar::I8), (prefix[STARTS], Scalar::I32), (prefix[LEAF_NUMBERS], numbers)]
            [..self.count()]
            .to_vec()
    }

    /// Builds the tables; `place` numbers the nodes of a tree.
    pub fn encode(
        &self,
        names: [&'static str; 3],
        forest: &Forest,
        place: impl Fn(&Tree) -> Vec<Placed>,
    ) -> Vec<Table> {
        let record = self.record.bytes() as usize;
        let slots = self.slots() as usize;
        let mut nodes = vec![0u8; slots * record];
        let mut numbers = vec![0u8; self.leaf_numbers.bytes(self.slots()) as usize];
        let mut first_leaf = 0u32;
        for (at, tree) in forest.trees.iter().enumerate() {
            let start = self.starts[at] as usize;
            let used = self.starts[at + 1] > self.starts[at];
            for (number, node, child) in if used { place(tree) } else { Vec::new() } {
                let slot = start + number as usize;
                let bytes = &mut nodes[slot * record..][..record];
                match node {
                    NodeRef::Inner(inner) => {
                        self.record.write_inner(bytes, &tree.inner[inner as usize], child);
                    }
                    NodeRef::Leaf(leaf) => {
                        let source = &tree.leaves[leaf as usize];
                        self.record.write_leaf(bytes, source, first_leaf + leaf);
                        self.leaf_numbers.write(&mut numbers, slot, source);
                    }
                }
            }
            first_leaf = first_leaf.saturating_add(tree.leaves.len() as u32);
        }
        let starts = self.starts.iter().flat_map(|start| (*start as u32).to_le_bytes()).collect();
        let tables = [nodes, starts, numbers];
        let named = tables.into_iter().zip(names).take(self.count());
        named.map(|(bytes, name)| Table { name: name.to_string(), bytes }).collect()
    }

    /// The tree's first record.
    pub fn load_tree(&self, b: &mut Builder, buffers: &Buffers, tree: Value) -> TreeState {
        let at = Address { buffer: buffers[STARTS], index: tree, stride: 4, offset: 0 };
        TreeState::at(b.load_index(Scalar::I32, at))
    }

    /// The first records of several trees, as distances from the start of the table.
    pub fn load_trees(&self, b: &mut Builder, buffers: &Buffers, tree: Value, distance: Value) -> TreeState {
        let starts =
            Gather { buffer: buffers[STARTS], base: tree, index: distance, stride: 4, offset: 0, mask: None };
        let lanes = b.gather(Scalar::I32, starts);
        TreeState::of_lanes(b, lanes)
    }

    /// The payload of a leaf.
    pub fn leaf(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> LeafValue {
        self.record.payload(b, buffers[NODES], state, node)
    }

    /// The leaf's number in the model.
    pub fn leaf_number(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value {
        self.leaf_numbers.load(b, buffers[LEAF_NUMBERS], state, node)
    }

    /// Prefetches the tree's records, a cache line at a time.
    pub fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value) {
        const LINE: i64 = 64;
        let record = i64::from(self.record.bytes());
        let first = self.load_tree(b, buffers, tree);
        let next = b.add_int(tree, 1);
        let end = self.load_tree(b, buffers, next);
        let range = (b.mul_int(first.base, record), b.mul_int(end.base, record), LINE);
        b.for_loop(range, &[], |b, index, _| {
            b.prefetch(Address { buffer: buffers[NODES], index, stride: 1, offset: 0 });
            Vec::new()
        });
    }
}

/// A tree's nodes breadth first, numbered from `root` as `children` numbers the children of a node.
pub fn level_order(tree: &Tree, root: u64, mut children: impl FnMut(u64) -> (u64, u64)) -> Vec<Placed> {
    let mut order = vec![(root, tree.root, 0)];
    let mut at = 0;
    while at < order.len() {
        let (number, node, _) = order[at];
        if let NodeRef::Inner(inner) = node {
            let inner = &tree.inner[inner as usize];
            let (left, right) = children(number);
            order[at].2 = left;
            order.push((left, inner.left, 0));
            order.push((right, inner.right, 0));
        }
        at += 1;
    }
    order
}

/// The table of nodes among a layout's buffers.
pub fn nodes(buffers: &Buffers) -> crate::lir::BufferId {
    buffers[NODES]
}
