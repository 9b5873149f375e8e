//! Why compiling stops, and the exit status of a command that says so.

use sched_diagnostics::{Code, Diagnostic, Place, usage};
use sched_forest::ModelError;
use std::fmt::Display;
use std::path::Path;

/// Work that cannot go on.
#[derive(Debug)]
pub enum Failure {
    /// Findings in a schedule, already told: exit status 1.
    Findings,
    /// Something was refused, and that is told already: its exit status.
    Told(u8),
    /// Wrong usage, or input or output that cannot be used: exit status 2. A bug of schedc itself that it has noticed:
    /// exit status 101, as of a panic.
    Refused(Box<Diagnostic>),
}

impl Failure {
    /// A refusal with a way out.
    pub fn new(code: Code, message: impl Display, help: impl Display) -> Failure {
        Diagnostic::new(code, Place::Whole, message.to_string()).help(help.to_string()).into()
    }

    /// Wrong usage, with a way out.
    pub fn usage(message: impl Display, help: impl Display) -> Failure {
        Failure::new(usage::WRONG, message, help)
    }

    /// A file that cannot be read and is neither a model nor data.
    pub fn unreadable(file: impl Display, message: impl Display, help: impl Display) -> Failure {
        Failure::new(usage::UNREADABLE, message, help).of(file)
    }

    /// The same about a file.
    #[must_use]
    pub fn of(self, file: impl Display) -> Failure {
        match self {
            Failure::Refused(diagnostic) => diagnostic.file(file.to_string()).into(),
            told => told,
        }
    }

    /// The exit status that tells of it.
    pub fn status(&self) -> u8 {
        match self {
            Failure::Findings => 1,
            Failure::Told(status) => *status,
            Failure::Refused(diagnostic) if diagnostic.code.is_internal() => 101,
            Failure::Refused(_) => 2,
        }
    }

    /// A model that cannot be read, in its file.
    pub fn model(path: &Path, error: ModelError) -> Failure {
        Failure::from(Diagnostic::from(error)).of(path.display())
    }
}

/// Everything that is told as a diagnostic stops a command, whichever crate has found it.
impl<E: Into<Diagnostic>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Refused(Box::new(error.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::Failure;
    use sched_diagnostics::{internal, usage};
    use sched_llvm::{LlvmError, codes};

    #[test]
    fn bugs_are_told_from_mistakes_of_users() {
        let status = |code| Failure::from(LlvmError::new(code, "what")).status();
        assert!(internal::CODES.iter().all(|code| status(*code) == 101));
        assert!(codes::CODES.iter().chain(usage::CODES).all(|code| status(*code) == 2));
        assert_eq!(Failure::Findings.status(), 1);
    }
}
