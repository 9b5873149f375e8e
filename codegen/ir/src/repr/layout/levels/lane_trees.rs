//! The levels layout for walks of one row down several trees, with one tree per lane of a vector.
//!
//! Nodes are numbered as in the array layout. Every tree has the same number of records, so a tree's
//! position follows from its number. A record holds threshold and feature field if they fit 64 bits, and
//! has no more bytes than these. So a step takes one gather, whose upper bytes belong to the next
//! record. Three levels at a time form chunks that hold each node with its children and grandchildren,
//! so that three steps touch one cache line. The first levels are also stored lane by lane, for each
//! vector of trees. One load fetches a node of all lanes' trees, and the decisions select among the
//! nodes of a level.
//!
//! Walks must be straight-line down to the leaf, so every tree is padded to one depth.

use crate::bytes::narrowest_unsigned;
use crate::codes;
use crate::error::CompileError;
use crate::lir::{Builder, Cast, Scalar, Ty, Value};
use crate::repr::complete::{CompleteNode, for_each_node};
use crate::repr::cursor::{Cursor, Step, choose};
use crate::repr::leaf_indices::LeafIndices;
use crate::repr::leaves::Leaves;
use crate::repr::payload::Payload;
use crate::repr::representation::{Representation, WalkEnd};
use crate::repr::request::LayoutRequest;
use crate::repr::schema::{Field, Schema, TableBytes, prefetch};
use crate::repr::test::Test;
use crate::repr::traverse::Lane;
use crate::repr::traverse::speculate::{LevelOrder, NodeTest};
use crate::repr::tree::{Buffers, TreeExtra, TreeLanes, TreeState, WalkShape};
use crate::repr::tree_tables::TreeTables;
use sched_forest::{Forest, Inner, Tree};
use sched_nest::Layout;
use std::ops::Range;

/// Trees as records, with their first levels lane by lane.
pub struct LaneTrees {
    schema: Schema,
    test: Test,
    /// Fields of a node: its threshold, and its feature field in the same record or in a separate
    /// table.
    operand: Field,
    feature: Field,
    /// Tables of the first levels, lane by lane.
    top_operand: Field,
    top_feature: Field,
    leaves: Leaves,
    /// Trees per vector.
    lanes: u64,
    /// Depth of each tree; `None` for unused trees.
    depths: Vec<Option<u32>>,
    /// Range that covers the used trees.
    trees: Range<u64>,
    /// Depth of the deepest leaf, in edges.
    depth: u32,
}

/// Levels per chunk.
const CHUNK_LEVELS: u32 = 3;

/// Record numbers of a level's nodes: node `n` has the record `(n >> level_in_chunk) * block + (n & ((1 <<
/// level_in_chunk) - 1)) + first`.
struct LevelRecords {
    /// Number of levels from the first level of its chunk to this level.
    level_in_chunk: u32,
    /// Records of a block: one node of the chunk's first level with all nodes below it in the chunk.
    block: u64,
    /// Constant summand, possibly negative because node numbers do not begin at 0.
    first: i64,
}

impl LevelRecords {
    /// The level of a tree with `depth` levels.
    fn of(level: u32, depth: u32) -> LevelRecords {
        let (top, level_in_chunk) = (level / CHUNK_LEVELS * CHUNK_LEVELS, level % CHUNK_LEVELS);
        let before = (0..top).step_by(CHUNK_LEVELS as usize).map(|top| chunk(top, depth)).sum::<u64>() as i64;
        let block = block(top, depth);
        // The first node of the chunk's first level has number `2^top`; in its block, the level starts
        // at `local`.
        let local = (1 << level_in_chunk) - 1;
        LevelRecords { level_in_chunk, block, first: before - ((block << top) as i64) + local }
    }

    fn record(&self, node: u64) -> u64 {
        let place = (node >> self.level_in_chunk) * self.block + (node & ((1 << self.level_in_chunk) - 1));
        place.wrapping_add_signed(self.first)
    }
}

/// Records of one block of the chunk that begins with level `top`.
fn block(top: u32, depth: u32) -> u64 {
    (1 << (depth - top).min(CHUNK_LEVELS)) - 1
}

/// Records of the chunk that begins with level `top`.
fn chunk(top: u32, depth: u32) -> u64 {
    block(top, depth) << top
}

/// Records of a tree.
fn records(depth: u32) -> u64 {
    (0..depth).step_by(CHUNK_LEVELS as usize).map(|top| chunk(top, depth)).sum::<u64>().max(1)
}

/// Levels that are stored lane by lane. In deeper levels, loading all nodes costs more than gathering.
const TOP_LEVELS: u32 = 3;
/// Entries of a tree's top nodes: `2^TOP_LEVELS - 1` nodes, and entry 0, which is unused.
const TOP_NODES: u64 = 1 << TOP_LEVELS;

