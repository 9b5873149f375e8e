//! One module per command; each has a `run`.

pub mod bench;
pub mod build;
pub mod check;
pub mod explain;
pub mod inspect;
pub mod ir;
pub mod predict;
pub mod show;

use crate::args::{ModelOptions, ScheduleOptions, ScheduleValues};
use crate::failure::Failure;
use crate::model::Model;
use crate::schedule::Source;
use crate::terminal::Terminal;
use sched_lang::Checked;
use sched_lang::diagnostics::Severity;
use sched_lang::nest::Nest;
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
    /// Finds model and schedule: `what` is a model, or a schedule that names its model.
    pub fn load(
        what: &Path,
        schedule: &ScheduleOptions,
        reading: &ModelOptions,
        rows: Option<usize>,
    ) -> Result<Job, Failure> {
        if is_schedule(what) && schedule.schedule.is_none() {
            let source = Source::read(what)?;
            let model = named_model(&source, reading)?;
            return Ok(Job { model, source });
        }
        let model = Model::read(what, &reading.iterations)?;
        let source = match &schedule.schedule {
            Some(path) => Source::read(path)?,
            None => Source::chosen_for(&model.facts(), rows),
        };
        Ok(Job { model, source })
    }

    /// The nest, if the schedule has no errors; all findings are printed.
    pub fn nest(&self, values: &ScheduleValues, terminal: &Terminal) -> Result<Nest, Failure> {
        let checked = self.source.check(Some(&self.model), values, true, false);
        self.check_fingerprint(&checked)?;
        let errors = terminal.findings(&self.source, &checked, Severity::Warning);
        checked.nest.filter(|_| errors == 0).ok_or(Failure::Findings)
    }

    fn check_fingerprint(&self, checked: &Checked) -> Result<(), Failure> {
        match &checked.header.fingerprint {
            Some((wanted, _)) if *wanted != self.model.fingerprint => Err(Failure::unusable(
                format!(
                    "the schedule {} was written for a model with the fingerprint {wanted}, and {} has {}",
                    self.source.name,
                    self.model.path.display(),
                    self.model.fingerprint
                ),
                "check that the model is the right one, then put its fingerprint into the schedule",
            )),
            _ => Ok(()),
        }
    }
}

/// Whether a path names a schedule.
pub fn is_schedule(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sched")
}

/// The model that a schedule names.
pub fn named_model(source: &Source, reading: &ModelOptions) -> Result<Model, Failure> {
    let path = source.model_path().ok_or_else(|| {
        Failure::unusable(
            format!("the schedule {} names no model", source.name),
            "add a line such as `model \"model.json\"` to it, or name the model on the command line",
        )
    })?;
    Model::read(&path, &reading.iterations)
}

/// Prints to standard output. A reader that has gone away, such as `head`, is not an error.
pub fn print(text: &str) -> Result<(), Failure> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::unusable(
            format!("standard output cannot be written: {error}"),
            "redirect it to a file",
        )),
        _ => Ok(()),
    }
}
