//! Tables of leaves: their values, and their leaf indices.

use super::leaf_indices::LeafIndices;
use super::payload::{LeafValue, Payload};
use super::schema::TableBytes;
use super::tree::{Buffers, TreeState};
use crate::lir::{Builder, Value};
use sched_forest::Leaf;

/// Tables of leaves. A leaf has the same record number in all of them.
#[derive(Clone, Copy, Debug)]
pub struct Leaves {
    /// Values of the leaves.
    pub payload: Payload,
    leaf_indices: LeafIndices,
}

impl Leaves {
    /// Leaves in these tables.
    pub fn new(payload: Payload, leaf_indices: LeafIndices) -> Leaves {
        Leaves { payload, leaf_indices }
    }

    /// Writes a leaf. `position` is its index among all leaves of the forest.
    pub fn write(&self, bytes: &mut TableBytes, record: usize, leaf: &Leaf, position: u32) {
        self.payload.write(bytes, record, leaf, position);
        self.leaf_indices.write(bytes, record, leaf);
    }

    /// Loads the value of a leaf.
    pub fn value(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, record: Value) -> LeafValue {
        self.payload.load(b, buffers, state, record)
    }

    /// Loads the leaf index of a leaf, an `i32`.
    pub fn leaf_index(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, record: Value) -> Value {
        self.leaf_indices.load(b, buffers, state, record)
    }
}
