//! A model with the schedule that goes with it.

use crate::choice::CodeDestination;
use crate::failure::Failure;
use crate::lock::{LockUse, Wanted};
use crate::machines;
use crate::model::Model;
use crate::schedule::{ScheduleValues, Source};
use sched_diagnostics::Diagnostic;
use sched_forest::{Float, ReadOptions};
use sched_lang::diagnostics::Severity;
use sched_lang::{Checked, Supported, Target};
use sched_llvm::Cpu;
use sched_nest::{Nest, Variants};
use std::path::Path;

/// Who is told of what a check finds.
pub trait Teller {
    /// Tells the findings that are at least this severe, and counts the errors.
    fn findings(&self, source: &Source, checked: &Checked, least: Severity) -> usize;
}

/// A model with the schedule that goes with it.
pub struct Job {
    /// The model.
    pub model: Model,
    /// The schedule.
    pub source: Source,
}

/// Where the schedule comes from that nobody has given.
pub struct Lookup<'a> {
    /// How the lock is used.
    pub lock: &'a LockUse,
    /// All processors that code is for.
    pub cpus: &'a [Cpu],
    /// Threads of a call, if that is known.
    pub threads: Option<u32>,
    /// Who is told that an entry of the lock does not fit.
    pub tell: &'a mut dyn FnMut(Diagnostic),
}

impl Lookup<'_> {
    /// The schedule of the lock, or else the one that is chosen.
    ///
    /// # Errors
    /// When the lock cannot be read, or must serve and does not.
    pub fn source(
        &mut self,
        model: &Model,
        target: Option<&Target>,
        (cpu, kept): (Cpu, CodeDestination),
    ) -> Result<Source, Failure> {
        let locked = self.locked(model, target)?;
        Ok(locked.unwrap_or_else(|| Source::chosen_for(model, target, cpu, kept)))
    }

    /// The schedule of the lock, if it has one.
    fn locked(&mut self, model: &Model, target: Option<&Target>) -> Result<Option<Source>, Failure> {
        let wanted = Wanted { model, target, cpus: self.cpus, threads: self.threads };
        self.lock.schedule(&wanted, self.tell)
    }
}

/// A model, and the schedule that there is for it before one is chosen.
pub struct Found {
    /// The model.
    pub model: Model,
    /// The schedule that the user named, or that of a lock.
    pub source: Option<Source>,
}

impl Found {
    /// Finds model and schedule: `what` is a model, or a schedule that names its model.
    ///
    /// # Errors
    /// When a file cannot be read, or it is not clear which schedule is meant; when the lock cannot be read, or must serve and
    /// does not.
    pub fn of(
        what: &Path,
        schedule: Option<&Path>,
        values: &ScheduleValues,
        reading: &ReadOptions,
        locked: &mut Lookup<'_>,
    ) -> Result<Found, Failure> {
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
            let source = Source::read(what)?;
            let model = named_model(&source, reading)?.profiled(values)?;
            return Ok(Found { model, source: Some(source) });
        }
        let model = Model::read(what, reading)?.profiled(values)?;
        let source = match schedule {
            Some(path) => Some(Source::read(path)?),
            None => locked.locked(&model, values.target.as_ref())?,
        };
        Ok(Found { model, source })
    }

    /// Both; a schedule is chosen where there is none.
    pub fn into_job(self, target: Option<&Target>, (cpu, kept): (Cpu, CodeDestination)) -> Job {
        let Found { model, source } = self;
        let source = source.unwrap_or_else(|| Source::chosen_for(&model, target, cpu, kept));
        Job { model, source }
    }

    /// What a user should know: what is worth a remark in the model, and that nothing is known of the processor that a schedule
    /// will be chosen for.
    pub fn notes(&self, cpu: Cpu) -> Vec<String> {
        notes(&self.model, self.source.is_none(), cpu)
    }
}

fn notes(model: &Model, is_chosen: bool, cpu: Cpu) -> Vec<String> {
    let processor = machines::note(cpu).filter(|_| is_chosen);
    model.notes.iter().cloned().chain(processor).collect()
}

impl Job {
    /// Finds model and schedule: `what` is a model, or a schedule that names its model. Where there is no schedule, one is
    /// chosen for the processor and the place where code is kept.
    ///
    /// # Errors
    /// When a file cannot be read, or it is not clear which schedule is meant.
    pub fn load(
        what: &Path,
        schedule: Option<&Path>,
        values: &ScheduleValues,
        reading: &ReadOptions,
        place: (Cpu, CodeDestination),
    ) -> Result<Job, Failure> {
        let mut locked = Lookup {
            lock: &LockUse { frozen: true, ..LockUse::default() },
            cpus: &[],
            threads: None,
            tell: &mut drop,
        };
        Job::load_locked(what, schedule, values, reading, place, &mut locked)
    }

    /// The same; where there is no schedule, that of a lock comes before one that is chosen.
    ///
    /// # Errors
    /// As for [`load`](Job::load), and when the lock cannot be read, or must serve and does not.
    pub fn load_locked(
        what: &Path,
        schedule: Option<&Path>,
        values: &ScheduleValues,
        reading: &ReadOptions,
        place: (Cpu, CodeDestination),
        locked: &mut Lookup<'_>,
    ) -> Result<Job, Failure> {
        Ok(Found::of(what, schedule, values, reading, locked)?.into_job(values.target.as_ref(), place))
    }

    /// What a user should know: what is worth a remark in the model, and that nothing is known of the processor that a schedule
    /// was chosen for.
    pub fn notes(&self, cpu: Cpu) -> Vec<String> {
        notes(&self.model, self.source.is_chosen, cpu)
    }

    /// Makes it one for rows of a type. A schedule that schedc has chosen is chosen again.
    pub fn read_rows(&mut self, rows: Float, target: Option<&Target>, (cpu, kept): (Cpu, CodeDestination)) {
        self.model = self.model.for_rows(rows);
        if self.source.is_chosen {
            self.source = Source::chosen_for(&self.model, target, cpu, kept);
        }
    }

    /// The nests and what they are for, if the schedule has no errors; all findings are told.
    ///
    /// # Errors
    /// When the schedule has errors, or is for another model.
    pub fn nest(
        &self,
        values: &ScheduleValues,
        teller: &dyn Teller,
    ) -> Result<(Variants<Nest>, Target), Failure> {
        let checked = self.source.check_for(Supported::Compilable, &self.model, values);
        self.source.check_fingerprint(&checked, &self.model, values)?;
        let least = if self.source.is_chosen { Severity::Error } else { Severity::Warning };
        let errors = teller.findings(&self.source, &checked, least);
        let nests = checked.nests.filter(|_| errors == 0).ok_or(Failure::Findings)?;
        Ok((nests, checked.target))
    }
}

/// Whether a path names a schedule.
pub fn is_schedule(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sched")
}

/// The model that a schedule names and that nothing can be done without.
fn named_model(source: &Source, reading: &ReadOptions) -> Result<Model, Failure> {
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
