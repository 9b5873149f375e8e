//! The sparse layout of tiles of nodes: a step makes all tests of a tile at once.
//!
//! A tile's record has the thresholds and feature fields of its nodes. It also has the index of the
//! tile's first child, and the start of its shape's row in the look-up table. The decisions of the tests
//! are the bits of a number, which selects a child, from left to right, in that row. Children have their
//! own table, with those of a tile contiguous: `n >= 0` is tile `n` of the tree, and `!n` is leaf `n`. A
//! tile with fewer nodes has additional tests whose decisions do not matter.

use crate::bytes::narrowest_unsigned;
use crate::codes;
use crate::error::CompileError;
use crate::fault::{Fault, seeded};
use crate::lir::{Bin, Builder, Cast, Cmp, Scalar, Ty, Value};
use crate::repr::cursor::{Cursor, Step};
use crate::repr::leaf_indices::LeafIndices;
use crate::repr::leaves::Leaves;
use crate::repr::payload::Payload;
use crate::repr::representation::{Representation, WalkEnd};
use crate::repr::request::LayoutRequest;
use crate::repr::schema::{Field, Schema, TableBytes};
use crate::repr::spans::TreeSpans;
use crate::repr::starts::{StartField, TreeStarts};
use crate::repr::test::Test;
use crate::repr::traverse::Lane;
use crate::repr::tree::{Buffers, TreeState};
use crate::repr::tree_tables::InOrder;
use crate::rows::{RowAddress, RowLanes};
use crate::tiles::{Child, Shape, Tile, Tiling};
use sched_forest::{Forest, Tree};
use sched_nest::Layout;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Trees as records of tiles, with their children and a look-up table of shapes.
pub struct Tiled {
    tiling: Arc<Tiling>,
    /// Tests per record, a power of two.
    lanes: u16,
    schema: Schema,
    test: Test,
    /// Fields of a tile: operands and feature fields of its tests, its first child, its row of `lut`.
    operands: Field,
    features: Field,
    child: Field,
    row: Field,
    /// Tile or leaf of each child.
    children: Field,
    /// Child that each combination of decisions leads to.
    lut: Field,
    leaves: Leaves,
    starts: TreeStarts,
    start: StartField,
    /// Start of each shape's row of `lut`.
    rows: BTreeMap<Shape, u64>,
}

/// Fewest tests per record; fewer would leave lanes of a vector unused.
const LEAST_LANES: u32 = 4;
/// Bytes of a cache line.
const LINE: u32 = 64;

/// Size of a record whose fields take `end` bytes. Tiles that fit one cache line never straddle two.
fn record(end: u32) -> u32 {
    if end <= LINE { end.next_power_of_two() } else { end.next_multiple_of(LINE) }
}

impl Tiled {
    /// The layout of the tiles of a forest.
    ///
    /// # Errors
    ///
    /// If the forest has no tiles, or if 31 bits cannot number tiles, children or leaves.
    pub fn new(request: &LayoutRequest) -> Result<Tiled, CompileError> {
        let Some(tiling) = request.tiles else {
            return Err(CompileError::ill_formed("the model's nodes are in no tiles"));
        };
        let forest = request.forest;
        let test = Test::of(request, Layout::Sparse);
        let lanes = tiling.most_nodes.next_power_of_two().max(LEAST_LANES) as u16;
        let (mut children, mut leaves, mut rows) = (0u64, 0u64, BTreeMap::new());
        let each = || forest.trees.iter().zip(&tiling.trees).zip(request.used);
        for ((tree, tiled), _) in each().filter(|(_, used)| **used) {
            leaves += tree.leaves.len() as u64;
            for tile in &tiled.tiles {
                children += tile.children.len() as u64;
                let row = (rows.len() as u64) << lanes;
                rows.entry(tile.shape).or_insert(row);
            }
        }
        let starts = TreeStarts::new(
            each().map(|((_, tiled), used)| if *used { tiled.tiles.len() as u64 } else { 0 }),
        );
        let tiles = starts.count();
        let feature = narrowest_unsigned(test.feature_limit(forest.num_features as u64));
        let fits = [tiles, children, leaves].into_iter().all(|count| i32::try_from(count).is_ok());
        let Some(feature) = feature.filter(|_| fits) else {
            return Err(CompileError::new(
                codes::LAYOUT_BUDGET,
                format!(
                    "the layout needs {tiles} tiles of nodes; 31 bits cannot number them or their leaves"
                ),
                "split the model into several",
            ));
        };
        let mut schema = Schema::default();
        let operand = test.operand();
        let features_at = operand.bytes() * u32::from(lanes);
        let child_at = (features_at + feature.bytes() * u32::from(lanes)).next_multiple_of(4);
        let table = schema.add_table("tiles", Scalar::I8, record(child_at + 8), tiles);
        schema.prefetch_with_trees(table);
        let start = starts.declare(&mut schema, "tile_trees");
        let children = schema.add_number_table("tile_children", Scalar::I32, children);
        let lut = schema.add_number_table("tile_lut", Scalar::I8, (rows.len() as u64) << lanes);
        let leaf = schema.add_number_table("tile_leaves", Payload::element(forest), leaves);
        let numbers = LeafIndices::declare(request, &mut schema, "tile_leaf_indices", leaves);
        Ok(Tiled {
            tiling: Arc::clone(tiling),
            lanes,
            operands: schema.add_field(table, "thresholds", operand, 0),
            features: schema.add_field(table, "features", feature, features_at),
            child: schema.add_field(table, "first child", Scalar::I32, child_at),
            row: schema.add_field(table, "look-up row", Scalar::I32, child_at + 4),
            children,
            lut,
            leaves: Leaves::new(Payload::new(forest, leaf), numbers),
            starts,
            start,
            rows,
            test,
            schema,
        })
    }

