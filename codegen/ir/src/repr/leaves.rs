//! The tables of leaves: what leaves hold, and their numbers in the model.

use super::numbers::LeafIndices;
use super::payload::{LeafValue, Payload};
use super::schema::Bytes;
use super::tree::{Buffers, TreeState};
use crate::lir::{Builder, Value};
use sched_forest::Leaf;

/// What is stored of leaves, at the same record of each table.
#[derive(Clone, Copy, Debug)]
pub struct Leaves {
    /// What they hold.
    pub payload: Payload,
    numbers: LeafIndices,
}

impl Leaves {
    /// Leaves in these tables.
    pub fn new(payload: Payload, numbers: LeafIndices) -> Leaves {
        Leaves { payload, numbers }
    }

    /// Writes a leaf. `number` is its number among all leaves of the forest.
    pub fn write(&self, bytes: &mut Bytes, record: usize, leaf: &Leaf, number: u32) {
        self.payload.write(bytes, record, leaf, number);
        self.numbers.write(bytes, record, leaf);
    }

    /// What a leaf holds.
    pub fn value(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, record: Value) -> LeafValue {
        self.payload.load(b, buffers, state, record)
    }

    /// A leaf's number in the model, an `i32`.
    pub fn number(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, record: Value) -> Value {
        self.numbers.load(b, buffers, state, record)
    }
}
