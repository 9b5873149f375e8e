//! The preorder layout: existing nodes, depth first. Each node is before its left subtree, and the left
//! subtree before the right one.
//!
//! Leaves are numbered from left to right. The position of a row is the leftmost leaf that it can still
//! reach. A row has reached a node if its position is the node's leftmost leaf. If the row goes right there,
//! its position becomes the leftmost leaf of the right subtree. So a vector of rows tests all nodes in
//! preorder ([`Sweep`]), and no row has to find its next node. Nodes compare threshold bins with bins
//! ([`BinMap`]). Each tree has one entry more than nodes. No row reaches this last entry, so testing it
//! changes no position.
//!
//! A single row whose bins fit a register makes all tests of a small tree at once ([`TestMaskTables`]).
//!
//! Walks that take steps (other single walks, and trees in lanes) keep the entry of their node beside their
//! leaf position. The left child has the next entry. The right child's entry follows from the left subtree,
//! which has one node fewer than leaves.

mod node;
mod order;
mod sets;
mod test_mask;

use self::node::{EncodedNode, NodeFields, NodeNumberTypes, in_all_lanes};
use self::order::in_order;
use self::sets::{NodeNumbers, SetNode, SetTables};
use self::test_mask::TestMaskTables;
use crate::bytes::narrowest_unsigned;
use crate::codes;
use crate::error::CompileError;
use crate::fault::{Fault, seeded};
use crate::lir::{Bin, BuildStmts, Builder, Cast, Cmp, Scalar, Ty, Value};
use crate::quantize::BinMap;
use crate::repr::cursor::{Cursor, Step};
use crate::repr::entries::{LeafEntry, TreeEntries};
use crate::repr::format_traits::{RowVectorTraversal, TestMasks, TransposedBins};
use crate::repr::layout::{FormatInfo, Formats, WalkAxis, Walking};
use crate::repr::leaves::Leaves;
use crate::repr::records::TableNames;
use crate::repr::representation::{Representation, WalkEnd};
use crate::repr::request::LayoutRequest;
use crate::repr::schema::{Field, Schema, TableBytes};
use crate::repr::spans::{RecordSpan, TreeSpans};
use crate::repr::starts::TreeStarts;
use crate::repr::test::{Test, TestOperand, bin_goes_right};
use crate::repr::traverse::Lane;
use crate::repr::traverse::sweep::{Sweep, SweepVector, SweptNode};
use crate::repr::traverse::test_mask::TestMask;
use crate::repr::tree::{Buffers, TreeEntry, TreeExtra, TreeState, WalkShape};
use crate::repr::tree_tables::InOrder;
use crate::rows::RowAddress;
use sched_forest::{Forest, Tree};
use sched_nest::Layout;
use std::sync::Arc;

/// Names of the tables of nodes and leaves.
pub struct PreorderNames {
    /// Table of nodes.
    pub nodes: &'static str,
    /// Table of all leaf positions.
    pub positions: &'static str,
    /// Tables of leaves and trees.
    pub leaves: TableNames,
}

/// Walks for which trees in preorder are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreorderWalks {
    /// Steps from node to node.
    Steps,
    /// Also sweeps of vectors of rows over all nodes.
    Sweeps,
    /// Also test masks of single rows.
    TestMasks,
}

/// Trees as nodes in preorder, and leaves from left to right.
pub struct Preorder {
    schema: Schema,
    bins: Arc<BinMap>,
    test: Test,
    /// Element type of leaf positions.
    position_type: Scalar,
    /// Whether vectors of rows sweep over all nodes.
    has_sweeps: bool,
    /// Leaves of the largest tree.
    most_leaves: u64,
    node: NodeFields,
    /// Table of all leaf positions, each repeated to fill a word.
    position_words: Field,
    /// Tables for test masks.
    tests: TestMaskTables,
    /// Sets that nodes test, if there are some.
    sets: Option<SetTables>,
    trees: TreeEntries,
}

/// Index of the format with a record for each node.
const NODES: usize = 0;
/// Index of the format with tables of bytes too, from which one row makes all tests of a tree at once.
const TESTS: usize = 1;

