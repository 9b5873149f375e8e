//! One module per command; each has a `run`.

pub mod bench;
pub mod build;
pub mod check;
pub mod completions;
pub mod convert;
pub mod diff;
pub mod explain;
pub mod fmt;
pub mod inspect;
pub mod ir;
pub mod lsp;
pub mod package;
pub mod predict;
pub mod profile;
pub mod show;
mod simulate;
pub mod verify;

use crate::args::{ModelChoice, ModelOptions, ScheduleOptions, ScheduleValues};
use crate::defaults::CodeDestination;
use crate::failure::Failure;
use crate::model::Model;
use crate::schedule::Source;
use crate::terminal::Terminal;
use sched_diagnostics::Diagnostic;
use sched_forest::Float;
use sched_lang::diagnostics::Severity;
use sched_lang::{Lineage, Supported, Target, check_lineage};
use sched_llvm::Cpu;
use sched_nest::{Nest, Variants};
use schedc_data::codes;
use std::io::Write;
use std::path::Path;

/// A model with the schedule that goes with it.
pub struct Job {
    /// The model.
    pub model: Model,
    /// The schedule.
    pub source: Source,
}

impl Job {
    /// Finds model and schedule: `what` is a model, or a schedule that names its model. Where there is no schedule, one is
    /// chosen for the processor and the place where code is kept.
    pub fn load(
        what: &Path,
        schedule: &ScheduleOptions,
        reading: &ModelOptions,
        (cpu, kept): (Cpu, CodeDestination),
    ) -> Result<Job, Failure> {
        if is_schedule(what) {
            if let Some(other) = &schedule.schedule {
                return Err(Failure::usage(
                    format!("{} and {} are both schedules", what.display(), other.display()),
                    "name a model and a schedule, or a schedule that names its model",
                ));
            }
            let source = Source::read(what)?;
            let model = named_model(&source, reading)?.profiled(&schedule.values)?;
            return Ok(Job { model, source });
        }
        let model = Model::read(what, reading)?.profiled(&schedule.values)?;
        let source = match &schedule.schedule {
            Some(path) => Source::read(path)?,
            None => Source::chosen_for(&model, schedule.values.target.as_ref(), cpu, kept),
        };
        Ok(Job { model, source })
    }

    /// Makes it one for rows of a type. A schedule that schedc has chosen is chosen again.
    pub fn read_rows(&mut self, rows: Float, target: Option<&Target>, (cpu, kept): (Cpu, CodeDestination)) {
        self.model = self.model.for_rows(rows);
        if self.source.is_chosen {
            self.source = Source::chosen_for(&self.model, target, cpu, kept);
        }
    }

    /// The nests and what they are for, if the schedule has no errors; all findings are printed.
    pub fn nest(
        &self,
        values: &ScheduleValues,
        terminal: &Terminal,
    ) -> Result<(Variants<Nest>, Target), Failure> {
        let checked = self.source.check_for(Supported::Compilable, &self.model, values);
        self.source.check_fingerprint(&checked, &self.model, values)?;
        let least = if self.source.is_chosen { Severity::Error } else { Severity::Warning };
        let errors = terminal.findings(&self.source, &checked, least);
        let nests = checked.nests.filter(|_| errors == 0).ok_or(Failure::Findings)?;
        Ok((nests, checked.target))
    }
}

/// Whether a path names a schedule.
pub fn is_schedule(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sched")
}

/// The model that a schedule names and that a command cannot do without.
fn named_model(source: &Source, reading: &ModelOptions) -> Result<Model, Failure> {
    let named = source.named_model().ok_or_else(|| {
        Failure::usage(
            format!("the schedule {} names no model", source.name),
            "add a line such as `model \"model.json\"` to it, or name the model on the command line",
        )
    })?;
    if named.path.exists() {
        return Model::read(&named.path, reading);
    }
    let help =
        "correct the `model` line, which is relative to the schedule, or name the model on the command line";
    Err(named.missing(source).help(help).into())
}

/// The model to look at a schedule with: the one on the command line, or else the one that the schedule names. A missing
/// one of the latter is worth a note only, since a schedule means something without its model.
pub fn model_to_look_with(
    source: &Source,
    choice: &ModelChoice,
    values: &ScheduleValues,
    terminal: &Terminal,
) -> Result<Option<Model>, Failure> {
    if choice.no_model {
        return Ok(None);
    }
    let read = |path: &Path| Model::read(path, &ModelOptions::default())?.profiled(values).map(Some);
    if let Some(path) = &choice.model {
        return read(path);
    }
    let Some(named) = source.named_model() else { return Ok(None) };
    if named.path.exists() {
        return read(&named.path);
    }
    let Diagnostic { file, place, message, .. } = named.missing(source);
    let file = file.unwrap_or_default();
    terminal.say(&format!("note: {file}, {place}: {message}; the schedule is looked at without a model"));
    Ok(None)
}

/// Checks a schedule to show what it means. What is wrong is printed, and its model must be the right one.
pub fn look(
    source: &Source,
    choice: &ModelChoice,
    values: &ScheduleValues,
    least: Severity,
    terminal: &Terminal,
) -> Result<(Variants<Nest>, Variants<Lineage>), Failure> {
    let model = model_to_look_with(source, choice, values, terminal)?;
    let (checked, lineages) = check_lineage(&source.text, &Source::options(model.as_ref(), values));
    if let Some(model) = &model {
        source.check_fingerprint(&checked, model, values)?;
    }
    let errors = terminal.findings(source, &checked, least);
    let nests = checked.nests.filter(|_| errors == 0).ok_or(Failure::Findings)?;
    Ok((nests, lineages))
}

/// Prints to standard output. A reader that has gone away, such as `head`, is not an error.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// Writes to standard output like [`print()`], whatever the bytes are.
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let message = format!("it cannot be written: {error}");
            Err(Failure::new(codes::UNWRITABLE, message, "redirect it to a file").of("standard output"))
        }
        _ => Ok(()),
    }
}
