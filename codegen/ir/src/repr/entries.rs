//! Entries: what layouts share that give each tree as many entries as it has leaves, at the same place in every table.
//!
//! A leaf's entry is its place among those of its tree; what the entries of nodes are is up to the layout.

use super::numbers::LeafNumbers;
use super::payload::Payload;
use super::representation::{Buffers, LeafValue};
use super::request::Request;
use super::tree::{TreeLanes, TreeState};
use crate::error::CompileError;
use crate::lir::{Address, BufferId, Build, Builder, Gather, Scalar, Value};
use sched_forest::{Forest, Tree};

/// Where the trees of a layout begin, and their leaves. Its tables follow those of the layout's nodes.
pub struct Entries {
    /// The number of the first of its tables.
    first_table: usize,
    leaf: Payload,
    leaf_numbers: LeafNumbers,
    /// The first entry of each tree in every table, and one past the last tree's.
    starts: Vec<u64>,
}

impl Entries {
    /// Reserves `sizes[t]` entries for tree `t`; these tables follow the layout's first `first_table` tables.
    ///
    /// # Errors
    ///
    /// When 31 bits do not count the entries.
    pub fn new(
        request: &Request,
        first_table: usize,
        sizes: impl IntoIterator<Item = u64>,
    ) -> Result<Entries, CompileError> {
        let mut starts = vec![0u64];
        let mut next = 0u64;
        for size in sizes {
            next = next.saturating_add(size);
            starts.push(next);
        }
        if i32::try_from(next).is_err() {
            return Err(Entries::too_large(next));
        }
        let (leaf, leaf_numbers) = (Payload::of(request.forest), LeafNumbers::of(request));
        Ok(Entries { first_table, leaf, leaf_numbers, starts })
    }

    /// Says that a layout needs too many entries.
    pub fn too_large(entries: u64) -> CompileError {
        CompileError::new(
            CompileError::LAYOUT_BUDGET,
            format!("the layout needs {entries} entries, more than 31 bits count"),
            "use representation(sparse), which stores only nodes that exist",
        )
    }

    /// Entries of each table.
    pub fn count(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Bytes of its own tables.
    pub fn footprint(&self) -> u64 {
        let entries = self.count();
        let (leaves, starts) =
            (entries.saturating_mul(self.leaf.bytes().into()), self.starts.len() as u64 * 4);
        leaves.saturating_add(starts).saturating_add(self.leaf_numbers.bytes(entries))
    }

    /// The elements of its tables: leaves, where trees begin, and leaf numbers if they are wanted.
    pub fn tables<'n>(&self, names: [&'n str; 3]) -> Vec<(&'n str, Scalar)> {
        let elements = [self.leaf.element(), Scalar::I32, self.leaf_numbers.element()];
        let count = if self.leaf_numbers.wanted() { 3 } else { 2 };
        names.into_iter().zip(elements).take(count).collect()
    }

    /// Builds its tables. `lay` gets each tree that has entries, its number and the first of them, lays its nodes, and
    /// returns for every leaf its entry and its place among the tree's leaves.
    pub fn encode(
        &self,
        forest: &Forest,
        mut lay: impl FnMut(&Tree, usize, usize) -> Vec<(usize, u32)>,
    ) -> [Vec<u8>; 3] {
        let (entries, size) = (self.count() as usize, self.leaf.bytes() as usize);
        let mut leaves = vec![0; entries * size];
        let mut numbers = vec![0; self.leaf_numbers.bytes(entries as u64) as usize];
        let mut first_leaf = 0u32;
        for (at, tree) in forest.trees.iter().enumerate() {
            let (start, end) = (self.starts[at] as usize, self.starts[at + 1] as usize);
            let laid = if start < end { lay(tree, at, start) } else { Vec::new() };
            for (entry, leaf) in laid {
                let source = &tree.leaves[leaf as usize];
                self.leaf.write(&mut leaves[entry * size..], source, first_leaf + leaf);
                self.leaf_numbers.write(&mut numbers, entry, source);
            }
            first_leaf = first_leaf.saturating_add(tree.leaves.len() as u32);
        }
        let starts = self.starts.iter().flat_map(|start| (*start as u32).to_le_bytes()).collect();
        [leaves, starts, numbers]
    }

    fn leaves(&self, buffers: &Buffers) -> BufferId {
        buffers[self.first_table]
    }

    fn beginnings(&self, buffers: &Buffers) -> BufferId {
        buffers[self.first_table + 1]
    }

    fn numbers(&self, buffers: &Buffers) -> BufferId {
        buffers[self.first_table + 2]
    }

    /// The first entry of a tree.
    pub fn start(&self, b: &mut Builder, buffers: &Buffers, tree: Value) -> Value {
        let at = Address { buffer: self.beginnings(buffers), index: tree, stride: 4, offset: 0 };
        b.load_index(Scalar::I32, at)
    }

    /// The first entry behind a tree.
    pub fn end(&self, b: &mut Builder, buffers: &Buffers, tree: Value) -> Value {
        let next = b.add_int(tree, 1);
        self.start(b, buffers, next)
    }

    /// The first entries of a vector of trees.
    pub fn starts(&self, b: &mut Builder, buffers: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState {
        let (buffer, index) = (self.beginnings(buffers), lanes.distance);
        let gather = Gather { buffer, base: tree, index, stride: 4, offset: 0, mask: None };
        let lanes = b.gather(Scalar::I32, gather);
        TreeState::of_lanes(b, lanes)
    }

    /// The state from which leaves are reached by numbers that begin with `first`.
    fn at_leaves(&self, b: &mut Builder, state: &TreeState, first: i64) -> TreeState {
        TreeState { base: b.add_int(state.base, -first), ..*state }
    }

    /// What the leaf with a number holds; the first leaf of its tree has the number `first`.
    pub fn leaf(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        (node, first): (Value, i64),
    ) -> LeafValue {
        let state = self.at_leaves(b, state, first);
        self.leaf.load(b, self.leaves(buffers), &state, node, self.leaf.bytes())
    }

    /// The same for a vector of walks of one tree whose `leaves` leaves are few enough to be looked up in registers. The
    /// nodes' numbers need only end in the leaves' places.
    pub fn look_up_leaf(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        (node, leaves): (Value, u64),
    ) -> Option<LeafValue> {
        self.leaf.look_up(b, self.leaves(buffers), (state.base, leaves), node)
    }

    /// The number in the model of the leaf with a number.
    pub fn leaf_number(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        (node, first): (Value, i64),
    ) -> Value {
        let state = self.at_leaves(b, state, first);
        self.leaf_numbers.load(b, self.numbers(buffers), &state, node)
    }

    /// Brings a tree near: its leaves, and its entries of so many bytes in these tables of the layout.
    pub fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value, nodes: &[(usize, u32)]) {
        const LINE: i64 = 64;
        let start = self.start(b, buffers, tree);
        let end = self.end(b, buffers, tree);
        for (table, bytes) in nodes.iter().chain(&[(self.first_table, self.leaf.bytes())]) {
            let bytes = i64::from(*bytes);
            let range = (b.mul_int(start, bytes), b.mul_int(end, bytes), LINE);
            b.for_loop(range, &[], |b, index, _| {
                b.prefetch(Address { buffer: buffers[*table], index, stride: 1, offset: 0 });
                Vec::new()
            });
        }
    }
}
