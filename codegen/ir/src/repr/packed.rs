//! The sparse layout for vectors of walks: a node is packed into 64 bits, so that a step gathers nodes once.
//!
//! The low half is the threshold or a leaf's payload. The high half has the feature's code in its low bits and the number
//! of the left child above; a leaf's child is 0, which no child is. The root is node 0, and the children of a node stand
//! side by side.

use super::cursor::{Cursor, Step, index_type};
use super::numbers::LeafNumbers;
use super::payload::Payload;
use super::records::level_order;
use super::representation::{Buffers, LeafValue, Representation, named};
use super::request::Request;
use super::test::Test;
use super::traverse::speculate::{LevelOrder, Node};
use super::tree::{At, TreeLanes, TreeState, WalkShape};
use crate::bytes::{scalar, write_float, write_int};
use crate::lir::{Address, Build, Builder, Cast, Cmp, Gather, Scalar, Table, Ty, Value};
use crate::rows::Row;
use sched_forest::{Forest, NodeRef, Predicate, Tree};
use sched_lang::nest::Layout;

/// Existing nodes, packed into 64 bits each.
pub struct PackedNodes {
    test: Test,
    leaf: Payload,
    /// Bits of a feature's code.
    code_bits: u32,
    /// The first node of each tree, and one past the last tree's. Unused trees have no nodes.
    starts: Vec<u64>,
    leaf_numbers: LeafNumbers,
}

const NODES: usize = 0;
const STARTS: usize = 1;
const LEAF_NUMBERS: usize = 2;

fn size(tree: &Tree) -> u64 {
    (tree.inner.len() + tree.leaves.len()) as u64
}

/// The bits that numbers below `end` need, at least one.
fn bits(end: u64) -> u32 {
    64 - end.saturating_sub(1).max(1).leading_zeros()
}

/// The first node of each used tree, and one past the last tree's; and how many nodes the largest has.
fn starts(request: &Request) -> (Vec<u64>, u64) {
    let mut starts = vec![0u64];
    let (mut next, mut largest) = (0u64, 1u64);
    for (tree, used) in request.forest.trees.iter().zip(request.used) {
        if *used {
            next = next.saturating_add(size(tree));
            largest = largest.max(size(tree));
        }
        starts.push(next);
    }
    (starts, largest)
}

impl PackedNodes {
    /// The layout for a forest whose nodes fit.
    pub fn new(request: &Request) -> PackedNodes {
        let (test, starts) = (Test::of(request, Layout::Sparse), starts(request).0);
        let code_bits = bits(test.codes(request.forest.num_features as u64));
        let (leaf, leaf_numbers) = (Payload::of(request.forest), LeafNumbers::of(request));
        PackedNodes { test, leaf, code_bits, starts, leaf_numbers }
    }

    /// Whether a forest's nodes fit into 64 bits: thresholds and leaves of 32 bits, and features and children that share
    /// the others.
    pub fn fits(request: &Request) -> bool {
        let forest = request.forest;
        let (starts, largest) = starts(request);
        let code_bits = bits(Test::of(request, Layout::Sparse).codes(forest.num_features as u64));
        scalar(forest.types.threshold) == Scalar::F32
            && Payload::of(forest).bytes() == 4
            && starts.last().is_none_or(|nodes| i32::try_from(*nodes).is_ok())
            && code_bits + bits(largest) <= 32
    }

