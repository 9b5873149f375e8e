//! Jobs: a model, and the schedule under which it is compiled.

use crate::choice::{CodeDestination, Effort};
use crate::failure::Failure;
use crate::lock::{LockQuery, LockUse};
use crate::machines;
use crate::model::Model;
use crate::schedule::{ScheduleSource, ScheduleValues};
use sched_diagnostics::Diagnostic;
use sched_forest::{Float, ReadOptions};
use sched_lang::diagnostics::Severity;
use sched_lang::{CheckPurpose, CheckedSchedule, Target};
use sched_llvm::Cpu;
use sched_nest::{Nest, Variants};
use std::path::Path;

/// Shows the findings of checks.
pub trait Reporter {
    /// Shows the findings that are at least this severe, and returns the number of errors.
    fn report(&self, source: &ScheduleSource, checked: &CheckedSchedule, least: Severity) -> usize;
}

/// A model, and the schedule under which it is compiled.
#[derive(Clone)]
pub struct Job {
    /// The model.
    pub model: Model,
    /// The schedule.
    pub source: ScheduleSource,
}

/// The search for a schedule if the user named none.
pub struct ScheduleLookup<'a> {
    /// The options for the lock.
    pub lock: &'a LockUse,
    /// The processors for which code is generated.
    pub cpus: &'a [Cpu],
    /// Threads of a call, 0 for all; `None` if each call chooses them.
    pub threads: Option<u32>,
    /// Receives the reason why an entry of the lock cannot be used.
    pub report: &'a mut dyn FnMut(Diagnostic),
}

impl ScheduleLookup<'_> {
    /// The schedule of the lock, or else one that schedc chooses.
    ///
    /// # Errors
    /// When the lock cannot be read, or has no usable entry although the options require one.
    pub fn source(
        &mut self,
        model: &Model,
        target: Option<&Target>,
        (cpu, destination): (Cpu, CodeDestination),
    ) -> Result<ScheduleSource, Failure> {
        let locked = self.locked(model, target)?;
        Ok(locked.unwrap_or_else(|| ScheduleSource::chosen_for(model, target, cpu, destination)))
    }

    /// The schedule of the lock, if it has one.
    fn locked(&mut self, model: &Model, target: Option<&Target>) -> Result<Option<ScheduleSource>, Failure> {
        let wanted = LockQuery { model, target, cpus: self.cpus, threads: self.threads };
        self.lock.schedule(&wanted, self.report)
    }
}

/// A model, and its schedule if the user or a lock names one. Otherwise schedc chooses the schedule later.
pub struct PendingJob {
    /// The model.
    pub model: Model,
    /// The schedule that the user named, or the one of a lock.
    pub source: Option<ScheduleSource>,
}

impl PendingJob {
    /// Finds model and schedule. `what` is a model, or a schedule that names its model.
    ///
    /// # Errors When a file cannot be read, or two schedules are named; when the lock cannot be read, or has
    /// no usable entry although the options require one.
    pub fn of(
        what: &Path,
        schedule: Option<&Path>,
        values: &ScheduleValues,
        reading: &ReadOptions,
        locked: &mut ScheduleLookup<'_>,
    ) -> Result<PendingJob, Failure> {
        if is_schedule(what) || schedule.is_some() {
            locked.lock.check_unused()?;
        }
        if is_schedule(what) {
            if let Some(other) = schedule {
                return Err(Failure::usage(
                    format!("{} and {} are both schedules", what.display(), other.display()),
                    "name a model and a schedule, or a schedule that names its model",
                ));
            }
            let source = ScheduleSource::read(what)?;
            let model = read_named_model(&source, reading)?.with_profile(values.profile.as_deref())?;
            return Ok(PendingJob { model, source: Some(source) });
        }
        let model = Model::read(what, reading)?.with_profile(values.profile.as_deref())?;
        let source = match schedule {
            Some(path) => Some(ScheduleSource::read(path)?),
            None => locked.locked(&model, values.target.as_ref())?,
        };
        Ok(PendingJob { model, source })
    }

    /// Completes the job. Chooses a schedule if it has none.
    pub fn into_job(self, target: Option<&Target>, (cpu, destination): (Cpu, CodeDestination)) -> Job {
        let PendingJob { model, source } = self;
        let source = source.unwrap_or_else(|| ScheduleSource::chosen_for(&model, target, cpu, destination));
        Job { model, source }
    }

