//! Whether a lock is asked for a schedule, and what it means that it has none.

use super::{Lock, Wanted, beside, find};
use crate::failure::Failure;
use crate::schedule::Source;
use sched_diagnostics::{Diagnostic, Place, Severity, usage};
use std::path::{Path, PathBuf};

/// How the lock is used where no schedule is given.
#[derive(Clone, Debug, Default)]
pub struct LockUse {
    /// Its file; without one, the one beside the model counts, if there is one.
    pub file: Option<PathBuf>,
    /// Whether the schedule must come from the lock: that an entry does not fit is an error, as is that there is none.
    pub locked: bool,
    /// Whether no lock is looked for.
    pub frozen: bool,
}

impl LockUse {
    /// Whether something was asked of the lock that only makes sense where no schedule is given.
    pub fn is_insisted_on(&self) -> bool {
        self.file.is_some() || self.locked
    }

    /// Refuses what was asked of the lock where a schedule is given.
    ///
    /// # Errors
    /// When something was.
    pub fn check_unused(&self) -> Result<(), Failure> {
        if !self.is_insisted_on() {
            return Ok(());
        }
        let flag = if self.locked { "--locked" } else { "--lock" };
        let message = format!("{flag} asks for the schedule of a lock, and a schedule is given");
        Err(Failure::usage(message, format!("leave out the schedule or {flag}")))
    }

    /// The schedule of the lock, if it has one that fits. What does not fit is told, or it is an error.
    ///
    /// # Errors
    /// When the lock cannot be read, or must serve and does not.
    pub fn schedule(
        &self,
        wanted: &Wanted<'_>,
        tell: &mut dyn FnMut(Diagnostic),
    ) -> Result<Option<Source>, Failure> {
        if self.frozen {
            return Ok(None);
        }
        let path = self.file.clone().unwrap_or_else(|| beside(&wanted.model.path));
        if self.file.is_none() && !path.exists() {
            return if self.locked { Err(missing(&path, wanted, "there is no lock")) } else { Ok(None) };
        }
        let found = find(&Lock::read(&path)?, &path, wanted)?;
        match found.miss {
            Some(miss) if self.locked => Err(Diagnostic { severity: Severity::Error, ..miss }.into()),
            None if self.locked && found.source.is_none() => {
                Err(missing(&path, wanted, "the lock has no entry for the model"))
            }
            miss => {
                miss.into_iter().for_each(tell);
                Ok(found.source)
            }
        }
    }
}

fn missing(path: &Path, wanted: &Wanted<'_>, message: &str) -> Failure {
    let help =
        format!("tune the model with `schedc tune {}`, or leave --locked out", wanted.model.path.display());
    let diagnostic = Diagnostic::new(usage::LOCK_MISSING, Place::Whole, message).help(help);
    Diagnostic { severity: Severity::Error, ..diagnostic }.file(path.display().to_string()).into()
}
