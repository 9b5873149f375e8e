//! What leaves hold: a value, or a place in a table of values, of leaf vectors, or of linear leaves.

use super::schema::{Bytes, Field, Schema};
use super::tree::{Buffers, TreeState};
use crate::bytes::{scalar, write_float};
use crate::lir::{BufferId, Builder, Scalar, Value};
use crate::repr::request::Request;
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
pub const IN_REGISTERS: u64 = 1024;
/// Bytes of the widest registers.
const REGISTER: u32 = 64;

/// What the leaves of a forest hold.
#[derive(Clone, Copy, Debug)]
pub struct Payload {
    field: Field,
    held: Held,
    outputs: usize,
    /// Leaf vectors apart, tree by tree and in a tree margin by margin: of each margin as many records as the tree has of
    /// leaves.
    columns: Option<Field>,
}

/// The leaves of a tree of which one margin is looked up, and where they are in tables of leaves.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The tree's first record.
    pub first: Value,
    /// How many records it has.
    pub size: Value,
    /// How many are looked up.
    pub count: u64,
}

/// What is in the field of a leaf.
#[derive(Clone, Copy, Debug)]
enum Held {
    /// The value.
    Value,
    /// The place of the value in a table of values.
    Place(Field),
    /// The leaf's number, which is the place of its vector in the forest's table.
    Vector,
    /// The leaf's number, which is that of its terms.
    Linear,
}

impl Payload {
    /// The element of leaves: that of sums.
    pub fn element(forest: &Forest) -> Scalar {
        scalar(forest.types.accumulator)
    }

    /// Leaves in a field of that element: values, or numbers of leaves if some tree has vector leaves or linear ones.
    pub fn new(forest: &Forest, field: Field) -> Payload {
        let held = match () {
            () if has_vectors(forest) => Held::Vector,
            () if forest.has_linear_leaves() => Held::Linear,
            () => Held::Value,
        };
        Payload { field, held, outputs: forest.num_margins, columns: None }
    }

    /// The same with a table of leaf vectors margin by margin, if that is wanted, for `records` leaves.
    pub fn with_columns(self, request: &Request, schema: &mut Schema, records: u64) -> Payload {
        if !request.leaf_columns || !matches!(self.held, Held::Vector) {
            return self;
        }
        let all = records.saturating_mul(self.outputs as u64);
        let values = schema.column("leaf_columns", Payload::element(request.forest), all);
        Payload { columns: Some(values), ..self }
    }

    /// Leaves in a field of 32 bits: values that are as narrow, or else places in a table of this name, which is added
    /// to the schema and has the leaves of all trees, so that the forest's places serve.
    pub fn narrow(request: &Request, schema: &mut Schema, field: Field, name: &'static str) -> Payload {
        let forest = request.forest;
        let payload = Payload::new(forest, field);
        let element = Payload::element(forest);
        if !matches!(payload.held, Held::Value) || element.bytes() <= field.scalar.bytes() {
            return payload;
        }
        let leaves = forest.trees.iter().map(|tree| tree.leaves.len() as u64).sum();
        Payload { held: Held::Place(schema.column(name, element, leaves)), ..payload }
    }

    /// Bytes of a leaf.
    pub fn bytes(&self) -> u32 {
        self.field.scalar.bytes()
    }

    /// The buffer of the leaves.
    pub fn buffer(&self, buffers: &Buffers) -> BufferId {
        self.field.buffer(buffers)
    }

    /// Writes a leaf. `place` is its number among the leaves of the forest.
    pub fn write(&self, bytes: &mut Bytes, record: usize, leaf: &Leaf, place: u32) {
        let mut write = |field: Field, record: usize| {
            let value = leaf.values.first().copied().unwrap_or(0.0);
            write_float(field.of_record(bytes, record), field.scalar, value);
        };
        match self.held {
            Held::Value => return write(self.field, record),
            Held::Place(values) => write(values, place as usize),
            Held::Vector | Held::Linear => {}
        }
        self.field.seen_as(Scalar::I32).write(bytes, record, u64::from(place));
    }

    /// Writes a leaf's vector margin by margin, if there is a table of these. It is leaf `at` of the tree that has the
    /// records `first..end`. A tree for one margin leaves the others as they are.
    pub fn write_columns(
        &self,
        bytes: &mut Bytes,
        (first, end): (usize, usize),
        at: usize,
        (target, leaf): (Target, &Leaf),
    ) {
        let Some(values) = self.columns else { return };
        for margin in 0..self.outputs {
            let value = match target {
                Target::All => leaf.values.get(margin),
                Target::One(one) => leaf.values.first().filter(|_| one as usize == margin),
            };
            let place = values.of_record(bytes, first * self.outputs + margin * (end - first) + at);
            write_float(place, values.scalar, value.copied().unwrap_or(-0.0));
        }
    }

    /// One margin of the leaf vectors of a vector of walks, as [`Payload::look_up`] finds leaves that are values.
    pub fn look_up_margin(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        Run { first, size, count }: Run,
        node: Value,
        margin: Value,
    ) -> Option<Value> {
        let values = self.columns?;
        let bytes = count.saturating_mul(values.scalar.bytes().into());
        if count < 2 || bytes > IN_REGISTERS {
            return None;
        }
        let first = b.mul_int(first, self.outputs as i64);
        let of_margin = b.mul(margin, size);
        let first = b.add(first, of_margin);
        let table = values.load_run(b, buffers, first, count);
        Some(b.lookup(table, node))
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
        if !matches!(self.held, Held::Value) || count < 2 || bytes > IN_REGISTERS {
            return None;
        }
        let table = self.field.load_run(b, buffers, first, count);
        Some(LeafValue::Scalar(b.lookup(table, node)))
    }

    /// Loads a leaf.
    pub fn load(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> LeafValue {
        if matches!(self.held, Held::Value) {
            return LeafValue::Scalar(self.field.load(b, buffers, state, node));
        }
        let place = self.field.seen_as(Scalar::I32).load(b, buffers, state, node);
        let place = if b.ty(node).lanes == 1 { b.to_index(place) } else { place };
        if let Held::Place(values) = self.held {
            let all = TreeState::at(b.int(0));
            return LeafValue::Scalar(values.load(b, buffers, &all, place));
        }
        if matches!(self.held, Held::Linear) {
            return LeafValue::Linear(place);
        }
        let outputs = b.int_of(b.ty(place), self.outputs as i64);
        LeafValue::Vector(b.mul(place, outputs))
    }
}

/// Whether some tree has leaves of several values.
fn has_vectors(forest: &Forest) -> bool {
    forest.trees.iter().any(|tree| tree.target == Target::All)
}

/// The pieces in which a leaf vector of so many margins is added to a row's sums: where each begins, and its lanes, a power
/// of two that fits a register.
pub fn add_pieces(margins: i64, element_bytes: u32) -> Vec<(i64, u16)> {
    let widest = i64::from(REGISTER / element_bytes);
    let mut pieces = Vec::new();
    let mut first = 0;
    while first < margins {
        let left = (margins - first).min(widest);
        let lanes = 1i64 << left.ilog2();
        pieces.push((first, lanes as u16));
        first += lanes;
    }
    pieces
}
