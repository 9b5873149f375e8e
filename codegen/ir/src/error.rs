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

/// Bounds on what a compilation may build: tables and scratch in bytes, and code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// All tables of the model together, padding included.
    pub tables: u64,
    /// Private copies of results and cached rows that one run of the nest holds. Runs are cut shorter to stay
    /// below it where their length is what exceeds it.
    pub scratch: u64,
    /// Whether indices have 32 bits, as machines with registers of 32 bits want, in place of 64. Runs are cut such
    /// that no element has a number that needs more.
    pub narrow_indices: bool,
    /// Whether sums begin with what stands in the output, which the caller of a kernel puts there, in place of the
    /// model's base values.
    pub base_is_given: bool,
}

impl Default for Budget {
    /// 1 GiB of tables, 64 MiB of scratch.
    fn default() -> Self {
        Budget {
            tables: sched_nest::footprint::TABLES,
            scratch: 64 << 20,
            narrow_indices: false,
            base_is_given: false,
        }
    }
}
