//! What the preorder layout stores of a node: four numbers, each as narrow as the forest allows.
//!
//! Vectors need these in all lanes. A leaf's place is read that often out of one small table for all nodes, which takes a
//! second load. In the nodes themselves it would take none, but these would be four times as large, and all of them pass by for
//! each block of rows. Ranks are spread by a shuffle: the unit that does it has less to do than those that load.

use crate::bytes::{narrowest, write_int};
use crate::lir::{Address, BufferId, Builder, Cast, Scalar, Ty, Value};
use crate::repr::tree::{At, TreeState};

/// A number of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    /// Bytes from the node's start; a multiple of its own.
    at: u32,
    /// Its type.
    scalar: Scalar,
}

/// The numbers of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Its leftmost leaf.
    pub(super) here: Field,
    /// The leftmost leaf of its right subtree.
    pub(super) right: Field,
    /// The rank of its threshold.
    pub(super) rank: Field,
    /// The column of the bins that it compares with.
    pub(super) column: Field,
    /// Bytes of a node, whole words.
    pub(super) bytes: u32,
}

impl Node {
    /// A node whose leaves are numbered in `place`, and which compares with bins in `rank`, one of `columns` columns.
    pub(super) fn new(place: Scalar, rank: Scalar, columns: u32) -> Node {
        let column = narrowest(columns.saturating_sub(1).into()).unwrap_or(Scalar::I32);
        let mut end = 0_u32;
        let mut field = |scalar: Scalar| {
            let at = end.next_multiple_of(scalar.bytes());
            end = at + scalar.bytes();
            Field { at, scalar }
        };
        let (here, right, rank, column) = (field(place), field(place), field(rank), field(column));
        Node { here, right, rank, column, bytes: end.next_multiple_of(4) }
    }

    /// All of them, in this order.
    pub(super) fn fields(&self) -> [Field; 4] {
        [self.here, self.right, self.rank, self.column]
    }

    /// Writes a node; `numbers` are in the order of the fields.
    pub(super) fn write(&self, bytes: &mut [u8], numbers: [u64; 4]) {
        for (field, number) in self.fields().into_iter().zip(numbers) {
            let bytes = &mut bytes[field.at as usize..][..field.scalar.bytes() as usize];
            write_int(bytes, field.scalar, number);
        }
    }

    /// A number of a node in its own type.
    pub(super) fn number(&self, b: &mut Builder, (buffer, state, entry): Entry, field: Field) -> Value {
        state.load(b, buffer, field.scalar, entry, At { stride: self.bytes, offset: field.at })
    }

    /// Numbers of nodes in the type of their entries. Each word of a node is loaded or gathered once, since walks have
    /// fewer loads to spare than shifts.
    pub(super) fn numbers<const N: usize>(
        &self,
        b: &mut Builder,
        (buffer, state, entry): Entry,
        fields: [Field; N],
    ) -> [Value; N] {
        let ty = b.ty(entry);
        let words = self.words(b, (buffer, state, entry));
        fields.map(|Field { at, scalar }| {
            let word = b.cast(Cast::ZExt, words[at as usize / 4], ty);
            b.bits(word, 8 * (at % 4), 8 * scalar.bytes())
        })
    }

    /// The words of nodes. Lanes gather two in one, which takes no longer.
    fn words(&self, b: &mut Builder, (buffer, state, entry): Entry) -> Vec<Value> {
        if b.ty(entry).lanes > 1 && self.bytes == 8 {
            let both = state.load(b, buffer, Scalar::I64, entry, At::start(self.bytes));
            return vec![b.word(both, 0), b.word(both, 1)];
        }
        let offsets = (0..self.bytes).step_by(4);
        offsets
            .map(|offset| state.load(b, buffer, Scalar::I32, entry, At { stride: self.bytes, offset }))
            .collect()
    }
}

/// The table of nodes, the tree and the entry among its own.
pub(super) type Entry<'a> = (BufferId, &'a TreeState, Value);

/// Each number below `count`, as often as it fits a word.
pub(super) fn words(scalar: Scalar, count: u64) -> Vec<u8> {
    let word = |number: u64| {
        let mut word = [0; 4];
        word.chunks_exact_mut(scalar.bytes() as usize).for_each(|at| write_int(at, scalar, number));
        word
    };
    (0..count).flat_map(word).collect()
}

/// A number in all lanes, by way of the table of such words.
pub(super) fn in_all_lanes(
    b: &mut Builder,
    (words, number): (BufferId, Value),
    (scalar, lanes): (Scalar, u16),
) -> Value {
    let repeated = (4 / scalar.bytes()) as u16;
    let at = Address { buffer: words, index: number, stride: 4, offset: 0 };
    if lanes <= repeated || lanes % repeated > 0 {
        let first = b.load(Ty::of(scalar), at);
        return b.splat(first, lanes);
    }
    let word = b.load(Ty::of(Scalar::I32), at);
    let words = b.splat(word, lanes / repeated);
    b.cut(words, scalar)
}
