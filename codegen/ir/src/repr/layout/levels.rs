//! The levels layout: complete trees whose levels are short tables, looked up in registers instead of
//! gathered.
//!
//! Nodes are numbered as in the array layout: the root is 1, the children of `n` are `2n` and `2n + 1`.
//! Thresholds and feature fields have separate tables, indexed by node number. So the nodes of a level
//! are contiguous: level `h` has `2^h` entries from number `2^h` on. The low bits of a node's number
//! are its index in the level. A vector of walks looks thresholds and feature fields up in the level's
//! table, which fits a few registers. In the first levels it loads whole columns of features instead,
//! because few nodes mean few features. Leaves have a third table.
//!
//! Walks must be straight-line down to the leaf, so every tree is padded to one depth.

mod lane_trees;

use crate::bytes::narrowest_unsigned;
use crate::error::CompileError;
use crate::lir::{Bin, Builder, Cmp, Gather, Scalar, Value};
use crate::quantize::fetch::FetchStrategy;
use crate::repr::complete::{CompleteTrees, LEAST_ENTRIES, NodeSlot, PaddedDepths};
use crate::repr::cursor::{Cursor, Step, choose};
use crate::repr::format_traits::RowVectorTraversal;
use crate::repr::layout::{FormatInfo, Formats, WalkAxis, Walking};
use crate::repr::leaves::Leaves;
use crate::repr::records::TableNames;
use crate::repr::representation::{Representation, WalkEnd};
use crate::repr::request::LayoutRequest;
use crate::repr::schema::{Field, Schema, TableBytes};
use crate::repr::spans::TreeSpans;
use crate::repr::starts::too_many_records;
use crate::repr::test::Test;
use crate::repr::traverse::Lane;
use crate::repr::traverse::speculate::{LevelOrder, NodeTest};
use crate::repr::tree::{Buffers, TreeExtra, TreeState, WalkShape};
use crate::repr::tree_tables::InOrder;
use crate::rows::RowAddress;
use lane_trees::LaneTrees;
use sched_forest::Forest;

/// Trees as tables of thresholds, feature fields and leaves.
pub struct Levels {
    schema: Schema,
    operand: Field,
    feature: Field,
    test: Test,
    trees: CompleteTrees,
}

/// Index of the format with a table for each field.
const LEVEL_TABLES: usize = 0;
/// Index of the format with three levels per chunk, and the first levels lane by lane.
const LANE_TREES: usize = 1;

/// The formats of the layout.
pub const FORMATS: Formats = Formats {
    all: &[
        FormatInfo {
            row_vectors: Some(RowVectorTraversal::LevelLookup),
            ..FormatInfo::new("complete trees in level order, tables", |request| {
                Ok(Box::new(Levels::new(request)?))
            })
        },
        FormatInfo {
            depends_on_lanes: true,
            ..FormatInfo::new(
                "complete trees, three levels at a time; first levels lane by lane",
                |request| Ok(Box::new(LaneTrees::new(request)?)),
            )
        },
    ],
    for_access: |walking| match walking {
        Walking::Single(_) | Walking::Vectors(WalkAxis::Row) => LEVEL_TABLES,
        Walking::Vectors(WalkAxis::Tree) => LANE_TREES,
    },
};

const NAMES: TableNames =
    TableNames { nodes: "levels_leaves", trees: "levels_trees", leaf_indices: "levels_leaf_indices" };

/// Number of a tree's first feature fields that wide vectors load once and look up in for several levels.
const SHARED_FIELDS: u64 = 64;

