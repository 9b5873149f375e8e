//! `schedc show`: what a schedule means.

use super::{look, model_to_look_with, print};
use crate::args::{Show, What};
use crate::failure::Failure;
use crate::schedule::Source;
use crate::terminal::Terminal;
use sched_lang::diagnostics::Severity;
use sched_lang::show::{lineage_json, show_lineage, until_line};
use sched_nest::show::{nest_json, show_nest};

/// Runs the command.
pub fn run(args: &Show, terminal: &Terminal) -> Result<(), Failure> {
    let mut source = Source::read(&args.file)?;
    let mut least = Severity::Warning;
    if let Some(line) = args.after {
        let model = model_to_look_with(&source, &args.model, &args.values, terminal)?;
        source.text = until_line(&source.text, line, &Source::options(model.as_ref(), &args.values));
        // What is silly about half a schedule may make sense in the whole one.
        least = Severity::Error;
    }
    let (nest, lineage) = look(&source, &args.model, &args.values, least, terminal)?;
    print(&match (args.what, args.json) {
        (What::Nest, false) => show_nest(&nest),
        (What::Nest, true) => format!("{:#}\n", nest_json(&nest)),
        (What::Lineage, false) => show_lineage(&lineage),
        (What::Lineage, true) => format!("{:#}\n", lineage_json(&lineage)),
    })
}
