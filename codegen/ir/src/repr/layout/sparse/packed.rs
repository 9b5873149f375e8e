//! The sparse layout for vectors of walks: a node is packed into 64 bits, so that a step takes one
//! gather.
//!
//! The low half is the threshold or the leaf value; 64-bit leaf values have a separate table, and the
//! low half is the index there. The high half has the feature field in its low bits and the left
//! child's number above. A leaf has child number 0, which no child has. The root is node 0, and
//! siblings have consecutive numbers.

use crate::error::CompileError;
use crate::lir::{Builder, Cast, Cmp, Scalar, Value};
use crate::repr::cursor::{Cursor, Step};
use crate::repr::leaf_indices::LeafIndices;
use crate::repr::leaves::Leaves;
use crate::repr::order::{self, NumberedNode};
use crate::repr::payload::Payload;
use crate::repr::representation::Representation;
use crate::repr::request::LayoutRequest;
use crate::repr::schema::{Field, Schema, TableBytes};
use crate::repr::spans::TreeSpans;
use crate::repr::starts::{StartField, TreeStarts};
use crate::repr::test::Test;
use crate::repr::traverse::Lane;
use crate::repr::traverse::speculate::{LevelOrder, NodeTest};
use crate::repr::tree::{Buffers, TreeState};
use crate::repr::tree_tables::InOrder;
use sched_forest::{Forest, NodeRef};
use sched_nest::Layout;

/// Existing nodes, packed into 64 bits each.
pub struct PackedNodes {
    schema: Schema,
    test: Test,
    leaves: Leaves,
    /// The low half: the threshold of a node.
    low: Field,
    /// The high half: the feature field and the left child's number.
    high: Field,
    /// Bits of a feature field.
    feature_bits: u32,
    start: StartField,
    starts: TreeStarts,
}

/// Bits that numbers below `end` need, at least one.
fn bits_below(end: u64) -> u32 {
    64 - end.saturating_sub(1).max(1).leading_zeros()
}

/// Tests and numbers of a forest's nodes, as the layout encodes them.
struct NodeEncoding {
    test: Test,
    /// Bits of a feature field.
    feature_bits: u32,
    /// First records of the used trees.
    starts: TreeStarts,
}

impl NodeEncoding {
    fn of(request: &LayoutRequest) -> NodeEncoding {
        let test = Test::of(request, Layout::Sparse);
        let feature_bits = bits_below(test.feature_limit(request.forest.num_features as u64));
        let used = request.forest.trees.iter().zip(request.used);
        let starts = TreeStarts::new(used.map(|(tree, used)| if *used { order::size(tree) } else { 0 }));
        NodeEncoding { test, feature_bits, starts }
    }
}

impl PackedNodes {
    /// The layout for a forest whose nodes fit.
    ///
    /// # Errors
    ///
    /// Never fails: [`PackedNodes::fits`] excludes forests that are too large.
    pub fn new(request: &LayoutRequest) -> Result<PackedNodes, CompileError> {
        let NodeEncoding { test, feature_bits, starts } = NodeEncoding::of(request);
        let mut schema = Schema::default();
        let table = schema.add_table("packed_nodes", Scalar::I64, 8, starts.count());
        schema.prefetch_with_trees(table);
        let start = starts.declare(&mut schema, "packed_trees");
        let leaf_indices = LeafIndices::declare(request, &mut schema, "packed_leaf_indices", starts.count());
        let leaf = schema.add_field(table, "leaf", Scalar::F32, 0);
        let payload = Payload::narrow(request, &mut schema, leaf, "packed_leaves");
        Ok(PackedNodes {
            test,
            leaves: Leaves::new(payload, leaf_indices),
            low: schema.add_field(table, "threshold", Scalar::F32, 0),
            high: schema.add_field(table, "feature and child", Scalar::I32, 4),
            feature_bits,
            start,
            starts,
            schema,
        })
    }

    /// Whether a forest's nodes fit into 64 bits. Thresholds must have 32 bits, feature fields and child
    /// numbers must share 32 bits, and 31 bits must number the nodes.
    pub fn fits(request: &LayoutRequest) -> bool {
        let NodeEncoding { test, feature_bits, starts } = NodeEncoding::of(request);
        test.operand() == Scalar::F32
            && i32::try_from(starts.count()).is_ok()
            && feature_bits + bits_below(starts.most_records(1)) <= 32
    }

