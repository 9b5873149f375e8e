//! The sparse layout for vectors of walks: a node is one word of 64 bits, so that a hop gathers nodes once.
//!
//! The low half is the threshold or a leaf's payload. The high half has the feature's code in its low bits and the number
//! of the left child above; a leaf's child is 0, which no child is. The root is node 0, and the children of a node stand
//! side by side.

use super::numbers::LeafNumbers;
use super::packed::level_order;
use super::payload::Payload;
use super::record::{scalar, write_float, write_int};
use super::test::Test;
use super::{
    Buffers, Hop, LeafValue, LevelOrder, Node, Place, Representation, Request, Row, TreeLanes, TreeState,
    index_type, named,
};
use crate::lir::{Address, Build, Builder, Cast, Cmp, Gather, Scalar, Table, Ty, Value};
use sched_forest::{Forest, NodeRef, Predicate, Tree};
use sched_nest::Layout;

/// Existing nodes as words.
pub struct Words {
    test: Test,
    leaf: Payload,
    /// Bits of a feature's code.
    code_bits: u32,
    /// The first word of each tree, and one past the last tree's. Unused trees have no words.
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

impl Words {
    /// The layout for a forest, if its nodes fit into words.
    pub fn new(request: &Request) -> Option<Words> {
        let forest = request.forest;
        let leaf = Payload::of(forest);
        let test = Test::of(request, Layout::Sparse);
        let mut starts = vec![0u64];
        let (mut next, mut largest) = (0u64, 1u64);
        for (tree, used) in forest.trees.iter().zip(request.used) {
            if *used {
                next = next.saturating_add(size(tree));
                largest = largest.max(size(tree));
            }
            starts.push(next);
        }
        let code_bits = bits(test.codes(forest.num_features as u64));
        let fits = scalar(forest.types.threshold) == Scalar::F32
            && leaf.bytes() == 4
            && i32::try_from(next).is_ok()
            && code_bits + bits(largest) <= 32;
        let leaf_numbers = LeafNumbers::of(request);
        fits.then_some(Words { test, leaf, code_bits, starts, leaf_numbers })
    }

    fn words(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The two halves of a node.
    fn halves(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> (Value, Value) {
        if b.ty(node).lanes == 1 {
            let low = state.load(b, buffers[NODES], Scalar::F32, node, (8, 0));
            let high = state.load(b, buffers[NODES], Scalar::I32, node, (8, 4));
            return (low, b.cast(Cast::ZExt, high, Ty::I64));
        }
        let word = state.load(b, buffers[NODES], Scalar::I64, node, (8, 0));
        let (low, high) = (b.extract_half(word, 0), b.extract_half(word, 1));
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

impl Representation for Words {
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

    fn load_tree(&self, b: &mut Builder, buffers: &Buffers, tree: Value, _: (u16, u32)) -> TreeState {
        let at = Address { buffer: buffers[STARTS], index: tree, stride: 4, offset: 0 };
        TreeState { base: b.load_index(Scalar::I32, at), lanes: None, loaded: Vec::new() }
    }

    fn load_trees(&self, b: &mut Builder, buffers: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState {
        let (base, index) = (tree, lanes.distance);
        let starts = Gather { buffer: buffers[STARTS], base, index, stride: 4, offset: 0, mask: None };
        let lanes = b.gather(Scalar::I32, starts);
        TreeState { base: b.int(0), lanes: Some(lanes), loaded: Vec::new() }
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
        // A leaf's feature is 0, which every row has where trees have inner nodes.
        let (Node { threshold, feature, missing_left }, child) = self.read(b, buffers, state, node);
        let x = row.load(b, feature);
        let right = self.test.goes_right(b, x, threshold, missing_left);
        let turn = b.cast(Cast::ZExt, right, b.ty(node));
        let next = b.add(child, turn);
        if hop != Hop::Hold {
            return Place::of(next);
        }
        let done = self.is_leaf(b, child);
        Place::of(b.select(done, node, next))
    }

    fn level_order(&self) -> Option<&dyn LevelOrder> {
        Some(self)
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
        let first = self.load_tree(b, buffers, tree, (1, 0));
        let next = b.add_int(tree, 1);
        let end = self.load_tree(b, buffers, next, (1, 0));
        let range = (b.mul_int(first.base, 8), b.mul_int(end.base, 8), LINE);
        b.for_loop(range, &[], |b, index, _| {
            b.prefetch(Address { buffer: buffers[NODES], index, stride: 1, offset: 0 });
            Vec::new()
        });
    }
}

impl LevelOrder for Words {
    fn test(&self) -> &Test {
        &self.test
    }

    fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, number: u64) -> Node {
        let number = state.number(b, number - 1);
        self.read(b, buffers, state, number).0
    }
}
