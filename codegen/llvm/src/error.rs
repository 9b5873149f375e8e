//! What can go wrong in this crate, as plain data.

use inkwell::builder::BuilderError;
use std::fmt::{self, Display, Formatter};

/// A failure of the LLVM back end. Nothing has been written or loaded when one is returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlvmError {
    /// A stable code, `L0001` and up; the constants of [`code`] name them.
    pub code: &'static str,
    /// What went wrong.
    pub message: String,
    /// A way out, if there is one.
    pub help: Option<String>,
}

/// The codes of [`LlvmError`].
pub mod code {
    /// The LIR is ill-formed: an error in the compiler.
    pub const ILL_FORMED: &str = "L0001";
    /// LLVM rejects the generated module: an error in the compiler.
    pub const REJECTED: &str = "L0002";
    /// The CPU is not one that the compiler knows.
    pub const UNKNOWN_CPU: &str = "L0003";
    /// This machine cannot run code for the CPU.
    pub const CANNOT_RUN: &str = "L0004";
    /// LLVM cannot produce machine code.
    pub const CODE_GENERATION: &str = "L0005";
    /// The machine code cannot be loaded into this process.
    pub const LOADING: &str = "L0006";
    /// A program of the C toolchain is missing.
    pub const NO_TOOL: &str = "L0007";
    /// A program of the C toolchain fails.
    pub const TOOL_FAILED: &str = "L0008";
    /// A temporary file cannot be written or read.
    pub const TEMPORARY_FILE: &str = "L0009";
    /// A name is not usable as the prefix of C functions.
    pub const BAD_PREFIX: &str = "L0010";
    /// The model's tables are too large for the artefact's form.
    pub const TOO_LARGE: &str = "L0011";
    /// A header would replace a file that is no header of a library.
    pub const FOREIGN_HEADER: &str = "L0012";
}

impl LlvmError {
    /// Whether it is a mistake of the compiler, and not of what it was given.
    pub fn is_internal(&self) -> bool {
        matches!(self.code, code::ILL_FORMED | code::REJECTED)
    }

    /// An error without advice.
    pub fn new(code: &'static str, message: impl Into<String>) -> LlvmError {
        LlvmError { code, message: message.into(), help: None }
    }

    /// The same with a way out.
    pub fn with_help(self, help: impl Into<String>) -> LlvmError {
        LlvmError { help: Some(help.into()), ..self }
    }

    /// An error of the compiler itself: LIR that no pass should have produced.
    pub(crate) fn ill_formed(what: impl Display) -> LlvmError {
        LlvmError::new(code::ILL_FORMED, format!("ill-formed LIR: {what}"))
            .with_help("this is an error in the compiler; please report it with the schedule and the model")
    }
}

impl Display for LlvmError {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, " ({help})"))
    }
}

impl std::error::Error for LlvmError {}

impl From<BuilderError> for LlvmError {
    fn from(error: BuilderError) -> LlvmError {
        LlvmError::ill_formed(error)
    }
}
