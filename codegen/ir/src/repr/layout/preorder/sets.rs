//! Nodes that test whether a category's class is in a set.
//!
//! A set node stores the index of its feature's class in the threshold-bin field and `columns + set` in
//! the column field. A vector of rows tests one set, whose bytes are a table in registers. Each row
//! looks up the byte of its class and tests the bit of its class in it.

use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, Builder, Cmp, Gather, Scalar, Ty, Value};
use crate::quantize::BinMap;
use crate::repr::schema::{Field, Schema, TableBytes};
use crate::repr::test::bin_goes_right;
use crate::repr::traverse::Lane;
use crate::repr::tree::{Buffers, TreeEntry};
use crate::rows::RowAddress;

/// Tables of the sets that nodes test.
#[derive(Clone, Copy, Debug)]
pub(super) struct SetTables {
    /// Column field of nodes that test the first set; those of other sets follow.
    first_set: i64,
    /// Distance between two sets, in bytes.
    stride: u32,
    /// Bytes from the start of a set that a look-up in registers reads.
    width: u32,
    /// Bytes of all sets.
    bytes: Field,
    /// For each feature with classes, the columns of rows that hold the byte and the bit of the row's class.
    columns: Field,
    /// Number of entries of `columns`, a power of two.
    class_features: u64,
}

/// Largest number of entries of `columns` that trees in lanes look up in registers.
const MOST_LOOKED_UP: u64 = 32;

/// Number of low bits of an entry of `columns` that hold the column of the byte. The bits above hold the
/// column of the bit.
const COLUMN_BITS: u32 = 16;

/// A set node that a vector of rows tests.
#[derive(Clone, Copy)]
pub(super) struct SetNode {
    /// Column field of the node, an index.
    pub(super) column: Value,
    /// Index of the node's feature among the features whose categories are grouped into classes.
    pub(super) class_feature: Value,
}

/// Threshold-bin field and column field of a node, for walks that take steps: indices, or vectors for trees
/// in lanes.
#[derive(Clone, Copy)]
pub(super) struct NodeNumbers {
    pub(super) threshold_bin: Value,
    pub(super) column: Value,
}

impl SetTables {
    /// Adds the tables to a schema, if some node tests a set.
    pub(super) fn declare(schema: &mut Schema, bins: &BinMap) -> Option<SetTables> {
        let sets = bins.sets();
        let (stride, width) = (sets.set_bytes(), sets.lookup_bytes());
        let count = u64::from(sets.count()) * u64::from(stride);
        (!sets.is_empty()).then(|| {
            let bytes = schema.add_number_table("preorder_sets", Scalar::I8, count);
            // A look-up reads into the next set, and lanes gather words.
            schema.add_tail(bytes.table(), width.into());
            let class_features = (sets.features().count() as u64).next_power_of_two().max(2);
            let columns = schema.add_number_table("preorder_classes", Scalar::I32, class_features);
            SetTables { first_set: bins.columns().into(), stride, width, bytes, columns, class_features }
        })
    }

    /// Writes the tables.
    pub(super) fn fill(&self, bytes: &mut TableBytes, bins: &BinMap) {
        for (number, set) in bins.sets().sets().enumerate() {
            let to = self.bytes.bytes_from_record(bytes, number * self.stride as usize);
            to[..set.len()].copy_from_slice(set);
        }
        for (place, feature) in bins.sets().features().enumerate() {
            let [byte, bit] = bins.class_columns(feature);
            self.columns.write(bytes, place, byte | bit << COLUMN_BITS);
        }
    }

    /// Whether a node tests a set, by its column field.
    pub(super) fn tests_set(&self, b: &mut Builder, column: Value) -> Value {
        let first = b.int_of(b.ty(column), self.first_set);
        b.cmp(Cmp::Le, first, column)
    }

    /// Rows of each vector that go right at a set node.
    pub(super) fn rows_going_right(
        &self,
        b: &mut Builder,
        buffers: &Buffers,
        node: SetNode,
        rows: &[(&RowAddress, u16)],
    ) -> Vec<Value> {
        let set = b.add_int(node.column, -self.first_set);
        let index = b.mul_int(set, self.stride.into());
        let set = b.load(Ty::vector(Scalar::I8, self.width as u16), self.bytes.address(buffers, index));
        let columns = b.load_index(Scalar::I32, self.columns.address(buffers, node.class_feature));
        let columns = [0, COLUMN_BITS].map(|first| b.extract_bits(columns, first, COLUMN_BITS));
        let right = rows.iter().map(|(row, lanes)| {
            let [byte, bit] = columns.map(|column| row.load_bytes(b, column, *lanes));
            let byte = b.lookup(set, byte);
            are_not_in_set(b, byte, bit)
        });
        right.collect()
    }

    /// Whether walks that take steps go right at a node, which may test a set or compare bins.
    pub(super) fn goes_right(
        &self,
        b: &mut Builder,
        node: TreeEntry,
        lane: &Lane,
        test: NodeNumbers,
    ) -> Value {
        let NodeNumbers { threshold_bin, column } = test;
        let ty = b.ty(column);
        let (zero, first) = (b.int_of(ty, 0), b.int_of(ty, self.first_set));
        let is_set = self.tests_set(b, column);
        let place = b.select(is_set, threshold_bin, zero);
        let columns = if ty.lanes > 1 && self.class_features <= MOST_LOOKED_UP {
            let first = b.int(0);
            let all = self.columns.load_records(b, node.buffers, first, self.class_features);
            b.lookup(all, place)
        } else {
            load_words(b, self.columns.address(node.buffers, place))
        };
        let [byte, bit] = [0, COLUMN_BITS].map(|first| b.extract_bits(columns, first, COLUMN_BITS));
        let [byte, bit] = [byte, bit].map(|this| b.select(is_set, this, column));
        let (bin, bit) = (lane.row.load(b, byte), lane.row.load(b, bit));
        let set = b.sub(column, first);
        let stride = b.int_of(ty, self.stride.into());
        let index = b.mul(set, stride);
        let index = b.add(index, bin);
        let index = b.select(is_set, index, zero);
        let byte = load_words(b, self.bytes.address(node.buffers, index));
        let in_no_set = are_not_in_set(b, byte, bit);
        let right = bin_goes_right(b, bin, threshold_bin);
        b.select(is_set, in_no_set, right)
    }
}

/// Whether classes are not in a set: the set's bytes lack the classes' bits.
fn are_not_in_set(b: &mut Builder, byte: Value, bit: Value) -> Value {
    let both = b.bin(Bin::And, byte, bit);
    let none = b.int_of(b.ty(both), 0);
    b.cmp(if seeded(Fault::SetChangesSides) { Cmp::Ne } else { Cmp::Eq }, both, none)
}

/// Loads a 32-bit word, or one for each lane, in the type of the address's index.
fn load_words(b: &mut Builder, at: Address) -> Value {
    if b.ty(at.index).lanes == 1 {
        return b.load_index(Scalar::I32, at);
    }
    let base = b.int(0);
    let Address { buffer, index, stride, offset } = at;
    b.gather(Scalar::I32, Gather { buffer, base, index, stride, offset, mask: None })
}