/// The formats of the layout.
pub const FORMATS: Formats = Formats {
    all: &[
        FormatInfo {
            row_vectors: Some(RowVectorTraversal::NodeSweep),
            transposed_bins: TransposedBins::RowVectors,
            ..FormatInfo::new("existing nodes depth first, threshold bins in records", |request| {
                Ok(Box::new(Preorder::nodes(request)?))
            })
        },
        FormatInfo {
            fallback: Some((Preorder::fits_test_mask, NODES)),
            test_masks: TestMasks::AllTrees,
            ..FormatInfo::new(
                "existing nodes depth first, threshold bins in records; all tests in tables of bytes",
                |request| Ok(Box::new(Preorder::with_tests(request)?)),
            )
        },
    ],
    for_access: |walking| match walking {
        Walking::Single(WalkAxis::Row) | Walking::Vectors(_) => NODES,
        Walking::Single(WalkAxis::Tree) => TESTS,
    },
};

const NAMES: PreorderNames = PreorderNames {
    nodes: "preorder_nodes",
    positions: "preorder_places",
    leaves: TableNames {
        nodes: "preorder_leaves",
        trees: "preorder_trees",
        leaf_indices: "preorder_leaf_indices",
    },
};

/// Number of low bits of a walk's number that hold the entry of its node. The bits above hold the leaf
/// position.
const ENTRY_BITS: u32 = 16;

/// Numbers of the walks that are at the nodes and at the leaves of a tree.
pub struct WalkNumbers {
    /// Number for each inner node.
    pub of_nodes: Vec<u64>,
    /// Number for each leaf.
    pub of_leaves: Vec<u64>,
}

/// Entries of a tree: its nodes and one entry behind them.
fn size(tree: &Tree) -> u64 {
    (tree.leaves.len() as u64).max(2)
}

/// Entries of the largest used tree.
fn largest_size(request: &LayoutRequest) -> u64 {
    let used = request.forest.trees.iter().zip(request.used).filter(|(_, used)| **used);
    used.map(|(tree, _)| size(tree)).max().unwrap_or(2)
}

impl Preorder {
    /// Whether test masks support all used trees: nodes and leaves must fit a word, and bins and
    /// columns must be bytes.
    pub fn fits_test_mask(request: &LayoutRequest) -> bool {
        let narrow = |bins: &BinMap| {
            bins.element() == Scalar::I8 && bins.columns() <= 1 << 8 && bins.sets().is_empty()
        };
        request.bins.is_some_and(|bins| narrow(bins)) && TestMaskTables::fits(largest_size(request))
    }

    /// The layout without tables for test masks.
    pub fn nodes(request: &LayoutRequest) -> Result<Preorder, CompileError> {
        Preorder::new(request, Layout::Preorder, &NAMES, PreorderWalks::Sweeps)
    }

    /// The layout with tables for test masks.
    pub fn with_tests(request: &LayoutRequest) -> Result<Preorder, CompileError> {
        Preorder::new(request, Layout::Preorder, &NAMES, PreorderWalks::TestMasks)
    }