    fn feature_bits(&self) -> u32 {
        8 * self.features.scalar.bytes()
    }

    fn write_tile(&self, bytes: &mut TableBytes, record: usize, tree: &Tree, tile: &Tile) {
        for (lane, node) in (0..).zip(&tile.nodes) {
            let test = self.test.encode(&tree.inner[*node as usize], self.feature_bits());
            let of_lane = |field: Field| field.offset_by(lane * field.scalar.bytes());
            of_lane(self.operands).write_operand(bytes, record, test.operand);
            of_lane(self.features).write(bytes, record, test.feature);
        }
        self.row.write(bytes, record, self.rows.get(&tile.shape).copied().unwrap_or(0));
    }

    /// Writes the child of each combination of decisions, for each shape.
    fn write_lut(&self, bytes: &mut TableBytes) {
        for (shape, start) in &self.rows {
            let mut row = shape.lut(u32::from(self.lanes));
            if seeded(Fault::TileReversesDecisions) {
                row.reverse();
            }
            self.lut.bytes_from_record(bytes, *start as usize)[..row.len()].copy_from_slice(&row);
        }
    }

    /// Decisions of a tile's tests as the bits of an index.
    fn decisions(&self, b: &mut Builder, buffers: &Buffers, tile: Value, row: &RowAddress) -> Value {
        let fields = self.features.load_array(b, buffers, tile, self.lanes);
        let fields = b.to_index(fields);
        let (feature, flag) = self.test.split_feature_field(b, fields, self.feature_bits());
        // All lanes read the same row.
        let lanes = Some(RowLanes { distance: None, adjacent: false, mask: None });
        let x = RowAddress { lanes, ..*row }.load(b, feature);
        let operands = self.operands.load_array(b, buffers, tile, self.lanes);
        let right = self.test.goes_right(b, x, operands, flag);
        let bits = b.mask_bits(right);
        b.to_index(bits)
    }
}

impl Representation for Tiled {
    fn fill(&self, forest: &Forest, bytes: &mut TableBytes) {
        self.write_lut(bytes);
        self.starts.write(self.start, bytes);
        let (mut next_child, mut first_leaf, mut in_forest) = (0, 0, 0u32);
        for (at, (tree, tiled)) in forest.trees.iter().zip(&self.tiling.trees).enumerate() {
            let before = in_forest;
            in_forest = in_forest.saturating_add(tree.leaves.len() as u32);
            // Every used tree has a tile.
            let Some(start) = self.starts.first_record(at) else { continue };
            for (record, tile) in (start..).zip(&tiled.tiles) {
                self.write_tile(bytes, record, tree, tile);
                self.child.write(bytes, record, next_child as u64);
                for child in &tile.children {
                    let number = match child {
                        Child::Tile(tile) => *tile,
                        Child::Leaf(leaf) => !(first_leaf as u32 + leaf),
                    };
                    self.children.write(bytes, next_child, number.into());
                    next_child += 1;
                }
            }
            for (number, leaf) in tree.leaves.iter().enumerate() {
                self.leaves.write(bytes, first_leaf + number, leaf, before.saturating_add(number as u32));
            }
            first_leaf += tree.leaves.len();
        }
    }

    fn root(&self, b: &mut Builder, lanes: u16, _: bool) -> Value {
        b.int_of(b.number_type(lanes), 0)
    }

    fn step(&self, b: &mut Builder, buffers: &Buffers, lane: &Lane, at: &Cursor, step: Step) -> Cursor {
        let Lane { state, row, .. } = lane;
        let node = at.node;
        let zero = b.int(0);
        // A walk that has arrived tests the root again and ignores the result.
        let within = if step == Step::Masked { b.bin(Bin::Max, node, zero) } else { node };
        let tile = b.add(state.base, within);
        let decisions = self.decisions(b, buffers, tile, row);
        let first = b.load_index(Scalar::I32, self.child.address(buffers, tile));
        let start = b.load_index(Scalar::I32, self.row.address(buffers, tile));
        let index = b.add(start, decisions);
        let number = b.load_index(Scalar::I8, self.lut.address(buffers, index));
        let index = b.add(first, number);
        let next = b.load(Ty::of(Scalar::I32), self.children.address(buffers, index));
        let next = b.cast(Cast::SExt, next, b.index());
        if step != Step::Masked {
            return Cursor::of(next);
        }
        let done = b.cmp(Cmp::Lt, node, zero);
        Cursor::of(b.select(done, node, next))
    }

    fn levels_per_step(&self) -> u32 {
        (u32::from(self.lanes) + 1).ilog2()
    }

    fn is_leaf(&self, b: &mut Builder, _: &Buffers, _: &TreeState, node: Value) -> Value {
        let zero = b.int(0);
        b.cmp(Cmp::Lt, node, zero)
    }

    fn leaf_record(&self, b: &mut Builder, state: &TreeState, end: WalkEnd) -> (TreeState, Value) {
        let ones = b.int(-1);
        let leaf = b.bin(Bin::Xor, end.node, ones);
        (TreeState { base: b.int(0), lanes: None, ..*state }, leaf)
    }

    fn leaves(&self) -> &Leaves {
        &self.leaves
    }
}

impl InOrder for Tiled {
    fn tree_spans(&self) -> TreeSpans<'_> {
        TreeSpans { schema: &self.schema, starts: &self.starts, start_field: self.start }
    }
}
