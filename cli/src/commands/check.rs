//! `schedc check`: what is wrong with schedules.

use super::print;
use crate::args::{Check, Format, ModelOptions};
use crate::failure::Failure;
use crate::model::Model;
use crate::schedule::Source;
use crate::terminal::Terminal;
use sched_forest::Iterations;
use sched_lang::diagnostics::{Diagnostic, Severity};
use std::path::Path;

/// Runs the command.
pub fn run(args: &Check, terminal: &Terminal) -> Result<(), Failure> {
    let given = args.model.as_deref().map(read_model).transpose()?;
    let mut errors = 0;
    let mut reports = Vec::new();
    for file in &args.files {
        let source = Source::read(file)?;
        let named = match (&given, source.model_path()) {
            (None, Some(path)) if path.exists() => Some(read_model(&path)?),
            _ => None,
        };
        let checked = source.check(given.as_ref().or(named.as_ref()), &args.values, false, args.strict);
        errors += checked.diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
        report(args, terminal, &source, &checked.diagnostics, &mut reports)?;
    }
    if args.format == Format::Json {
        print(&format!("[{}]\n", reports.join(",")))?;
    }
    if args.format == Format::Full {
        summarise(args, terminal, errors);
    }
    if errors > 0 { Err(Failure::Findings) } else { Ok(()) }
}

fn read_model(path: &Path) -> Result<Model, Failure> {
    Model::read(path, &ModelOptions { iterations: Iterations::All }.iterations)
}

/// Prints a file's findings, or for JSON collects them, since several files make one array.
fn report(
    args: &Check,
    terminal: &Terminal,
    source: &Source,
    findings: &[Diagnostic],
    reports: &mut Vec<String>,
) -> Result<(), Failure> {
    if findings.is_empty() {
        return Ok(());
    }
    let text = terminal.render(source, findings, args.format);
    if args.format != Format::Json {
        return print(&text);
    }
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']').trim();
    reports.push(inner.to_string());
    Ok(())
}

fn summarise(args: &Check, terminal: &Terminal, errors: usize) {
    let files = match args.files.len() {
        1 => "1 schedule".to_string(),
        n => format!("{n} schedules"),
    };
    terminal.say(&match errors {
        0 => format!("{files} checked, no errors"),
        1 => format!("{files} checked, 1 error"),
        n => format!("{files} checked, {n} errors"),
    });
}
