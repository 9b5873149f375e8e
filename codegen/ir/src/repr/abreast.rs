//! The levels layout for walks of one row down many trees side by side, one tree in each lane of a vector.
//!
//! Nodes are numbered as in the array layout, and every tree has the same number of records, so that a tree's place
//! follows from its number. A record holds threshold and feature code in one word where they fit into 64 bits: a hop
//! then gathers nodes once. The first levels of trees that fill a vector together lie lane by lane, in tables of
//! their own: all lanes' candidates are one piece of memory there, and the turns taken choose among them.
//!
//! Walks must be straight-line down to the leaf, so every tree is padded to one depth.

use super::packed::level_order;
use super::payload::Payload;
use super::record::{scalar, write_float, write_int};
use super::test::Test;
use super::{
    Buffers, Hop, LeafValue, Place, Representation, Request, Row, TreeLanes, TreeState, choose, index_type,
};
use crate::error::CompileError;
use crate::lir::{Address, Build, Builder, Cast, Scalar, Table, Ty, Value};
use sched_forest::{Forest, Inner, NodeRef, Predicate, Tree};
use sched_lang::nest::Layout;
use std::ops::Range;

/// Trees as records, and their first levels lane by lane.
pub struct Abreast {
    threshold: Scalar,
    test: Test,
    leaf: Payload,
    /// Trees of a vector.
    lanes: u64,
    used: Vec<bool>,
    /// Covers the trees that are used.
    trees: Range<u64>,
    /// Edges to the deepest leaf; trees have `2^depth` records, of which the first one is not used.
    depth: u32,
    leaf_numbers: bool,
}

/// Levels that lie lane by lane. Further down the candidates cost more than gathering.
const TOP: u32 = 3;
/// Nodes above them, and a number that is not used.
const TOP_NODES: u64 = 1 << TOP;

const NODES: usize = 0;
const CODES: usize = 1;
const TOPS: usize = 2;
const TOP_CODES: usize = 3;
const LEAVES: usize = 4;
const LEAF_NUMBERS: usize = 5;

impl Abreast {
    /// The layout for a forest whose used trees are complete, walked by vectors of `lanes` trees.
    pub fn new(request: &Request, lanes: u32) -> Result<Abreast, CompileError> {
        let forest = request.forest;
        let test = Test::of(request, Layout::Levels);
        let used = || request.used.iter().enumerate().filter(|(_, used)| **used).map(|(at, _)| at);
        let trees = used().min().unwrap_or(0) as u64..used().max().map_or(0, |last| last + 1) as u64;
        let depth = used().map(|at| request.depths[at].0).max().unwrap_or(0);
        let records = (trees.end - trees.start).saturating_mul(1u64.checked_shl(depth).unwrap_or(u64::MAX));
        let tops = (trees.end - trees.start + 2 * u64::from(lanes)).saturating_mul(TOP_NODES);
        if i32::try_from(records).is_err()
            || i32::try_from(tops).is_err()
            || test.codes(forest.num_features as u64) > 1 << 31
        {
            return Err(CompileError::new(
                CompileError::LAYOUT_BUDGET,
                format!("the layout needs {records} node records, more than 31 bits count"),
                "use representation(sparse), which stores only nodes that exist",
            ));
        }
        let (threshold, leaf) = (scalar(forest.types.threshold), Payload::of(forest));
        let (lanes, leaf_numbers) = (u64::from(lanes), request.leaf_numbers);
        let used = request.used.to_vec();
        Ok(Abreast { threshold, test, leaf, lanes, used, trees, depth, leaf_numbers })
    }

    /// Whether threshold and code are one word of 64 bits.
    fn in_one_word(&self) -> bool {
        self.threshold == Scalar::F32
    }

    /// The record of a used tree's node 0, or the entry of its first leaf.
    fn start(&self, tree: u64) -> u64 {
        (tree - self.trees.start) << self.depth
    }

    fn records(&self) -> u64 {
        self.start(self.trees.end)
    }

    /// The first tree that lies in the first vector.
    fn first_of_tops(&self) -> u64 {
        self.trees.start / self.lanes * self.lanes
    }

    fn tops(&self) -> u64 {
        (self.trees.end - self.first_of_tops()).next_multiple_of(self.lanes) * TOP_NODES
    }

    /// Where a top node's threshold and code lie.
    fn top(&self, tree: u64, node: u64) -> u64 {
        let tree = tree - self.first_of_tops();
        tree / self.lanes * self.lanes * TOP_NODES + node * self.lanes + tree % self.lanes
    }

