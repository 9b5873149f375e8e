//! What the preorder layout stores of a node: four numbers, each as narrow as the forest allows.
//!
//! Vectors need these in all lanes. A leaf's place is read that often out of one small table for all nodes,
//! which takes a second load. In the nodes themselves it would take none, but these would be four times as
//! large, and all of them pass by for each block of rows. Threshold bins are spread by a shuffle: the unit that does
//! it has less to do than those that load.

use crate::bytes::{narrowest, write_int};
use crate::lir::{Address, Builder, Cast, Scalar, Ty, Value};
use crate::repr::schema::{Bytes, Field, Schema};
use crate::repr::test::Operand;
use crate::repr::tree::{Buffers, TreeState};

/// The numbers of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Its leftmost leaf.
    pub(super) here: Field,
    /// The leftmost leaf of its right subtree.
    pub(super) right: Field,
    /// The bin of its threshold.
    pub(super) threshold_bin: Field,
    /// The column of the bins that it compares with.
    pub(super) column: Field,
    /// Bytes of a node, whole words.
    bytes: u32,
}

/// A node of a tree: its entry among the tree's own.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) buffers: &'a Buffers,
    pub(super) state: &'a TreeState,
    pub(super) entry: Value,
}

/// What is written of a node.
#[derive(Clone, Copy)]
pub(super) struct Written {
    pub(super) here: u64,
    pub(super) right: u64,
    pub(super) operand: Operand,
    pub(super) column: u64,
}

impl Node {
    /// Adds a table of `count` nodes to a schema, whose leaves are numbered in `place`, and which compare
    /// with bins in `threshold_bin`, one of `columns` columns.
    pub(super) fn declare(
        schema: &mut Schema,
        place: Scalar,
        threshold_bin: Scalar,
        columns: u32,
        count: u64,
    ) -> Node {
        let column = narrowest(columns.saturating_sub(1).into()).unwrap_or(Scalar::I32);
        let mut end = 0_u32;
        let offsets = [place, place, threshold_bin, column].map(|scalar| {
            let at = end.next_multiple_of(scalar.bytes());
            end = at + scalar.bytes();
            at
        });
        let bytes = end.next_multiple_of(4);
        let table = schema.table("preorder_nodes", Scalar::I32, bytes, count);
        schema.near(table);
        Node {
            here: schema.field(table, "leftmost leaf", place, offsets[0]),
            right: schema.field(table, "leftmost leaf on the right", place, offsets[1]),
            threshold_bin: schema.field(table, "threshold bin", threshold_bin, offsets[2]),
            column: schema.field(table, "column", column, offsets[3]),
            bytes,
        }
    }

    /// All of them, in this order.
    pub(super) fn fields(&self) -> [Field; 4] {
        [self.here, self.right, self.threshold_bin, self.column]
    }

    /// Writes a node.
    pub(super) fn write(&self, bytes: &mut Bytes, record: usize, node: Written) {
        self.here.write(bytes, record, node.here);
        self.right.write(bytes, record, node.right);
        self.threshold_bin.write_operand(bytes, record, node.operand);
        self.column.write(bytes, record, node.column);
    }

    /// Numbers of nodes in the type of their entries. Each word of a node is loaded or gathered once, since
    /// walks have fewer loads to spare than shifts.
    pub(super) fn numbers<const N: usize>(
        &self,
        b: &mut Builder,
        node: Entry,
        fields: [Field; N],
    ) -> [Value; N] {
        let ty = b.ty(node.entry);
        let words = self.words(b, node);
        fields.map(|field| {
            let (word, bit) = (words[field.offset() as usize / 4], 8 * (field.offset() % 4));
            let word = b.cast(Cast::ZExt, word, ty);
            b.bits(word, bit, 8 * field.scalar.bytes())
        })
    }

    /// The words of nodes. Lanes gather two in one, which takes no longer.
    fn words(&self, b: &mut Builder, node: Entry) -> Vec<Value> {
        let Entry { buffers, state, entry } = node;
        let first = self.here.seen_as(Scalar::I32);
        if b.ty(entry).lanes > 1 && self.bytes == 8 {
            let both = first.seen_as(Scalar::I64).load(b, buffers, state, entry);
            return vec![b.extract_half(both, 0), b.extract_half(both, 1)];
        }
        let offsets = (0..self.bytes).step_by(4);
        offsets.map(|offset| first.behind(offset).load(b, buffers, state, entry)).collect()
    }
}

/// Each number below `count`, as often as it fits a word.
pub(super) fn write_words(bytes: &mut Bytes, field: Field, scalar: Scalar, count: u64) {
    for number in 0..count {
        let word = field.of_record(bytes, number as usize);
        word[..4].chunks_exact_mut(scalar.bytes() as usize).for_each(|at| write_int(at, scalar, number));
    }
}

/// A number in all lanes of a vector, by way of the table of such words.
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
