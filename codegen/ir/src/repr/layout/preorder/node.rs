//! Node records of the preorder layout: four numbers, each as narrow as the forest allows.
//!
//! Vectors need each number in all lanes. A small table that all nodes share holds leaf positions
//! already repeated, at the cost of a second load. Repeating them in the nodes would save the load but
//! make nodes four times as large, and every block of rows reads all nodes. A shuffle repeats threshold
//! bins, because the shuffle unit has less to do than the load units.

use crate::bytes::{narrowest_unsigned, write_int};
use crate::lir::{Address, Bin, Builder, Cast, Scalar, Ty, Value};
use crate::repr::schema::{Field, Schema, TableBytes};
use crate::repr::test::TestOperand;
use crate::repr::tree::TreeEntry;

/// Fields of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeFields {
    /// Leftmost leaf of the node.
    pub(super) first_leaf: Field,
    /// Leftmost leaf of its right subtree.
    pub(super) right_leaf: Field,
    /// Threshold bin.
    pub(super) threshold_bin: Field,
    /// Column of the bins that are compared with it.
    pub(super) column: Field,
    /// Bytes of a node, a multiple of 4.
    bytes: u32,
}

/// Numbers of a node, as they are written.
#[derive(Clone, Copy)]
pub(super) struct EncodedNode {
    pub(super) first_leaf: u64,
    pub(super) right_leaf: u64,
    pub(super) operand: TestOperand,
    pub(super) column: u64,
}

/// Types of the numbers of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeNumberTypes {
    /// Element type of leaf positions.
    pub(super) position: Scalar,
    /// Element type of threshold bins.
    pub(super) threshold_bin: Scalar,
    /// Number of columns, which column fields are below.
    pub(super) columns: u32,
}

impl NodeFields {
    /// Adds a table of `count` nodes to a schema.
    pub(super) fn declare(
        schema: &mut Schema,
        name: &'static str,
        numbers: NodeNumberTypes,
        count: u64,
    ) -> NodeFields {
        let NodeNumberTypes { position: position_type, threshold_bin, columns } = numbers;
        let column = narrowest_unsigned(columns.saturating_sub(1).into()).unwrap_or(Scalar::I32);
        let mut end = 0_u32;
        let offsets = [position_type, position_type, threshold_bin, column].map(|scalar| {
            let at = end.next_multiple_of(scalar.bytes());
            end = at + scalar.bytes();
            at
        });
        let bytes = end.next_multiple_of(4);
        let table = schema.add_table(name, Scalar::I32, bytes, count);
        schema.prefetch_with_trees(table);
        NodeFields {
            first_leaf: schema.add_field(table, "leftmost leaf", position_type, offsets[0]),
            right_leaf: schema.add_field(table, "leftmost leaf on the right", position_type, offsets[1]),
            threshold_bin: schema.add_field(table, "threshold bin", threshold_bin, offsets[2]),
            column: schema.add_field(table, "column", column, offsets[3]),
            bytes,
        }
    }

    /// All fields, in the order of the struct.
    pub(super) fn fields(&self) -> [Field; 4] {
        [self.first_leaf, self.right_leaf, self.threshold_bin, self.column]
    }

    /// Writes a node.
    pub(super) fn write(&self, bytes: &mut TableBytes, record: usize, node: EncodedNode) {
        self.first_leaf.write(bytes, record, node.first_leaf);
        self.right_leaf.write(bytes, record, node.right_leaf);
        self.threshold_bin.write_operand(bytes, record, node.operand);
        self.column.write(bytes, record, node.column);
    }

    /// Loads numbers of nodes in the type of their entries. Each word of a node is loaded or gathered
    /// once, since loads are scarcer than shifts.
    pub(super) fn load_numbers<const N: usize>(
        &self,
        b: &mut Builder,
        node: TreeEntry,
        fields: [Field; N],
    ) -> [Value; N] {
        let ty = b.ty(node.entry);
        let words = self.load_words(b, node);
        fields.map(|field| {
            let (word, bit) = (words[field.offset() as usize / 4], 8 * (field.offset() % 4));
            let word = b.cast(Cast::ZExt, word, ty);
            b.extract_bits(word, bit, 8 * field.scalar.bytes())
        })
    }

    /// Loads the words of nodes. Two words are loaded at once, which takes no longer than one: threads of a
    /// GPU pay for each distinct line of every load.
    fn load_words(&self, b: &mut Builder, node: TreeEntry) -> Vec<Value> {
        let TreeEntry { buffers, state, entry } = node;
        let first = self.first_leaf.with_scalar(Scalar::I32);
        if self.bytes == 8 {
            let both = first.with_scalar(Scalar::I64).load(b, buffers, state, entry);
            let ty = b.ty(both);
            if ty.lanes > 1 {
                return vec![b.extract_half(both, 0), b.extract_half(both, 1)];
            }
            let word = ty.with(Scalar::I32);
            let bits = b.int_of(ty, 32);
            let high = b.bin(Bin::Shr, both, bits);
            return vec![b.cast(Cast::Trunc, both, word), b.cast(Cast::Trunc, high, word)];
        }
        let offsets = (0..self.bytes).step_by(4);
        offsets.map(|offset| first.offset_by(offset).load(b, buffers, state, entry)).collect()
    }
}

/// Writes each number below `count`, repeated to fill a word.
pub(super) fn write_words(bytes: &mut TableBytes, field: Field, scalar: Scalar, count: u64) {
    for number in 0..count {
        let word = field.bytes_from_record(bytes, number as usize);
        word[..4].chunks_exact_mut(scalar.bytes() as usize).for_each(|at| write_int(at, scalar, number));
    }
}

/// Repeats a number in all lanes of a vector, from the table of repeated words.
pub(super) fn in_all_lanes(b: &mut Builder, word: Address, ty: Ty) -> Value {
    let repeated = (4 / ty.scalar.bytes()) as u16;
    if ty.lanes <= repeated || !ty.lanes.is_multiple_of(repeated) {
        let first = b.load(Ty::of(ty.scalar), word);
        return b.splat(first, ty.lanes);
    }
    let word = b.load(Ty::of(Scalar::I32), word);
    let words = b.splat(word, ty.lanes / repeated);
    b.bitcast_narrow(words, ty.scalar)
}
