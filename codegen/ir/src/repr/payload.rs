//! What leaves hold: a value, or a place in the table of leaf vectors.

use super::representation::LeafValue;
use super::tree::{At, TreeState};
use crate::bytes::{scalar, write_float, write_int};
use crate::lir::{Address, BufferId, Builder, Cast, Scalar, Ty, Value};
use sched_forest::{Forest, Leaf, Target};

/// Bytes of leaves of one tree that are looked up in registers at most: gathering more of them is cheaper.
const IN_REGISTERS: u64 = 1024;

/// What the leaves of a forest hold.
#[derive(Clone, Copy, Debug)]
pub struct Payload {
    accumulator: Scalar,
    vectors: bool,
    outputs: usize,
}

impl Payload {
    /// Values, or places in the table of leaf vectors if some tree has vector leaves.
    pub fn of(forest: &Forest) -> Payload {
        Payload {
            accumulator: scalar(forest.types.accumulator),
            vectors: forest.trees.iter().any(|tree| tree.target == Target::All),
            outputs: forest.num_margins,
        }
    }

    /// Bytes of a leaf's payload.
    pub fn bytes(&self) -> u32 {
        self.accumulator.bytes()
    }

    /// The payload's element, for declaring tables.
    pub fn element(&self) -> Scalar {
        self.accumulator
    }

    /// Writes a leaf. `vector` is its place in the table of leaf vectors.
    pub fn write(&self, at: &mut [u8], leaf: &Leaf, vector: u32) {
        if self.vectors {
            write_int(at, Scalar::I32, u64::from(vector));
        } else {
            write_float(at, self.accumulator, leaf.values.first().copied().unwrap_or(0.0));
        }
    }

    /// Looks the leaves of a vector of walks up in registers, for a tree whose `count` leaves, from element `first` of a
    /// table on, have numbers that end in their places. None if that would take too many registers.
    pub fn look_up(
        &self,
        b: &mut Builder,
        buffer: BufferId,
        (first, count): (Value, u64),
        node: Value,
    ) -> Option<LeafValue> {
        let stride = self.bytes();
        if self.vectors || count < 2 || count.saturating_mul(stride.into()) > IN_REGISTERS {
            return None;
        }
        let at = Address { buffer, index: first, stride, offset: 0 };
        let table = b.load(Ty::vector(self.accumulator, count as u16), at);
        Some(LeafValue::Scalar(b.lookup(table, node)))
    }

    /// Loads a leaf from a table whose elements of `stride` bytes begin with a payload.
    pub fn load(
        &self,
        b: &mut Builder,
        buffer: BufferId,
        state: &TreeState,
        node: Value,
        stride: u32,
    ) -> LeafValue {
        if !self.vectors {
            return LeafValue::Scalar(state.load(b, buffer, self.accumulator, node, At::start(stride)));
        }
        let leaf = state.load(b, buffer, Scalar::I32, node, At::start(stride));
        let leaf = if b.ty(node).lanes == 1 { b.cast(Cast::ZExt, leaf, Ty::I64) } else { leaf };
        let outputs = b.int_of(b.ty(leaf), self.outputs as i64);
        LeafValue::Vector(b.mul(leaf, outputs))
    }
}
