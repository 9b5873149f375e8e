//! Node records: a threshold or leaf payload, a feature code and, where the layout needs one, a child number.

use super::payload::Payload;
use super::representation::LeafValue;
use super::request::Request;
use super::test::Test;
use super::traverse::speculate::Node;
use super::tree::{At, TreeState};
use crate::bytes::{narrowest, scalar, write_float, write_int};
use crate::error::CompileError;
use crate::lir::{BufferId, Builder, Cast, Cmp, Scalar, Ty, Value};
use crate::rows::Row;
use sched_forest::{Inner, Leaf, Predicate};
use sched_lang::nest::Layout;

/// The layout of one node's record and what its comparison means.
///
/// The threshold (or leaf payload) comes first, then the feature's code, then the child. A code of all ones marks a leaf
/// where the layout has no child numbers.
#[derive(Clone, Debug)]
pub struct Record {
    threshold: Scalar,
    feature: Scalar,
    feature_at: u32,
    child: Option<(Scalar, u32)>,
    bytes: u32,
    test: Test,
    leaf: Payload,
}

impl Record {
    /// The record for the forest's used trees. `children` is the largest child number, if children are stored.
    pub fn new(request: &Request, children: Option<u64>) -> Result<Record, CompileError> {
        let forest = request.forest;
        let layout = if children.is_some() { Layout::Sparse } else { Layout::Array };
        let test = Test::of(request, layout);
        let too_wide = |what: &str| {
            CompileError::new(
                CompileError::LAYOUT_BUDGET,
                format!("{what} do not fit 32-bit numbers"),
                "split the model into several",
            )
        };
        let feature =
            narrowest(test.codes(forest.num_features as u64)).ok_or_else(|| too_wide("feature numbers"))?;
        let child = match children {
            Some(most) => Some(narrowest(most).ok_or_else(|| too_wide("node numbers"))?),
            None => None,
        };
        let (threshold, leaf) = (scalar(forest.types.threshold), Payload::of(forest));
        let feature_at = threshold.bytes().max(leaf.bytes());
        let child_at = feature_at + feature.bytes().max(child.map_or(1, Scalar::bytes));
        let end = child.map_or(feature_at + feature.bytes(), |child| child_at + child.bytes());
        let child = child.map(|child| (child, child_at));
        Ok(Record {
            threshold,
            feature,
            feature_at,
            child,
            bytes: end.next_multiple_of(feature_at),
            test,
            leaf,
        })
    }

    /// Bytes per record.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// The code of all ones.
    fn leaf_mark(&self) -> u64 {
        u64::MAX >> (64 - 8 * self.feature.bytes())
    }

    /// Writes an inner node's record.
    pub fn write_inner(&self, at: &mut [u8], inner: &Inner, child: u64) {
        if let Predicate::Numeric { threshold } = inner.predicate {
            write_float(at, self.threshold, threshold);
        }
        let code = self.test.code(inner, 8 * self.feature.bytes());
        write_int(&mut at[self.feature_at as usize..], self.feature, code);
        if let Some((width, offset)) = self.child {
            write_int(&mut at[offset as usize..], width, child);
        }
    }

    /// Writes a leaf's record. `vector` is the leaf's place in the table of leaf vectors.
    pub fn write_leaf(&self, at: &mut [u8], leaf: &Leaf, vector: u32) {
        self.leaf.write(at, leaf, vector);
        if self.child.is_none() {
            write_int(&mut at[self.feature_at as usize..], self.feature, self.leaf_mark());
        }
    }

    /// A field of a node's record, widened with zeros. A vector reads the 32-bit word around the field: narrower
    /// gathers do not exist.
    fn load_field(
        &self,
        b: &mut Builder,
        nodes: BufferId,
        state: &TreeState,
        node: Value,
        (width, offset): (Scalar, u32),
    ) -> Value {
        if b.ty(node).lanes == 1 {
            let value = state.load(b, nodes, width, node, At { stride: self.bytes, offset });
            return b.cast(Cast::ZExt, value, Ty::I64);
        }
        let word = state.load(b, nodes, Scalar::I32, node, At { stride: self.bytes, offset: offset & !3 });
        b.bits(word, 8 * (offset & 3), 8 * width.bytes())
    }

    fn load_feature(&self, b: &mut Builder, nodes: BufferId, state: &TreeState, node: Value) -> Value {
        self.load_field(b, nodes, state, node, (self.feature, self.feature_at))
    }

    /// The child number.
    pub fn load_child(&self, b: &mut Builder, nodes: BufferId, state: &TreeState, node: Value) -> Value {
        let field = self.child.unwrap_or((self.feature, self.feature_at));
        self.load_field(b, nodes, state, node, field)
    }

    /// 1 if the row goes right at the node, else 0, as a node number. Where `leaf` holds, the answer means nothing, but
    /// the row is still read in range.
    pub fn decision(
        &self,
        b: &mut Builder,
        nodes: BufferId,
        state: &TreeState,
        row: &Row,
        node: Value,
        leaf: Option<Value>,
    ) -> Value {
        let Node { threshold, mut feature, missing_left } = self.node(b, nodes, state, node);
        if let Some(leaf) = leaf {
            let zero = b.int_of(b.ty(feature), 0);
            feature = b.select(leaf, zero, feature);
        }
        let x = row.load(b, feature);
        let right = self.test.goes_right(b, x, threshold, missing_left);
        b.cast(Cast::ZExt, right, b.ty(node))
    }

    /// An inner node.
    pub fn node(&self, b: &mut Builder, nodes: BufferId, state: &TreeState, node: Value) -> Node {
        let code = self.load_feature(b, nodes, state, node);
        let (feature, missing_left) = self.test.split(b, code, 8 * self.feature.bytes());
        let threshold = state.load(b, nodes, self.threshold, node, At::start(self.bytes));
        Node { threshold, feature, missing_left }
    }

    /// How inner nodes compare.
    pub fn test(&self) -> &Test {
        &self.test
    }

    /// Whether the code marks a leaf.
    pub fn is_marked(&self, b: &mut Builder, nodes: BufferId, state: &TreeState, node: Value) -> Value {
        let feature = self.load_feature(b, nodes, state, node);
        let mark = match b.ty(feature).scalar {
            // A 32-bit code of all ones is -1 in a vector of 32-bit numbers.
            Scalar::I32 if self.feature == Scalar::I32 => -1,
            _ => self.leaf_mark() as i64,
        };
        let mark = b.int_of(b.ty(feature), mark);
        b.cmp(Cmp::Eq, feature, mark)
    }

    /// The payload of a leaf's record.
    pub fn payload(&self, b: &mut Builder, nodes: BufferId, state: &TreeState, node: Value) -> LeafValue {
        self.leaf.load(b, nodes, state, node, self.bytes)
    }
}
