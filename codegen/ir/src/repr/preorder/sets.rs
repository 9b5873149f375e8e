//! Nodes that ask whether a category's class is in a set.
//!
//! Such a node has the place of its feature among those of classes for a threshold bin, and for a column the set's number
//! behind those of columns. A vector of rows tests one set, so that its bytes are a table in registers: each row looks up
//! the byte that its class names, and sees whether that has the class's bit.

use super::node::Entry;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, Builder, Cmp, Gather, Scalar, Ty, Value};
use crate::quantize::BinMap;
use crate::repr::schema::{Bytes, Field, Schema};
use crate::repr::test::bin_goes_right;
use crate::repr::traverse::Lane;
use crate::repr::tree::Buffers;
use crate::rows::Row;

/// The sets that nodes ask for, as tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct SetTables {
    /// The number of the first set among columns.
    first: i64,
    /// Bytes of a set.
    stride: u32,
    /// Bytes that are looked up.
    width: u32,
    /// The bytes.
    bytes: Field,
    /// The columns of the byte and of the bit of each class.
    columns: Field,
    /// Entries of that table, a power of two.
    places: u64,
}

/// Most classes whose columns trees in lanes look up in registers.
const LOOKED_UP: u64 = 32;

/// Bits of a word that hold the column of a byte.
const COLUMN_BITS: u32 = 16;

/// A node that a vector of rows tests.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    /// Its column, an index.
    pub(super) column: Value,
    /// The place of its feature among those of classes, an index.
    pub(super) place: Value,
}

/// What a node compares with, for walks that take steps: an index or a vector of them.
#[derive(Clone, Copy)]
pub(super) struct Compared {
    pub(super) threshold_bin: Value,
    pub(super) column: Value,
}

impl SetTables {
    /// Adds the tables to a schema, if some node asks for a set.
    pub(super) fn declare(schema: &mut Schema, bins: &BinMap) -> Option<SetTables> {
        let sets = bins.sets();
        let (stride, width) = (sets.bytes(), sets.width());
        let count = u64::from(sets.count()) * u64::from(stride);
        (!sets.is_empty()).then(|| {
            let bytes = schema.column("preorder_sets", Scalar::I8, count);
            // What is looked up reaches into the next set, and lanes gather words.
            schema.tail(bytes.table(), width.into());
            let places = (sets.features().count() as u64).next_power_of_two().max(2);
            let columns = schema.column("preorder_classes", Scalar::I32, places);
            SetTables { first: bins.columns().into(), stride, width, bytes, columns, places }
        })
    }

    /// Writes them.
    pub(super) fn fill(&self, bytes: &mut Bytes, bins: &BinMap) {
        for (number, set) in bins.sets().sets().enumerate() {
            let to = self.bytes.of_record(bytes, number * self.stride as usize);
            to[..set.len()].copy_from_slice(set);
        }
        for (place, feature) in bins.sets().features().enumerate() {
            let [byte, bit] = bins.class_columns(feature);
            self.columns.write(bytes, place, byte | bit << COLUMN_BITS);
        }
    }

    /// Whether a node asks for a set, by its column.
    pub(super) fn asks(&self, b: &mut Builder, column: Value) -> Value {
        let first = b.int_of(b.ty(column), self.first);
        b.cmp(Cmp::Le, first, column)
    }

    /// Which rows of vectors go right at a node that asks for a set.
    pub(super) fn leave(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        node: Asked,
        rows: &[(&Row, u16)],
    ) -> Vec<Value> {
        let set = b.add_int(node.column, -self.first);
        let index = b.mul_int(set, self.stride.into());
        let set = b.load(Ty::vector(Scalar::I8, self.width as u16), self.bytes.address(buffers, index));
        let columns = b.load_index(Scalar::I32, self.columns.address(buffers, node.place));
        let columns = [0, COLUMN_BITS].map(|first| b.bits(columns, first, COLUMN_BITS));
        let right = rows.iter().map(|(row, lanes)| {
            let [byte, bit] = columns.map(|column| row.load_bytes(b, column, *lanes));
            let byte = b.lookup(set, byte);
            not_in(b, byte, bit)
        });
        right.collect()
    }

    /// Whether walks that take steps go right.
    pub(super) fn goes_right(&self, b: &mut Builder, node: Entry, lane: &Lane, test: Compared) -> Value {
        let Compared { threshold_bin, column } = test;
        let ty = b.ty(column);
        let (zero, first) = (b.int_of(ty, 0), b.int_of(ty, self.first));
        let asks = self.asks(b, column);
        let place = b.select(asks, threshold_bin, zero);
        let columns = if ty.lanes > 1 && self.places <= LOOKED_UP {
            let first = b.int(0);
            let all = self.columns.load_run(b, node.buffers, first, self.places);
            b.lookup(all, place)
        } else {
            load_words(b, self.columns.address(node.buffers, place))
        };
        let [byte, bit] = [0, COLUMN_BITS].map(|first| b.bits(columns, first, COLUMN_BITS));
        let [byte, bit] = [byte, bit].map(|this| b.select(asks, this, column));
        let (bin, bit) = (lane.row.load(b, byte), lane.row.load(b, bit));
        let set = b.sub(column, first);
        let stride = b.int_of(ty, self.stride.into());
        let index = b.mul(set, stride);
        let index = b.add(index, bin);
        let index = b.select(asks, index, zero);
        let byte = load_words(b, self.bytes.address(node.buffers, index));
        let in_no_set = not_in(b, byte, bit);
        let right = bin_goes_right(b, bin, threshold_bin);
        b.select(asks, in_no_set, right)
    }
}

/// Whether bytes of sets lack bits.
fn not_in(b: &mut Builder, byte: Value, bit: Value) -> Value {
    let both = b.bin(Bin::And, byte, bit);
    let none = b.int_of(b.ty(both), 0);
    b.cmp(if seeded(Fault::SetChangesSides) { Cmp::Ne } else { Cmp::Eq }, both, none)
}

/// The words at an address, or at those of a vector, in the type of the index.
fn load_words(b: &mut Builder, at: Address) -> Value {
    if b.ty(at.index).lanes == 1 {
        return b.load_index(Scalar::I32, at);
    }
    let base = b.int(0);
    let Address { buffer, index, stride, offset } = at;
    b.gather(Scalar::I32, Gather { buffer, base, index, stride, offset, mask: None })
}
