//! Columns on GPUs: a launch before all others computes them for all rows of a run. The other launches read
//! them in place of features.

use super::mapped::any_mapped;
use super::{CacheId, CacheRows, Fill, Mir, MirStmt, ScratchBytes, Window};
use crate::budget::Budget;
use crate::error::CompileError;
use crate::hir::Hir;

/// Number of the copy of columns that launches read. Copies inside the nest have smaller numbers.
const LAUNCH_COPY: CacheId = CacheId(u32::MAX);

/// Puts a copy of columns around a nest with launches, if the forest tests computed columns.
///
/// # Errors
///
/// If the columns of a single row exceed the budget.
pub fn add_copy_for_launches(mut mir: Mir, hir: &Hir, budget: &Budget) -> Result<Mir, CompileError> {
    if hir.columns.is_none() || !any_mapped(&mir.body) {
        return Ok(mir);
    }
    let window = Window::all_rows();
    let stored = hir.columns.as_ref().map_or(0, |columns| columns.stored.row_bytes());
    let row_bytes = hir.forest.num_features * hir.forest.types.input.bytes() + stored;
    let mut scratch = ScratchBytes::new(budget);
    scratch.add(&window, row_bytes as u64)?;
    mir.rows_per_run = [mir.rows_per_run, scratch.rows_per_run()].into_iter().flatten().min();
    let walks = mir.uses.since(0);
    let body = std::mem::take(&mut mir.body);
    let copy = CacheRows { id: LAUNCH_COPY, window, fill: Fill::Columns, shared: None, walks, body };
    mir.body = vec![MirStmt::CacheRows(copy)];
    Ok(mir)
}
