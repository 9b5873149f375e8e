//! `schedc diff`: compares the loop nests of two schedules, not their texts.

mod locks;
mod side;

use crate::args::{Diff, ModelChoice};
use crate::stdout::print;
use crate::terminal::Terminal;
use sched_lang::diff::{diff_by_rows_json, show_diff_by_rows};
use schedc_driver::Failure;
use schedc_driver::Source;
use side::{Side, changes};
use std::path::Path;

/// Runs the command.
pub fn run(args: &Diff, terminal: &Terminal) -> Result<(), Failure> {
    if locks::is_lock(&args.before) && locks::is_lock(&args.after) {
        return locks::run(args, terminal);
    }
    let (before, after) = (side_at(&args.before, &args.model)?, side_at(&args.after, &args.model)?);
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

/// Reads a schedule file, or a lock entry's schedule named `schedc.lock#NAME`.
fn side_at(path: &Path, model: &ModelChoice) -> Result<Side, Failure> {
    match locks::entry_at(path) {
        Some((lock, name)) => locks::side(&lock, &name, model),
        None => Ok(Side { source: Source::read(path)?, model: model.clone() }),
    }
}