    /// The trees of a forest that `layout` stores, for some walks.
    ///
    /// # Errors
    ///
    /// If there are too many leaves or nodes, or if the forest has no bins.
    pub fn new(
        request: &LayoutRequest,
        layout: Layout,
        names: &PreorderNames,
        walks: PreorderWalks,
    ) -> Result<Preorder, CompileError> {
        let Some(bins) = request.bins else { return Err(BinMap::no_bins_error()) };
        let most_leaves = largest_size(request);
        let Some(position_type) = narrowest_unsigned(most_leaves).filter(|scalar| *scalar != Scalar::I32)
        else {
            return Err(CompileError::new(
                codes::LAYOUT_BUDGET,
                format!(
                    "a tree has {most_leaves} leaves; representation({}) supports at most 65535",
                    layout.word()
                ),
                "use representation(sparse), whose walks step from node to node",
            ));
        };
        let trees = request.forest.trees.iter().zip(request.used);
        let mut sizes: Vec<u64> = trees.map(|(tree, used)| if *used { size(tree) } else { 0 }).collect();
        // Each look-up reads as many entries as the largest tree has, so the last tree is padded to that
        // number.
        if walks != PreorderWalks::Steps
            && let Some(last) = sizes.iter_mut().rfind(|size| **size > 0)
        {
            *last = TestMaskTables::entries(most_leaves);
        }
        let starts = TreeStarts::new(sizes).check_count("entries")?;
        let mut schema = Schema::default();
        let (threshold_bin, columns) = (bins.element(), bins.columns() + bins.sets().count());
        let numbers = NodeNumberTypes { position: position_type, threshold_bin, columns };
        let node = NodeFields::declare(&mut schema, names.nodes, numbers, starts.count());
        let position_words = if walks == PreorderWalks::Steps { 0 } else { most_leaves + 1 };
        let position_words = schema.add_number_table(names.positions, Scalar::I32, position_words);
        let tests = (walks == PreorderWalks::TestMasks).then(|| starts.count());
        let tests = TestMaskTables::declare(&mut schema, most_leaves, tests);
        let trees = TreeEntries::declare(request, &mut schema, names.leaves, starts);
        let sets = SetTables::declare(&mut schema, bins);
        let test = Test::of(request, layout);
        Ok(Preorder {
            schema,
            bins: Arc::clone(bins),
            test,
            position_type,
            has_sweeps: walks != PreorderWalks::Steps,
            most_leaves,
            node,
            position_words,
            tests,
            sets,
            trees,
        })
    }

    /// Tables of the layout, to which another layout adds its own.
    pub fn tables(&self) -> &Schema {
        &self.schema
    }

    /// First records of the trees in a schema that begins with the tables of this layout.
    pub fn spans<'s>(&'s self, schema: &'s Schema) -> TreeSpans<'s> {
        self.trees.spans(schema)
    }

    /// Whether the layout stores a tree.
    pub fn has_tree(&self, tree: usize) -> bool {
        self.trees.has_tree(tree)
    }

    /// Test at the nodes.
    pub fn test(&self) -> &Test {
        &self.test
    }

    /// Numbers of walks at the nodes and at the leaves of a tree.
    pub fn walk_numbers(tree: &Tree) -> WalkNumbers {
        let number = |position: u32, entry: usize| u64::from(position) << ENTRY_BITS | entry as u64;
        let (order, positions) = in_order(tree);
        let mut of_nodes = vec![0; tree.inner.len()];
        for (entry, node) in order.iter().enumerate() {
            of_nodes[node.inner as usize] = number(node.first_leaf, entry);
        }
        // The entry behind the nodes is at no leaf position, so walks there have arrived.
        let mut of_leaves = vec![0; tree.leaves.len()];
        for (position, leaf) in (0..).zip(positions) {
            of_leaves[leaf as usize] = number(position, order.len());
        }
        WalkNumbers { of_nodes, of_leaves }
    }

    /// Combines a leaf position and a node's entry to a walk's number.
    fn walk_number(b: &mut Builder, position: Value, entry: Value) -> Value {
        let high = b.int_of(b.ty(position), 1 << ENTRY_BITS);
        let high = b.mul(position, high);
        b.add(high, entry)
    }
}

impl Representation for Preorder {
    fn fill(&self, forest: &Forest, bytes: &mut TableBytes) {
        // A node at a leaf position that no row ever has.
        let nowhere = EncodedNode {
            first_leaf: self.most_leaves,
            right_leaf: self.most_leaves,
            operand: TestOperand::Bin(0),
            column: 0,
        };
        self.trees.each_entry(|entry| self.node.write(bytes, entry, nowhere));
        if self.has_sweeps {
            node::write_words(bytes, self.position_words, self.position_type, self.most_leaves + 1);
        }
        self.tests.clear(bytes);
        if let Some(sets) = &self.sets {
            sets.fill(bytes, &self.bins);
        }
        self.trees.fill(forest, bytes, |bytes, tree, _, start| {
            let (order, leaves) = in_order(tree);
            for (at, node) in order.into_iter().enumerate() {
                let test = self.test.encode(&tree.inner[node.inner as usize], u32::BITS);
                let (first_leaf, right_leaf) = (u64::from(node.first_leaf), u64::from(node.right_leaf));
                let written =
                    EncodedNode { first_leaf, right_leaf, operand: test.operand, column: test.feature };
                self.node.write(bytes, start + at, written);
                self.tests.write(bytes, start, &node, test);
            }
            let leaves = leaves.into_iter().enumerate();
            leaves.map(|(place, leaf)| LeafEntry { entry: start + place, leaf }).collect()
        });
    }

