//! Tables of leaves: their values, and their leaf indices.

use super::numbers::LeafIndices;
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
    numbers: LeafIndices,
}

impl Leaves {
    /// Leaves in these tables.
    pub fn new(payload: Payload, numbers: LeafIndices) -> Leaves {
        Leaves { payload, numbers }
    }

    /// Writes a leaf. `number` is its position among all leaves of the forest.
    pub fn write(&self, bytes: &mut TableBytes, record: usize, leaf: &Leaf, number: u32) {
        self.payload.write(bytes, record, leaf, number);
        self.numbers.write(bytes, record, leaf);
    }

    /// Loads the value of a leaf.
    pub fn value(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, record: Value) -> LeafValue {
        self.payload.load(b, buffers, state, record)
    }

    /// Loads the leaf index of a leaf, an `i32`.
    pub fn number(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, record: Value) -> Value {
        self.numbers.load(b, buffers, state, record)
    }
}
