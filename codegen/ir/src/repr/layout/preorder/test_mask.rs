//! Test masks of the preorder layout: all tests of a tree at once, for a single row whose bins fit a
//! register.
//!
//! Nodes are numbered from left to right: node `n` is between the leaves `n` and `n + 1`. A node that
//! leads right eliminates the leaves of its left subtree, of which `n` is the last, even if the row
//! does not reach the node. The leftmost remaining leaf is the row's (QuickScorer, Lucchese and others
//! 2015). QuickScorer stores a word per node, with a bit for each leaf that it eliminates, which would
//! be most of the data that a row reads. This layout stores a byte instead, the number of leaves to the
//! left. A leaf is eliminated if a node at or right of it leads right and reaches it; a running maximum
//! finds the farthest reach.

use super::order::OrderedNode;
use crate::fault::{Fault, seeded};
use crate::lir::{Bin, Builder, Cmp, Scalar, Ty, Value};
use crate::repr::schema::{Field, Schema, TableBytes};
use crate::repr::test::EncodedTest;
use crate::repr::traverse::test_mask::{TestVectors, WORD, decisions};
use crate::repr::tree::Buffers;

/// Fewest entries of a tree that are tested at once.
const LEAST_ENTRIES: u64 = 16;
/// Reach of an entry without a node, which eliminates no leaf.
const EMPTY_REACH: u8 = u8::MAX;

/// Tables with a byte per entry, for all tests of a tree at once. A word has a bit for each entry; for
/// larger trees, walks with trees in lanes are faster.
#[derive(Clone, Copy)]
pub(super) struct TestMaskTables {
    /// Entries of a tree that are tested.
    entries: u64,
    /// Whether the layout has these tables.
    exist: bool,
    /// Columns of the bins that nodes compare with.
    columns: Field,
    /// Threshold bins.
    threshold_bins: Field,
    /// Reach of each node: the number of leaves that it eliminates, less one.
    reaches: Field,
}

/// Entry of a node in its tree, and its reach.
fn entry(node: &OrderedNode) -> (usize, u8) {
    let last = node.right_leaf.saturating_sub(1);
    let reach = if seeded(Fault::ReachFallsShort) { 0 } else { last.saturating_sub(node.first_leaf) };
    (last as usize, reach as u8)
}

impl TestMaskTables {
    /// Adds tables of `entries` entries to a schema, for trees of at most `most_leaves` leaves. Without
    /// `entries`, the tables are empty, and the layout supports no test masks.
    pub(super) fn declare(schema: &mut Schema, most_leaves: u64, entries: Option<u64>) -> TestMaskTables {
        let count = entries.unwrap_or(0);
        TestMaskTables {
            entries: TestMaskTables::entries(most_leaves).min(WORD),
            exist: entries.is_some(),
            columns: schema.add_number_table("preorder_columns", Scalar::I8, count),
            threshold_bins: schema.add_number_table("preorder_bins", Scalar::I8, count),
            reaches: schema.add_number_table("preorder_reaches", Scalar::I8, count),
        }
    }

    /// Whether a word has a bit for each entry of trees of at most `most_leaves` leaves.
    pub(super) fn fits(most_leaves: u64) -> bool {
        TestMaskTables::entries(most_leaves) <= WORD
    }

    /// Whether the layout has these tables.
    pub(super) fn exist(&self) -> bool {
        self.exist
    }

    /// Marks every entry as empty: no node is stored there.
    pub(super) fn clear(&self, bytes: &mut TableBytes) {
        self.reaches.fill(bytes, EMPTY_REACH);
    }

    /// Writes a node of the tree whose entries begin at `start`.
    pub(super) fn write(&self, bytes: &mut TableBytes, start: usize, node: &OrderedNode, test: EncodedTest) {
        if !self.exist() {
            return;
        }
        let (at, reach) = entry(node);
        self.columns.write(bytes, start + at, test.feature);
        self.threshold_bins.write_operand(bytes, start + at, test.operand);
        self.reaches.write(bytes, start + at, reach.into());
    }

    /// Entries that are read per tree if the largest tree has `most_leaves` leaves.
    pub(super) fn entries(most_leaves: u64) -> u64 {
        most_leaves.next_power_of_two().max(LEAST_ENTRIES)
    }

    /// Leaf of a row with these bins, an index from the left, in the tree whose entries begin at
    /// `base`.
    pub(super) fn leaf(&self, b: &mut Builder, buffers: &Buffers, base: Value, bins: Value) -> Value {
        let ty = Ty::vector(Scalar::I8, self.entries as u16);
        let mut load = |field: Field| field.load_records(b, buffers, base, self.entries);
        let [columns, threshold_bins, reaches] =
            [self.columns, self.threshold_bins, self.reaches].map(&mut load);
        let right = decisions(b, bins, TestVectors { columns, threshold_bins });
        // For each entry, its distance to the end, and that of the leftmost leaf that it eliminates. Nodes of
        // the next tree, which may be loaded, too, eliminate no leaf of this tree.
        let (end, lanes, none) = (b.int_of(ty, self.entries as i64), b.iota(ty), b.int_of(ty, 0));
        let to_end = b.sub(end, lanes);
        let reach = b.add(to_end, reaches);
        let mut reach = b.select(right, reach, none);
        for places in (0..self.entries.ilog2()).map(|bit| 1 << bit) {
            let others = b.lane_shift(reach, places);
            reach = b.max(reach, others);
        }
        let remaining = b.cmp(Cmp::Lt, reach, to_end);
        let remaining = b.mask_bits(remaining);
        // A bit for each position below the lowest remaining leaf.
        let (one, all) = (b.int_of(Ty::I64, 1), b.int_of(Ty::I64, -1));
        let below = b.sub(remaining, one);
        let others = b.bin(Bin::Xor, remaining, all);
        let below = b.bin(Bin::And, below, others);
        let place = b.pop_count(below);
        b.to_index(place)
    }
}
