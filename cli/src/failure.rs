//! Why a command stops, and the exit status that says so.

use sched_forest::ModelError;
use sched_ir::CompileError;
use sched_llvm::LlvmError;
use schedc_data::DataError;
use std::fmt::Display;
use std::path::Path;

/// A command that cannot go on.
#[derive(Debug)]
pub enum Failure {
    /// Findings in a schedule, already printed: exit status 1.
    Findings,
    /// Wrong usage, or input or output that cannot be used: exit status 2.
    Unusable(String),
    /// A mistake of schedc itself that it has noticed: exit status 101, as of a panic.
    Internal(String),
}

impl Failure {
    /// Wrong usage or unusable input, with a way out.
    pub fn unusable(message: impl Display, help: impl Display) -> Failure {
        Failure::Unusable(format!("{message}\n  help: {help}"))
    }

    /// The exit status that tells of it.
    pub fn status(&self) -> u8 {
        match self {
            Failure::Findings => 1,
            Failure::Unusable(_) => 2,
            Failure::Internal(_) => 101,
        }
    }

    /// A model that cannot be read, in its file.
    pub fn model(path: &Path, error: &ModelError) -> Failure {
        let place = if error.place.is_empty() { String::new() } else { format!(", {}", error.place) };
        let help = if error.help.is_empty() { String::new() } else { format!("\n  help: {}", error.help) };
        Failure::Unusable(format!("{}: {}{place}: {}{help}", error.code, path.display(), error.message))
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Failure {
        Failure::Unusable(error.to_string())
    }
}

impl From<CompileError> for Failure {
    fn from(error: CompileError) -> Failure {
        if error.is_internal() {
            Failure::Internal(error.to_string())
        } else {
            Failure::Unusable(error.to_string())
        }
    }
}

impl From<LlvmError> for Failure {
    fn from(error: LlvmError) -> Failure {
        let help = error.help.as_ref().map_or(String::new(), |help| format!("\n  help: {help}"));
        let message = format!("{}: {}{help}", error.code, error.message);
        if error.is_internal() { Failure::Internal(message) } else { Failure::Unusable(message) }
    }
}

#[cfg(test)]
mod tests {
    use super::Failure;
    use sched_llvm::LlvmError;

    fn failure(code: &'static str) -> Failure {
        LlvmError { code, message: "what".to_string(), help: None }.into()
    }

    #[test]
    fn mistakes_of_the_compiler_are_told_from_those_of_its_user() {
        for code in ["L0001", "L0002"] {
            assert!(matches!(failure(code), Failure::Internal(_)), "{code}");
        }
        for code in ["L0003", "L0009", "L0011"] {
            assert!(matches!(failure(code), Failure::Unusable(_)), "{code}");
        }
        assert_eq!(failure("L0001").status(), 101);
        assert_eq!(failure("L0007").status(), 2);
        assert_eq!(Failure::Findings.status(), 1);
    }
}
