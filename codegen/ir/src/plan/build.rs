//! Builds the plan of a nest from its MIR.

use super::outline::{MOST_INDEXED_ELEMENTS, Outline};
use super::storage::{NestStorages, StorageDemand};
use super::sums;
use super::traversal::{RowForm, WalkInfo};
use super::{CopyPlan, Plan, StoredTrees, WalkPlan, copies, dense, stages, transfer};
use crate::budget::Budget;
use crate::bytes::scalar;
use crate::error::CompileError;
use crate::hir::Hir;
use crate::lir::{BinTransfer, Scalar};
use crate::mir::{CacheId, Mir, WalkId, WalkedRows, Walks};
use crate::repr::Buffers;
use crate::repr::traverse::WalkEmitter;
use std::collections::BTreeMap;

/// Properties of a compilation that the plan of each of its nests depends on.
#[derive(Clone, Copy)]
pub struct Setting {
    /// Whether some kernel needs the index of each leaf.
    pub leaf_indices: bool,
    /// The transfer of rows as bins that all variants have in common, if this variant reads bins.
    pub transfer: Option<BinTransfer>,
    /// Bytes of the tables of variants that were planned before, which count towards the budget.
    pub used_table_bytes: u64,
}

/// Decides how a legalised nest runs.
///
/// # Errors
///
/// When a layout cannot hold the forest, or tables or copies would exceed the budget.
pub fn build(hir: &Hir, mir: &Mir, setting: Setting, budget: &Budget) -> Result<Plan, CompileError> {
    let mut budget = *budget;
    if budget.narrow_indices {
        budget.tables = budget.tables.min(MOST_INDEXED_ELEMENTS as u64);
    }
    let outline = Outline::of(hir, mir, &budget)?;
    let loops: Vec<&Walks> = outline.leaf_loops.iter().map(|(walks, _)| *walks).collect();
    let mut chosen = StorageDemand::of(hir, &loops, &outline.copies, setting.leaf_indices)?
        .choose(&budget, setting.used_table_bytes)?;
    if outline.transfer.is_some() && chosen.subset.is_none() {
        chosen.subset = Some(transfer::transferred_features(hir));
    }
    let walks = walk_plans(hir, mir, &outline, &chosen, &budget)?;
    let mut thread_sums = BTreeMap::new();
    sums::thread_sums(&mir.body, mir, hir, &mut thread_sums);
    let index = if budget.narrow_indices { Scalar::I32 } else { Scalar::I64 };
    let takes_columns =
        index == Scalar::I64 && copies::can_take_columns(&mir.body, hir, &loops, &outline.copies);
    Ok(Plan {
        storages: chosen.storages,
        walks,
        copies: outline.copies,
        thread_sums,
        subset: chosen.subset,
        transfer: setting.transfer,
        takes_columns,
        rows_per_run: outline.rows_per_run,
        index,
        register_bytes: budget.fetch.register_bytes.into(),
        column_stages: stages::column_stages(hir)?,
        set_columns: hir.columns.as_ref().map_or(0, |columns| columns.set_columns as u64),
    })
}

/// The plans of all leaf loops.
fn walk_plans(
    hir: &Hir,
    mir: &Mir,
    outline: &Outline<'_>,
    chosen: &NestStorages,
    budget: &Budget,
) -> Result<BTreeMap<WalkId, WalkPlan>, CompileError> {
    let columns = chosen.subset.as_ref().map_or(0, |subset| subset.count() as i64);
    let mut plans = BTreeMap::new();
    for (walks, context) in &outline.leaf_loops {
        let Some(storage) = chosen.of_walks.get(&walks.id).copied() else { continue };
        let Some(stored) = chosen.storages.get(&storage) else { continue };
        let rows = row_form(walks, hir, &outline.copies, columns);
        let terms = dense::shared_column_ranges(hir, rows.copy, chosen.subset.as_ref());
        let info = WalkInfo {
            walks,
            rows,
            format: storage.format,
            in_launch: context.in_launch,
            dense_columns: hir.is_linear_model().then_some(&terms),
            fetch: &budget.fetch,
            deepest: deepest(hir, stored),
        };
        let traversal = info.traversal();
        let steps = info.steps(&traversal, &*stored.layout);
        if WalkEmitter::new(&*stored.layout, &Buffers::default(), &traversal, steps).is_none() {
            return Err(unsupported_traversal());
        }
        let plan = WalkPlan {
            name: mir.vars.get(walks.iter.var.0 as usize).map_or_else(String::new, |var| var.name.clone()),
            storage,
            row_table: info.row_table(&traversal),
            sums: context.sum_access(walks, hir),
            unroll_and_jam: context.unroll_and_jam(walks),
            traversal,
            steps,
        };
        plans.insert(walks.id, plan);
    }
    Ok(plans)
}

/// Edges to the deepest leaf of all trees that are stored together.
fn deepest(hir: &Hir, stored: &StoredTrees) -> u32 {
    let used = hir.depths.iter().zip(&stored.has_tree).filter(|(_, used)| **used);
    used.map(|((deepest, _), _)| *deepest).max().unwrap_or(0)
}

/// The form of the rows that a leaf loop reads. Copies that do not hold all features have `columns` features.
fn row_form(walks: &Walks, hir: &Hir, copies: &BTreeMap<CacheId, CopyPlan>, columns: i64) -> RowForm {
    let forest = &hir.forest;
    let copy = match walks.rows {
        WalkedRows::Cached(id) => copies.get(&id).copied().unwrap_or_default(),
        WalkedRows::Input => CopyPlan::default(),
    };
    match &hir.bins {
        Some(bins) if walks.layout.compares_bins() => {
            RowForm { element: bins.element(), columns: bins.columns().into(), copy }
        }
        _ => {
            let columns = if copy.holds_subset() { columns } else { forest.num_features as i64 };
            RowForm { element: scalar(forest.types.input), columns, copy }
        }
    }
}

fn unsupported_traversal() -> CompileError {
    CompileError::ill_formed("a layout does not carry the traversal that is planned for it")
}
