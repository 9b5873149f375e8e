//! The sparse layout of tiles of nodes: a step makes all tests of a tile at once.
//!
//! A tile's record has the thresholds of its nodes, the codes of their features, the number of its first child and the
//! start of its shape's row in the table of outcomes. The tests' bits are a number; the row says which child, from left
//! to right, each number leads to. Children are in a table of their own, those of a tile side by side: a number from 0 is
//! a tile of the same tree, and `!n` is leaf n. A tile that is not full has tests whose bits do not matter.

use super::cursor::{Cursor, Step, index_type};
use super::payload::Payload;
use super::representation::{Buffers, LeafValue, Representation, named};
use super::request::Request;
use super::test::Test;
use super::tree::{At, TreeLanes, TreeState, WalkShape};
use crate::bytes::{narrowest, scalar, write_float, write_int};
use crate::error::CompileError;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, Build, Builder, Cast, Cmp, Scalar, Table, Ty, Value};
use crate::rows::{Row, RowLanes};
use crate::tiles::{Child, Shape, Tile, Tiling};
use sched_forest::{Forest, Predicate, Tree};
use sched_lang::nest::Layout;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tiles as records, their children and what their tests lead to.
pub struct Tiled {
    tiling: Arc<Tiling>,
    used: Vec<bool>,
    /// Tests of a record, a power of two.
    lanes: u16,
    threshold: Scalar,
    feature: Scalar,
    test: Test,
    leaf: Payload,
    /// The first tile of each tree, and one past the last tree's. Unused trees have no tiles.
    starts: Vec<u64>,
    /// Children of all tiles, leaves of all trees and the start of each shape's row of outcomes.
    children: u64,
    leaves: u64,
    rows: BTreeMap<Shape, u64>,
    leaf_numbers: bool,
}

const TILES: usize = 0;
const TREES: usize = 1;
const CHILDREN: usize = 2;
const OUTCOMES: usize = 3;
const LEAVES: usize = 4;
const LEAF_NUMBERS: usize = 5;

/// Fewest tests of a record: with fewer the rest of a vector would lie idle.
const LANES: u32 = 4;
/// Bytes that are loaded from memory at once.
const LINE: u32 = 64;

impl Tiled {
    /// The layout of the tiles of a forest.
    ///
    /// # Errors
    ///
    /// When there are no tiles, and when numbers do not fit 31 bits.
    pub fn new(request: &Request) -> Result<Tiled, CompileError> {
        let Some(tiling) = request.tiles else {
            return Err(CompileError::new(
                CompileError::SINGLE_NODES,
                "the model's nodes are in no tiles",
                "this is a mistake in the compiler: please report it together with the schedule",
            ));
        };
        let forest = request.forest;
        let test = Test::of(request, Layout::Sparse);
        let lanes = tiling.most.next_power_of_two().max(LANES) as u16;
        let (mut starts, mut next) = (vec![0u64], 0u64);
        let (mut children, mut leaves, mut rows) = (0u64, 0u64, BTreeMap::new());
        let each = forest.trees.iter().zip(&tiling.trees).zip(request.used);
        for ((tree, tiled), used) in each {
            if *used {
                next += tiled.tiles.len() as u64;
                leaves += tree.leaves.len() as u64;
                for tile in &tiled.tiles {
                    children += tile.children.len() as u64;
                    let row = (rows.len() as u64) << lanes;
                    rows.entry(tile.shape).or_insert(row);
                }
            }
            starts.push(next);
        }
        let feature = narrowest(test.codes(forest.num_features as u64));
        let fits = [next, children, leaves].into_iter().all(|count| i32::try_from(count).is_ok());
        let Some(feature) = feature.filter(|_| fits) else {
            return Err(CompileError::new(
                CompileError::LAYOUT_BUDGET,
                format!("{next} tiles of nodes are more than 31 bits count"),
                "split the model into several",
            ));
        };
        Ok(Tiled {
            tiling: Arc::clone(tiling),
            used: request.used.to_vec(),
            lanes,
            threshold: scalar(forest.types.threshold),
            feature,
            test,
            leaf: Payload::of(forest),
            starts,
            children,
            leaves,
            rows,
            leaf_numbers: request.leaf_numbers,
        })
    }

    /// Where a record's features, its first child and its row of outcomes begin. Thresholds come first.
    fn fields(&self) -> [u32; 3] {
        let features = self.threshold.bytes() * u32::from(self.lanes);
        let child = (features + self.feature.bytes() * u32::from(self.lanes)).next_multiple_of(4);
        [features, child, child + 4]
    }

