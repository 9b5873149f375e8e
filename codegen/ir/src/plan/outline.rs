//! The decisions about a nest that precede the choice of storages.

use super::sums::LeafSurroundings;
use super::{CopyPlan, copies, subset, transfer};
use crate::budget::Budget;
use crate::error::CompileError;
use crate::hir::Hir;
use crate::lir::BinTransfer;
use crate::mir::mapped::any_mapped;
use crate::mir::{CacheId, Mir, MirStmt, Walks};
use sched_nest::Variants;
use std::collections::BTreeMap;

/// With 32-bit indices, the largest number of elements of a buffer of a call, and of bytes of tables. It is
/// half of the range of non-negative indices, so that loop variables may pass the end without overflow.
pub const MOST_INDEXED_ELEMENTS: i64 = 1 << 30;

/// The copies and leaf loops of a nest, and the length of its runs.
pub struct Outline<'m> {
    /// The copies of rows.
    pub copies: BTreeMap<CacheId, CopyPlan>,
    /// The leaf loops with their surroundings.
    pub leaf_loops: Vec<(&'m Walks, LeafSurroundings<'m>)>,
    /// Largest number of rows of a run. `None` if runs have no limit.
    pub rows_per_run: Option<i64>,
    /// The transfer of rows as bins that this nest allows, regardless of other variants.
    pub transfer: Option<BinTransfer>,
}

impl<'m> Outline<'m> {
    /// The outline of a legalised nest.
    ///
    /// # Errors
    ///
    /// When the sums of a single row exceed the budget.
    pub fn of(hir: &Hir, mir: &'m Mir, budget: &Budget) -> Result<Outline<'m>, CompileError> {
        let (mut copies, rows_of_sums) = copies::plan_copies(mir, hir, budget)?;
        let mut leaf_loops = Vec::new();
        collect(&mir.body, LeafSurroundings::default(), &copies, &mut leaf_loops);
        let indexed = budget.narrow_indices.then(|| narrow_index_row_limit(hir));
        let rows_per_run = [mir.rows_per_run, rows_of_sums, indexed].into_iter().flatten().min();
        let walks: Vec<&Walks> = leaf_loops.iter().map(|(walks, _)| *walks).collect();
        subset::hold_all_if_all_are_read(hir, &walks, &mut copies);
        let transfer = transfer::transfer_of_nest(hir, mir, &walks, rows_per_run);
        Ok(Outline { copies, leaf_loops, rows_per_run, transfer })
    }
}

/// The transfer of rows as bins that the nests of all variants have in common. `None` if the variant for
/// calls of any size allows none.
///
/// # Errors
///
/// When the sums of a single row exceed the budget.
pub fn common_transfer(
    nests: &Variants<(Hir, Mir)>,
    budget: &Budget,
) -> Result<Option<BinTransfer>, CompileError> {
    let (_, last) = nests.rest();
    if !any_mapped(&last.body) {
        return Ok(None);
    }
    let transfers = nests.as_ref().try_map(|_, (hir, mir)| {
        let transfer = Outline::of(hir, mir, budget)?.transfer;
        Ok((transfer, hir.bins.as_deref()))
    })?;
    Ok(transfer::merge_transfers(&transfers))
}

/// Largest number of rows of a run in which 32-bit indices reach every element of every buffer.
fn narrow_index_row_limit(hir: &Hir) -> i64 {
    let forest = &hir.forest;
    let columns = hir.bins.as_ref().map_or(0, |bins| bins.columns() as usize);
    let stored = hir.columns.as_ref().map_or(0, |columns| columns.stored.largest_count());
    let values = [hir.row_features(), forest.num_features, columns, stored];
    let results = [forest.num_margins, forest.trees.len(), hir.outputs.largest_buffer()];
    let per_row = values.into_iter().chain(results).max().unwrap_or(1);
    MOST_INDEXED_ELEMENTS / per_row.max(1) as i64
}

/// Collects all leaf loops with their surroundings.
fn collect<'m>(
    stmts: &'m [MirStmt],
    context: LeafSurroundings<'m>,
    copies: &BTreeMap<CacheId, CopyPlan>,
    into: &mut Vec<(&'m Walks, LeafSurroundings<'m>)>,
) {
    let outside = LeafSurroundings { unroll_and_jam_loop: None, ..context };
    for stmt in stmts {
        match stmt {
            MirStmt::Walks(walks) => into.push((walks, context)),
            MirStmt::Loop(this) => collect(&this.body, outside.inside_loop(this), copies, into),
            MirStmt::Case(_, arms) => arms.iter().for_each(|(_, body)| collect(body, outside, copies, into)),
            MirStmt::CacheRows(copy) => {
                let sums = copies.get(&copy.id).is_some_and(|copy| copy.copies_sums);
                let inside = LeafSurroundings { sums_are_copied: sums || outside.sums_are_copied, ..outside };
                collect(&copy.body, inside, copies, into);
            }
            MirStmt::Private(private) => collect(&private.body, outside, copies, into),
            MirStmt::Launch(launch) => {
                collect(&launch.body, LeafSurroundings { in_launch: true, ..outside }, copies, into);
            }
            MirStmt::When(_, body) => collect(body, outside, copies, into),
            MirStmt::ThreadSums(sums) => collect(&sums.body, outside, copies, into),
            MirStmt::ShareTrees(copy) => collect(&copy.body, outside, copies, into),
            MirStmt::Base(_)
            | MirStmt::CacheTrees(_)
            | MirStmt::Zero(..)
            | MirStmt::ZeroAll(_)
            | MirStmt::Fold(_) => {}
        }
    }
}
