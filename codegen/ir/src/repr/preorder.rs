//! The preorder layout: nodes that exist, each before its left subtree and that before its right one.
//!
//! Leaves are numbered from left to right. A row stands at the leftmost leaf that it can still reach: it has come to a node
//! if that is the node's own leftmost leaf, and going right makes it the leftmost leaf of the right subtree. So a vector of
//! rows needs only be shown all nodes in preorder ([`Sweep`]), and no row has to find its next one. Nodes compare ranks
//! with codes ([`Codes`]). The entry behind the last node leads nowhere.
//!
//! A single row whose codes fit a register makes all tests of a tree at once if they are the bits of a word. Each that leads to
//! the right strikes out the leaves of its left subtree, whether the row has come to it or not; the leftmost leaf that remains
//! is the row's (QuickScorer, Lucchese and others 2015).
//!
//! Walks that hop instead, other single ones and trees side by side, keep the entry of a node beside the place. The left child's
//! is the next one; the left subtree has one node less than leaves, which leads to the right child's.

use super::codes::Codes;
use super::entries::Entries;
use super::outcomes::{WORD, outcomes};
use super::record::{narrowest, write_int};
use super::sweep::{Sweep, Swept};
use super::{
    Buffers, Hop, LeafValue, Place, Representation, Request, Row, TreeLanes, TreeState, index_type, named,
};
use crate::error::CompileError;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, Builder, Cast, Cmp, Scalar, Table, Ty, Value};
use crate::mir::Walkers;
use sched_forest::{Forest, NodeRef, Tree};
use std::sync::Arc;

/// Trees as nodes in preorder, and leaves from left to right.
pub struct Preorder {
    codes: Arc<Codes>,
    /// Numbers a tree's leaves.
    place: Scalar,
    /// Leaves of the largest tree.
    most: u64,
    /// Whether single rows make all tests at once.
    at_once: bool,
    trees: Entries,
}

const NODES: usize = 0;
const COLUMNS: usize = 1;
const RANKS: usize = 2;
const REMAINING: usize = 3;
const NODE_TABLES: usize = 4;

/// Leaves that are struck out side by side, each by a word.
const WORDS: u16 = 8;
/// Entries that are tested at once at least.
const SMALLEST: u64 = 16;

/// A node: four words.
const BYTES: u32 = 16;
/// The node's leftmost leaf, as often as it fits the word.
const HERE: u32 = 0;
/// The leftmost leaf of its right subtree, likewise.
const RIGHT: u32 = 4;
/// The rank of its threshold, likewise.
const RANK: u32 = 8;
/// The column of the codes that it compares with.
const COLUMN: u32 = 12;

/// Bits of a hopping walk's number that hold the node's entry; the place is above them.
const ENTRY_BITS: u32 = 16;

impl Preorder {
    /// The layout for a forest's used trees.
    pub fn new(request: &Request, walkers: Walkers) -> Result<Preorder, CompileError> {
        let Some(codes) = request.codes else { return Err(Codes::missing()) };
        // A node and the entry behind it.
        let size = |tree: &Tree| (tree.leaves.len() as u64).max(2);
        let used = || request.forest.trees.iter().zip(request.used);
        let most = used().filter(|(_, used)| **used).map(|(tree, _)| size(tree)).max().unwrap_or(2);
        let Some(place) = narrowest(most).filter(|place| *place != Scalar::I32) else {
            return Err(CompileError::new(
                CompileError::LAYOUT_BUDGET,
                format!("a tree has {most} leaves, more than 16 bits count"),
                "use representation(sparse), whose walks hop from node to node",
            ));
        };
        let mut sizes: Vec<u64> = used().map(|(tree, used)| if *used { size(tree) } else { 0 }).collect();
        // As many leaves as the largest tree's are looked up whichever tree it is.
        if let Some(last) = sizes.iter_mut().rfind(|size| **size > 0) {
            *last = most.next_power_of_two().max(SMALLEST);
        }
        let narrow = codes.element() == Scalar::I8 && codes.columns() <= 1 << 8;
        let at_once = walkers == Walkers::Single && narrow && most <= WORD;
        Ok(Preorder {
            codes: Arc::clone(codes),
            place,
            most,
            at_once,
            trees: Entries::new(request, NODE_TABLES, sizes)?,
        })
    }