    /// Bytes of a record: no tile that could lie in one line of memory lies in two.
    fn record(&self) -> u32 {
        let end = self.fields()[2] + 4;
        if end <= LINE { end.next_power_of_two() } else { end.next_multiple_of(LINE) }
    }

    /// Entries of the tables, in order.
    fn lengths(&self) -> [u64; 6] {
        let tiles = self.starts.last().copied().unwrap_or(0);
        let outcomes = (self.rows.len() as u64) << self.lanes;
        let numbers = if self.leaf_numbers { self.leaves } else { 0 };
        [tiles, self.starts.len() as u64, self.children, outcomes, self.leaves, numbers]
    }

    /// Bytes of an entry of each table.
    fn sizes(&self) -> [u32; 6] {
        [self.record(), 4, 4, 1, self.leaf.bytes(), 4]
    }

    fn write_tile(&self, record: &mut [u8], tree: &Tree, tile: &Tile, first_child: u64) {
        let [features, child, row] = self.fields().map(|at| at as usize);
        for (lane, node) in tile.nodes.iter().enumerate() {
            let inner = &tree.inner[*node as usize];
            if let Predicate::Numeric { threshold } = inner.predicate {
                let at = lane * self.threshold.bytes() as usize;
                write_float(&mut record[at..], self.threshold, threshold);
            }
            let code = self.test.code(inner, 8 * self.feature.bytes());
            write_int(&mut record[features + lane * self.feature.bytes() as usize..], self.feature, code);
        }
        write_int(&mut record[child..], Scalar::I32, first_child);
        write_int(&mut record[row..], Scalar::I32, self.rows.get(&tile.shape).copied().unwrap_or(0));
    }

    /// What all outcomes of all shapes lead to.
    fn outcomes(&self) -> Vec<u8> {
        let mut outcomes = vec![0; self.lengths()[OUTCOMES] as usize];
        for (shape, start) in &self.rows {
            let mut row = shape.outcomes(u32::from(self.lanes));
            if seeded(Fault::TileReversesOutcomes) {
                row.reverse();
            }
            outcomes[*start as usize..][..row.len()].copy_from_slice(&row);
        }
        outcomes
    }

    /// The bits of a tile's tests, set where the row goes right, as an `i64`.
    fn tests(&self, b: &mut Builder, buffers: &Buffers, tile: Value, row: &Row) -> Value {
        let [features, ..] = self.fields();
        let at = |offset| Address { buffer: buffers[TILES], index: tile, stride: self.record(), offset };
        let codes = b.load(Ty::vector(self.feature, self.lanes), at(features));
        let codes = b.cast(Cast::ZExt, codes, index_type(self.lanes));
        let (feature, flag) = self.test.split(b, codes, 8 * self.feature.bytes());
        // All lanes read the one row.
        let lanes = Some(RowLanes { distance: None, adjacent: false, mask: None });
        let x = Row { lanes, ..*row }.load(b, feature);
        let threshold = b.load(Ty::vector(self.threshold, self.lanes), at(0));
        let right = self.test.goes_right(b, x, threshold, flag);
        b.mask_bits(right)
    }
}

/// The places of leaves among all leaves.
fn leaf_of(b: &mut Builder, state: &TreeState, node: Value) -> (TreeState, Value) {
    let ones = b.int(-1);
    let leaf = b.bin(Bin::Xor, node, ones);
    (TreeState { base: b.int(0), lanes: None, ..*state }, leaf)
}

impl Representation for Tiled {
    fn footprint(&self) -> u64 {
        let each = self.lengths().into_iter().zip(self.sizes());
        each.map(|(length, size)| length.saturating_mul(size.into())).fold(0, u64::saturating_add)
    }

    fn tables(&self) -> Vec<(&'static str, Scalar)> {
        let all = [
            ("tiles", Scalar::I8),
            ("tile_trees", Scalar::I32),
            ("tile_children", Scalar::I32),
            ("tile_outcomes", Scalar::I8),
            ("tile_leaves", self.leaf.element()),
            ("tile_leaf_numbers", Scalar::I32),
        ];
        all[..if self.leaf_numbers { 6 } else { 5 }].to_vec()
    }