    /// Entries of the tables, in order.
    fn lengths(&self) -> [u64; 6] {
        let codes = if self.in_one_word() { 0 } else { self.records() };
        let numbers = if self.leaf_numbers { self.records() } else { 0 };
        [self.records(), codes, self.tops(), self.tops(), self.records(), numbers]
    }

    fn elements(&self) -> [Scalar; 6] {
        let node = if self.in_one_word() { Scalar::I64 } else { self.threshold };
        [node, Scalar::I32, self.threshold, Scalar::I32, self.leaf.element(), Scalar::I32]
    }

    fn write_node(&self, bytes: &mut [Vec<u8>; 6], tree: u64, node: u64, inner: &Inner) {
        let code = self.test.code(inner, 32);
        let Predicate::Numeric { threshold } = inner.predicate else { return };
        let size = self.threshold.bytes() as usize;
        let record = (self.start(tree) + node) as usize;
        write_float(&mut bytes[NODES][record * 8..], self.threshold, threshold);
        if self.in_one_word() {
            write_int(&mut bytes[NODES][record * 8 + 4..], Scalar::I32, code);
        } else {
            write_int(&mut bytes[CODES][record * 4..], Scalar::I32, code);
        }
        if node < TOP_NODES {
            let top = self.top(tree, node) as usize;
            write_float(&mut bytes[TOPS][top * size..], self.threshold, threshold);
            write_int(&mut bytes[TOP_CODES][top * 4..], Scalar::I32, code);
        }
    }

    fn write_tree(&self, bytes: &mut [Vec<u8>; 6], at: u64, tree: &Tree, first_leaf: u32) {
        let size = self.leaf.bytes() as usize;
        for (number, node, _) in level_order(tree, 1, |n| (2 * n, 2 * n + 1)) {
            match node {
                NodeRef::Inner(inner) => self.write_node(bytes, at, number, &tree.inner[inner as usize]),
                NodeRef::Leaf(leaf) => {
                    // A leaf's number less the highest bit is its place: all leaves of a tree have one depth.
                    let place = number - (1 << number.ilog2());
                    let entry = (self.start(at) + place) as usize;
                    let source = &tree.leaves[leaf as usize];
                    self.leaf.write(&mut bytes[LEAVES][entry * size..], source, first_leaf + leaf);
                    if self.leaf_numbers {
                        let number = u64::from(source.source);
                        write_int(&mut bytes[LEAF_NUMBERS][entry * 4..], Scalar::I32, number);
                    }
                }
            }
        }
    }

    /// Threshold and code from the tables of top nodes: all lanes' candidates, chosen by the turns taken.
    fn look_up_top(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        (first, lanes): (Value, u16),
        turns: &[Value],
    ) -> (Value, Value) {
        let nodes = 1i64 << turns.len()..2 << turns.len();
        let mut candidates = |table: usize, element: Scalar| {
            let load = |b: &mut Builder, node: i64| {
                let index = b.add_int(first, node * i64::from(lanes));
                let at = Address { buffer: buffers[table], index, stride: element.bytes(), offset: 0 };
                b.load(Ty::vector(element, lanes), at)
            };
            let all = nodes.clone().map(|node| load(b, node)).collect();
            choose(b, all, turns)
        };
        (candidates(TOPS, self.threshold), candidates(TOP_CODES, Scalar::I32))
    }

    /// Threshold and code from the records.
    fn look_up(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> (Value, Value) {
        let ty = b.ty(node);
        if !self.in_one_word() {
            let threshold = state.load(b, buffers[NODES], self.threshold, node, (8, 0));
            return (threshold, state.load(b, buffers[CODES], Scalar::I32, node, (4, 0)));
        }
        if ty.lanes == 1 {
            let threshold = state.load(b, buffers[NODES], self.threshold, node, (8, 0));
            return (threshold, state.load(b, buffers[NODES], Scalar::I32, node, (8, 4)));
        }
        let word = state.load(b, buffers[NODES], Scalar::I64, node, (8, 0));
        let (low, code) = (b.word(word, 0), b.word(word, 1));
        (b.cast(Cast::Bits, low, ty.with(Scalar::F32)), code)
    }

    /// The state from which leaves are reached by node numbers.
    fn leaves(&self, b: &mut Builder, state: &TreeState, hops: Option<u32>) -> TreeState {
        let first = 1i64 << hops.unwrap_or(self.depth);
        TreeState { base: b.add_int(state.base, -first), ..state.clone() }
    }
}

impl Representation for Abreast {
    fn footprint(&self) -> u64 {
        let sizes = self.lengths().into_iter().zip(self.elements());
        sizes.map(|(length, element)| length.saturating_mul(element.bytes().into())).sum()
    }

