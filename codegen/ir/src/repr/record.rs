//! Node records: a threshold or leaf payload, a feature field and, in some layouts, a child number.

use super::payload::Payload;
use super::request::LayoutRequest;
use super::schema::{Field, Schema, TableBytes};
use super::test::Test;
use super::traverse::speculate::NodeTest;
use super::tree::{Buffers, TreeState};
use crate::bytes::narrowest_unsigned;
use crate::codes;
use crate::error::CompileError;
use crate::lir::{Builder, Cast, Cmp, Scalar, Value};
use crate::rows::RowAddress;
use sched_forest::Inner;
use sched_nest::Layout;

/// Fields of a node's record, and the meaning of its comparison.
///
/// The threshold (or leaf payload) comes first, then the feature field, then the child. In layouts
/// without child numbers, a feature field of all ones marks a leaf.
#[derive(Clone, Debug)]
pub struct Record {
    operand: Field,
    feature: Field,
    child: Option<Field>,
    test: Test,
    leaf: Payload,
}

impl Record {
    /// Adds a table of `records` records to a schema, for the forest's used trees. `max_child` is the
    /// largest child number, in layouts that store children.
    pub fn declare(
        request: &LayoutRequest,
        schema: &mut Schema,
        name: &'static str,
        records: u64,
        max_child: Option<u64>,
    ) -> Result<Record, CompileError> {
        let forest = request.forest;
        let layout = if max_child.is_some() { Layout::Sparse } else { Layout::Array };
        let test = Test::of(request, layout);
        let too_wide = |what: &str| {
            CompileError::new(
                codes::LAYOUT_BUDGET,
                format!("{what} do not fit 32-bit numbers"),
                "split the model into several",
            )
        };
        let feature = narrowest_unsigned(test.feature_limit(forest.num_features as u64))
            .ok_or_else(|| too_wide("feature numbers"))?;
        let child = match max_child {
            Some(most) => Some(narrowest_unsigned(most).ok_or_else(|| too_wide("node numbers"))?),
            None => None,
        };
        let (operand, leaf) = (test.operand(), Payload::element(forest));
        let feature_at = operand.bytes().max(leaf.bytes());
        let child_at = feature_at + feature.bytes().max(child.map_or(1, Scalar::bytes));
        let end = child.map_or(feature_at + feature.bytes(), |child| child_at + child.bytes());
        let table = schema.add_table(name, Scalar::I8, end.next_multiple_of(feature_at), records);
        schema.prefetch_with_trees(table);
        Ok(Record {
            operand: schema.add_field(table, "threshold", operand, 0),
            feature: schema.add_field(table, "feature", feature, feature_at),
            child: child.map(|child| schema.add_field(table, "child", child, child_at)),
            test,
            leaf: Payload::new(forest, schema.add_field(table, "leaf", leaf, 0)),
        })
    }

    fn feature_bits(&self) -> u32 {
        8 * self.feature.scalar.bytes()
    }

    /// Feature field of all ones, which marks leaves.
    fn leaf_mark(&self) -> u64 {
        u64::MAX >> (64 - self.feature_bits())
    }

    /// Writes an inner node's record.
    pub fn write_inner(&self, bytes: &mut TableBytes, record: usize, inner: &Inner, child: u64) {
        let test = self.test.encode(inner, self.feature_bits());
        self.operand.write_operand(bytes, record, test.operand);
        self.feature.write(bytes, record, test.feature);
        if let Some(field) = self.child {
            field.write(bytes, record, child);
        }
    }

    /// Marks a leaf's record in layouts without child numbers.
    pub fn mark_leaf(&self, bytes: &mut TableBytes, record: usize) {
        if self.child.is_none() {
            self.feature.write(bytes, record, self.leaf_mark());
        }
    }

    /// Loads a number of a node's record, zero-extended. A vector gathers the 32-bit word around it,
    /// since there are no narrower gathers.
    fn load(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        node: Value,
        field: Field,
    ) -> Value {
        if b.ty(node).lanes == 1 {
            let value = field.load(b, buffers, state, node);
            return b.to_index(value);
        }
        let (word, bit) = field.word();
        let word = word.load(b, buffers, state, node);
        b.extract_bits(word, bit, 8 * field.scalar.bytes())
    }

    /// Loads the child number.
    pub fn load_child(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value {
        self.load(b, buffers, state, node, self.child.unwrap_or(self.feature))
    }

    /// 1 if the row goes right at the node, else 0, in the type of node numbers. `is_leaf` says whether the
    /// node is a leaf: the result is then arbitrary, but the row is read within its bounds.
    pub fn decision(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        state: &TreeState,
        row: &RowAddress,
        node: Value,
        is_leaf: Option<Value>,
    ) -> Value {
        let NodeTest { operand, mut feature, missing_left } = self.node(b, buffers, state, node);
        if let Some(is_leaf) = is_leaf {
            let zero = b.int_of(b.ty(feature), 0);
            feature = b.select(is_leaf, zero, feature);
        }
        let x = row.load(b, feature);
        let right = self.test.goes_right(b, x, operand, missing_left);
        b.cast(Cast::ZExt, right, b.ty(node))
    }

    /// Loads an inner node.
    pub fn node(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> NodeTest {
        let field = self.load(b, buffers, state, node, self.feature);
        let (feature, missing_left) = self.test.split_feature_field(b, field, self.feature_bits());
        let operand = self.operand.load(b, buffers, state, node);
        NodeTest { operand, feature, missing_left }
    }

    /// Comparison at inner nodes.
    pub fn test(&self) -> &Test {
        &self.test
    }

    /// Whether the feature field marks a leaf.
    pub fn is_marked(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value {
        let feature = self.load(b, buffers, state, node, self.feature);
        let mark = match b.ty(feature).scalar {
            // A 32-bit feature field of all ones is -1 in a vector of 32-bit numbers.
            Scalar::I32 if self.feature.scalar == Scalar::I32 => -1,
            _ => self.leaf_mark() as i64,
        };
        let mark = b.int_of(b.ty(feature), mark);
        b.cmp(Cmp::Eq, feature, mark)
    }

    /// Table of leaf contents.
    pub fn payload(&self) -> Payload {
        self.leaf
    }
}
