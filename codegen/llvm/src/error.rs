//! Errors of this crate, as diagnostics.

use inkwell::builder::BuilderError;
use sched_diagnostics::{Code, Diagnostic, Place, internal};
use std::fmt::Display;

sched_diagnostics::error! {
    /// A failure of the LLVM back end. The failed call has written no file and loaded no code.
    LlvmError
}

impl LlvmError {
    /// Makes an error without help.
    pub fn new(code: Code, message: impl Into<String>) -> LlvmError {
        LlvmError::of(Diagnostic::new(code, Place::Whole, message))
    }

    /// Adds help to an error.
    pub fn with_help(mut self, help: impl Into<String>) -> LlvmError {
        self.0.help = Some(help.into());
        self
    }

    /// Makes an internal error: LIR that no pass should have produced.
    pub(crate) fn ill_formed(what: impl Display) -> LlvmError {
        LlvmError::new(internal::ILL_FORMED, format!("ill-formed LIR: {what}"))
            .with_help(internal::BUG_REPORT_HELP)
    }
}

impl From<BuilderError> for LlvmError {
    fn from(error: BuilderError) -> LlvmError {
        LlvmError::ill_formed(error)
    }
}