impl Levels {
    /// The layout for a forest whose used trees are complete.
    pub fn new(request: &LayoutRequest) -> Result<Levels, CompileError> {
        let forest = request.forest;
        let test = Test::of(request, sched_nest::Layout::Levels);
        let limit = test.feature_limit(forest.num_features as u64);
        let feature = narrowest_unsigned(limit).unwrap_or(Scalar::I32);
        let depths = PaddedDepths::of(request);
        let starts = depths.tree_starts()?;
        if limit > 1 << 31 {
            return Err(too_many_records(limit, "entries"));
        }
        let mut schema = Schema::default();
        let operand = schema.add_number_table("levels_thresholds", test.operand(), starts.count());
        let feature = schema.add_number_table("levels_features", feature, starts.count());
        schema.prefetch_with_trees(operand.table());
        schema.prefetch_with_trees(feature.table());
        let trees = CompleteTrees::declare(request, &mut schema, NAMES, depths, starts);
        Ok(Levels { schema, operand, feature, test, trees })
    }

    fn feature_bits(&self) -> u32 {
        8 * self.feature.scalar.bytes()
    }

    /// Loads the first thresholds and the first feature fields of a tree. Vectors of walks look up in them
    /// for several levels.
    fn load_first_entries(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        base: Value,
        walks: WalkShape,
    ) -> TreeExtra {
        let (thresholds, fields) = if walks.lanes < 16 { (8, 8) } else { (LEAST_ENTRIES, SHARED_FIELDS) };
        let all = LEAST_ENTRIES.max(1 << walks.steps.min(30));
        let first = b.int(0);
        TreeExtra::Tables {
            operands: load_entries(b, buffers, self.operand, base, first, thresholds.min(all)),
            features: load_entries(b, buffers, self.feature, base, first, fields.min(all)),
            offsets: None,
        }
    }

    /// Looks up threshold and feature field for a vector of nodes of a level with `size` nodes: in the first
    /// entries of the tree, or in those of the level.
    fn look_up(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        size: u64,
    ) -> (Value, Value) {
        let TreeExtra::Tables { operands, features, .. } = state.extra else {
            return self.gather(b, buffers, state, node);
        };
        let mut from = |first: Value, field: Field| {
            let table = if size < u64::from(b.ty(first).lanes) {
                first
            } else {
                let start = b.int(size as i64);
                load_entries(b, buffers, field, state.base, start, size)
            };
            b.lookup(table, node)
        };
        (from(operands, self.operand), from(features, self.feature))
    }

