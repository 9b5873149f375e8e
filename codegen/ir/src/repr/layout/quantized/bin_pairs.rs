//! The quantized layout of GPUs: complete trees in level order with nodes of 16 bits. The high byte of a node
//! is the threshold bin, the low byte the column.
//!
//! Nodes are numbered as in the array layout: the root is 1, the children of `n` are `2n` and `2n + 1`.
//! All banks of shared memory together deliver 64 nodes, so threads read the first seven levels without
//! bank conflicts.
//!
//! A step needs no select. The row's bin, shifted to the position of the threshold bin, is subtracted
//! from the node. The sign of the difference is 1 if the row goes right, and is the lowest bit of the
//! child's number.

use crate::error::CompileError;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, Builder, Scalar, Ty, Value};
use crate::quantize::BinMap;
use crate::repr::complete::{CompleteTrees, LEAST_ENTRIES, NodeSlot, PaddedDepths};
use crate::repr::cursor::{Cursor, Step};
use crate::repr::leaves::Leaves;
use crate::repr::records::TableNames;
use crate::repr::representation::{Representation, WalkEnd};
use crate::repr::request::LayoutRequest;
use crate::repr::schema::{Field, Schema, TableBytes};
use crate::repr::spans::TreeSpans;
use crate::repr::test::{Test, TestOperand};
use crate::repr::traverse::Lane;
use crate::repr::traverse::speculate::{LevelOrder, NodeTest};
use crate::repr::tree::{Buffers, TreeState};
use crate::repr::tree_tables::InOrder;
use sched_forest::Forest;
use sched_nest::Layout;

/// Trees as tables of 16-bit nodes and of leaves.
pub struct BinPairs {
    schema: Schema,
    test: Test,
    trees: CompleteTrees,
    node: Field,
}

const NAMES: TableNames =
    TableNames { nodes: "pair_leaves", trees: "pair_trees", leaf_indices: "pair_leaf_indices" };

/// Bits of a node that hold the column; the bits above hold the threshold bin.
const COLUMN_BITS: u32 = 8;

impl BinPairs {
    /// The layout for a forest whose used trees are complete.
    ///
    /// # Errors
    ///
    /// If there are too many nodes, or if the forest has no bins.
    pub fn new(request: &LayoutRequest) -> Result<BinPairs, CompileError> {
        if request.bins.is_none() {
            return Err(BinMap::no_bins_error());
        }
        let depths = PaddedDepths::of(request);
        let starts = depths.tree_starts()?;
        let mut schema = Schema::default();
        let node = schema.add_number_table("pair_nodes", Scalar::I16, starts.count());
        // Vectors load 32-bit words, which at the last node reach beyond the table.
        schema.add_tail(node.table(), 2);
        schema.prefetch_with_trees(node.table());
        let test = Test::of(request, Layout::Quantized);
        let trees = CompleteTrees::declare(request, &mut schema, NAMES, depths, starts);
        Ok(BinPairs { schema, test, trees, node })
    }

    /// Whether threshold bins and columns fit a byte each.
    pub fn fits(request: &LayoutRequest) -> bool {
        request.bins.is_some_and(|bins| bins.element() == Scalar::I8 && bins.columns() <= 1 << COLUMN_BITS)
    }

    /// Loads a node, or a vector of nodes, as the low bits of integers.
    fn load(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value {
        if b.ty(node).lanes > 1 {
            let word = self.node.with_scalar(Scalar::I32).load(b, buffers, state, node);
            return b.extract_bits(word, 0, 16);
        }
        let pair = self.node.load(b, buffers, state, node);
        b.to_index(pair)
    }
}

impl Representation for BinPairs {
    fn fill(&self, forest: &Forest, bytes: &mut TableBytes) {
        self.trees.fill(forest, bytes, |bytes, NodeSlot { entry, .. }, inner| {
            let test = self.test.encode(inner, COLUMN_BITS);
            if let TestOperand::Bin(threshold_bin) = test.operand {
                self.node.write(bytes, entry, threshold_bin << COLUMN_BITS | test.feature);
            }
        });
    }

    fn level_order(&self) -> Option<&dyn LevelOrder> {
        Some(self)
    }

    fn step(&self, b: &mut Builder, buffers: &Buffers, lane: &Lane, at: &Cursor, _: Step) -> Cursor {
        let Lane { state, row, .. } = lane;
        let pair = self.load(b, buffers, state, at.node);
        let ty = b.ty(pair);
        let column = b.extract_bits(pair, 0, COLUMN_BITS);
        let bin = row.load(b, column);
        let place = b.int_of(ty, 1 << COLUMN_BITS);
        let bin = b.mul(bin, place);
        let (first, second) = if seeded(Fault::PairsSwapSides) { (bin, pair) } else { (pair, bin) };
        let difference = b.sub(first, second);
        let sign = b.int_of(ty, i64::from(8 * ty.scalar.bytes()) - 1);
        let right = b.bin(Bin::Shr, difference, sign);
        let left = b.add(at.node, at.node);
        Cursor::of(b.add(left, right))
    }

    fn leaf_record(&self, b: &mut Builder, state: &TreeState, end: WalkEnd) -> (TreeState, Value) {
        let WalkEnd { node, steps } = end;
        (state.numbered_from(b, self.trees.first_leaf(steps)), node)
    }

    fn leaves(&self) -> &Leaves {
        &self.trees.leaves
    }
}

impl InOrder for BinPairs {
    fn tree_spans(&self) -> TreeSpans<'_> {
        self.trees.spans(&self.schema)
    }
}

impl LevelOrder for BinPairs {
    fn test(&self) -> &Test {
        &self.test
    }

    fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, number: u64) -> NodeTest {
        if state.lanes.is_some() {
            let number = state.number(b, number);
            let pair = self.load(b, buffers, state, number);
            let operand = b.extract_bits(pair, COLUMN_BITS, COLUMN_BITS);
            return NodeTest { operand, feature: b.extract_bits(pair, 0, COLUMN_BITS), missing_left: None };
        }
        // Trees begin at multiples of [`LEAST_ENTRIES`] entries, so that one word loads two nodes.
        let (smallest, bits) = (b.int(LEAST_ENTRIES.ilog2().into()), 2 * COLUMN_BITS);
        let index = b.bin(Bin::Shr, state.base, smallest);
        let stride = LEAST_ENTRIES as u32 * self.node.stride();
        let first = Address { buffer: self.node.buffer(buffers), index, stride, offset: 0 };
        let word = b.load(Ty::of(Scalar::I32), Address { offset: 4 * (number as u32 / 2), ..first });
        let at = bits * (number as u32 % 2);
        let (column, bin) =
            (b.extract_bits(word, at, COLUMN_BITS), b.extract_bits(word, at + COLUMN_BITS, COLUMN_BITS));
        NodeTest { operand: b.to_index(bin), feature: b.to_index(column), missing_left: None }
    }
}
