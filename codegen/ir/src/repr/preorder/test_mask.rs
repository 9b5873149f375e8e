//! All tests of a tree made at once, for a single row whose bins fit a register.
//!
//! Here nodes are numbered from left to right: node `n` lies between the leaves `n` and `n + 1`. One that
//! leads to the right strikes out the leaves of its left subtree, of which `n` is the last, whether the row
//! has come to it or not; the leftmost leaf that remains is the row's (QuickScorer, Lucchese and others
//! 2015). Nodes there have words with a bit for each leaf that they strike out, which would be most of what a
//! row has to read. Here they have bytes that say how far they reach to the left: a leaf is struck out if a
//! node that is not left of it leads to the right and reaches it, and the farthest reach of all such nodes is
//! a running maximum.

use super::order::Ordered;
use crate::fault::{Fault, seeded};
use crate::lir::{Bin, Builder, Cmp, Scalar, Ty, Value};
use crate::repr::schema::{Bytes, Field, Schema};
use crate::repr::test::Encoded;
use crate::repr::traverse::test_mask::{Tests, WORD, decisions};
use crate::repr::tree::Buffers;

/// Entries that are tested at once at least.
const SMALLEST: u64 = 16;
/// The reach of an entry that is no node.
const NOWHERE: u8 = u8::MAX;

/// A table for each of the bytes of entries, some of which are tested at once. A word has a bit for each:
/// of more, trees in lanes are faster.
#[derive(Clone, Copy)]
pub(super) struct TestMaskTables {
    /// Entries of a tree that are tested.
    entries: u64,
    /// Whether there are tables to make all tests at once.
    wanted: bool,
    /// The columns of the bins that nodes compare with.
    columns: Field,
    /// The bins of their thresholds.
    threshold_bins: Field,
    /// The number of leaves that they strike out, less one.
    reaches: Field,
}

/// The entry of a node among those of its tree, and its reach.
fn entry(node: &Ordered) -> (usize, u8) {
    let last = node.right.saturating_sub(1);
    let reach = if seeded(Fault::ReachFallsShort) { 0 } else { last.saturating_sub(node.here) };
    (last as usize, reach as u8)
}

impl TestMaskTables {
    /// Adds tables of this many entries to a schema, for trees of at most `most` leaves. Without them all
    /// tests are never made at once. Tables of trees that nobody walks have no entries.
    pub(super) fn declare(schema: &mut Schema, most: u64, entries: Option<u64>) -> TestMaskTables {
        let count = entries.unwrap_or(0);
        TestMaskTables {
            entries: TestMaskTables::entries(most).min(WORD),
            wanted: entries.is_some(),
            columns: schema.column("preorder_columns", Scalar::I8, count),
            threshold_bins: schema.column("preorder_bins", Scalar::I8, count),
            reaches: schema.column("preorder_reaches", Scalar::I8, count),
        }
    }

    /// Whether a word has bits for the entries of trees of at most `most` leaves.
    pub(super) fn fits(most: u64) -> bool {
        TestMaskTables::entries(most) <= WORD
    }

    /// Whether there are such tables.
    pub(super) fn wanted(&self) -> bool {
        self.wanted
    }

    /// Marks all entries as no nodes.
    pub(super) fn clear(&self, bytes: &mut Bytes) {
        self.reaches.fill(bytes, NOWHERE);
    }

    /// Writes a node of the tree whose entries begin at `start`.
    pub(super) fn write(&self, bytes: &mut Bytes, start: usize, node: &Ordered, test: Encoded) {
        if !self.wanted() {
            return;
        }
        let (at, reach) = entry(node);
        self.columns.write(bytes, start + at, test.feature);
        self.threshold_bins.write_operand(bytes, start + at, test.operand);
        self.reaches.write(bytes, start + at, reach.into());
    }

    /// How many entries are read of each tree if the largest has `most` leaves.
    pub(super) fn entries(most: u64) -> u64 {
        most.next_power_of_two().max(SMALLEST)
    }

    /// The leaf, an index counted from the left, of a row with these bins in the tree whose entries begin at
    /// `base`.
    pub(super) fn leaf(&self, b: &mut Builder, buffers: &Buffers, base: Value, bins: Value) -> Value {
        let ty = Ty::vector(Scalar::I8, self.entries as u16);
        let mut load = |field: Field| field.load_run(b, buffers, base, self.entries);
        let [columns, threshold_bins, reaches] =
            [self.columns, self.threshold_bins, self.reaches].map(&mut load);
        let right = decisions(b, bins, Tests { columns, threshold_bins });
        // How far it is to the end from an entry, and from the leftmost leaf that it strikes out. What
        // follows are nodes of the next tree, which reach no leaf of this one.
        let (end, lanes, none) = (b.int_of(ty, self.entries as i64), b.iota(ty), b.int_of(ty, 0));
        let to_end = b.sub(end, lanes);
        let reach = b.add(to_end, reaches);
        let mut reach = b.select(right, reach, none);
        for places in (0..self.entries.ilog2()).map(|bit| 1 << bit) {
            let others = b.lane_shift(reach, places);
            reach = b.max(reach, others);
        }
        let remain = b.cmp(Cmp::Lt, reach, to_end);
        let remain = b.mask_bits(remain);
        // As many bits as there are below the lowest one.
        let (one, all) = (b.int_of(Ty::I64, 1), b.int_of(Ty::I64, -1));
        let below = b.sub(remain, one);
        let others = b.bin(Bin::Xor, remain, all);
        let below = b.bin(Bin::And, below, others);
        let place = b.pop_count(below);
        b.to_index(place)
    }
}