    /// Bytes of each table of nodes.
    fn lengths(&self) -> [u64; NODE_TABLES] {
        let each = if self.at_once { [1, 1, 8] } else { [0; 3] };
        [u64::from(BYTES), each[0], each[1], each[2]].map(|each| self.trees.count().saturating_mul(each))
    }

    /// A word of a node in all lanes, as the numbers of which it is full.
    fn in_all_lanes(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        (index, offset): (Value, u32),
        (element, lanes): (Scalar, u16),
    ) -> Value {
        let repeated = (4 / element.bytes()) as u16;
        let at = Address { buffer: buffers[NODES], index, stride: BYTES, offset };
        if lanes <= repeated || lanes % repeated > 0 {
            let first = b.load(Ty::of(element), at);
            return b.splat(first, lanes);
        }
        let word = b.load(Ty::of(Scalar::I32), at);
        let words = b.splat(word, lanes / repeated);
        b.cut(words, element)
    }

    /// A word of nodes that walks hop to, as the number of which it is full.
    fn word(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: (Value, u32)) -> Value {
        let (entry, offset) = node;
        let word = state.load(b, buffers[NODES], Scalar::I32, entry, (BYTES, offset));
        let word = b.cast(Cast::ZExt, word, b.ty(entry));
        let bits = match offset {
            COLUMN => u32::BITS,
            RANK => 8 * self.codes.element().bytes(),
            _ => 8 * self.place.bytes(),
        };
        b.bits(word, 0, bits)
    }

    /// The number of a hopping walk at a place and a node's entry.
    fn at(b: &mut Builder, place: Value, entry: Value) -> Value {
        let high = b.int_of(b.ty(place), 1 << ENTRY_BITS);
        let high = b.mul(place, high);
        b.add(high, entry)
    }

    /// For each of a tree's so many entries, from `base` on, whether its test leads to the right, as the bits of a word.
    fn turns(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        (base, count): (Value, Value),
        codes: Value,
    ) -> Value {
        let ty = Ty::vector(Scalar::I8, self.most.next_power_of_two().max(SMALLEST) as u16);
        let mut load =
            |table: usize| b.load(ty, Address { buffer: buffers[table], index: base, stride: 1, offset: 0 });
        let tests = (load(COLUMNS), load(RANKS));
        let right = outcomes(b, codes, tests);
        // What follows are nodes of the next tree.
        let (word, all) = (b.int(WORD as i64), b.int(-1));
        let others = b.sub(word, count);
        let own = b.bin(Bin::Shr, all, others);
        b.bin(Bin::And, right, own)
    }

    /// The leaves that remain, as bits, where these nodes of a tree lead to the right.
    fn remaining(&self, b: &mut Builder, buffers: &Buffers, base: Value, right: Value) -> Value {
        let ty = Ty::vector(Scalar::I64, WORDS);
        let right = b.splat(right, WORDS);
        let (lanes, zero, one) = (b.lanes(ty), b.int_of(ty, 0), b.int_of(ty, 1));
        let mut remaining = b.int_of(ty, -1);
        for first in (0..self.most as i64).step_by(WORDS.into()) {
            let numbers = b.int_of(ty, first);
            let numbers = b.add(lanes, numbers);
            let turns = b.bin(Bin::Shr, right, numbers);
            let turns = b.bin(Bin::And, turns, one);
            let strikes = b.cmp(Cmp::Ne, turns, zero);
            let at = Address { buffer: buffers[REMAINING], index: base, stride: 8, offset: 0 };
            let at = b.beyond(at, first);
            let words = b.load(ty, at);
            let fewer = b.bin(Bin::And, remaining, words);
            remaining = b.select(strikes, fewer, remaining);
        }
        for size in [4, 2, 1] {
            let others = b.alternate(remaining, remaining, size, 1);
            remaining = b.bin(Bin::And, remaining, others);
        }
        b.extract(remaining, 0)
    }