    /// Notes for the user: on the model, and on a chosen schedule for a processor without measured costs.
    pub fn notes(&self, cpu: Cpu) -> Vec<String> {
        notes(&self.model, self.source.is_none(), cpu)
    }
}

fn notes(model: &Model, is_chosen: bool, cpu: Cpu) -> Vec<String> {
    let processor = machines::note(cpu).filter(|_| is_chosen);
    model.notes.iter().cloned().chain(processor).collect()
}

impl Job {
    /// Finds model and schedule. `what` is a model, or a schedule that names its model. If there is no
    /// schedule, one is chosen for the processor and the destination of the code.
    ///
    /// # Errors
    /// When a file cannot be read, or two schedules are named.
    pub fn load(
        what: &Path,
        schedule: Option<&Path>,
        values: &ScheduleValues,
        reading: &ReadOptions,
        place: (Cpu, CodeDestination),
    ) -> Result<Job, Failure> {
        let mut locked = ScheduleLookup {
            lock: &LockUse { frozen: true, ..LockUse::default() },
            cpus: &[],
            threads: None,
            report: &mut drop,
        };
        Job::load_locked(what, schedule, values, reading, place, &mut locked)
    }

    /// As [`load`](Job::load), but prefers the schedule of a lock to a chosen one.
    ///
    /// # Errors As for [`load`](Job::load), and when the lock cannot be read, or has no usable entry although
    /// the options require one.
    pub fn load_locked(
        what: &Path,
        schedule: Option<&Path>,
        values: &ScheduleValues,
        reading: &ReadOptions,
        place: (Cpu, CodeDestination),
        locked: &mut ScheduleLookup<'_>,
    ) -> Result<Job, Failure> {
        Ok(PendingJob::of(what, schedule, values, reading, locked)?.into_job(values.target.as_ref(), place))
    }

    /// Notes for the user: on the model, and on a chosen schedule for a processor without measured costs.
    pub fn notes(&self, cpu: Cpu) -> Vec<String> {
        notes(&self.model, self.source.is_chosen, cpu)
    }

    /// The note that an effort has no effect, since it decides only how schedc chooses a schedule.
    pub fn note_of_effort(&self, effort: Effort) -> Option<String> {
        let is_idle = effort == Effort::Fast && !self.source.is_chosen;
        is_idle.then(|| {
            "effort `fast` has no effect on a given schedule: it makes schedc choose one that compiles sooner"
                .to_string()
        })
    }

    /// Changes the type of rows. Chooses the schedule again if the user named none.
    pub fn set_row_type(
        &mut self,
        rows: Float,
        target: Option<&Target>,
        (cpu, destination): (Cpu, CodeDestination),
    ) {
        self.model = self.model.for_rows(rows);
        if self.source.is_chosen {
            self.source = ScheduleSource::chosen_for(&self.model, target, cpu, destination);
        }
    }

    /// Checks the schedule and reports all findings. Returns the nests and their target.
    ///
    /// # Errors
    /// When the schedule has errors, or is for another model.
    pub fn nest(
        &self,
        values: &ScheduleValues,
        reporter: &dyn Reporter,
    ) -> Result<(Variants<Nest>, Target), Failure> {
        let checked = self.source.check_for(CheckPurpose::Compile, &self.model, values);
        self.source.check_fingerprint(&checked, &self.model, values)?;
        let least = if self.source.is_chosen { Severity::Error } else { Severity::Warning };
        let errors = reporter.report(&self.source, &checked, least);
        let nests = checked.nests.filter(|_| errors == 0).ok_or(Failure::Findings)?;
        Ok((nests, checked.target))
    }
}

/// Whether a path names a schedule.
pub fn is_schedule(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sched")
}

/// Whether a file without the ending of schedules is a model that can be read, or no text, as a model with an
/// unsupported operator.
pub fn is_model(path: &Path) -> bool {
    let is_readable = || Model::read(path, &ReadOptions::default()).is_ok();
    let is_text = || std::fs::read_to_string(path).is_ok();
    !is_schedule(path) && path.is_file() && (is_readable() || !is_text())
}

/// Reads the model that a schedule names.
///
/// # Errors
/// When it names none, or the file does not exist.
fn read_named_model(source: &ScheduleSource, reading: &ReadOptions) -> Result<Model, Failure> {
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