    /// Loads the two halves of a node.
    fn halves(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> (Value, Value) {
        if b.ty(node).lanes == 1 {
            let low = self.low.load(b, buffers, state, node);
            let high = self.high.load(b, buffers, state, node);
            return (low, b.to_index(high));
        }
        let word = self.low.with_scalar(Scalar::I64).load(b, buffers, state, node);
        let (low, high) = (b.extract_half(word, 0), b.extract_half(word, 1));
        (b.cast(Cast::Bits, low, b.ty(low).with(Scalar::F32)), high)
    }

    /// Left child's number, from the high half.
    fn child(&self, b: &mut Builder, high: Value) -> Value {
        b.extract_bits(high, self.feature_bits, 32 - self.feature_bits)
    }

    /// Loads a node as a test with its left child's number.
    fn read(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> (NodeTest, Value) {
        let (operand, high) = self.halves(b, buffers, state, node);
        let child = self.child(b, high);
        let field = b.extract_bits(high, 0, self.feature_bits);
        let (feature, missing_left) = self.test.split_feature_field(b, field, self.feature_bits);
        (NodeTest { operand, feature, missing_left }, child)
    }

    fn is_leaf_child(&self, b: &mut Builder, child: Value) -> Value {
        let none = b.int_of(b.ty(child), 0);
        b.cmp(Cmp::Eq, child, none)
    }
}

impl Representation for PackedNodes {
    fn fill(&self, forest: &Forest, bytes: &mut TableBytes) {
        let mut first_leaf = 0u32;
        for (at, tree) in forest.trees.iter().enumerate() {
            let start = self.starts.first_record(at);
            let placed = if start.is_some() { order::existing(tree) } else { Vec::new() };
            for NumberedNode { number, node, child } in placed {
                let record = start.unwrap_or(0) + number as usize;
                match node {
                    NodeRef::Inner(inner) => {
                        let test = self.test.encode(&tree.inner[inner as usize], self.feature_bits);
                        self.low.write_operand(bytes, record, test.operand);
                        self.high.write(bytes, record, test.feature | child << self.feature_bits);
                    }
                    NodeRef::Leaf(leaf) => {
                        let source = &tree.leaves[leaf as usize];
                        self.leaves.write(bytes, record, source, first_leaf + leaf);
                    }
                }
            }
            first_leaf = first_leaf.saturating_add(tree.leaves.len() as u32);
        }
        self.starts.write(self.start, bytes);
    }

    fn level_order(&self) -> Option<&dyn LevelOrder> {
        Some(self)
    }

    fn root(&self, b: &mut Builder, lanes: u16, _: bool) -> Value {
        b.int_of(b.number_type(lanes), 0)
    }

    fn step(&self, b: &mut Builder, buffers: &Buffers, lane: &Lane, at: &Cursor, step: Step) -> Cursor {
        let Lane { state, row, .. } = lane;
        let node = at.node;
        // Leaves have feature 0, which exists whenever a tree has inner nodes.
        let (NodeTest { operand, feature, missing_left }, child) = self.read(b, buffers, state, node);
        let x = row.load(b, feature);
        let right = self.test.goes_right(b, x, operand, missing_left);
        let decision = b.cast(Cast::ZExt, right, b.ty(node));
        let next = b.add(child, decision);
        if step != Step::Masked {
            return Cursor::of(next);
        }
        let done = self.is_leaf_child(b, child);
        Cursor::of(b.select(done, node, next))
    }

    fn is_leaf(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value {
        let (_, high) = self.halves(b, buffers, state, node);
        let child = self.child(b, high);
        self.is_leaf_child(b, child)
    }

    fn leaves(&self) -> &Leaves {
        &self.leaves
    }
}

impl InOrder for PackedNodes {
    fn tree_spans(&self) -> TreeSpans<'_> {
        TreeSpans { schema: &self.schema, starts: &self.starts, start_field: self.start }
    }
}

impl LevelOrder for PackedNodes {
    fn test(&self) -> &Test {
        &self.test
    }

    fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, number: u64) -> NodeTest {
        let number = state.number(b, number - 1);
        self.read(b, buffers, state, number).0
    }
}
