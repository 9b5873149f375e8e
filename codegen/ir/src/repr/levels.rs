//! The levels layout: complete trees whose levels are short tables, looked up in registers instead of gathered.
//!
//! Nodes are numbered as in the array layout: the root is 1, the children of `n` are `2n` and `2n + 1`. Thresholds and
//! feature codes lie in tables of their own, each tree's at its node numbers, so that the nodes of a level stand side by
//! side: level `h` is `2^h` entries from number `2^h` on, and the low bits of a node's number are its place among them.
//! A vector of walks looks thresholds and codes up in the level's table, which fits a few registers; in the first three
//! levels it reads whole columns of features instead, because few nodes mean few features. Leaves lie in a third table.
//!
//! Walks must be straight-line down to the leaf, so every tree is padded to one depth.

use super::payload::Payload;
use super::record::{scalar, write_float, write_int};
use super::test::Test;
use super::{
    Buffers, Hop, LeafValue, Node, Place, Representation, Request, Row, TreeLanes, TreeState, choose,
    packed::level_order,
};
use crate::error::CompileError;
use crate::lir::{Address, Bin, Build, Builder, Cast, Cmp, Gather, Scalar, Table, Ty, Value};
use sched_forest::{Forest, NodeRef, Predicate};

/// Trees as tables of thresholds, codes and leaves.
pub struct Levels {
    threshold: Scalar,
    code: Scalar,
    test: Test,
    leaf: Payload,
    /// The depth of each used tree; none for others.
    depths: Vec<Option<u32>>,
    /// The first entry of each tree in every table, and one past the last tree's.
    starts: Vec<u64>,
    leaf_numbers: bool,
}

const THRESHOLDS: usize = 0;
const CODES: usize = 1;
const LEAVES: usize = 2;
const STARTS: usize = 3;
const LEAF_NUMBERS: usize = 4;

/// Entries of the smallest table of thresholds that wide vectors look up: the first four levels share it.
const SMALLEST: u64 = 16;
/// Entries of the first table of codes that wide vectors look up.
const TOGETHER: u64 = 64;
/// Levels with more nodes are gathered: a look-up in more registers costs more.
const LARGEST: u64 = 128;
/// Levels in which whole columns of features are read.
const COLUMNS: u32 = 3;

impl Levels {
    /// The layout for a forest whose used trees are complete.
    pub fn new(request: &Request) -> Result<Levels, CompileError> {
        let forest = request.forest;
        let test = Test::of(request, sched_lang::nest::Layout::Levels);
        let codes = test.codes(forest.num_features as u64);
        let code = if codes < 1 << 8 { Scalar::I8 } else { Scalar::I32 };
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
        if i32::try_from(next).is_err() || codes > 1 << 31 {
            return Err(CompileError::new(
                CompileError::LAYOUT_BUDGET,
                format!("the layout needs {next} entries, more than 31 bits count"),
                "use representation(sparse), which stores only nodes that exist",
            ));
        }
        let (threshold, leaf) = (scalar(forest.types.threshold), Payload::of(forest));
        Ok(Levels { threshold, code, test, leaf, depths, starts, leaf_numbers: request.leaf_numbers })
    }

    fn entries(&self) -> usize {
        self.starts.last().copied().unwrap_or(0) as usize
    }

    fn code_bits(&self) -> u32 {
        8 * self.code.bytes()
    }

    /// The first table of thresholds and the first one of codes that vectors of walks look up, for several levels each.
    fn first_tables(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        base: Value,
        (lanes, hops): (u16, u32),
    ) -> Vec<Value> {
        let (thresholds, codes) = if lanes < 16 { (8, 8) } else { (SMALLEST, TOGETHER) };
        let all = SMALLEST.max(1 << hops.min(30));
        let first = b.int(0);
        vec![
            self.table(b, buffers, THRESHOLDS, (base, first), thresholds.min(all)),
            self.table(b, buffers, CODES, (base, first), codes.min(all)),
        ]
    }

    /// So many entries of a table, from number `first` of a tree on.
    fn table(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        table: usize,
        (base, first): (Value, Value),
        size: u64,
    ) -> Value {
        let scalar = if table == CODES { self.code } else { self.threshold };
        let index = b.add(base, first);
        let at = Address { buffer: buffers[table], index, stride: scalar.bytes(), offset: 0 };
        b.load(Ty::vector(scalar, size as u16), at)
    }

