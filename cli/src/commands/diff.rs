//! `schedc diff`: what changed between two schedules, in the nest and not in the text.

use super::{look, print};
use crate::args::Diff;
use crate::failure::Failure;
use crate::schedule::Source;
use crate::terminal::Terminal;
use sched_lang::diagnostics::Severity;
use sched_lang::diff::{diff, diff_json, show_diff};

/// Runs the command.
pub fn run(args: &Diff, terminal: &Terminal) -> Result<(), Failure> {
    let nest = |path| {
        let source = Source::read(path)?;
        look(&source, &args.model, &args.values, Severity::Error, terminal)
    };
    let ((before, _), (after, _)) = (nest(&args.before)?, nest(&args.after)?);
    let changes = diff(&before, &after);
    print(&if args.json { format!("{:#}\n", diff_json(&changes)) } else { show_diff(&changes) })?;
    if changes.is_empty() && !args.json {
        terminal.say("the nests are the same");
    }
    if args.exit_code && !changes.is_empty() { Err(Failure::Findings) } else { Ok(()) }
}
