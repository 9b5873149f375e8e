//! The levels layout: complete trees whose levels are short tables, looked up in registers instead of gathered.
//!
//! Nodes are numbered as in the array layout: the root is 1, the children of `n` are `2n` and `2n + 1`. Thresholds and
//! feature codes lie in tables of their own, each tree's at its node numbers, so that the nodes of a level stand side by
//! side: level `h` is `2^h` entries from number `2^h` on, and the low bits of a node's number are its place among them.
//! A vector of walks looks thresholds and codes up in the level's table, which fits a few registers; in the first three
//! levels it reads whole columns of features instead, because few nodes mean few features. Leaves lie in a third table.
//!
//! Walks must be straight-line down to the leaf, so every tree is padded to one depth.

use super::complete::{Complete, SMALLEST, Spot};
use super::cursor::{Cursor, Step, choose};
use super::entries::Entries;
use super::representation::{Buffers, LeafValue, Representation, named};
use super::request::Request;
use super::test::Test;
use super::traverse::speculate::{LevelOrder, Node};
use super::tree::{At, Loaded, TreeLanes, TreeState, WalkShape};
use crate::bytes::{narrowest, scalar, write_float, write_int};
use crate::error::CompileError;
use crate::lir::{Address, Bin, Builder, Cast, Cmp, Gather, Scalar, Table, Ty, Value};
use crate::quantize::fetch::FetchStrategy;
use crate::rows::Row;
use sched_forest::{Forest, Predicate};

/// Trees as tables of thresholds, codes and leaves.
pub struct Levels {
    threshold: Scalar,
    code: Scalar,
    test: Test,
    trees: Complete,
}

const THRESHOLDS: usize = 0;
const CODES: usize = 1;
const NODE_TABLES: usize = 2;

/// Entries of the first table of codes that wide vectors look up.
const TOGETHER: u64 = 64;

impl Levels {
    /// The layout for a forest whose used trees are complete.
    pub fn new(request: &Request) -> Result<Levels, CompileError> {
        let forest = request.forest;
        let test = Test::of(request, sched_lang::nest::Layout::Levels);
        let codes = test.codes(forest.num_features as u64);
        let code = narrowest(codes).unwrap_or(Scalar::I32);
        let trees = Complete::new(request, NODE_TABLES)?;
        if codes > 1 << 31 {
            return Err(Entries::too_large(codes));
        }
        Ok(Levels { threshold: scalar(forest.types.threshold), code, test, trees })
    }

    fn code_bits(&self) -> u32 {
        8 * self.code.bytes()
    }

    /// The first table of thresholds and the first one of codes that vectors of walks look up, for several levels each.
    fn first_tables(&self, b: &mut Builder, buffers: &Buffers, base: Value, walks: WalkShape) -> Loaded {
        let (thresholds, codes) = if walks.lanes < 16 { (8, 8) } else { (SMALLEST, TOGETHER) };
        let all = SMALLEST.max(1 << walks.steps.min(30));
        let first = b.int(0);
        Loaded::Tables {
            operands: self.table(b, buffers, THRESHOLDS, (base, first), thresholds.min(all)),
            features: self.table(b, buffers, CODES, (base, first), codes.min(all)),
            offsets: None,
        }
    }

    /// `size` entries of a table, from number `first` of a tree on.
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

