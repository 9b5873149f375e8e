//! `schedc show`: what a schedule means.

use super::{model_if_there, print};
use crate::args::{Show, What};
use crate::failure::Failure;
use crate::model::Model;
use crate::schedule::Source;
use crate::terminal::Terminal;
use sched_forest::Iterations;
use sched_lang::diagnostics::Severity;
use sched_lang::show::show_nest;

/// Runs the command.
pub fn run(args: &Show, terminal: &Terminal) -> Result<(), Failure> {
    let source = Source::read(&args.file)?;
    let model = match &args.model {
        Some(path) => Some(Model::read(path, &Iterations::All)?),
        None => model_if_there(&source, terminal)?,
    };
    let checked = source.check(model.as_ref(), &args.values, false, false);
    if let Some(model) = &model {
        source.check_fingerprint(&checked, model, &args.values)?;
    }
    let errors = terminal.findings(&source, &checked, Severity::Warning);
    match (args.what, checked.nest) {
        (What::Nest, Some(nest)) if errors == 0 => print(&show_nest(&nest)),
        _ => Err(Failure::Findings),
    }
}
