//! `schedc diff`: what changed between two schedules, in the nest and not in the text.

use super::{look, print};
use crate::args::Diff;
use crate::terminal::Terminal;
use sched_lang::diagnostics::Severity;
use sched_lang::diff::{diff_by_rows, diff_by_rows_json, show_diff_by_rows};
use schedc_driver::Failure;
use schedc_driver::Source;

/// Runs the command.
pub fn run(args: &Diff, terminal: &Terminal) -> Result<(), Failure> {
    let nests = |path| {
        let source = Source::read(path)?;
        look(&source, &args.model, &args.values, Severity::Error, terminal)
    };
    let ((before, _), (after, _)) = (nests(&args.before)?, nests(&args.after)?);
    let changes = diff_by_rows(&before, &after);
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
