//! Complete trees: what layouts share whose nodes are numbered level by level and whose leaves all have one depth.
//!
//! The root is 1, the children of `n` are `2n` and `2n + 1`. Each tree has as many entries as it has leaves: a node's is
//! its number, a leaf's its place among the leaves. A tree's first entry is the same in all tables of a layout.

use super::numbers::LeafNumbers;
use super::packed::level_order;
use super::payload::Payload;
use super::{Buffers, LeafValue, Request, TreeLanes, TreeState};
use crate::error::CompileError;
use crate::lir::{Address, BufferId, Build, Builder, Gather, Scalar, Value};
use sched_forest::{Forest, Inner, NodeRef};

/// Entries of a tree at least: wide vectors look up so many at once.
pub const SMALLEST: u64 = 16;

/// Where the trees of a layout begin, and their leaves. Its tables follow those of the layout's nodes.
pub struct Complete {
    /// The number of the first of its tables.
    first_table: usize,
    leaf: Payload,
    leaf_numbers: LeafNumbers,
    /// The depth of each used tree; none for others.
    depths: Vec<Option<u32>>,
    /// The first entry of each tree in every table, and one past the last tree's.
    starts: Vec<u64>,
}

impl Complete {
    /// The used trees, behind so many tables of nodes.
    ///
    /// # Errors
    ///
    /// When 31 bits do not count the entries.
    pub fn new(request: &Request, first_table: usize) -> Result<Complete, CompileError> {
        let mut starts = vec![0u64];
        let mut depths = Vec::new();
        let mut next = 0u64;
        for (at, used) in request.used.iter().enumerate() {
            let depth = request.depths[at].0;
            if *used {
                next = next.saturating_add(1u64.checked_shl(depth).unwrap_or(u64::MAX).max(SMALLEST));
            }
            depths.push(used.then_some(depth));
            starts.push(next);
        }
        if i32::try_from(next).is_err() {
            return Err(Complete::too_large(next));
        }
        let (leaf, leaf_numbers) = (Payload::of(request.forest), LeafNumbers::of(request));
        Ok(Complete { first_table, leaf, leaf_numbers, depths, starts })
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
    pub fn entries(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Edges to the deepest leaf.
    pub fn deepest(&self) -> u32 {
        self.depths.iter().flatten().max().copied().unwrap_or(0)
    }

    /// Bytes of its own tables.
    pub fn footprint(&self) -> u64 {
        let entries = self.entries();
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

    /// Builds its tables, and calls `write` with each inner node and its entry.
    pub fn encode(&self, forest: &Forest, mut write: impl FnMut(usize, &Inner)) -> [Vec<u8>; 3] {
        let (entries, size) = (self.entries() as usize, self.leaf.bytes() as usize);
        let mut leaves = vec![0; entries * size];
        let mut numbers = vec![0; self.leaf_numbers.bytes(entries as u64) as usize];
        let mut first_leaf = 0u32;
        for (at, tree) in forest.trees.iter().enumerate() {
            let start = self.starts[at] as usize;
            let placed = self.depths[at].map(|depth| (depth, level_order(tree, 1, |n| (2 * n, 2 * n + 1))));
            for (depth, (number, node, _)) in
                placed.into_iter().flat_map(|(depth, nodes)| nodes.into_iter().map(move |node| (depth, node)))
            {
                match node {
                    NodeRef::Inner(inner) => write(start + number as usize, &tree.inner[inner as usize]),
                    NodeRef::Leaf(leaf) => {
                        let entry = start + (number - (1 << depth)) as usize;
                        let source = &tree.leaves[leaf as usize];
                        self.leaf.write(&mut leaves[entry * size..], source, first_leaf + leaf);
                        self.leaf_numbers.write(&mut numbers, entry, source);
                    }
                }
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

    /// The first entries of a vector of trees.
    pub fn starts(&self, b: &mut Builder, buffers: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState {
        let (buffer, index) = (self.beginnings(buffers), lanes.distance);
        let gather = Gather { buffer, base: tree, index, stride: 4, offset: 0, mask: None };
        let lanes = b.gather(Scalar::I32, gather);
        TreeState { base: b.int(0), lanes: Some(lanes), loaded: Vec::new() }
    }

    /// The number of the first leaf, so many hops from the root if that is known.
    pub fn first_leaf(&self, hops: Option<u32>) -> i64 {
        1i64 << hops.unwrap_or_else(|| self.deepest()).min(40)
    }

    /// The state from which leaves are reached by numbers that begin with `first`.
    fn at_leaves(&self, b: &mut Builder, state: &TreeState, first: i64) -> TreeState {
        TreeState { base: b.add_int(state.base, -first), ..state.clone() }
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

    /// The same for a vector of walks of one tree whose leaves, so many, are few enough to be looked up in registers. The
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

    /// Brings a tree near: its leaves, and its entries in the layout's tables with these numbers and elements.
    pub fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value, nodes: &[(usize, Scalar)]) {
        const LINE: i64 = 64;
        let start = self.start(b, buffers, tree);
        let next = b.add_int(tree, 1);
        let end = self.start(b, buffers, next);
        for (table, element) in nodes.iter().chain(&[(self.first_table, self.leaf.element())]) {
            let bytes = i64::from(element.bytes());
            let range = (b.mul_int(start, bytes), b.mul_int(end, bytes), LINE);
            b.for_loop(range, &[], |b, index, _| {
                b.prefetch(Address { buffer: buffers[*table], index, stride: 1, offset: 0 });
                Vec::new()
            });
        }
    }
}
