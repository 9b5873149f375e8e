//! `schedc show`: prints the loop nest or the lineage of a schedule.

use super::{look, model_to_look_with};
use crate::args::{Show, What};
use crate::stdout::print;
use crate::terminal::Terminal;
use sched_lang::diagnostics::Severity;
use sched_lang::show::{lineages_json, show_lineages, until_line};
use sched_nest::Variants;
use sched_nest::show::{nests_json, show_nests};
use schedc_driver::Failure;
use schedc_driver::Source;

/// Runs the command.
pub fn run(args: &Show, terminal: &Terminal) -> Result<(), Failure> {
    let mut source = Source::read(&args.file)?;
    let mut least = Severity::Warning;
    let mut max_rows = None;
    if let Some(line) = args.after {
        let model = model_to_look_with(&source, &args.model, &args.values, terminal)?;
        let until = until_line(&source.text, line, &Source::options(model.as_ref(), &args.values));
        (source.text, max_rows) = (until.text, until.max_rows);
        // Warnings about an incomplete schedule are premature: later lines may resolve them.
        least = Severity::Error;
    }
    let (nests, lineages) = look(&source, &args.model, &args.values, least, terminal)?;
    let (nests, lineages) = (only(nests, max_rows), only(lineages, max_rows));
    print(&match (args.what, args.json) {
        (What::Nest, false) => show_nests(&nests),
        (What::Nest, true) => format!("{:#}\n", nests_json(&nests)),
        (What::Lineage, false) => show_lineages(&lineages),
        (What::Lineage, true) => format!("{:#}\n", lineages_json(&lineages)),
    })
}

/// The variant for calls of at most `max_rows` rows; all variants if there is no limit.
fn only<T>(variants: Variants<T>, max_rows: Option<u32>) -> Variants<T> {
    match max_rows {
        Some(rows) => Variants::only(variants.into_for_rows(usize::try_from(rows).unwrap_or(usize::MAX))),
        None => variants,
    }
}