    /// The leaf's place among those of its tree, in the type of indices.
    fn leaf_place(&self, b: &mut Builder, node: Value) -> Value {
        let ty = b.ty(node);
        if ty.scalar == self.place {
            return b.cast(Cast::ZExt, node, index_type(ty.lanes));
        }
        b.bits(node, ENTRY_BITS, 32 - ENTRY_BITS)
    }
}

impl Representation for Preorder {
    fn footprint(&self) -> u64 {
        self.lengths().into_iter().fold(self.trees.footprint(), u64::saturating_add)
    }

    fn tables(&self) -> Vec<(&'static str, Scalar)> {
        let trees = self.trees.tables(["preorder_leaves", "preorder_trees", "preorder_leaf_numbers"]);
        let nodes = [
            ("preorder_nodes", Scalar::I32),
            ("preorder_columns", Scalar::I8),
            ("preorder_ranks", Scalar::I8),
            ("preorder_remaining", Scalar::I64),
        ];
        nodes.into_iter().chain(trees).collect()
    }

    fn encode(&self, forest: &Forest) -> Vec<Table> {
        let nowhere = u64::MAX >> (64 - 8 * self.place.bytes());
        let mut nodes = Vec::with_capacity(self.trees.count() as usize * BYTES as usize);
        for _ in 0..self.trees.count() {
            nodes
                .extend(record([(nowhere, self.place), (nowhere, self.place), (0, self.codes.element())], 0));
        }
        let [_, columns, ranks, remaining] = self.lengths();
        let mut tests = [columns, ranks].map(|bytes| vec![0; bytes as usize]);
        let mut remaining = vec![u8::MAX; remaining as usize];
        let trees = self.trees.encode(forest, |tree, _, start| {
            let (order, leaves) = in_order(tree);
            for (at, node) in order.into_iter().enumerate() {
                let (rank, column) = self.codes.of_node(&tree.inner[node.inner as usize]);
                let (here, right) = (u64::from(node.here), u64::from(node.right));
                let bytes = [(here, self.place), (right, self.place), (rank, self.codes.element())];
                let from = (start + at) * BYTES as usize;
                nodes[from..from + BYTES as usize].copy_from_slice(&record(bytes, column));
                if self.at_once {
                    let [columns, ranks] = &mut tests;
                    (columns[start + at], ranks[start + at]) = (column as u8, rank as u8);
                    let left = (1u64 << (node.right - node.here)) - 1;
                    let at = 8 * (start + at);
                    remaining[at..at + 8].copy_from_slice(&(!(left << node.here)).to_le_bytes());
                }
            }
            leaves.into_iter().enumerate().map(|(place, leaf)| (start + place, leaf)).collect()
        });
        let [columns, ranks] = tests;
        named(self.tables(), [nodes, columns, ranks, remaining].into_iter().chain(trees))
    }

    fn load_tree(&self, b: &mut Builder, buffers: &Buffers, tree: Value, walks: (u16, u32)) -> TreeState {
        let base = self.trees.start(b, buffers, tree);
        let mut loaded = Vec::new();
        if walks.0 > 1 || self.at_once {
            let end = self.trees.end(b, buffers, tree);
            loaded.push(b.sub(end, base));
        }
        TreeState { base, lanes: None, loaded }
    }

