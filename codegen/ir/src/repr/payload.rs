//! Contents of leaves: a value, or an index into tables of values, leaf vectors and linear leaves.

use super::schema::{Field, Schema, TableBytes};
use super::tree::{Buffers, TreeState};
use crate::bytes::{scalar, write_float};
use crate::lir::{BufferId, Builder, Scalar, Value};
use crate::repr::request::Request;
use sched_forest::{Forest, Leaf};

/// Loaded content of a leaf.
#[derive(Clone, Copy, Debug)]
pub enum LeafValue {
    /// The value itself, in the accumulator's type.
    Scalar(Value),
    /// Index of the leaf among all leaves of the forest, whose tables have its vector and its terms.
    Index(Value),
}

/// Largest number of bytes of a tree's leaf values that are looked up in registers. If there are more,
/// gathers are cheaper.
pub const IN_REGISTERS: u64 = 1024;
/// Bytes of the widest vector registers.
const REGISTER: u32 = 64;

/// Table of leaf contents.
#[derive(Clone, Copy, Debug)]
pub struct Payload {
    field: Field,
    held: LeafContent,
    has_vectors: bool,
    outputs: usize,
    /// Leaf vectors in a separate table, tree by tree and within a tree margin by margin. Each margin
    /// has one record per record of the tree.
    columns: Option<Field>,
}

/// Leaves of a tree whose values for one margin are looked up.
#[derive(Clone, Copy, Debug)]
pub struct LeafRange {
    /// First record of the tree.
    pub first: Value,
    /// Number of records of the tree.
    pub size: Value,
    /// Number of leaves that the look-up covers.
    pub count: u64,
}

/// Meaning of the number in a leaf's record.
#[derive(Clone, Copy, Debug)]
enum LeafContent {
    /// The value.
    Value,
    /// Index of the value in a table of values.
    Place(Field),
    /// Index of the leaf in the forest's tables of vectors and of linear leaves.
    Index,
}

impl Payload {
    /// Element type of leaf values and of sums.
    pub fn element(forest: &Forest) -> Scalar {
        scalar(forest.types.accumulator)
    }

    /// Leaf contents in `field`: values of [`Payload::element`], or indices of leaves if some leaves are
    /// vectors or linear.
    pub fn new(forest: &Forest, field: Field) -> Payload {
        let has_vectors = forest.has_leaf_vectors();
        let has_tables = has_vectors || forest.has_linear_leaves();
        let held = if has_tables { LeafContent::Index } else { LeafContent::Value };
        Payload { field, held, has_vectors, outputs: forest.num_margins, columns: None }
    }

    /// Adds a table of leaf vectors margin by margin for `records` leaves, if walks need it.
    pub fn with_columns(self, request: &Request, schema: &mut Schema, records: u64) -> Payload {
        if !request.leaf_columns || !self.has_vectors {
            return self;
        }
        let all = records.saturating_mul(self.outputs as u64);
        let values = schema.column("leaf_columns", Payload::element(request.forest), all);
        Payload { columns: Some(values), ..self }
    }

    /// Leaf contents in a field of 32 bits: values if they fit, otherwise indices into a table `name`, which
    /// is added to the schema. That table has all leaves of the forest, in the forest's order.
    pub fn narrow(request: &Request, schema: &mut Schema, field: Field, name: &'static str) -> Payload {
        let forest = request.forest;
        let payload = Payload::new(forest, field);
        let element = Payload::element(forest);
        if !matches!(payload.held, LeafContent::Value) || element.bytes() <= field.scalar.bytes() {
            return payload;
        }
        let leaves = forest.trees.iter().map(|tree| tree.leaves.len() as u64).sum();
        Payload { held: LeafContent::Place(schema.column(name, element, leaves)), ..payload }
    }

    /// Bytes of the field that holds a leaf's value or its index.
    pub fn bytes(&self) -> u32 {
        self.field.scalar.bytes()
    }

    /// The buffer of this field.
    pub fn buffer(&self, buffers: &Buffers) -> BufferId {
        self.field.buffer(buffers)
    }

    /// Writes a leaf. `place` is its position among the leaves of the forest.
    pub fn write(&self, bytes: &mut TableBytes, record: usize, leaf: &Leaf, place: u32) {
        let mut write = |field: Field, record: usize| {
            let value = leaf.values.first().copied().unwrap_or(0.0);
            write_float(field.of_record(bytes, record), field.scalar, value);
        };
        match self.held {
            LeafContent::Value => return write(self.field, record),
            LeafContent::Place(values) => write(values, place as usize),
            LeafContent::Index => {}
        }
        self.field.with_scalar(Scalar::I32).write(bytes, record, u64::from(place));
    }

    /// Writes a leaf's vector margin by margin, if there is a table for it. The leaf has index `at` in
    /// the tree with the records `first..end`, and a value for each margin.
    pub fn write_columns(
        &self,
        bytes: &mut TableBytes,
        (first, end): (usize, usize),
        at: usize,
        value: impl Fn(usize) -> f64,
    ) {
        let Some(values) = self.columns else { return };
        for margin in 0..self.outputs {
            let place = values.of_record(bytes, first * self.outputs + margin * (end - first) + at);
            write_float(place, values.scalar, value(margin));
        }
    }

    /// Looks up one margin of the leaf vectors of a vector of walks, as [`Payload::look_up`] does with
    /// scalar leaves.
    pub fn look_up_margin(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        LeafRange { first, size, count }: LeafRange,
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

    /// Looks up the leaves of a vector of walks in registers. The tree's `count` leaves begin at record
    /// `first`, and the low bits of `node` are the index among them. `None` if that would take too many
    /// registers.
    pub fn look_up(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        first: Value,
        count: u64,
        node: Value,
    ) -> Option<LeafValue> {
        let bytes = count.saturating_mul(self.field.scalar.bytes().into());
        if !matches!(self.held, LeafContent::Value) || count < 2 || bytes > IN_REGISTERS {
            return None;
        }
        let table = self.field.load_run(b, buffers, first, count);
        Some(LeafValue::Scalar(b.lookup(table, node)))
    }

    /// Loads a leaf.
    pub fn load(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> LeafValue {
        if matches!(self.held, LeafContent::Value) {
            return LeafValue::Scalar(self.field.load(b, buffers, state, node));
        }
        let place = self.field.with_scalar(Scalar::I32).load(b, buffers, state, node);
        let place = if b.ty(node).lanes == 1 { b.to_index(place) } else { place };
        if let LeafContent::Place(values) = self.held {
            let all = TreeState::at(b.int(0));
            return LeafValue::Scalar(values.load(b, buffers, &all, place));
        }
        LeafValue::Index(place)
    }
}

/// Pieces in which a leaf vector of `margins` values is added to a row's sums: first margin and lanes
/// of each. Lanes are a power of two and fit a register.
pub fn margin_pieces(margins: i64, element_bytes: u32) -> Vec<(i64, u16)> {
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