    /// Threshold and code of a vector of nodes of a level that has `size` of them: from the first tables, or from the
    /// level's own.
    fn look_up(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        size: u64,
    ) -> (Value, Value) {
        let Loaded::Tables { operands, features, .. } = state.loaded else {
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
        (from(operands, THRESHOLDS), from(features, CODES))
    }

    /// Threshold and code of a single node.
    fn load(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> (Value, Value) {
        let threshold =
            state.load(b, buffers[THRESHOLDS], self.threshold, node, At::start(self.threshold.bytes()));
        let code = state.load(b, buffers[CODES], self.code, node, At::start(self.code.bytes()));
        (threshold, b.cast(Cast::ZExt, code, Ty::I64))
    }

    fn gather(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> (Value, Value) {
        let threshold =
            state.load(b, buffers[THRESHOLDS], self.threshold, node, At::start(self.threshold.bytes()));
        if self.code == Scalar::I32 {
            return (threshold, state.load(b, buffers[CODES], self.code, node, At::start(4)));
        }
        // The word that the code is in; tables are whole words.
        let each = 4 / self.code.bytes();
        let ty = b.ty(node);
        let (per_word, last) = (i64::from(each.ilog2()), b.int_of(ty, i64::from(each) - 1));
        let node = state.lanes.map_or(node, |lanes| b.add(lanes, node));
        let distance = b.int_of(ty, per_word);
        let word = b.bin(Bin::Shr, node, distance);
        let (shift, zero) = (b.int(per_word), b.int(0));
        let base = b.bin(Bin::Shr, state.base, shift);
        let base = if state.lanes.is_some() { zero } else { base };
        let gather = Gather { buffer: buffers[CODES], base, index: word, stride: 4, offset: 0, mask: None };
        let word = b.gather(Scalar::I32, gather);
        let place = b.bin(Bin::And, node, last);
        let mut code = b.bits(word, 0, self.code_bits());
        for at in 1..each {
            let this = b.int_of(ty, i64::from(at));
            let here = b.cmp(Cmp::Eq, place, this);
            let other = b.bits(word, at * self.code_bits(), self.code_bits());
            code = b.select(here, other, code);
        }
        (threshold, code)
    }

    /// The values that the nodes of one of the first levels test, for adjacent rows: the columns of all of the level's
    /// features, chosen by the decisions taken.
    fn columns(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        row: &Row,
        cursor: &Cursor,
    ) -> Value {
        let nodes = 1i64 << cursor.decisions.len()..2 << cursor.decisions.len();
        let width = b.ty(cursor.node).lanes;
        let mut column = |number: i64| {
            let (index, stride) = (state.base, self.code.bytes());
            let at = b.beyond(Address { buffer: buffers[CODES], index, stride, offset: 0 }, number);
            let code = b.load_index(self.code, at);
            let (feature, _) = self.test.split(b, code, self.code_bits());
            row.load_column(b, feature, width)
        };
        let columns = nodes.map(&mut column).collect();
        choose(b, columns, &cursor.decisions)
    }
}

impl Representation for Levels {
    fn footprint(&self) -> u64 {
        let entry = u64::from(self.threshold.bytes() + self.code.bytes());
        self.trees.count().saturating_mul(entry).saturating_add(self.trees.footprint())
    }

    fn tables(&self) -> Vec<(&'static str, Scalar)> {
        let nodes = [("levels_thresholds", self.threshold), ("levels_codes", self.code)];
        let trees = self.trees.tables(["levels_leaves", "levels_trees", "levels_leaf_numbers"]);
        nodes.into_iter().chain(trees).collect()
    }

    fn encode(&self, forest: &Forest) -> Vec<Table> {
        let entries = self.trees.count() as usize;
        let (threshold, code) = (self.threshold.bytes() as usize, self.code.bytes() as usize);
        let (mut thresholds, mut codes) = (vec![0; entries * threshold], vec![0; entries * code]);
        let trees = self.trees.encode(forest, |Spot { entry, .. }, inner| {
            if let Predicate::Numeric { threshold: t } = inner.predicate {
                write_float(&mut thresholds[entry * threshold..], self.threshold, t);
            }
            let value = self.test.code(inner, self.code_bits());
            write_int(&mut codes[entry * code..], self.code, value);
        });
        named(self.tables(), [thresholds, codes].into_iter().chain(trees))
    }

    fn load_tree(&self, b: &mut Builder, buffers: &Buffers, tree: Value, walks: WalkShape) -> TreeState {
        let base = self.trees.start(b, buffers, tree);
        let loaded =
            if walks.lanes > 1 { self.first_tables(b, buffers, base, walks) } else { Loaded::Nothing };
        TreeState { loaded, ..TreeState::at(base) }
    }

    fn load_trees(&self, b: &mut Builder, buffers: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState {
        self.trees.starts(b, buffers, tree, lanes)
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
        let (level, fetch) = match step {
            Step::Level { level, fetch } => (level, fetch),
            Step::Unmasked | Step::Masked => (0, None),
        };
        let (threshold, code) = match fetch {
            Some(FetchStrategy::GatherNodes) => self.gather(b, buffers, state, node),
            Some(_) => self.look_up(b, buffers, state, node, 1 << level),
            None if b.ty(node).lanes > 1 => self.gather(b, buffers, state, node),
            None => self.load(b, buffers, state, node),
        };
        let (feature, flag) = self.test.split(b, code, self.code_bits());
        let x = match fetch {
            Some(FetchStrategy::ByNode) => self.columns(b, buffers, state, row, at),
            _ => row.load(b, feature),
        };
        let right = self.test.goes_right(b, x, threshold, flag);
        at.descend(b, right)
    }

    fn leaf(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        steps: Option<u32>,
    ) -> LeafValue {
        self.trees.leaf(b, buffers, state, (node, self.trees.first_leaf(steps)))
    }

    fn leaf_number(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        steps: Option<u32>,
    ) -> Value {
        self.trees.leaf_number(b, buffers, state, (node, self.trees.first_leaf(steps)))
    }

    fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value) {
        let nodes = [(THRESHOLDS, self.threshold.bytes()), (CODES, self.code.bytes())];
        self.trees.prefetch(b, buffers, tree, &nodes);
    }
}

impl LevelOrder for Levels {
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
}