    /// Threshold and code of a vector of nodes at a level: from the first tables, the level's own, or gathered where
    /// the level is too long.
    fn look_up(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        level: Option<u32>,
    ) -> (Value, Value) {
        let size = level.map(|level| 1u64 << level.min(40)).filter(|size| *size <= LARGEST);
        let (Some(size), [thresholds, codes]) = (size, state.loaded.as_slice()) else {
            return self.gather(b, buffers, state, node);
        };
        let mut from = |first: Value, table: usize| {
            let table = if size < u64::from(b.ty(first).lanes) {
                first
            } else {
                let start = b.int(size as i64);
                self.table(b, buffers, table, (state.base, start), size)
            };
            b.lookup(table, node)
        };
        (from(*thresholds, THRESHOLDS), from(*codes, CODES))
    }

    /// Threshold and code of a single node.
    fn load(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> (Value, Value) {
        let threshold = state.load(b, buffers[THRESHOLDS], self.threshold, node, (self.threshold.bytes(), 0));
        let code = state.load(b, buffers[CODES], self.code, node, (self.code.bytes(), 0));
        (threshold, b.cast(Cast::ZExt, code, Ty::I64))
    }

    fn gather(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> (Value, Value) {
        let threshold = state.load(b, buffers[THRESHOLDS], self.threshold, node, (self.threshold.bytes(), 0));
        if self.code != Scalar::I8 {
            return (threshold, state.load(b, buffers[CODES], self.code, node, (4, 0)));
        }
        // The word that the byte is in; tables are whole words.
        let (four, three) = (b.int_of(b.ty(node), 2), b.int_of(b.ty(node), 3));
        let node = state.lanes.map_or(node, |lanes| b.add(lanes, node));
        let word = b.bin(Bin::Shr, node, four);
        let (shift, zero) = (b.int(2), b.int(0));
        let base = b.bin(Bin::Shr, state.base, shift);
        let base = if state.lanes.is_some() { zero } else { base };
        let gather = Gather { buffer: buffers[CODES], base, index: word, stride: 4, offset: 0, mask: None };
        let word = b.gather(Scalar::I32, gather);
        let byte = b.bin(Bin::And, node, three);
        let mut code = b.bits(word, 0, 8);
        for at in 1..4 {
            let this = b.int_of(b.ty(byte), i64::from(at));
            let here = b.cmp(Cmp::Eq, byte, this);
            let other = b.bits(word, 8 * at, 8);
            code = b.select(here, other, code);
        }
        (threshold, code)
    }

    /// The values that the nodes of one of the first levels test, for adjacent rows: the columns of all of the level's
    /// features, chosen by the turns taken.
    fn columns(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        row: &Row,
        place: &Place,
    ) -> Value {
        let nodes = 1i64 << place.turns.len()..2 << place.turns.len();
        let width = b.ty(place.node).lanes;
        let mut column = |number: i64| {
            let index = b.add_int(state.base, number);
            let at = Address { buffer: buffers[CODES], index, stride: self.code.bytes(), offset: 0 };
            let code = b.load_index(self.code, at);
            let (feature, _) = self.test.split(b, code, self.code_bits());
            row.load_column(b, feature, width)
        };
        let columns = nodes.map(&mut column).collect();
        choose(b, columns, &place.turns)
    }

    /// The state from which leaves are reached by node numbers.
    fn leaves(&self, b: &mut Builder, state: &TreeState, hops: Option<u32>) -> TreeState {
        let deepest = self.depths.iter().flatten().max().copied().unwrap_or(0);
        let first = 1i64 << hops.unwrap_or(deepest).min(40);
        TreeState { base: b.add_int(state.base, -first), ..state.clone() }
    }
}

impl Representation for Levels {
    fn footprint(&self) -> u64 {
        let numbers = if self.leaf_numbers { 4 } else { 0 };
        let entry = u64::from(self.threshold.bytes() + self.code.bytes() + self.leaf.bytes()) + numbers;
        let entries = self.starts.last().copied().unwrap_or(0);
        entries.saturating_mul(entry).saturating_add(self.starts.len() as u64 * 4)
    }

    fn tables(&self) -> Vec<(&'static str, Scalar)> {
        let all = [
            ("levels_thresholds", self.threshold),
            ("levels_codes", self.code),
            ("levels_leaves", self.leaf.element()),
            ("levels_trees", Scalar::I32),
            ("levels_leaf_numbers", Scalar::I32),
        ];
        all[..if self.leaf_numbers { 5 } else { 4 }].to_vec()
    }

    fn encode(&self, forest: &Forest) -> Vec<Table> {
        let entries = self.entries();
        let (threshold, code) = (self.threshold.bytes() as usize, self.code.bytes() as usize);
        let leaf_size = self.leaf.bytes() as usize;
        let mut bytes = [
            vec![0u8; entries * threshold],
            vec![0u8; entries * code],
            vec![0u8; entries * leaf_size],
            self.starts.iter().flat_map(|start| (*start as u32).to_le_bytes()).collect(),
            vec![0u8; if self.leaf_numbers { entries * 4 } else { 0 }],
        ];
        let mut first_leaf = 0u32;
        for (at, tree) in forest.trees.iter().enumerate() {
            let start = self.starts[at] as usize;
            if let Some(depth) = self.depths[at] {
                for (number, node, _) in level_order(tree, 1, |n| (2 * n, 2 * n + 1)) {
                    match node {
                        NodeRef::Inner(inner) => {
                            let (entry, inner) = (start + number as usize, &tree.inner[inner as usize]);
                            if let Predicate::Numeric { threshold: t } = inner.predicate {
                                write_float(&mut bytes[THRESHOLDS][entry * threshold..], self.threshold, t);
                            }
                            let value = self.test.code(inner, self.code_bits());
                            write_int(&mut bytes[CODES][entry * code..], self.code, value);
                        }
                        NodeRef::Leaf(leaf) => {
                            let entry = start + (number - (1 << depth)) as usize;
                            let source = &tree.leaves[leaf as usize];
                            self.leaf.write(
                                &mut bytes[LEAVES][entry * leaf_size..],
                                source,
                                first_leaf + leaf,
                            );
                            if self.leaf_numbers {
                                let number = u64::from(source.source);
                                write_int(&mut bytes[LEAF_NUMBERS][entry * 4..], Scalar::I32, number);
                            }
                        }
                    }
                }
            }
            first_leaf = first_leaf.saturating_add(tree.leaves.len() as u32);
        }
        let named = self.tables().into_iter().zip(bytes);
        named.map(|((name, _), bytes)| Table { name: name.to_string(), bytes }).collect()
    }

    fn load_tree(&self, b: &mut Builder, buffers: &Buffers, tree: Value, walks: (u16, u32)) -> TreeState {
        let at = Address { buffer: buffers[STARTS], index: tree, stride: 4, offset: 0 };
        let base = b.load_index(Scalar::I32, at);
        let loaded = if walks.0 > 1 { self.first_tables(b, buffers, base, walks) } else { Vec::new() };
        TreeState { base, lanes: None, loaded }
    }

    fn load_trees(&self, b: &mut Builder, buffers: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState {
        let (base, index) = (tree, lanes.distance);
        let starts = Gather { buffer: buffers[STARTS], base, index, stride: 4, offset: 0, mask: None };
        let lanes = b.gather(Scalar::I32, starts);
        TreeState { base: b.int(0), lanes: Some(lanes), loaded: Vec::new() }
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
        let level = match hop {
            Hop::Number(level) => Some(level),
            Hop::Open | Hop::Hold => None,
        };
        let (threshold, code) = if b.ty(node).lanes > 1 {
            self.look_up(b, buffers, state, node, level)
        } else {
            self.load(b, buffers, state, node)
        };
        let (feature, flag) = self.test.split(b, code, self.code_bits());
        let adjacent = row.lanes.is_some_and(|lanes| lanes.adjacent) && state.lanes.is_none();
        let x = match level {
            Some(level) if level < COLUMNS && adjacent => self.columns(b, buffers, state, row, place),
            _ => row.load(b, feature),
        };
        let right = self.test.goes_right(b, x, threshold, flag);
        place.turned(b, right)
    }

    fn test(&self) -> &Test {
        &self.test
    }

    fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, number: u64) -> Node {
        let number = state.number(b, number);
        let (threshold, code) = if state.lanes.is_some() {
            self.gather(b, buffers, state, number)
        } else {
            self.load(b, buffers, state, number)
        };
        let (feature, missing_left) = self.test.split(b, code, self.code_bits());
        Node { threshold, feature, missing_left }
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
        let next = b.add_int(tree, 1);
        let end = self.load_tree(b, buffers, next, (1, 0));
        let tables =
            [(THRESHOLDS, self.threshold.bytes()), (CODES, self.code.bytes()), (LEAVES, self.leaf.bytes())];
        for (table, bytes) in tables {
            let bytes = i64::from(bytes);
            let range = (b.mul_int(first.base, bytes), b.mul_int(end.base, bytes), LINE);
            b.for_loop(range, &[], |b, index, _| {
                b.prefetch(Address { buffer: buffers[table], index, stride: 1, offset: 0 });
                Vec::new()
            });
        }
    }
}
