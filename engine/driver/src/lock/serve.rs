//! The use of a lock by a command.

use super::{LockFile, LockQuery, beside, find};
use crate::failure::Failure;
use crate::schedule::ScheduleSource;
use sched_diagnostics::{Diagnostic, Place, Severity, usage};
use std::path::{Path, PathBuf};

/// The use of the lock if no schedule is given.
#[derive(Clone, Debug, Default)]
pub struct LockUse {
    /// The lock's file. `None` for the lock in the model's folder, if there is one.
    pub file: Option<PathBuf>,
    /// Whether the schedule must come from the lock, so that it is an error if no entry fits.
    pub locked: bool,
    /// Whether locks are ignored.
    pub frozen: bool,
}

impl LockUse {
    /// Whether an option was given that conflicts with a given schedule.
    pub fn is_requested(&self) -> bool {
        self.file.is_some() || self.locked
    }

    /// Refuses options of the lock, for commands with a given schedule.
    ///
    /// # Errors
    /// When such an option was given.
    pub fn check_unused(&self) -> Result<(), Failure> {
        if !self.is_requested() {
            return Ok(());
        }
        let flag = if self.locked { "--locked" } else { "--lock" };
        let message = format!("{flag} asks for the schedule of a lock, and a schedule is given");
        Err(Failure::usage(message, format!("leave out the schedule or {flag}")))
    }

    /// The schedule of the lock, if it has one that fits. `report` receives the reason why an entry does not
    /// fit.
    ///
    /// # Errors
    /// When the lock cannot be read, or `locked` is set and no entry fits.
    pub fn schedule(
        &self,
        wanted: &LockQuery<'_>,
        report: &mut dyn FnMut(Diagnostic),
    ) -> Result<Option<ScheduleSource>, Failure> {
        if self.frozen {
            return Ok(None);
        }
        let path = self.file.clone().unwrap_or_else(|| beside(&wanted.model.path));
        if self.file.is_none() && !path.exists() {
            return if self.locked { Err(missing(&path, wanted, "there is no lock")) } else { Ok(None) };
        }
        let answer = find(&LockFile::read(&path)?, &path, wanted)?;
        match answer.miss {
            Some(miss) if self.locked => Err(Diagnostic { severity: Severity::Error, ..miss }.into()),
            None if self.locked && answer.source.is_none() => {
                Err(missing(&path, wanted, "the lock has no entry for the model"))
            }
            miss => {
                miss.into_iter().for_each(report);
                Ok(answer.source)
            }
        }
    }
}

fn missing(path: &Path, wanted: &LockQuery<'_>, message: &str) -> Failure {
    let help = format!(
        "tune the model with `schedc tune {} --lock {}`, or leave --locked out",
        wanted.model.path.display(),
        path.display()
    );
    let diagnostic = Diagnostic::new(usage::LOCK_MISSING, Place::Whole, message).help(help);
    Diagnostic { severity: Severity::Error, ..diagnostic }.file(path.display().to_string()).into()
}
