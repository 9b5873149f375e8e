//! The transfer of host rows to a device: as bins, if these take fewer bytes than values.
//!
//! A device predicts rows faster than the bus delivers the next ones. So the time of a call grows with the
//! bytes of its rows. Threads of the host quantize rows while they copy them to pinned memory. The device
//! then copies bins instead of searching thresholds.

use crate::hir::Hir;
use crate::lir::{BinTransfer, Scalar};
use crate::mir::mapped::any_mapped;
use crate::mir::{Mir, WalkedRows, Walks};
use crate::quantize::BinMap;
use crate::rows::features::FeatureSubset;
use sched_nest::Variants;

/// Rows of a block of bins. A column of a block, of 64 bytes, is a cache line of the host and two sectors of
/// the device.
const BLOCK_ROWS: u32 = 64;

/// Bandwidth of the bus in bytes per nanosecond: 16 lanes of PCIe 4.0.
const BUS_BYTES_PER_NS: u32 = 25;

/// Shortest saving of transfer time, in nanoseconds, for which a run transfers bins. The host needs about 10
/// µs to wake its threads and to wait for them.
const LEAST_SAVED_NS: u32 = 10_000;

/// The transfer of rows as bins that one nest allows. `None` unless all walks read copies of bins in shared
/// memory, bins are bytes, and a row has fewer bins than bytes of values. Runs have at most `rows_per_run`
/// rows, which must save enough time.
pub fn transfer_of_nest(
    hir: &Hir,
    mir: &Mir,
    loops: &[&Walks],
    rows_per_run: Option<i64>,
) -> Option<BinTransfer> {
    let bins = hir.bins.as_deref().filter(|bins| bins.element() == Scalar::I8)?;
    // Linear leaves read feature values, not bins.
    if hir.forest.has_linear_leaves() {
        return None;
    }
    let in_bins =
        |walks: &&Walks| walks.layout.compares_bins() && matches!(walks.rows, WalkedRows::Cached(_));
    if !any_mapped(&mir.body) || !loops.iter().all(in_bins) {
        return None;
    }
    let row_bytes = bins.columns();
    let value_bytes = u32::try_from(hir.row_features() * hir.forest.types.input.bytes()).ok()?;
    let saved = value_bytes.checked_sub(row_bytes).filter(|saved| *saved > 0)?;
    let least_rows = i64::from((LEAST_SAVED_NS * BUS_BYTES_PER_NS).div_ceil(saved));
    let is_reached = rows_per_run.is_none_or(|most| most >= least_rows);
    let transfer =
        BinTransfer { block_rows: BLOCK_ROWS, row_bytes, value_bytes, least_rows, bus: BUS_BYTES_PER_NS };
    (row_bytes > 0 && is_reached).then_some(transfer)
}

/// The transfer that serves all variants, given the transfer that each variant allows by itself and the bins
/// that it reads. It is that of the variant for calls of any size, or `None` if that variant allows none.
/// Variants for smaller calls that read values or other bins transfer values, and so do all smaller calls.
pub fn merge_transfers(variants: &Variants<(Option<BinTransfer>, Option<&BinMap>)>) -> Option<BinTransfer> {
    let (transfer, bins) = variants.rest();
    let transfer = (*transfer)?;
    let reads_values = |(own, other): &(Option<BinTransfer>, Option<&BinMap>)| own.is_none() || other != bins;
    let short = variants.bounded().iter().filter(|variant| reads_values(&variant.value));
    let longer = short.map(|variant| i64::from(variant.max_rows) + 1).max().unwrap_or(0);
    Some(BinTransfer { least_rows: transfer.least_rows.max(longer), ..transfer })
}

/// The features that the host transposes and quantizes for a transfer.
pub fn transferred_features(hir: &Hir) -> FeatureSubset {
    match hir.columns {
        Some(_) => FeatureSubset::all(u32::try_from(hir.forest.num_features).unwrap_or(u32::MAX)),
        None => FeatureSubset::new(&hir.forest, &vec![true; hir.forest.trees.len()]),
    }
}
