//! `schedc check`: reports findings in schedules, and fixes them with --fix.

use super::model_for_check;
use crate::args::{Check, ModelChoice};
use crate::files::schedules;
use crate::stdout::print;
use crate::terminal::Terminal;
use sched_lang::diagnostics::apply::{fix_all, fix_checked};
use sched_lang::diagnostics::{Diagnostic, Severity};
use sched_lang::{CheckOptions, check};
use sched_llvm::Cpu;
use schedc_data::write_atomically;
use schedc_driver::Failure;
use schedc_driver::ScheduleSource;
use schedc_driver::job::is_model;
use std::path::{Path, PathBuf};

/// A schedule and its diagnostics.
type ScheduleDiagnostics = (ScheduleSource, Vec<Diagnostic>);

/// Runs the command. Other files are still checked after a file that cannot be read.
pub fn run(args: &Check, terminal: &Terminal) -> Result<(), Failure> {
    let (files, choice) = args.files.split()?;
    only_schedules(&files, &choice)?;
    if args.fix && files.iter().any(|file| file.as_os_str() == "-") {
        let message = "standard input cannot be fixed in place";
        return Err(Failure::usage(message, "name a file"));
    }
    // Number of findings that --fix has fixed, or would fix.
    let mut fixed = 0;
    let mut worst = 0;
    let mut all = Vec::new();
    for file in schedules(&files)? {
        match check_file(args, &choice, &file) {
            Ok((checked, count)) => {
                if !terminal.is_for_people() {
                    terminal.explain(&checked.0, checked.1.clone());
                }
                all.push(checked);
                fixed += count;
            }
            Err(failure) => worst = worst.max(terminal.refuse(failure)),
        }
    }
    if terminal.is_for_people() {
        let each = all.iter().map(|(source, findings)| terminal.full(source, findings));
        print(&each.collect::<String>())?;
    }
    if worst == 0 && (terminal.is_for_people() || args.fix) {
        terminal.say(&summary(&all, fixed, args.fix));
    }
    match (worst, count(&all, Severity::Error) > 0) {
        (0, false) => Ok(()),
        (0, true) => Err(Failure::Findings),
        _ => Err(Failure::Reported(worst)),
    }
}

/// Checks a file; with --fix, fixes it first. Also returns the number of findings that --fix fixes.
fn check_file(
    args: &Check,
    choice: &ModelChoice,
    file: &Path,
) -> Result<(ScheduleDiagnostics, usize), Failure> {
    let mut source = ScheduleSource::read(file)?;
    let (model, missing) = model_for_check(&source, choice, &args.values)?;
    // A missing model is an error of the schedule that names it, in addition to the errors of its directives.
    let missing = missing.map(|named| named.finding());
    let options = CheckOptions {
        target: args.values.target.clone(),
        strict: args.strict,
        vector_bits: Some(Cpu::Native.lookup_register_bits()).filter(|bits| *bits > 0),
        ..ScheduleSource::options(model.as_ref(), &args.values)
    };
    let checked = check(&source.text, &options);
    if let Some(model) = &model {
        source.check_fingerprint(&checked, model, &args.values)?;
    }
    if !args.fix {
        let fixed = fix_checked(&source.text, &checked.diagnostics, &options, false);
        let count = fixed.map_or(0, |fixed| fixed.count.min(checked.diagnostics.len()));
        let findings = missing.into_iter().chain(checked.diagnostics).collect();
        return Ok(((source, findings), count));
    }
    let fixed = fix_all(&source.text, &options, args.unsafe_fixes);
    if fixed.count > 0 {
        write_atomically(file, |out| out.write_all(fixed.text.as_bytes()))?;
        source.text = fixed.text;
    }
    let findings = missing.into_iter().chain(fixed.checked.diagnostics).collect();
    Ok(((source, findings), fixed.count))
}

/// Refuses a model without a schedule.
fn only_schedules(files: &[PathBuf], choice: &ModelChoice) -> Result<(), Failure> {
    match files {
        [file] if choice.model.is_none() && is_model(file) => Err(Failure::usage(
            format!("{} is a model, and no schedule is named", file.display()),
            format!("write `schedc check {} -s FILE`, or name a schedule", file.display()),
        )),
        _ => Ok(()),
    }
}

fn count(all: &[ScheduleDiagnostics], severity: Severity) -> usize {
    all.iter().flat_map(|(_, findings)| findings).filter(|finding| finding.severity == severity).count()
}

/// `3 schedules checked, 2 findings fixed, 1 error, 1 warning`. Without --fix, `fixed` is the number of
/// findings that it would fix.
fn summary(all: &[ScheduleDiagnostics], fixed: usize, is_fixed: bool) -> String {
    let many = |n: usize, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    let mut parts = vec![format!("{} checked", many(all.len(), "schedule"))];
    parts.extend(is_fixed.then(|| format!("{} fixed", many(fixed, "finding"))));
    let (errors, warnings) = (count(all, Severity::Error), count(all, Severity::Warning));
    parts.push(if errors == 0 { "no errors".to_string() } else { many(errors, "error") });
    parts.extend((warnings > 0).then(|| many(warnings, "warning")));
    let hint = match is_fixed {
        false if fixed == 1 && errors + warnings == 1 => "; --fix corrects it".to_string(),
        false if fixed > 0 => format!("; --fix corrects {fixed} of them"),
        _ => String::new(),
    };
    parts.join(", ") + &hint
}
