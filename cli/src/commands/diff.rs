//! `schedc diff`: compares the loop nests of two schedules, not their texts.

mod locks;
mod side;

use crate::args::{Diff, ModelChoice};
use crate::stdout::print;
use crate::terminal::Terminal;
use sched_lang::diff::{diff_by_rows_json, show_diff_by_rows};
use schedc_driver::Failure;
use schedc_driver::ScheduleSource;
use side::{DiffSide, changes};
use std::path::Path;

/// Runs the command.
pub fn run(args: &Diff, terminal: &Terminal) -> Result<(), Failure> {
    let (files, model) = args.files.split()?;
    let [before, after] = files.as_slice() else {
        return Err(Failure::usage(
            "`schedc diff` compares two schedules",
            "write `schedc diff MODEL -s BEFORE -s AFTER`, or `schedc diff BEFORE AFTER`",
        ));
    };
    if locks::is_lock(before) && locks::is_lock(after) {
        return locks::run(args, (before, after), &model, terminal);
    }
    let (before, after) = (side_at(before, &model)?, side_at(after, &model)?);
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
fn side_at(path: &Path, model: &ModelChoice) -> Result<DiffSide, Failure> {
    match locks::entry_at(path) {
        Some((lock, name)) => locks::side(&lock, &name, model),
        None => Ok(DiffSide { source: ScheduleSource::read(path)?, model: model.clone() }),
    }
}
