//! The table of leaf indices, with the narrowest element that holds them.

use super::request::LayoutRequest;
use super::schema::{Field, Schema, TableBytes};
use super::tree::{Buffers, TreeState};
use crate::bytes::narrowest_unsigned;
use crate::lir::{Builder, Cast, Scalar, Ty, Value};
use sched_forest::Leaf;

/// Table of leaf indices; empty unless a kernel returns them.
#[derive(Clone, Copy, Debug)]
pub struct LeafIndices(Option<Field>);

impl LeafIndices {
    /// Adds the table to a schema, if a kernel needs it. Its element does not depend on the used trees,
    /// so layouts with the same order of leaves share one table.
    pub fn declare(
        request: &LayoutRequest,
        schema: &mut Schema,
        name: &'static str,
        records: u64,
    ) -> LeafIndices {
        if !request.returns_leaf_indices {
            return LeafIndices(None);
        }
        let leaves = request.forest.trees.iter().flat_map(|tree| &tree.leaves);
        let largest = leaves.map(|leaf| u64::from(leaf.source)).max().unwrap_or(0);
        let field =
            schema.add_number_table(name, narrowest_unsigned(largest).unwrap_or(Scalar::I32), records);
        // Vectors load 32-bit words, which at the last record reach beyond the table.
        schema.add_tail(field.table(), u64::from(4 - field.scalar.bytes()));
        LeafIndices(Some(field))
    }

    /// Writes the index of a leaf.
    pub fn write(self, bytes: &mut TableBytes, record: usize, leaf: &Leaf) {
        if let Some(field) = self.0 {
            field.write(bytes, record, u64::from(leaf.source));
        }
    }

    /// Loads the index of the leaf at record `node` of its tree, an `i32`.
    pub fn load(self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> Value {
        let ty = b.ty(node).with(Scalar::I32);
        let Some(field) = self.0 else { return b.int_of(ty, 0) };
        if ty.lanes > 1 {
            let word = field.with_scalar(Scalar::I32).load(b, buffers, state, node);
            return b.extract_bits(word, 0, 8 * field.scalar.bytes());
        }
        let number = field.load(b, buffers, state, node);
        if field.scalar == Scalar::I32 { number } else { b.cast(Cast::ZExt, number, Ty::of(Scalar::I32)) }
    }
}