    fn words(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The two halves of a node.
    fn halves(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> (Value, Value) {
        if b.ty(node).lanes == 1 {
            let low = state.load(b, buffers[NODES], Scalar::F32, node, At::start(8));
            let high = state.load(b, buffers[NODES], Scalar::I32, node, At { stride: 8, offset: 4 });
            return (low, b.cast(Cast::ZExt, high, Ty::I64));
        }
        let word = state.load(b, buffers[NODES], Scalar::I64, node, At::start(8));
        let (low, high) = (b.word(word, 0), b.word(word, 1));
        (b.cast(Cast::Bits, low, b.ty(low).with(Scalar::F32)), high)
    }

    /// The left child's number, from the high half.
    fn child(&self, b: &mut Builder, high: Value) -> Value {
        b.bits(high, self.code_bits, 32 - self.code_bits)
    }

    /// A node as an inner node, and its left child's number.
    fn read(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> (Node, Value) {
        let (threshold, high) = self.halves(b, buffers, state, node);
        let child = self.child(b, high);
        let code = b.bits(high, 0, self.code_bits);
        let (feature, missing_left) = self.test.split(b, code, self.code_bits);
        (Node { threshold, feature, missing_left }, child)
    }

    fn is_leaf(&self, b: &mut Builder, child: Value) -> Value {
        let none = b.int_of(b.ty(child), 0);
        b.cmp(Cmp::Eq, child, none)
    }
}

impl Representation for PackedNodes {
    fn footprint(&self) -> u64 {
        let numbers = self.leaf_numbers.bytes(self.words());
        self.words().saturating_mul(8).saturating_add(numbers).saturating_add(self.starts.len() as u64 * 4)
    }

    fn tables(&self) -> Vec<(&'static str, Scalar)> {
        let all = [
            ("sparse_words", Scalar::I64),
            ("sparse_word_trees", Scalar::I32),
            ("sparse_word_leaf_numbers", self.leaf_numbers.element()),
        ];
        all[..if self.leaf_numbers.wanted() { 3 } else { 2 }].to_vec()
    }

    fn encode(&self, forest: &Forest) -> Vec<Table> {
        let words = self.words() as usize;
        let mut nodes = vec![0u8; words * 8];
        let mut numbers = vec![0u8; self.leaf_numbers.bytes(self.words()) as usize];
        let mut first_leaf = 0u32;
        for (at, tree) in forest.trees.iter().enumerate() {
            let start = self.starts[at] as usize;
            let used = self.starts[at + 1] > self.starts[at];
            let mut next = 1;
            let children = |_| {
                next += 2;
                (next - 2, next - 1)
            };
            for (number, node, child) in if used { level_order(tree, 0, children) } else { Vec::new() } {
                let entry = start + number as usize;
                let word = &mut nodes[entry * 8..][..8];
                match node {
                    NodeRef::Inner(inner) => {
                        let inner = &tree.inner[inner as usize];
                        if let Predicate::Numeric { threshold } = inner.predicate {
                            write_float(word, Scalar::F32, threshold);
                        }
                        let high = self.test.code(inner, self.code_bits) | child << self.code_bits;
                        write_int(&mut word[4..], Scalar::I32, high);
                    }
                    NodeRef::Leaf(leaf) => {
                        let source = &tree.leaves[leaf as usize];
                        self.leaf.write(word, source, first_leaf + leaf);
                        self.leaf_numbers.write(&mut numbers, entry, source);
                    }
                }
            }
            first_leaf = first_leaf.saturating_add(tree.leaves.len() as u32);
        }
        let starts = self.starts.iter().flat_map(|start| (*start as u32).to_le_bytes()).collect();
        named(self.tables(), [nodes, starts, numbers])
    }

    fn load_tree(&self, b: &mut Builder, buffers: &Buffers, tree: Value, _: WalkShape) -> TreeState {
        let at = Address { buffer: buffers[STARTS], index: tree, stride: 4, offset: 0 };
        TreeState::at(b.load_index(Scalar::I32, at))
    }

    fn load_trees(&self, b: &mut Builder, buffers: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState {
        let (base, index) = (tree, lanes.distance);
        let starts = Gather { buffer: buffers[STARTS], base, index, stride: 4, offset: 0, mask: None };
        let lanes = b.gather(Scalar::I32, starts);
        TreeState::of_lanes(b, lanes)
    }

    fn root(&self, b: &mut Builder, lanes: u16, _: bool) -> Value {
        b.int_of(index_type(lanes), 0)
    }

    fn step(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        row: &Row,
        at: &Cursor,
        step: Step,
    ) -> Cursor {
        let node = at.node;
        // A leaf's feature is 0, which every row has where trees have inner nodes.
        let (Node { threshold, feature, missing_left }, child) = self.read(b, buffers, state, node);
        let x = row.load(b, feature);
        let right = self.test.goes_right(b, x, threshold, missing_left);
        let decision = b.cast(Cast::ZExt, right, b.ty(node));
        let next = b.add(child, decision);
        if step != Step::Masked {
            return Cursor::of(next);
        }
        let done = self.is_leaf(b, child);
        Cursor::of(b.select(done, node, next))
    }

    fn done(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value {
        let (_, high) = self.halves(b, buffers, state, node);
        let child = self.child(b, high);
        self.is_leaf(b, child)
    }

    fn leaf(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        _: Option<u32>,
    ) -> LeafValue {
        self.leaf.load(b, buffers[NODES], state, node, 8)
    }

    fn leaf_number(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        _: Option<u32>,
    ) -> Value {
        self.leaf_numbers.load(b, buffers[LEAF_NUMBERS], state, node)
    }

    fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value) {
        const LINE: i64 = 64;
        let first = self.load_tree(b, buffers, tree, WalkShape::SINGLE);
        let next = b.add_int(tree, 1);
        let end = self.load_tree(b, buffers, next, WalkShape::SINGLE);
        let range = (b.mul_int(first.base, 8), b.mul_int(end.base, 8), LINE);
        b.for_loop(range, &[], |b, index, _| {
            b.prefetch(Address { buffer: buffers[NODES], index, stride: 1, offset: 0 });
            Vec::new()
        });
    }
}

impl LevelOrder for PackedNodes {
    fn test(&self) -> &Test {
        &self.test
    }

    fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, number: u64) -> Node {
        let number = state.number(b, number - 1);
        self.read(b, buffers, state, number).0
    }
}
