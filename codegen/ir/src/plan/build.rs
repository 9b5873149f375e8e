//! MIR to plan.

use super::sums::{self, WalkContext};
use super::traversal::{RowsRead, WalkInfo};
use super::{CopyPlan, Plan, WalkPlan, copies, shared_trees, transfer};
use crate::budget::Budget;
use crate::bytes::scalar;
use crate::error::CompileError;
use crate::hir::Hir;
use crate::lir::Scalar;
use crate::mir::{CacheId, Mir, Rows, Stmt, Walks};
use crate::plan::storage::{Chosen, Wanted};
use crate::repr::Buffers;
use crate::repr::traverse::Walker;
use std::collections::BTreeMap;

/// Most elements of one buffer of a call, and most bytes of tables, where indices have 32 bits: half of what they reach,
/// so that loops may count beyond.
const MOST_NUMBERED: i64 = 1 << 30;

/// Decides how a legalised nest runs. Tables of `spent` bytes exist already; `leaf_indices` are wanted or
/// not.
///
/// # Errors
///
/// When a layout cannot hold the forest, or tables or copies would exceed the budget.
pub fn build(
    hir: &Hir,
    mir: &Mir,
    leaf_indices: bool,
    budget: &Budget,
    spent: u64,
) -> Result<Plan, CompileError> {
    let mut budget = *budget;
    if budget.narrow_indices {
        budget.tables = budget.tables.min(MOST_NUMBERED as u64);
    }
    let (copies, max_rows) = copies::all(mir, hir, &budget)?;
    let mut leaves = Vec::new();
    collect(&mir.body, WalkContext::default(), &copies, &mut leaves);
    let loops: Vec<&Walks> = leaves.iter().map(|(walks, _)| *walks).collect();
    let Chosen { storages, of_walks, mut subset } =
        Wanted::of(hir, &loops, &copies, leaf_indices)?.choose(&budget, spent)?;
    let numbered = budget.narrow_indices.then(|| most_numbered_rows(hir));
    let rows_per_run = [mir.rows_per_run, max_rows, numbered].into_iter().flatten().min();
    let transfer = transfer::of(hir, mir, &loops, rows_per_run);
    if transfer.is_some() && subset.is_none() {
        subset = Some(transfer::features(hir));
    }
    let columns = subset.as_ref().map_or(0, |subset| subset.count() as i64);
    let mut walks = BTreeMap::new();
    for (leaf, context) in leaves {
        let Some(storage) = of_walks.get(&leaf.id).copied() else { continue };
        let Some(stored) = storages.get(&storage) else { continue };
        let used = hir.depths.iter().zip(&stored.trees).filter(|(_, used)| **used);
        let info = WalkInfo {
            walks: leaf,
            rows: rows_read(leaf, hir, &copies, columns),
            format: storage.format,
            in_launch: context.in_launch,
            fetch: &budget.fetch,
            deepest: used.map(|((deepest, _), _)| *deepest).max().unwrap_or(0),
        };
        let traversal = info.traversal();
        let steps = info.steps(&traversal, stored.layout.level_order().is_some());
        if Walker::new(&*stored.layout, &Buffers::default(), &traversal, steps).is_none() {
            return Err(not_carried());
        }
        let plan = WalkPlan {
            name: mir.vars.get(leaf.iter.var.0 as usize).map_or_else(String::new, |var| var.name.clone()),
            storage,
            row_table: info.row_table(&traversal),
            sums: context.sum_access(leaf, hir),
            unroll_and_jam: context.unroll_and_jam(leaf),
            traversal,
            steps,
        };
        walks.insert(leaf.id, plan);
    }
    shared_trees::check(&mir.body, &storages, &of_walks)?;
    let mut thread_sums = BTreeMap::new();
    sums::thread_sums(&mir.body, mir, hir, &mut thread_sums);
    let index = if budget.narrow_indices { Scalar::I32 } else { Scalar::I64 };
    let takes_columns = index == Scalar::I64 && copies::take_columns(&mir.body, hir, &loops, &copies);
    let set_columns = 0;
    Ok(Plan {
        storages,
        walks,
        copies,
        thread_sums,
        subset,
        transfer,
        takes_columns,
        rows_per_run,
        index,
        set_columns,
    })
}

/// The most rows of which all elements have numbers of 32 bits.
fn most_numbered_rows(hir: &Hir) -> i64 {
    let forest = &hir.forest;
    let columns = hir.bins.as_ref().map_or(0, |bins| bins.columns() as usize);
    let per_row = [forest.num_features, columns, forest.num_margins, forest.trees.len()];
    let per_row = per_row.into_iter().max().unwrap_or(1);
    MOST_NUMBERED / per_row.max(1) as i64
}

/// All leaf loops and what surrounds them.
fn collect<'m>(
    stmts: &'m [Stmt],
    context: WalkContext<'m>,
    copies: &BTreeMap<CacheId, CopyPlan>,
    into: &mut Vec<(&'m Walks, WalkContext<'m>)>,
) {
    let outside = WalkContext { tree_loop: None, ..context };
    for stmt in stmts {
        match stmt {
            Stmt::Walks(walks) => into.push((walks, context)),
            Stmt::Loop(this) => collect(&this.body, outside.inside(this), copies, into),
            Stmt::Case(_, arms) => arms.iter().for_each(|(_, body)| collect(body, outside, copies, into)),
            Stmt::CacheRows(copy) => {
                let sums = copies.get(&copy.id).is_some_and(|copy| copy.sums);
                let inside = WalkContext { copied_sums: sums || outside.copied_sums, ..outside };
                collect(&copy.body, inside, copies, into);
            }
            Stmt::Private(private) => collect(&private.body, outside, copies, into),
            Stmt::Launch(launch) => {
                collect(&launch.body, WalkContext { in_launch: true, ..outside }, copies, into);
            }
            Stmt::When(_, body) => collect(body, outside, copies, into),
            Stmt::ThreadSums(sums) => collect(&sums.body, outside, copies, into),
            Stmt::ShareTrees(copy) => collect(&copy.body, outside, copies, into),
            Stmt::Base(_) | Stmt::CacheTrees(_) | Stmt::Zero(..) | Stmt::ZeroAll(_) | Stmt::Fold(_) => {}
        }
    }
}

fn rows_read(walks: &Walks, hir: &Hir, copies: &BTreeMap<CacheId, CopyPlan>, columns: i64) -> RowsRead {
    let forest = &hir.forest;
    let copy = match walks.rows {
        Rows::Cached(id) => copies.get(&id).copied().unwrap_or_default(),
        Rows::Input => CopyPlan::default(),
    };
    match &hir.bins {
        Some(bins) if walks.layout.is_coded() => {
            RowsRead { element: bins.element(), columns: bins.columns().into(), copy }
        }
        _ => {
            let columns = if copy.blocks.is_some() { columns } else { forest.num_features as i64 };
            RowsRead { element: scalar(forest.types.input), columns, copy }
        }
    }
}

fn not_carried() -> CompileError {
    CompileError::ill_formed("a layout does not carry the traversal that is planned for it")
}
