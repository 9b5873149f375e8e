//! `schedc diff`: compares the loop nests of two schedules, not their texts.

mod locks;

use super::{look, print};
use crate::args::{Diff, ModelChoice};
use crate::terminal::Terminal;
use sched_lang::diagnostics::Severity;
use sched_lang::diff::{RowsChange, diff_by_rows, diff_by_rows_json, show_diff_by_rows};
use schedc_driver::Failure;
use schedc_driver::Source;
use std::path::Path;

/// Runs the command.
pub fn run(args: &Diff, terminal: &Terminal) -> Result<(), Failure> {
    if locks::is_lock(&args.before) && locks::is_lock(&args.after) {
        return locks::run(args, terminal);
    }
    let (before, after) = (Side::read(&args.before, &args.model)?, Side::read(&args.after, &args.model)?);
    let changes = changes(&before, &after, args, terminal)?;
    let text = match args.json {
        true => format!("{:#}\n", diff_by_rows_json(&changes)),
        false => show_diff_by_rows(&changes),
    };
    print(&text)?;
    if changes.is_empty() && !args.json {
        terminal.say("the nests are the same");
    }
    if args.exit_code && !changes.is_empty() { Err(Failure::Findings) } else { Ok(()) }
}

/// A schedule, and the model for its check.
struct Side {
    source: Source,
    model: ModelChoice,
}

impl Side {
    /// Reads a schedule file, or a lock entry's schedule named `schedc.lock#NAME`.
    fn read(path: &Path, model: &ModelChoice) -> Result<Side, Failure> {
        match locks::entry_at(path) {
            Some((lock, name)) => locks::side(&lock, &name, model),
            None => Ok(Side { source: Source::read(path)?, model: model.clone() }),
        }
    }
}

fn changes(
    before: &Side,
    after: &Side,
    args: &Diff,
    terminal: &Terminal,
) -> Result<Vec<RowsChange>, Failure> {
    let nests = |side: &Side| look(&side.source, &side.model, &args.values, Severity::Error, terminal);
    let ((before, _), (after, _)) = (nests(before)?, nests(after)?);
    Ok(diff_by_rows(&before, &after))
}
