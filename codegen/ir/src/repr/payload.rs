//! Contents of leaves: a value, or an index into tables of values, leaf vectors and linear leaves.

use super::schema::{Field, Schema, TableBytes};
use super::tree::{Buffers, TreeState};
use crate::bytes::{scalar, write_float};
use crate::lir::{BufferId, Builder, Scalar, Value};
use crate::repr::request::LayoutRequest;
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
pub const MOST_LOOKUP_BYTES: u64 = 1024;
/// Bytes of the widest vector registers.
const REGISTER_BYTES: u32 = 64;

/// Table of leaf contents.
#[derive(Clone, Copy, Debug)]
pub struct Payload {
    field: Field,
    content: LeafContent,
    has_vectors: bool,
    outputs: usize,
    /// Leaf vectors in a separate table, tree by tree and within a tree margin by margin. Each margin
    /// has one record per record of the tree.
    by_margin: Option<Field>,
}

/// Leaves of a tree whose values for one margin are looked up.
#[derive(Clone, Copy, Debug)]
pub struct LeafRange {
    /// First record of the tree.
    pub first: Value,
    /// Number of records of the tree.
    pub records: Value,
    /// Number of leaves that the look-up covers.
    pub leaves: u64,
}

/// Meaning of the number in a leaf's record.
#[derive(Clone, Copy, Debug)]
enum LeafContent {
    /// The value.
    Value,
    /// Index of the value in a table of values.
    ValueIndex(Field),
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
        let content = if has_tables { LeafContent::Index } else { LeafContent::Value };
        Payload { field, content, has_vectors, outputs: forest.num_margins, by_margin: None }
    }

    /// Adds a table of leaf vectors margin by margin for `records` leaves, if walks need it.
    pub fn with_margins(self, request: &LayoutRequest, schema: &mut Schema, records: u64) -> Payload {
        if !request.adds_by_margin || !self.has_vectors {
            return self;
        }
        let all = records.saturating_mul(self.outputs as u64);
        let values = schema.add_number_table("leaf_columns", Payload::element(request.forest), all);
        Payload { by_margin: Some(values), ..self }
    }

    /// Leaf contents in a field of 32 bits: values if they fit, otherwise indices into a table `name`, which
    /// is added to the schema. That table has all leaves of the forest, in the forest's order.
    pub fn narrow(request: &LayoutRequest, schema: &mut Schema, field: Field, name: &'static str) -> Payload {
        let forest = request.forest;
        let payload = Payload::new(forest, field);
        let element = Payload::element(forest);
        if !matches!(payload.content, LeafContent::Value) || element.bytes() <= field.scalar.bytes() {
            return payload;
        }
        let leaves = forest.trees.iter().map(|tree| tree.leaves.len() as u64).sum();
        Payload {
            content: LeafContent::ValueIndex(schema.add_number_table(name, element, leaves)),
            ..payload
        }
    }

    /// Bytes of the field that holds a leaf's value or its index.
    pub fn bytes(&self) -> u32 {
        self.field.scalar.bytes()
    }

    /// The buffer of this field.
    pub fn buffer(&self, buffers: &Buffers) -> BufferId {
        self.field.buffer(buffers)
    }

    /// Writes a leaf. `position` is its index among the leaves of the forest.
    pub fn write(&self, bytes: &mut TableBytes, record: usize, leaf: &Leaf, position: u32) {
        let mut write = |field: Field, record: usize| {
            let value = leaf.values.first().copied().unwrap_or(0.0);
            write_float(field.bytes_from_record(bytes, record), field.scalar, value);
        };
        match self.content {
            LeafContent::Value => return write(self.field, record),
            LeafContent::ValueIndex(values) => write(values, position as usize),
            LeafContent::Index => {}
        }
        self.field.with_scalar(Scalar::I32).write(bytes, record, u64::from(position));
    }

    /// Writes a leaf's vector margin by margin, if there is a table for it. The leaf has index `at` in
    /// the tree with the records `first..end`, and a value for each margin.
    pub fn write_margins(
        &self,
        bytes: &mut TableBytes,
        (first, end): (usize, usize),
        at: usize,
        value: impl Fn(usize) -> f64,
    ) {
        let Some(values) = self.by_margin else { return };
        for margin in 0..self.outputs {
            let place = values.bytes_from_record(bytes, first * self.outputs + margin * (end - first) + at);
            write_float(place, values.scalar, value(margin));
        }
    }

    /// Looks up one margin of the leaf vectors of a vector of walks, as [`Payload::look_up`] does with
    /// scalar leaves.
    pub fn look_up_margin(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        LeafRange { first, records, leaves }: LeafRange,
        node: Value,
        margin: Value,
    ) -> Option<Value> {
        let values = self.by_margin?;
        let bytes = leaves.saturating_mul(values.scalar.bytes().into());
        if leaves < 2 || bytes > MOST_LOOKUP_BYTES {
            return None;
        }
        let first = b.mul_int(first, self.outputs as i64);
        let of_margin = b.mul(margin, records);
        let first = b.add(first, of_margin);
        let table = values.load_records(b, buffers, first, leaves);
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
        if !matches!(self.content, LeafContent::Value) || count < 2 || bytes > MOST_LOOKUP_BYTES {
            return None;
        }
        let table = self.field.load_records(b, buffers, first, count);
        Some(LeafValue::Scalar(b.lookup(table, node)))
    }

    /// Loads a leaf.
    pub fn load(&self, b: &mut Builder, buffers: &Buffers, state: &TreeState, node: Value) -> LeafValue {
        if matches!(self.content, LeafContent::Value) {
            return LeafValue::Scalar(self.field.load(b, buffers, state, node));
        }
        let place = self.field.with_scalar(Scalar::I32).load(b, buffers, state, node);
        let place = if b.ty(node).lanes == 1 { b.to_index(place) } else { place };
        if let LeafContent::ValueIndex(values) = self.content {
            let all = TreeState::at(b.int(0));
            return LeafValue::Scalar(values.load(b, buffers, &all, place));
        }
        LeafValue::Index(place)
    }
}

/// Pieces in which a leaf vector of `margins` values is added to a row's sums: first margin and lanes
/// of each. Lanes are a power of two and fit a register.
pub fn margin_pieces(margins: i64, element_bytes: u32) -> Vec<(i64, u16)> {
    let widest = i64::from(REGISTER_BYTES / element_bytes);
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
