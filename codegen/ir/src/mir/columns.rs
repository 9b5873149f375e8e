//! Columns: copies of rows that lie feature by feature, and sums beside them.
//!
//! Where rows are copied in columns for vectors of walks, and each tree adds to one of several
//! margins, the margins of a block lie in columns too. A vector of leaf values is then added in one piece, and the
//! output is read before and written after all trees of the copy.

use super::{CacheId, CacheRows, Mir, Place, Rows, Stmt, Walks};
use crate::error::{Budget, CompileError};
use crate::hir::Hir;
use crate::mir::window::{Bytes, storages};
use sched_forest::Target;

/// Makes the walks that read a copy read it as columns.
pub fn read_columns(stmts: &mut [Stmt], cache: CacheId) {
    for stmt in stmts.iter_mut() {
        match stmt {
            Stmt::Walks(walks) if walks.rows == Rows::Cached(cache) => walks.rows = Rows::Columns(cache),
            Stmt::Loop(this) => read_columns(&mut this.body, cache),
            Stmt::Private(private) => read_columns(&mut private.body, cache),
            Stmt::CacheRows(inner) => read_columns(&mut inner.body, cache),
            Stmt::Case(_, arms) => arms.iter_mut().for_each(|(_, body)| read_columns(body, cache)),
            _ => {}
        }
    }
    // How trees are stored depends on where their walks read rows.
    if let [Stmt::CacheTrees(trees), rest @ ..] = stmts {
        trees.storages = storages(rest);
    }
}

/// Chooses the copies of rows that have their sums beside them.
///
/// # Errors
///
/// When the sums of a single row exceed the budget.
pub fn place_sums(mut mir: Mir, hir: &Hir, budget: &Budget) -> Result<Mir, CompileError> {
    let forest = &hir.forest;
    let single = forest.trees.iter().all(|tree| matches!(tree.target, Target::One(_)));
    if forest.num_margins < 2 || !single {
        return Ok(mir);
    }
    let row_bytes = (forest.num_margins * forest.types.accumulator.bytes()) as u64;
    let mut scratch = Bytes::new(budget);
    for stmt in &mut mir.body {
        visit(stmt, &mut |cache| {
            cache.sums = cache.blocks.is_some() && cache.body.iter().all(adds_to_output);
            if cache.sums { scratch.add(&cache.window, row_bytes) } else { Ok(()) }
        })?;
    }
    mir.rows_per_run = [mir.rows_per_run, scratch.rows_per_run()].into_iter().flatten().min();
    Ok(mir)
}

/// Calls `see` for every copy of rows.
fn visit(
    stmt: &mut Stmt,
    see: &mut impl FnMut(&mut CacheRows) -> Result<(), CompileError>,
) -> Result<(), CompileError> {
    match stmt {
        Stmt::CacheRows(cache) => see(cache),
        Stmt::Loop(this) => this.body.iter_mut().try_for_each(|stmt| visit(stmt, see)),
        Stmt::Private(private) => private.body.iter_mut().try_for_each(|stmt| visit(stmt, see)),
        Stmt::Case(_, arms) => {
            arms.iter_mut().flat_map(|(_, body)| body).try_for_each(|stmt| visit(stmt, see))
        }
        Stmt::Walks(_) | Stmt::CacheTrees(_) | Stmt::Zero(..) | Stmt::ZeroAll(_) | Stmt::Fold(_) => Ok(()),
    }
}

/// Whether all that a statement does with sums is to add walks' leaves to the output.
fn adds_to_output(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Walks(Walks { target, .. }) => target.place == Place::Output && !target.atomic,
        Stmt::Loop(this) => this.body.iter().all(adds_to_output),
        Stmt::Case(_, arms) => arms.iter().flat_map(|(_, body)| body).all(adds_to_output),
        Stmt::CacheTrees(_) => true,
        Stmt::CacheRows(_) | Stmt::Private(_) | Stmt::Zero(..) | Stmt::ZeroAll(_) | Stmt::Fold(_) => false,
    }
}
