//! One module per command; each has a `run`.

pub mod bench;
pub mod build;
pub mod calibrate;
pub mod check;
pub mod completions;
pub mod convert;
pub mod diff;
pub mod explain;
pub mod explain_speed;
pub mod fmt;
pub mod inspect;
pub mod ir;
pub mod lock;
pub mod lsp;
pub mod manual;
pub mod package;
pub mod predict;
pub mod profile;
pub mod show;
pub mod timed_rows;
pub mod tune;
pub mod verify;

use crate::args::{ModelChoice, ModelOptions, ScheduleOptions, ValueOptions};
use crate::terminal::Terminal;
use sched_diagnostics::Diagnostic;
use sched_forest::ReadOptions;
use sched_lang::diagnostics::Severity;
use sched_lang::{Lineage, check_lineage};
use sched_llvm::Cpu;
use sched_nest::{Nest, Variants};
use schedc_driver::{
    CodeDestination, Failure, Job, Model, NamedModel, PendingJob, Reporter, ScheduleLookup, ScheduleSource,
};
use std::path::Path;

/// Refuses the first given option of `options`, which decide about code, since a library is compiled already.
/// `instead` says how to do without the library.
pub fn refuse_for_library(
    path: &Path,
    options: &[(&'static str, bool)],
    command: &str,
    instead: &str,
) -> Result<(), Failure> {
    let Some((option, _)) = options.iter().find(|(_, given)| *given) else { return Ok(()) };
    let message = format!("{option} has no effect on {}, which is already compiled", path.display());
    let help = match *option {
        "--simulate" => format!(
            "the simulator runs code that schedc compiles into memory: `schedc {command} MODEL -s SCHEDULE \
             --simulate`, without the library; `schedc inspect` prints the library's schedule"
        ),
        _ => format!("give the option to `schedc build`, or {instead}"),
    };
    Err(Failure::usage(message, help))
}

/// Loads the model and the schedule of a command line. `what` is the model, or a schedule that names it.
/// Without a schedule, schedc chooses one for the processor and the destination of the code, `place`.
pub fn load_job(
    what: &Path,
    schedule: &ScheduleOptions,
    reading: &ModelOptions,
    place: (Cpu, CodeDestination),
) -> Result<Job, Failure> {
    Job::load(what, schedule.schedule.as_deref(), &schedule.values, &reading.options(), place)
}

/// Like [`load_job`], but looks for a schedule in the lock before choosing one.
pub fn load_locked_job(
    what: &Path,
    schedule: &ScheduleOptions,
    reading: &ModelOptions,
    place: (Cpu, CodeDestination),
    lookup: &mut ScheduleLookup,
) -> Result<Job, Failure> {
    Job::load_locked(what, schedule.schedule.as_deref(), &schedule.values, &reading.options(), place, lookup)
}

/// Like [`load_locked_job`], but chooses no schedule if none is found.
pub fn find_job(
    what: &Path,
    schedule: &ScheduleOptions,
    reading: &ModelOptions,
    lookup: &mut ScheduleLookup,
) -> Result<PendingJob, Failure> {
    PendingJob::of(what, schedule.schedule.as_deref(), &schedule.values, &reading.options(), lookup)
}

/// The model for the check of a schedule: the one on the command line, or else the one that the schedule
/// names. If the latter does not exist, the second part of the result names it.
pub fn model_for_check(
    source: &ScheduleSource,
    choice: &ModelChoice,
    values: &ValueOptions,
) -> Result<(Option<Model>, Option<NamedModel>), Failure> {
    if choice.no_model {
        return Ok((None, None));
    }
    let read = |path: &Path| {
        Model::read(path, &ReadOptions::default())?.with_profile(values.profile.as_deref()).map(Some)
    };
    if let Some(path) = &choice.model {
        return Ok((read(path)?, None));
    }
    let Some(named) = source.named_model() else { return Ok((None, None)) };
    if named.path.exists() { Ok((read(&named.path)?, None)) } else { Ok((None, Some(named))) }
}

/// As [`model_for_check`], for a command that displays a schedule. If the model that it names does not exist,
/// prints a note and returns `None`, since a schedule is valid without its model.
pub fn model_for_display(
    source: &ScheduleSource,
    choice: &ModelChoice,
    values: &ValueOptions,
    terminal: &Terminal,
) -> Result<Option<Model>, Failure> {
    let (model, missing) = model_for_check(source, choice, values)?;
    if let Some(named) = missing {
        let Diagnostic { file, place, message, .. } = named.missing(source);
        let file = file.unwrap_or_default();
        terminal.say(&format!("note: {file}, {place}: {message}; checking without a model"));
    }
    Ok(model)
}

/// Checks a schedule that a command displays. Prints its diagnostics of severity `least` or above; fails on
/// errors, and if the model has another fingerprint than the schedule requires.
pub fn checked_for_display(
    source: &ScheduleSource,
    choice: &ModelChoice,
    values: &ValueOptions,
    least: Severity,
    terminal: &Terminal,
) -> Result<(Variants<Nest>, Variants<Lineage>), Failure> {
    let model = model_for_display(source, choice, values, terminal)?;
    let (checked, lineages) = check_lineage(&source.text, &ScheduleSource::options(model.as_ref(), values));
    if let Some(model) = &model {
        source.check_fingerprint(&checked, model, values)?;
    }
    let errors = terminal.report(source, &checked, least);
    let nests = checked.nests.filter(|_| errors == 0).ok_or(Failure::Findings)?;
    Ok((nests, lineages))
}
