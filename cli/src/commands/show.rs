//! `schedc show`: what a schedule means.

use super::print;
use crate::args::{ModelOptions, Show, What};
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
    let reading = ModelOptions { iterations: Iterations::All };
    let model = match (&args.model, source.model_path()) {
        (Some(path), _) => Some(Model::read(path, &reading.iterations)?),
        (None, Some(path)) if path.exists() => Some(Model::read(&path, &reading.iterations)?),
        (None, _) => None,
    };
    let checked = source.check(model.as_ref(), &args.values, false, false);
    let errors = terminal.findings(&source, &checked, Severity::Warning);
    match (args.what, checked.nest) {
        (What::Nest, Some(nest)) if errors == 0 => print(&show_nest(&nest)),
        _ => Err(Failure::Findings),
    }
}