    fn load_trees(&self, b: &mut Builder, buffers: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState {
        self.trees.starts(b, buffers, tree, lanes)
    }

    fn root(&self, b: &mut Builder, lanes: u16) -> Value {
        b.int_of(index_type(lanes), 0)
    }

    fn step(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        row: &Row,
        place: &Place,
        hop: Hop,
    ) -> Place {
        let node = place.node;
        let entry = b.bits(node, 0, ENTRY_BITS);
        let stands = b.bits(node, ENTRY_BITS, 32 - ENTRY_BITS);
        let [here, right, rank, column] =
            [HERE, RIGHT, RANK, COLUMN].map(|offset| self.word(b, buffers, state, (entry, offset)));
        let code = row.load(b, column);
        let goes_right = b.cmp(Cmp::Lt, rank, code);
        let one = b.int_of(b.ty(node), 1);
        let next = b.add(entry, one);
        let to_left = Preorder::at(b, stands, next);
        let leaves = b.sub(right, here);
        let beyond = b.add(entry, leaves);
        let to_right = Preorder::at(b, right, beyond);
        let child = b.select(goes_right, to_right, to_left);
        if hop != Hop::Hold {
            return Place::of(child);
        }
        let inner = b.cmp(Cmp::Eq, here, stands);
        Place::of(b.select(inner, child, node))
    }

    fn at_once(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        codes: Value,
        _: Option<u32>,
    ) -> Option<Value> {
        let count = *state.loaded.first().filter(|_| self.at_once)?;
        let right = self.turns(b, buffers, (state.base, count), codes);
        let remaining = self.remaining(b, buffers, state.base, right);
        // As many bits as there are below the lowest one.
        let (one, all) = (b.int(1), b.int(-1));
        let below = b.sub(remaining, one);
        let others = b.bin(Bin::Xor, remaining, all);
        let below = b.bin(Bin::And, below, others);
        let (place, entry) = (b.ones(below), b.int(0));
        Some(Preorder::at(b, place, entry))
    }

    fn sweep(&self) -> Option<&dyn Sweep> {
        Some(self)
    }

    fn done(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value {
        let entry = b.bits(node, 0, ENTRY_BITS);
        let here = self.word(b, buffers, state, (entry, HERE));
        let stands = b.bits(node, ENTRY_BITS, 32 - ENTRY_BITS);
        b.cmp(Cmp::Ne, here, stands)
    }

    fn leaf(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        _: Option<u32>,
    ) -> LeafValue {
        if b.ty(node).scalar == Scalar::I8 {
            let leaves = self.most.next_power_of_two();
            if let Some(found) = self.trees.look_up_leaf(b, buffers, state, (node, leaves)) {
                return found;
            }
        }
        let leaf = self.leaf_place(b, node);
        self.trees.leaf(b, buffers, state, (leaf, 0))
    }

    fn leaf_number(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        _: Option<u32>,
    ) -> Value {
        let leaf = self.leaf_place(b, node);
        self.trees.leaf_number(b, buffers, state, (leaf, 0))
    }

    fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value) {
        self.trees.prefetch(b, buffers, tree, &[(NODES, BYTES)]);
    }
}

impl Sweep for Preorder {
    fn first_place(&self, b: &mut Builder, lanes: u16) -> Value {
        b.int_of(Ty::vector(self.place, lanes), 0)
    }

    fn nodes(&self, b: &mut Builder, state: &TreeState) -> Value {
        // Where no tree tests anything, rows have no codes that could be read.
        let some = state.loaded.first().filter(|_| self.codes.columns() > 0);
        some.copied().unwrap_or_else(|| b.int(0))
    }

    fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: (Value, u16)) -> Swept {
        let (number, lanes) = node;
        let index = b.add(state.base, number);
        let mut all = |offset, element| self.in_all_lanes(b, buffers, (index, offset), (element, lanes));
        let (here, right) = (all(HERE, self.place), all(RIGHT, self.place));
        let rank = all(RANK, self.codes.element());
        let at = Address { buffer: buffers[NODES], index, stride: BYTES, offset: COLUMN };
        Swept { here, right, rank, column: b.load_index(Scalar::I32, at) }
    }