    fn sweep(&self) -> Option<&dyn Sweep> {
        if self.has_sweeps { Some(self) } else { None }
    }

    fn test_mask(&self) -> Option<&dyn TestMask> {
        if self.tests.exist() { Some(self) } else { None }
    }

    fn root(&self, b: &mut Builder, lanes: u16, _: bool) -> Value {
        b.int_of(b.number_type(lanes), 0)
    }

    fn step(&self, b: &mut Builder, buffers: &Buffers, lane: &Lane, at: &Cursor, step: Step) -> Cursor {
        let Lane { state, row, .. } = lane;
        let node = at.node;
        let entry = b.extract_bits(node, 0, ENTRY_BITS);
        let position = b.extract_bits(node, ENTRY_BITS, 32 - ENTRY_BITS);
        let at = TreeEntry { buffers, state, entry };
        let [first_leaf, right_leaf, threshold_bin, column] =
            self.node.load_numbers(b, at, self.node.fields());
        let goes_right = match &self.sets {
            Some(sets) => sets.goes_right(b, at, lane, NodeNumbers { threshold_bin, column }),
            None => {
                let bin = row.load(b, column);
                bin_goes_right(b, bin, threshold_bin)
            }
        };
        let one = b.int_of(b.ty(node), 1);
        let next = b.add(entry, one);
        let to_left = Preorder::walk_number(b, position, next);
        let leaves = b.sub(right_leaf, first_leaf);
        let beyond = b.add(entry, leaves);
        let to_right = Preorder::walk_number(b, right_leaf, beyond);
        let child = b.select(goes_right, to_right, to_left);
        if step != Step::Masked {
            return Cursor::of(child);
        }
        let inner = b.cmp(Cmp::Eq, first_leaf, position);
        Cursor::of(b.select(inner, child, node))
    }

    fn is_leaf(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value {
        let entry = b.extract_bits(node, 0, ENTRY_BITS);
        let [first_leaf] =
            self.node.load_numbers(b, TreeEntry { buffers, state, entry }, [self.node.first_leaf]);
        let position = b.extract_bits(node, ENTRY_BITS, 32 - ENTRY_BITS);
        b.cmp(Cmp::Ne, first_leaf, position)
    }

    fn leaves_looked_up(&self, b: &Builder, end: WalkEnd) -> Option<u64> {
        (b.ty(end.node).scalar == Scalar::I8).then(|| self.most_leaves.next_power_of_two())
    }

    fn records_of_tree(&self, _: &mut Builder, state: &TreeState, _: u64) -> Option<Value> {
        let TreeExtra::Nodes(size) = state.extra else { return None };
        Some(size)
    }

    fn leaf_record(&self, b: &mut Builder, state: &TreeState, end: WalkEnd) -> (TreeState, Value) {
        let WalkEnd { node, .. } = end;
        let is_position = b.ty(node).scalar == self.position_type;
        let leaf =
            if is_position { b.to_index(node) } else { b.extract_bits(node, ENTRY_BITS, 32 - ENTRY_BITS) };
        (*state, leaf)
    }

    fn leaves(&self) -> &Leaves {
        &self.trees.leaves
    }
}

impl InOrder for Preorder {
    fn tree_spans(&self) -> TreeSpans<'_> {
        self.spans(&self.schema)
    }

    fn spans_beside(&self, _: u64) -> Option<Vec<RecordSpan>> {
        (!self.tests.exist()).then(Vec::new)
    }