/// Top nodes of a vector of trees.
#[derive(Clone, Copy)]
struct Tops {
    first: Value,
    /// Trees of the vector.
    lanes: u16,
}

impl LaneTrees {
    /// The layout for a forest whose used trees are complete, walked by vectors of trees.
    pub fn new(request: &LayoutRequest) -> Result<LaneTrees, CompileError> {
        let lanes = request.tree_lanes;
        let forest = request.forest;
        let test = Test::of(request, Layout::Levels);
        let used = || request.used.iter().enumerate().filter(|(_, used)| **used).map(|(at, _)| at);
        let trees = used().min().unwrap_or(0) as u64..used().max().map_or(0, |last| last + 1) as u64;
        let depth = used().map(|at| request.depths[at].0).max().unwrap_or(0);
        let each = if depth < 32 { records(depth) } else { u64::MAX };
        let records = (trees.end - trees.start).saturating_mul(each);
        let limit = test.feature_limit(forest.num_features as u64);
        let tops = (trees.end - trees.start + 2 * u64::from(lanes)).saturating_mul(TOP_NODES);
        // Record indices count bytes if threshold and feature field share a record.
        let bytes = records.saturating_add(1).saturating_mul(8);
        if i32::try_from(bytes).is_err() || i32::try_from(tops).is_err() || limit > 1 << 31 {
            return Err(CompileError::new(
                codes::LAYOUT_BUDGET,
                format!("the layout needs {bytes} bytes of nodes; the limit is {}", i32::MAX),
                "use representation(sparse), which stores only nodes that exist",
            ));
        }
        let lanes = u64::from(lanes);
        let feature = narrowest_unsigned(limit).unwrap_or(Scalar::I32);
        let operand = test.operand();
        let joint = operand == Scalar::F32;
        let record = if joint { operand.bytes() + feature.bytes() } else { operand.bytes() };
        let first = trees.start / lanes * lanes;
        let tops = (trees.end - first).next_multiple_of(lanes) * TOP_NODES;
        let mut schema = Schema::default();
        let element = if joint { Scalar::I8 } else { operand };
        let table = schema.add_table("lane_nodes", element, record, records);
        // Gathers fetch whole words, which at the last record reach beyond the table.
        schema.add_tail(table, 8 - u64::from(record));
        let apart = schema.add_number_table("lane_features", Scalar::I32, if joint { 0 } else { records });
        let top_operand = schema.add_number_table("lane_tops", operand, tops);
        let top_feature = schema.add_number_table("lane_top_features", feature, tops);
        let leaves = (trees.end - trees.start) << depth;
        let leaf = schema.add_number_table("lane_leaves", Payload::element(forest), leaves);
        let leaf_indices = LeafIndices::declare(request, &mut schema, "lane_leaf_indices", leaves);
        Ok(LaneTrees {
            operand: schema.add_field(table, "threshold", operand, 0),
            feature: if joint { schema.add_field(table, "feature", feature, operand.bytes()) } else { apart },
            top_operand,
            top_feature,
            leaves: Leaves::new(Payload::new(forest, leaf), leaf_indices),
            lanes,
            depths: request.depths_of_used(),
            trees,
            depth,
            test,
            schema,
        })
    }

    /// Whether threshold and feature field share a record, of at most 64 bits.
    fn in_one_record(&self) -> bool {
        self.operand.table() == self.feature.table()
    }

    /// Bytes of a record.
    fn record(&self) -> u32 {
        self.operand.stride()
    }

    /// Factor from record numbers to indices, which count bytes if threshold and feature field share a
    /// record.
    fn unit(&self) -> i64 {
        if self.in_one_record() { self.record().into() } else { 1 }
    }

    fn feature_bits(&self) -> u32 {
        8 * self.top_feature.scalar.bytes()
    }

    /// Index of a used tree's first leaf.
    fn first_leaf(&self, tree: u64) -> u64 {
        (tree - self.trees.start) << self.depth
    }

    /// First tree of the first vector.
    fn first_of_tops(&self) -> u64 {
        self.trees.start / self.lanes * self.lanes
    }

    /// Index of a top node's threshold and feature field.
    fn top_index(&self, tree: u64, node: u64) -> u64 {
        let tree = tree - self.first_of_tops();
        tree / self.lanes * self.lanes * TOP_NODES + node * self.lanes + tree % self.lanes
    }

    fn write_node(&self, bytes: &mut TableBytes, tree: u64, node: u64, inner: &Inner) {
        let test = self.test.encode(inner, self.feature_bits());
        let start = (tree - self.trees.start) * records(self.depth);
        let record = (start + LevelRecords::of(node.ilog2(), self.depth).record(node)) as usize;
        self.operand.write_operand(bytes, record, test.operand);
        self.feature.write(bytes, record, test.feature);
        if node < TOP_NODES {
            let top = self.top_index(tree, node) as usize;
            self.top_operand.write_operand(bytes, top, test.operand);
            self.top_feature.write(bytes, top, test.feature);
        }
    }

