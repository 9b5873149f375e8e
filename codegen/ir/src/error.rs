//! Why a model and a schedule cannot be compiled together.

use sched_diagnostics::{Code, Diagnostic, Place, internal};

sched_diagnostics::error! {
    /// A refusal to compile, with a way out, or a bug that it has noticed.
    CompileError
}

impl CompileError {
    pub(crate) fn new(code: Code, message: impl Into<String>, help: impl Into<String>) -> CompileError {
        CompileError::of(Diagnostic::new(code, Place::Whole, message).help(help))
    }

    /// A bug: parts of a compilation that do not fit each other.
    pub(crate) fn ill_formed(message: impl Into<String>) -> CompileError {
        CompileError::new(internal::ILL_FORMED, message, internal::REPORT)
    }

    /// A bug here or in who called it: a nest that was checked with its model knows all facts.
    pub(crate) fn symbolic() -> CompileError {
        let message = "the loop nest depends on facts that are not known";
        CompileError::new(internal::SYMBOLIC, message, internal::REPORT)
    }
}
