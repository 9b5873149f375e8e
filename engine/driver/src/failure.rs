//! Failures of commands, with their exit status.

use sched_diagnostics::{Code, Diagnostic, Place, usage};
use sched_forest::ModelError;
use std::fmt::Display;
use std::io;
use std::path::Path;

/// A failure that stops a command.
#[derive(Debug)]
pub enum Failure {
    /// Findings in a schedule, already shown: exit status 1.
    Findings,
    /// A refusal, already shown, with its exit status.
    Reported(u8),
    /// Wrong usage, or input or output that cannot be used: exit status 2. A bug of schedc that schedc itself
    /// has detected: exit status 101, as for a panic.
    Refused(Box<Diagnostic>),
}

impl Failure {
    /// A refusal with help.
    pub fn new(code: Code, message: impl Display, help: impl Display) -> Failure {
        Diagnostic::new(code, Place::Whole, message.to_string()).help(help.to_string()).into()
    }

    /// Wrong usage, with help.
    pub fn usage(message: impl Display, help: impl Display) -> Failure {
        Failure::new(usage::WRONG, message, help)
    }

    /// A file that cannot be read, other than a model or data.
    pub fn unreadable(file: impl Display, message: impl Display, help: impl Display) -> Failure {
        Failure::new(usage::UNREADABLE, message, help).in_file(file)
    }

    /// The failure with the name of the file at fault.
    #[must_use]
    pub fn in_file(self, file: impl Display) -> Failure {
        match self {
            Failure::Refused(diagnostic) => diagnostic.file(file.to_string()).into(),
            shown => shown,
        }
    }

    /// The exit status of the command.
    pub fn status(&self) -> u8 {
        match self {
            Failure::Findings => 1,
            Failure::Reported(status) => *status,
            Failure::Refused(diagnostic) if diagnostic.code.is_internal() => 101,
            Failure::Refused(_) => 2,
        }
    }

    /// A model that cannot be read, with its file.
    pub fn model(path: &Path, error: ModelError) -> Failure {
        Failure::from(Diagnostic::from(error)).in_file(path.display())
    }
}

/// Returns the reason for which a file cannot be read, as the end of a sentence.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_string(),
        io::ErrorKind::PermissionDenied => "there is no permission to read it".to_string(),
        io::ErrorKind::IsADirectory => "it is a folder".to_string(),
        _ => error.to_string(),
    }
}

/// Errors of all crates are diagnostics, which stop a command.
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
    fn bugs_and_mistakes_of_users_have_different_statuses() {
        let status = |code| Failure::from(LlvmError::new(code, "what")).status();
        assert!(internal::CODES.iter().all(|code| status(*code) == 101));
        assert!(codes::CODES.iter().chain(usage::CODES).all(|code| status(*code) == 2));
        assert_eq!(Failure::Findings.status(), 1);
    }
}
