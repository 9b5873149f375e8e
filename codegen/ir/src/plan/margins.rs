//! The order in which leaf vectors are added to sums: margin by margin, or row by row.

use super::traversal::LEAST_BYTE_LANES;
use crate::bytes::scalar;
use crate::hir::Hir;
use crate::lir::Scalar;
use crate::mir::Walks;
use crate::repr::{MOST_LOOKUP_BYTES, margin_pieces};
use sched_nest::RowVectors;

/// Bytes of the longest vector registers.
const REGISTER_BYTES: u64 = 64;
/// Largest number of leaves whose indices fit a byte.
const MOST_BYTE_LEAVES: u64 = 1 << 8;
/// Instructions that extract the address of a row's leaf vector from a vector of addresses.
const ADDRESS_INSTRUCTIONS: u64 = 4;
/// Instructions that load, add and store a piece of a leaf vector.
const PIECE_INSTRUCTIONS: u64 = 3;

/// Whether a leaf loop over vectors of rows adds leaf vectors margin by margin. For each margin, the vector
/// of rows then looks up its leaf values in registers. These must hold the margin's leaf values of a tree,
/// and the look-ups must take no more instructions than adding each row's leaf vector.
pub fn adds_by_margin(hir: &Hir, walks: &Walks) -> bool {
    let trees = &hir.forest.trees;
    let sweeps = walks.layout.row_vectors() == RowVectors::Sweep;
    let most = trees.iter().map(|tree| tree.leaves.len() as u64).max().unwrap_or(1).next_power_of_two();
    let complete = walks.steps.to_leaf().map(|steps| 1u64 << steps.min(40));
    let bytes = hir.bins.as_ref().is_some_and(|bins| bins.element() == Scalar::I8);
    let leaves =
        if sweeps { Some(most) } else { complete.filter(|_| bytes && walks.lanes >= LEAST_BYTE_LANES) };
    let element = u64::from(scalar(hir.forest.types.accumulator).bytes());
    let fits =
        |leaves: &u64| (2..=MOST_BYTE_LEAVES).contains(leaves) && leaves * element <= MOST_LOOKUP_BYTES;
    let Some(leaves) = leaves.filter(fits).filter(|_| walks.layout.compares_bins()) else { return false };
    let margins = hir.forest.num_margins as u64;
    // A shuffle looks up two registers of leaves. Selects combine the results of several shuffles.
    let shuffles = 2 * (leaves * element).div_ceil(2 * REGISTER_BYTES) - 1;
    let rows = REGISTER_BYTES / element;
    let pieces = margin_pieces(margins as i64, element as u32).len() as u64;
    margins * (shuffles + PIECE_INSTRUCTIONS) <= rows * (ADDRESS_INSTRUCTIONS + PIECE_INSTRUCTIONS * pieces)
}
