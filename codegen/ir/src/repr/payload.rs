//! What leaves hold: a value, or a place in the table of leaf vectors or in those of linear leaves.

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
    /// The number of the leaf among all leaves of the forest, an index.
    Linear(Value),
}

/// Bytes of leaves of one tree that are looked up in registers at most: gathering more of them is cheaper.
const IN_REGISTERS: u64 = 1024;

/// What the leaves of a forest hold.
#[derive(Clone, Copy, Debug)]
pub struct Payload {
    field: Field,
    held: Held,
}

/// What stands in the field of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// Its value.
    Value,
    /// Its number, which is that of its vector of so many values.
    Vector(usize),
    /// Its number, which is that of its terms.
    Linear,
}

impl Held {
    fn of(forest: &Forest) -> Held {
        if forest.trees.iter().any(|tree| tree.target == Target::All) {
            Held::Vector(forest.num_margins)
        } else if forest.has_linear_leaves() {
            Held::Linear
        } else {
            Held::Value
        }
    }
}

impl Payload {
    /// The element of leaves: that of sums.
    pub fn element(forest: &Forest) -> Scalar {
        scalar(forest.types.accumulator)
    }

    /// Leaves in a field of that element: values, or numbers of leaves if some tree has vector leaves or linear ones.
    pub fn new(forest: &Forest, field: Field) -> Payload {
        Payload { field, held: Held::of(forest) }
    }

    /// Whether what leaves hold fits 32 bits.
    pub fn fits_word(forest: &Forest) -> bool {
        Held::of(forest) != Held::Value || Payload::element(forest) == Scalar::F32
    }

    /// Bytes of a leaf.
    pub fn bytes(&self) -> u32 {
        self.field.scalar.bytes()
    }

    /// The buffer of the leaves.
    pub fn buffer(&self, buffers: &Buffers) -> BufferId {
        self.field.buffer(buffers)
    }

    /// Writes a leaf. `number` is its number among all leaves of the forest.
    pub fn write(&self, bytes: &mut Bytes, record: usize, leaf: &Leaf, number: u32) {
        if self.held != Held::Value {
            self.field.seen_as(Scalar::I32).write(bytes, record, u64::from(number));
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
        if self.held != Held::Value || count < 2 || bytes > IN_REGISTERS {
            return None;
        }
        let table = self.field.load_run(b, buffers, first, count);
        Some(LeafValue::Scalar(b.lookup(table, node)))
    }

    /// Loads a leaf.
    pub fn load(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> LeafValue {
        if self.held == Held::Value {
            return LeafValue::Scalar(self.field.load(b, buffers, state, node));
        }
        let leaf = self.field.seen_as(Scalar::I32).load(b, buffers, state, node);
        let leaf = if b.ty(node).lanes == 1 { b.to_index(leaf) } else { leaf };
        let Held::Vector(outputs) = self.held else { return LeafValue::Linear(leaf) };
        let outputs = b.int_of(b.ty(leaf), outputs as i64);
        LeafValue::Vector(b.mul(leaf, outputs))
    }
}
