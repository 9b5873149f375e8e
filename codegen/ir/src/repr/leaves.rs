//! Tables of leaves: values, and numbers in the model.

use super::numbers::LeafIndices;
use super::payload::{LeafValue, Payload};
use super::schema::TableBytes;
use super::tree::{Buffers, TreeState};
use crate::lir::{Builder, Value};
use sched_forest::Leaf;

/// Tables of leaves, which all have the same records.
#[derive(Clone, Copy, Debug)]
pub struct Leaves {
    /// Values of the leaves.
    pub payload: Payload,
    numbers: LeafIndices,
}

impl Leaves {
    /// Leaves in these tables.
    pub fn new(payload: Payload, numbers: LeafIndices) -> Leaves {
        Leaves { payload, numbers }
    }

    /// Writes a leaf. `number` is its index among all leaves of the forest.
    pub fn write(&self, bytes: &mut TableBytes, record: usize, leaf: &Leaf, number: u32) {
        self.payload.write(bytes, record, leaf, number);
        self.numbers.write(bytes, record, leaf);
    }

    /// Loads the value of a leaf.
    pub fn value(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, record: Value) -> LeafValue {
        self.payload.load(b, buffers, state, record)
    }

    /// Loads a leaf's number in the model, an `i32`.
    pub fn number(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, record: Value) -> Value {
        self.numbers.load(b, buffers, state, record)
    }
}
