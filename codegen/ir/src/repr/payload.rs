//! What leaves hold: a value, or a place in the table of leaf vectors.

use super::schema::{Bytes, Field};
use super::tree::{Buffers, TreeState};
use crate::bytes::{scalar, write_float};
use crate::lir::{BufferId, Builder, Scalar, Value};
use sched_forest::{Forest, Leaf, Target};

/// What a leaf holds.
#[derive(Clone, Copy, Debug)]
pub enum LeafValue {
    /// The value itself, in the accumulator's type.
    Scalar(Value),
    /// The first element of the leaf's vector in the forest's table of leaf vectors, an index.
    Vector(Value),
}

/// Bytes of leaves of one tree that are looked up in registers at most: gathering more of them is cheaper.
const IN_REGISTERS: u64 = 1024;

/// What the leaves of a forest hold.
#[derive(Clone, Copy, Debug)]
pub struct Payload {
    field: Field,
    vectors: bool,
    outputs: usize,
}

impl Payload {
    /// The element of leaves: that of sums.
    pub fn element(forest: &Forest) -> Scalar {
        scalar(forest.types.accumulator)
    }

    /// Leaves in a field of that element: values, or places in the table of leaf vectors if some tree has
    /// vector leaves.
    pub fn new(forest: &Forest, field: Field) -> Payload {
        let vectors = forest.trees.iter().any(|tree| tree.target == Target::All);
        Payload { field, vectors, outputs: forest.num_margins }
    }

    /// Bytes of a leaf.
    pub fn bytes(&self) -> u32 {
        self.field.scalar.bytes()
    }

    /// The buffer of the leaves.
    pub fn buffer(&self, buffers: &Buffers) -> BufferId {
        self.field.buffer(buffers)
    }

    /// Writes a leaf. `vector` is its place in the table of leaf vectors.
    pub fn write(&self, bytes: &mut Bytes, record: usize, leaf: &Leaf, vector: u32) {
        if self.vectors {
            self.field.seen_as(Scalar::I32).write(bytes, record, u64::from(vector));
        } else {
            let value = leaf.values.first().copied().unwrap_or(0.0);
            write_float(self.field.of_record(bytes, record), self.field.scalar, value);
        }
    }

    /// Looks the leaves of a vector of walks up in registers, for a tree whose `count` leaves, from record
    /// `first` on, have numbers that end in their places. None if that would take too many registers.
    pub fn look_up(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        first: Value,
        count: u64,
        node: Value,
    ) -> Option<LeafValue> {
        let bytes = count.saturating_mul(self.field.scalar.bytes().into());
        if self.vectors || count < 2 || bytes > IN_REGISTERS {
            return None;
        }
        let table = self.field.load_run(b, buffers, first, count);
        Some(LeafValue::Scalar(b.lookup(table, node)))
    }

    /// Loads a leaf.
    pub fn load(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> LeafValue {
        if !self.vectors {
            return LeafValue::Scalar(self.field.load(b, buffers, state, node));
        }
        let leaf = self.field.seen_as(Scalar::I32).load(b, buffers, state, node);
        let leaf = if b.ty(node).lanes == 1 { b.to_index(leaf) } else { leaf };
        let outputs = b.int_of(b.ty(leaf), self.outputs as i64);
        LeafValue::Vector(b.mul(leaf, outputs))
    }
}
