//! `schedc check`: what is wrong with schedules.

use super::{model_if_there, print};
use crate::args::{Check, Format};
use crate::failure::Failure;
use crate::model::Model;
use crate::schedule::Source;
use crate::terminal::Terminal;
use sched_forest::Iterations;
use sched_lang::diagnostics::{Diagnostic, Severity};
use std::path::Path;

/// Runs the command. A file that cannot be read does not keep the others from being checked.
pub fn run(args: &Check, terminal: &Terminal) -> Result<(), Failure> {
    let given = args.model.as_deref().map(|path| Model::read(path, &Iterations::All)).transpose()?;
    let mut errors = 0;
    let mut unusable = None;
    let mut reports = Vec::new();
    for file in &args.files {
        match check(args, file, given.as_ref(), terminal) {
            Ok((source, findings)) => {
                errors += findings.iter().filter(|d| d.severity == Severity::Error).count();
                report(args, terminal, &source, &findings, &mut reports)?;
            }
            Err(failure) => {
                if let Some(Failure::Unusable(message)) = unusable.replace(failure) {
                    terminal.error(&message);
                }
            }
        }
    }
    if args.format == Format::Json {
        print(&format!("[{}]\n", reports.join(",")))?;
    }
    if let Some(failure) = unusable {
        return Err(failure);
    }
    if args.format == Format::Full {
        summarise(args, terminal, errors);
    }
    if errors > 0 { Err(Failure::Findings) } else { Ok(()) }
}

fn check(
    args: &Check,
    file: &Path,
    given: Option<&Model>,
    terminal: &Terminal,
) -> Result<(Source, Vec<Diagnostic>), Failure> {
    let source = Source::read(file)?;
    let named = if given.is_none() { model_if_there(&source, terminal)? } else { None };
    let model = given.or(named.as_ref());
    let checked = source.check(model, &args.values, false, args.strict);
    if let Some(model) = model {
        source.check_fingerprint(&checked, model, &args.values)?;
    }
    Ok((source, checked.diagnostics))
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
