//! All tests of a tree made at once, for a single row whose bins fit a register.
//!
//! Here nodes are numbered from left to right: node `n` lies between the leaves `n` and `n + 1`. One that leads to the right
//! strikes out the leaves of its left subtree, of which `n` is the last, whether the row has come to it or not; the leftmost
//! leaf that remains is the row's (QuickScorer, Lucchese and others 2015). Nodes there have words with a bit for each leaf that
//! they strike out, which would be most of what a row has to read. Here they have bytes that say how far they reach to the
//! left: a leaf is struck out if a node that is not left of it leads to the right and reaches it, and the farthest reach of
//! all such nodes is a running maximum.

use super::order::Ordered;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, BufferId, Builder, Cmp, Scalar, Ty, Value};
use crate::repr::traverse::test_mask::{Tests, WORD, decisions};

/// Entries that are tested at once at least.
const SMALLEST: u64 = 16;
/// The reach of an entry that is no node.
pub(super) const NOWHERE: u8 = u8::MAX;

/// How many entries of a tree are tested at once. A word has a bit for each: of more, trees in lanes are faster.
#[derive(Clone, Copy)]
pub(super) struct AtOnce(u16);

/// A table for each of the bytes of entries.
#[derive(Clone, Copy)]
pub(super) struct Tables {
    /// The columns of the bins that nodes compare with.
    pub(super) columns: BufferId,
    /// The ranks of their thresholds.
    pub(super) ranks: BufferId,
    /// The number of leaves that they strike out, less one.
    pub(super) reaches: BufferId,
}

/// The entry of a node among those of its tree, and its reach.
pub(super) fn entry(node: &Ordered) -> (usize, u8) {
    let last = node.right.saturating_sub(1);
    let reach = if seeded(Fault::ReachFallsShort) { 0 } else { last.saturating_sub(node.here) };
    (last as usize, reach as u8)
}

impl AtOnce {
    /// For the smallest trees.
    pub(super) const SMALLEST: AtOnce = AtOnce(SMALLEST as u16);

    /// For trees of at most `most` leaves, if a word has bits for them.
    pub(super) fn new(most: u64) -> Option<AtOnce> {
        let entries = AtOnce::entries(most);
        (entries <= WORD).then_some(AtOnce(entries as u16))
    }

    /// How many entries are read of each tree if the largest has `most` leaves.
    pub(super) fn entries(most: u64) -> u64 {
        most.next_power_of_two().max(SMALLEST)
    }

    /// The leaf, an `i64` counted from the left, of a row with these bins in the tree whose entries begin at `base`.
    pub(super) fn leaf(self, b: &mut Builder, tables: Tables, base: Value, bins: Value) -> Value {
        let ty = Ty::vector(Scalar::I8, self.0);
        let mut load = |buffer| b.load(ty, Address { buffer, index: base, stride: 1, offset: 0 });
        let [columns, ranks, reaches] = [tables.columns, tables.ranks, tables.reaches].map(&mut load);
        let right = decisions(b, bins, Tests { columns, ranks });
        // How far it is to the end from an entry, and from the leftmost leaf that it strikes out. What follows are nodes of
        // the next tree, which reach no leaf of this one.
        let (end, lanes, none) = (b.int_of(ty, self.0.into()), b.lanes(ty), b.int_of(ty, 0));
        let to_end = b.sub(end, lanes);
        let reach = b.add(to_end, reaches);
        let mut reach = b.select(right, reach, none);
        for places in (0..self.0.ilog2()).map(|bit| 1 << bit) {
            let others = b.slide(reach, places);
            reach = b.max(reach, others);
        }
        let remain = b.cmp(Cmp::Lt, reach, to_end);
        let remain = b.mask_bits(remain);
        // As many bits as there are below the lowest one.
        let (one, all) = (b.int(1), b.int(-1));
        let below = b.sub(remain, one);
        let others = b.bin(Bin::Xor, remain, all);
        let below = b.bin(Bin::And, below, others);
        b.ones(below)
    }
}