    /// Loads threshold and feature field of a single node.
    fn load(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> (Value, Value) {
        let threshold = self.operand.load(b, buffers, state, node);
        let field = self.feature.load(b, buffers, state, node);
        (threshold, b.to_index(field))
    }

    fn gather(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> (Value, Value) {
        let threshold = self.operand.load(b, buffers, state, node);
        if self.feature.scalar == Scalar::I32 {
            return (threshold, self.feature.load(b, buffers, state, node));
        }
        // Gathers fetch words only: gather the word with the field and extract it. The table has whole
        // words.
        let each = 4 / self.feature.scalar.bytes();
        let ty = b.ty(node);
        let (per_word, last) = (i64::from(each.ilog2()), b.int_of(ty, i64::from(each) - 1));
        let node = state.lanes.map_or(node, |lanes| b.add(lanes, node));
        let distance = b.int_of(ty, per_word);
        let word = b.bin(Bin::Shr, node, distance);
        let (shift, zero) = (b.int(per_word), b.int(0));
        let base = b.bin(Bin::Shr, state.base, shift);
        let base = if state.lanes.is_some() { zero } else { base };
        let buffer = self.feature.buffer(buffers);
        let gather = Gather { buffer, base, index: word, stride: 4, offset: 0, mask: None };
        let word = b.gather(Scalar::I32, gather);
        let place = b.bin(Bin::And, node, last);
        let mut field = b.extract_bits(word, 0, self.feature_bits());
        for at in 1..each {
            let this = b.int_of(ty, i64::from(at));
            let here = b.cmp(Cmp::Eq, place, this);
            let other = b.extract_bits(word, at * self.feature_bits(), self.feature_bits());
            field = b.select(here, other, field);
        }
        (threshold, field)
    }

    /// Values that the nodes of one of the first levels test, for adjacent rows: loads the columns of
    /// all the level's features and selects by the decisions.
    fn columns(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        row: &RowAddress,
        cursor: &Cursor,
    ) -> Value {
        let nodes = 1i64 << cursor.decisions.len()..2 << cursor.decisions.len();
        let width = b.ty(cursor.node).lanes;
        let mut column = |number: i64| {
            let at = b.address_after(self.feature.address(buffers, state.base), number);
            let field = b.load_index(self.feature.scalar, at);
            let (feature, _) = self.test.split_feature_field(b, field, self.feature_bits());
            row.load_column(b, feature, width)
        };
        let columns = nodes.map(&mut column).collect();
        choose(b, columns, &cursor.decisions)
    }
}

/// Loads `size` entries of a tree, from number `first` on.
fn load_entries(
    b: &mut Builder,
    buffers: &Buffers,
    field: Field,
    base: Value,
    first: Value,
    size: u64,
) -> Value {
    let first = b.add(base, first);
    field.load_records(b, buffers, first, size)
}

impl Representation for Levels {
    fn fill(&self, forest: &Forest, bytes: &mut TableBytes) {
        self.trees.fill(forest, bytes, |bytes, NodeSlot { entry, .. }, inner| {
            let test = self.test.encode(inner, self.feature_bits());
            self.operand.write_operand(bytes, entry, test.operand);
            self.feature.write(bytes, entry, test.feature);
        });
    }

    fn level_order(&self) -> Option<&dyn LevelOrder> {
        Some(self)
    }

    fn step(&self, b: &mut Builder, buffers: &Buffers, lane: &Lane, at: &Cursor, step: Step) -> Cursor {
        let Lane { state, row, .. } = lane;
        let node = at.node;
        let (level, fetch) = match step {
            Step::Level { level, fetch, .. } => (level, fetch),
            Step::Unmasked | Step::Masked => (0, None),
        };
        let (threshold, field) = match fetch {
            Some(FetchStrategy::GatherNodes) => self.gather(b, buffers, state, node),
            Some(_) => self.look_up(b, buffers, state, node, 1 << level),
            None if b.ty(node).lanes > 1 => self.gather(b, buffers, state, node),
            None => self.load(b, buffers, state, node),
        };
        let (feature, flag) = self.test.split_feature_field(b, field, self.feature_bits());
        let x = match fetch {
            Some(FetchStrategy::ByNode) => self.columns(b, buffers, state, row, at),
            _ => row.load(b, feature),
        };
        let right = self.test.goes_right(b, x, threshold, flag);
        at.descend(b, right)
    }

    fn leaf_record(&self, b: &mut Builder, state: &TreeState, end: WalkEnd) -> (TreeState, Value) {
        let WalkEnd { node, steps } = end;
        (state.numbered_from(b, self.trees.first_leaf(steps)), node)
    }

    fn leaves(&self) -> &Leaves {
        &self.trees.leaves
    }
}

impl InOrder for Levels {
    fn tree_spans(&self) -> TreeSpans<'_> {
        self.trees.spans(&self.schema)
    }

    fn load_extra(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        _: Value,
        start: Value,
        walks: WalkShape,
    ) -> TreeExtra {
        if walks.lanes > 1 { self.load_first_entries(b, buffers, start, walks) } else { TreeExtra::Nothing }
    }
}

impl LevelOrder for Levels {
    fn test(&self) -> &Test {
        &self.test
    }

    fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, number: u64) -> NodeTest {
        let number = state.number(b, number);
        let (threshold, field) = if state.lanes.is_some() {
            self.gather(b, buffers, state, number)
        } else {
            self.load(b, buffers, state, number)
        };
        let (feature, missing_left) = self.test.split_feature_field(b, field, self.feature_bits());
        NodeTest { operand: threshold, feature, missing_left }
    }
}