    fn write_tree(&self, bytes: &mut TableBytes, at: u64, tree: &Tree, first_leaf: u32) {
        let Some(depth) = self.depths[at as usize] else { return };
        for_each_node(tree, depth, |part| match part {
            CompleteNode::Node(number, inner) => self.write_node(bytes, at, number, inner),
            CompleteNode::Leaf(places, leaf) => {
                for place in places {
                    let entry = (self.first_leaf(at) + place) as usize;
                    let source = &tree.leaves[leaf as usize];
                    self.leaves.write(bytes, entry, source, first_leaf + leaf);
                }
            }
            // No leaf is deeper than its tree.
            CompleteNode::Subtree(..) => {}
        });
    }

    /// Loads threshold and feature field from the tables of top nodes: all nodes of the level, selected by
    /// the decisions.
    fn look_up_top(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        tops: Tops,
        decisions: &[Value],
    ) -> (Value, Value) {
        let nodes = 1u64 << decisions.len()..2 << decisions.len();
        let (thresholds, fields) = nodes.map(|node| self.load_top(b, buffers, tops, node)).unzip();
        (choose(b, thresholds, decisions), choose(b, fields, decisions))
    }

    /// Loads threshold and feature field of one top node of each lane's tree.
    fn load_top(&self, b: &mut Builder, buffers: &Buffers, tops: Tops, node: u64) -> (Value, Value) {
        let mut load = |field: Field| {
            let at = b.address_after(field.address(buffers, tops.first), (node * self.lanes) as i64);
            b.load(Ty::vector(field.scalar, tops.lanes), at)
        };
        let (operand, field) = (load(self.top_operand), load(self.top_feature));
        let ty = Ty::vector(Scalar::I32, tops.lanes);
        (operand, if self.top_feature.scalar == Scalar::I32 { field } else { b.cast(Cast::ZExt, field, ty) })
    }

    /// Loads threshold and feature field from the records of a level.
    fn look_up(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        at: &Cursor,
        level: u32,
    ) -> (Value, Value) {
        let ty = b.ty(at.node);
        let LevelRecords { level_in_chunk, block, first } = LevelRecords::of(level, self.depth);
        let state = &TreeState { base: b.add_int(state.base, first * self.unit()), ..*state };
        let top = match at.path.len().checked_sub(level_in_chunk as usize) {
            Some(above) if level_in_chunk > 0 => at.path[above],
            _ => b.extract_bits(at.node, level_in_chunk, 8 * ty.scalar.bytes() - level_in_chunk),
        };
        // `start` is the same for all levels of a chunk, so it is computed once.
        let each = b.int_of(ty, self.unit());
        let block = b.int_of(ty, block as i64 * self.unit());
        let start = b.mul(top, block);
        let local = b.extract_bits(at.node, 0, level_in_chunk);
        let local = b.mul(local, each);
        let node = if level_in_chunk == 0 { start } else { b.add(start, local) };
        if !self.in_one_record() {
            let operand = self.operand.load(b, buffers, state, node);
            return (operand, self.feature.load(b, buffers, state, node));
        }
        // Indices count bytes.
        let (operand, field) = (self.operand.by_bytes(), self.feature.by_bytes());
        if ty.lanes == 1 {
            return (operand.load(b, buffers, state, node), field.load(b, buffers, state, node));
        }
        let word = operand.with_scalar(Scalar::I64).load(b, buffers, state, node);
        let (low, field) = (b.extract_half(word, 0), b.extract_half(word, 1));
        (b.cast(Cast::Bits, low, ty.with(Scalar::F32)), b.extract_bits(field, 0, self.feature_bits()))
    }

    /// Index of a tree's first record, and of its first leaf.
    fn first_record_and_leaf(&self, b: &mut Builder, tree: Value) -> (Value, Value) {
        let tree = b.add_int(tree, -(self.trees.start as i64));
        let leaf = b.mul_int(tree, 1 << self.depth);
        (b.mul_int(tree, records(self.depth) as i64 * self.unit()), leaf)
    }
}

impl TreeTables for LaneTrees {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn load_tree(&self, b: &mut Builder, _: &Buffers, tree: Value, _: WalkShape) -> TreeState {
        let (base, leaf) = self.first_record_and_leaf(b, tree);
        let extra = TreeExtra::Leaves { first: leaf, lanes: None, tops: None };
        TreeState { extra, ..TreeState::at(base) }
    }