    fn load_extra(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        tree: Value,
        start: Value,
        walks: WalkShape,
    ) -> TreeExtra {
        if walks.lanes == 1 {
            return TreeExtra::Nothing;
        }
        let end = self.tree_spans().start_field.end(b, buffers, tree);
        TreeExtra::Nodes(b.sub(end, start))
    }
}

impl Sweep for Preorder {
    fn first_leaf(&self, b: &mut Builder, lanes: u16) -> Value {
        b.int_of(Ty::vector(self.position_type, lanes), 0)
    }

    fn node_count(&self, b: &mut Builder, state: &TreeState) -> Value {
        // If no tree has a test, rows have no bins to read.
        match state.extra {
            TreeExtra::Nodes(count) if self.bins.columns() > 0 => count,
            _ => b.int(0),
        }
    }

    fn node(&self, b: &mut Builder, at: TreeEntry, lanes: u16) -> SweptNode {
        let TreeEntry { buffers, state, entry } = at;
        let NodeFields { first_leaf, right_leaf, threshold_bin, column, .. } = self.node;
        let [first_leaf, right_leaf, column] =
            self.node.load_numbers(b, at, [first_leaf, right_leaf, column]);
        let ty = Ty::vector(self.position_type, lanes);
        let mut everywhere = |leaf| in_all_lanes(b, self.position_words.address(buffers, leaf), ty);
        let (first_leaf, right_leaf) = (everywhere(first_leaf), everywhere(right_leaf));
        let threshold_bin = threshold_bin.load(b, buffers, state, entry);
        let threshold_bins = b.splat(threshold_bin, lanes);
        SweptNode { first_leaf, right_leaf, threshold_bin, threshold_bins, column }
    }

    fn apply(&self, b: &mut Builder, tables: &Buffers, node: &SweptNode, rows: &[SweepVector]) -> Vec<Value> {
        let Some(sets) = &self.sets else { return compare(b, node, rows) };
        let is_set = sets.tests_set(b, node.column);
        b.if_else(
            is_set,
            |b| {
                let class_feature = b.to_index(node.threshold_bin);
                let lanes: Vec<(&RowAddress, u16)> =
                    rows.iter().map(|vector| (vector.row, b.ty(vector.leaf).lanes)).collect();
                let right =
                    sets.rows_going_right(b, tables, SetNode { column: node.column, class_feature }, &lanes);
                let passed = rows.iter().zip(right);
                passed.map(|(vector, right)| leaf_positions_after(b, node, vector.leaf, right)).collect()
            },
            |b| compare(b, node, rows),
        )
    }
}

/// Leaf positions after a node that compares bins.
fn compare(b: &mut Builder, node: &SweptNode, vectors: &[SweepVector]) -> Vec<Value> {
    let passed = vectors.iter().map(|SweepVector { row, leaf }| {
        let (threshold_bins, lanes) = (b.ty(node.threshold_bins), b.ty(*leaf).lanes);
        let bin = if row.is_adjacent() {
            row.load_column(b, node.column, lanes)
        } else {
            let column = b.cast(Cast::Trunc, node.column, Ty::of(Scalar::I32));
            let column = b.splat(column, lanes);
            let bin = row.load(b, column);
            b.cast(Cast::Trunc, bin, threshold_bins)
        };
        let right = bin_goes_right(b, bin, node.threshold_bins);
        leaf_positions_after(b, node, *leaf, right)
    });
    passed.collect()
}

/// Leaf positions of rows after a node. Rows that have reached it move to its right leaf if the mask
/// `goes_right` has them.
fn leaf_positions_after(b: &mut Builder, node: &SweptNode, positions: Value, goes_right: Value) -> Value {
    let has_reached = b.cmp(Cmp::Eq, positions, node.first_leaf);
    let moves_all = seeded(Fault::SweepForgetsPlace);
    let moves = if moves_all { goes_right } else { b.bin(Bin::And, has_reached, goes_right) };
    b.select(moves, node.right_leaf, positions)
}

impl TestMask for Preorder {
    fn leaf_of(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, bins: Value, _: u32) -> Value {
        let leaf = self.tests.leaf(b, buffers, state.base, bins);
        let entry = b.int(0);
        Preorder::walk_number(b, leaf, entry)
    }
}
