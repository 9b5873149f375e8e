//! A side of a comparison, and the changes between two sides.

use crate::args::{Diff, ModelChoice};
use crate::commands::checked_for_display;
use crate::terminal::Terminal;
use sched_lang::diagnostics::Severity;
use sched_lang::diff::{RowsChange, diff_by_rows};
use schedc_driver::{Failure, ScheduleSource};

/// A schedule, and the model for its check.
pub struct DiffSide {
    /// The schedule.
    pub source: ScheduleSource,
    /// The model.
    pub model: ModelChoice,
}

/// The changes between the nests of two schedules. Fails if one of them has errors.
pub fn changes(
    before: &DiffSide,
    after: &DiffSide,
    args: &Diff,
    terminal: &Terminal,
) -> Result<Vec<RowsChange>, Failure> {
    let nests = |side: &DiffSide| {
        checked_for_display(&side.source, &side.model, &args.values, Severity::Error, terminal)
    };
    let ((before, _), (after, _)) = (nests(before)?, nests(after)?);
    Ok(diff_by_rows(&before, &after))
}