    fn pass(&self, b: &mut Builder, row: &Row, node: &Swept, place: Value) -> Value {
        let (ranks, lanes) = (b.ty(node.rank), b.ty(place).lanes);
        let code = if row.lanes.is_some_and(|lanes| lanes.adjacent) {
            row.load_column(b, node.column, lanes)
        } else {
            let column = b.cast(Cast::Trunc, node.column, Ty::of(Scalar::I32));
            let column = b.splat(column, lanes);
            let code = row.load(b, column);
            b.cast(Cast::Trunc, code, ranks)
        };
        let right = b.cmp(Cmp::Below, node.rank, code);
        let here = b.cmp(Cmp::Eq, place, node.here);
        let turns = if seeded(Fault::SweepForgetsPlace) { right } else { b.bin(Bin::And, here, right) };
        b.select(turns, node.right, place)
    }
}

/// The bytes of a node: three numbers, each as often as it fits a word, and a column.
fn record(numbers: [(u64, Scalar); 3], column: u64) -> [u8; BYTES as usize] {
    let mut bytes = [0; BYTES as usize];
    let words = bytes.chunks_exact_mut(4);
    for (word, (number, element)) in words.zip(numbers) {
        for at in word.chunks_exact_mut(element.bytes() as usize) {
            write_int(at, element, number);
        }
    }
    write_int(&mut bytes[COLUMN as usize..], Scalar::I32, column);
    bytes
}

/// An inner node in its place.
struct Ordered {
    inner: u32,
    /// Its leftmost leaf.
    here: u32,
    /// The leftmost leaf of its right subtree.
    right: u32,
}

/// The inner nodes of a tree in preorder, and its leaves from left to right.
fn in_order(tree: &Tree) -> (Vec<Ordered>, Vec<u32>) {
    let (mut nodes, mut leaves) = (Vec::new(), Vec::new());
    // Subtrees to come, each with the node whose right one it is.
    let mut open: Vec<(NodeRef, Option<usize>)> = vec![(tree.root, None)];
    while let Some((node, above)) = open.pop() {
        if let Some(above) = above.and_then(|above: usize| nodes.get_mut(above)) {
            let above: &mut Ordered = above;
            above.right = leaves.len() as u32;
        }
        match node {
            NodeRef::Leaf(leaf) => leaves.push(leaf),
            NodeRef::Inner(inner) => {
                let this = nodes.len();
                nodes.push(Ordered { inner, here: leaves.len() as u32, right: 0 });
                let node = &tree.inner[inner as usize];
                open.extend([(node.right, Some(this)), (node.left, None)]);
            }
        }
    }
    (nodes, leaves)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_forest::{Inner, Leaf, Predicate, Target};

    #[test]
    fn nodes_know_the_leaves_that_they_lead_to() {
        let inner = |left, right| Inner {
            feature: 0,
            predicate: Predicate::Numeric { threshold: 0.0 },
            missing_left: false,
            left,
            right,
        };
        let leaf = |source| Leaf { source, values: [1.0].into() };
        let (node, end) = (NodeRef::Inner, NodeRef::Leaf);
        // Stored in another order than they are visited in.
        let tree = Tree {
            root: node(2),
            inner: vec![inner(end(3), end(0)), inner(end(1), end(2)), inner(node(1), node(0))],
            leaves: (0..4).map(leaf).collect(),
            target: Target::One(0),
            source: 0,
        };
        let (nodes, leaves) = in_order(&tree);
        let nodes: Vec<_> = nodes.into_iter().map(|node| (node.inner, node.here, node.right)).collect();
        assert_eq!(nodes, [(2, 0, 2), (1, 0, 1), (0, 2, 3)]);
        assert_eq!(leaves, [1, 2, 3, 0]);
    }
}
