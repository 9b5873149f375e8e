//! Errors of compiling a model with a schedule.

use sched_diagnostics::{Code, Diagnostic, Place, internal};

sched_diagnostics::error! {
    /// A refusal to compile, with help, or a bug of schedc that the compilation detected.
    CompileError
}

impl CompileError {
    pub(crate) fn new(code: Code, message: impl Into<String>, help: impl Into<String>) -> CompileError {
        CompileError::of(Diagnostic::new(code, Place::Whole, message).help(help))
    }

    /// A bug in schedc: parts of a compilation that do not fit each other.
    pub(crate) fn ill_formed(message: impl Into<String>) -> CompileError {
        CompileError::new(internal::ILL_FORMED, message, internal::BUG_REPORT_HELP)
    }

    /// A bug in schedc: a nest that still has symbols, though it was checked with its model.
    pub(crate) fn symbolic() -> CompileError {
        let message = "the loop nest depends on unknown properties of the model";
        CompileError::new(internal::SYMBOLIC, message, internal::BUG_REPORT_HELP)
    }
}