    fn tables(&self) -> Vec<(&'static str, Scalar)> {
        let names = [
            "abreast_nodes",
            "abreast_codes",
            "abreast_tops",
            "abreast_top_codes",
            "abreast_leaves",
            "abreast_leaf_numbers",
        ];
        names.into_iter().zip(self.elements()).collect()
    }

    fn encode(&self, forest: &Forest) -> Vec<Table> {
        let elements = self.elements();
        let lengths = self.lengths();
        let mut bytes: [Vec<u8>; 6] =
            std::array::from_fn(|table| vec![0; lengths[table] as usize * elements[table].bytes() as usize]);
        let mut first_leaf = 0u32;
        for (at, tree) in forest.trees.iter().enumerate() {
            if self.used[at] {
                self.write_tree(&mut bytes, at as u64, tree, first_leaf);
            }
            first_leaf = first_leaf.saturating_add(tree.leaves.len() as u32);
        }
        let named = self.tables().into_iter().zip(bytes);
        named.map(|((name, _), bytes)| Table { name: name.to_string(), bytes }).collect()
    }

    fn load_tree(&self, b: &mut Builder, _: &Buffers, tree: Value, _: (u16, u32)) -> TreeState {
        let tree = b.add_int(tree, -(self.trees.start as i64));
        TreeState { base: b.mul_int(tree, 1 << self.depth), lanes: None, loaded: Vec::new() }
    }

    fn load_trees(&self, b: &mut Builder, buffers: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState {
        let ty = b.ty(lanes.distance);
        let records = b.int_of(ty, 1 << self.depth);
        let distance = b.mul(lanes.distance, records);
        let TreeState { base, .. } = self.load_tree(b, buffers, tree, (1, 0));
        let mut loaded = Vec::new();
        if lanes.aligned && u64::from(ty.lanes) == self.lanes {
            let tree = b.add_int(tree, -(self.first_of_tops() as i64));
            loaded.push(b.mul_int(tree, TOP_NODES as i64));
        }
        TreeState { base, lanes: Some(distance), loaded }
    }

    fn root(&self, b: &mut Builder, lanes: u16) -> Value {
        b.int_of(index_type(lanes), 1)
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
        let Place { node, turns } = place;
        let ty = b.ty(*node);
        let (threshold, code) = match (state.loaded.first(), hop) {
            (Some(first), Hop::Number(level)) if level < TOP => {
                self.look_up_top(b, buffers, (*first, ty.lanes), turns)
            }
            _ => self.look_up(b, buffers, state, *node),
        };
        let code = if ty.lanes == 1 { b.cast(Cast::ZExt, code, Ty::I64) } else { code };
        let (feature, flag) = self.test.split(b, code, 32);
        let x = row.load(b, feature);
        let right = self.test.goes_right(b, x, threshold, flag);
        place.turned(b, right)
    }

    fn done(&self, b: &mut Builder, _: &Buffers, _: &TreeState, node: Value) -> Value {
        // Walks are straight-line to the leaf: nobody asks before.
        b.int_of(b.ty(node).with(Scalar::I1), 1)
    }

    fn leaf(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        hops: Option<u32>,
    ) -> LeafValue {
        let state = self.leaves(b, state, hops);
        self.leaf.load(b, buffers[LEAVES], &state, node, self.leaf.bytes())
    }

    fn leaf_number(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        hops: Option<u32>,
    ) -> Value {
        let state = self.leaves(b, state, hops);
        state.load(b, buffers[LEAF_NUMBERS], Scalar::I32, node, (4, 0))
    }

    fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value) {
        const LINE: i64 = 64;
        let first = self.load_tree(b, buffers, tree, (1, 0));
        let records = 1i64 << self.depth;
        for table in [NODES, LEAVES] {
            let bytes = i64::from(self.elements()[table].bytes());
            let start = b.mul_int(first.base, bytes);
            let end = b.add_int(start, records * bytes);
            b.for_loop((start, end, LINE), &[], |b, index, _| {
                b.prefetch(Address { buffer: buffers[table], index, stride: 1, offset: 0 });
                Vec::new()
            });
        }
    }
}