    fn encode(&self, forest: &Forest) -> Vec<Table> {
        let sizes = self.sizes().map(|size| size as usize);
        let lengths = self.lengths().map(|length| length as usize);
        let mut bytes: [Vec<u8>; 6] = std::array::from_fn(|table| vec![0; lengths[table] * sizes[table]]);
        bytes[OUTCOMES] = self.outcomes();
        for (at, start) in self.starts.iter().enumerate() {
            write_int(&mut bytes[TREES][at * 4..], Scalar::I32, *start);
        }
        let (mut next, mut next_child, mut first_leaf, mut in_forest) = (0, 0, 0, 0u32);
        for ((tree, tiled), used) in forest.trees.iter().zip(&self.tiling.trees).zip(&self.used) {
            for tile in tiled.tiles.iter().filter(|_| *used) {
                self.write_tile(&mut bytes[TILES][next * sizes[TILES]..], tree, tile, next_child as u64);
                next += 1;
                for child in &tile.children {
                    let number = match child {
                        Child::Tile(tile) => *tile,
                        Child::Leaf(leaf) => !(first_leaf as u32 + leaf),
                    };
                    write_int(&mut bytes[CHILDREN][next_child * 4..], Scalar::I32, number.into());
                    next_child += 1;
                }
            }
            for (number, leaf) in tree.leaves.iter().enumerate().filter(|_| *used) {
                let entry = first_leaf + number;
                self.leaf.write(
                    &mut bytes[LEAVES][entry * sizes[LEAVES]..],
                    leaf,
                    in_forest.saturating_add(number as u32),
                );
                if self.leaf_numbers {
                    write_int(&mut bytes[LEAF_NUMBERS][entry * 4..], Scalar::I32, leaf.source.into());
                }
            }
            first_leaf += if *used { tree.leaves.len() } else { 0 };
            in_forest = in_forest.saturating_add(tree.leaves.len() as u32);
        }
        named(self.tables(), bytes)
    }

    fn load_tree(&self, b: &mut Builder, buffers: &Buffers, tree: Value, _: WalkShape) -> TreeState {
        let at = Address { buffer: buffers[TREES], index: tree, stride: 4, offset: 0 };
        TreeState::at(b.load_index(Scalar::I32, at))
    }

    /// Walks of tiles are never vectors: the plan refuses them. This is the first tree.
    fn load_trees(&self, b: &mut Builder, buffers: &Buffers, tree: Value, _: TreeLanes) -> TreeState {
        self.load_tree(b, buffers, tree, WalkShape::SINGLE)
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
        let [_, child_at, row_at] = self.fields();
        let zero = b.int(0);
        // A walk that has arrived takes a step from the root once more, and stays.
        let within = if step == Step::Masked { b.bin(Bin::Max, node, zero) } else { node };
        let tile = b.add(state.base, within);
        let bits = self.tests(b, buffers, tile, row);
        let at = |offset| Address { buffer: buffers[TILES], index: tile, stride: self.record(), offset };
        let first = b.load_index(Scalar::I32, at(child_at));
        let start = b.load_index(Scalar::I32, at(row_at));
        let index = b.add(start, bits);
        let number =
            b.load_index(Scalar::I8, Address { buffer: buffers[OUTCOMES], index, stride: 1, offset: 0 });
        let index = b.add(first, number);
        let next =
            b.load(Ty::of(Scalar::I32), Address { buffer: buffers[CHILDREN], index, stride: 4, offset: 0 });
        let next = b.cast(Cast::SExt, next, Ty::I64);
        if step != Step::Masked {
            return Cursor::of(next);
        }
        let done = b.cmp(Cmp::Lt, node, zero);
        Cursor::of(b.select(done, node, next))
    }

    fn done(&self, b: &mut Builder, _: &Buffers, _: &TreeState, node: Value) -> Value {
        let zero = b.int(0);
        b.cmp(Cmp::Lt, node, zero)
    }

    fn leaf(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        _: Option<u32>,
    ) -> LeafValue {
        let (state, leaf) = leaf_of(b, state, node);
        self.leaf.load(b, buffers[LEAVES], &state, leaf, self.leaf.bytes())
    }

    fn leaf_number(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        _: Option<u32>,
    ) -> Value {
        let (state, leaf) = leaf_of(b, state, node);
        state.load(b, buffers[LEAF_NUMBERS], Scalar::I32, leaf, At::start(4))
    }

    fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value) {
        let first = self.load_tree(b, buffers, tree, WalkShape::SINGLE);
        let next = b.add_int(tree, 1);
        let end = self.load_tree(b, buffers, next, WalkShape::SINGLE);
        let record = i64::from(self.record());
        let range = (b.mul_int(first.base, record), b.mul_int(end.base, record), i64::from(LINE));
        b.for_loop(range, &[], |b, index, _| {
            b.prefetch(Address { buffer: buffers[TILES], index, stride: 1, offset: 0 });
            Vec::new()
        });
    }
}