    fn load_trees(&self, b: &mut Builder, _: &Buffers, tree: Value, lanes: TreeLanes) -> TreeState {
        let ty = b.ty(lanes.distance);
        let (base, first) = self.first_record_and_leaf(b, tree);
        let (records, leaves) =
            (b.int_of(ty, records(self.depth) as i64 * self.unit()), b.int_of(ty, 1 << self.depth));
        let distance = b.mul(lanes.distance, records);
        let leaves = b.mul(lanes.distance, leaves);
        // Vectors of fewer lanes, for remainders, also begin at a multiple of `self.lanes`.
        let tops = (lanes.aligned && u64::from(ty.lanes) <= self.lanes).then(|| {
            let tree = b.add_int(tree, -(self.first_of_tops() as i64));
            b.mul_int(tree, TOP_NODES as i64)
        });
        let extra = TreeExtra::Leaves { first, lanes: Some(leaves), tops };
        TreeState { base, lanes: Some(distance), extra }
    }

    fn prefetch(&self, b: &mut Builder, buffers: &Buffers, tree: Value) {
        let (base, leaf) = self.first_record_and_leaf(b, tree);
        let (record, payload) = (i64::from(self.record()), i64::from(self.leaves.payload.bytes()));
        let (nodes, leaves) = (b.mul_int(base, record / self.unit()), b.mul_int(leaf, payload));
        let ranges = [
            (self.operand.buffer(buffers), nodes, records(self.depth) as i64 * record),
            (self.leaves.payload.buffer(buffers), leaves, payload << self.depth),
        ];
        for (buffer, start, bytes) in ranges {
            let end = b.add_int(start, bytes);
            prefetch(b, buffer, start, end);
        }
    }
}

impl Representation for LaneTrees {
    fn fill(&self, forest: &Forest, bytes: &mut TableBytes) {
        let mut first_leaf = 0u32;
        for (at, tree) in forest.trees.iter().enumerate() {
            self.write_tree(bytes, at as u64, tree, first_leaf);
            first_leaf = first_leaf.saturating_add(tree.leaves.len() as u32);
        }
    }

    fn level_order(&self) -> Option<&dyn LevelOrder> {
        Some(self)
    }

    fn step(&self, b: &mut Builder, buffers: &Buffers, lane: &Lane, at: &Cursor, step: Step) -> Cursor {
        let Lane { state, row, .. } = lane;
        let Cursor { node, decisions, .. } = at;
        let ty = b.ty(*node);
        // Walks are straight-line, so all steps are counted.
        let taken = decisions.len() as u32;
        let (threshold, field) = match (state.extra, step) {
            (TreeExtra::Leaves { tops: Some(first), .. }, Step::Level { level, .. })
                if level < TOP_LEVELS =>
            {
                self.look_up_top(b, buffers, Tops { first, lanes: ty.lanes }, decisions)
            }
            _ => self.look_up(b, buffers, state, at, taken.min(self.depth.saturating_sub(1))),
        };
        let field = if ty.lanes == 1 { b.to_index(field) } else { field };
        let (feature, flag) = self.test.split_feature_field(b, field, self.feature_bits());
        let x = row.load(b, feature);
        let right = self.test.goes_right(b, x, threshold, flag);
        at.descend(b, right)
    }

    fn leaf_record(&self, b: &mut Builder, state: &TreeState, end: WalkEnd) -> (TreeState, Value) {
        let WalkEnd { node, steps } = end;
        let (base, lanes) = match state.extra {
            TreeExtra::Leaves { first, lanes, .. } => (first, lanes),
            _ => (state.base, state.lanes),
        };
        let leaves = TreeState { base, lanes, extra: TreeExtra::Nothing };
        (leaves.numbered_from(b, 1 << steps.unwrap_or(self.depth)), node)
    }

    fn leaves(&self) -> &Leaves {
        &self.leaves
    }
}

impl LevelOrder for LaneTrees {
    fn test(&self) -> &Test {
        &self.test
    }

    fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, number: u64) -> NodeTest {
        let node = state.number(b, number);
        let lanes = b.ty(node).lanes;
        let (threshold, field) = match state.extra {
            TreeExtra::Leaves { tops: Some(first), .. } if number < TOP_NODES => {
                self.load_top(b, buffers, Tops { first, lanes }, number)
            }
            _ => self.look_up(b, buffers, state, &Cursor::of(node), number.ilog2()),
        };
        let field = if lanes == 1 { b.to_index(field) } else { field };
        let (feature, missing_left) = self.test.split_feature_field(b, field, self.feature_bits());
        NodeTest { operand: threshold, feature, missing_left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_a_record_of_its_own() {
        for depth in 0..=10 {
            let records = records(depth);
            let all = (1..1u64 << depth).map(|node| LevelRecords::of(node.ilog2(), depth).record(node));
            let mut all: Vec<u64> = all.collect();
            assert!(all.iter().all(|record| *record < records), "depth {depth}");
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len() as u64, (1 << depth) - 1, "depth {depth}");
        }
    }
}
