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
}

impl Failure {
    /// Wrong usage or unusable input, with a way out.
    pub fn unusable(message: impl Display, help: impl Display) -> Failure {
        Failure::Unusable(format!("{message}\n  help: {help}"))
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
        Failure::Unusable(error.to_string())
    }
}

impl From<LlvmError> for Failure {
    fn from(error: LlvmError) -> Failure {
        let help = error.help.map_or(String::new(), |help| format!("\n  help: {help}"));
        Failure::Unusable(format!("{}: {}{help}", error.code, error.message))
    }
}
