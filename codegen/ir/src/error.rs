//! Why a model and a schedule cannot be compiled together.

use std::fmt::{self, Display, Formatter};

/// A refusal, as plain data: a stable code, what is wrong, and a way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    /// `C0001` and so on; codes are never reused.
    pub code: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What to do instead.
    pub help: String,
}

impl CompileError {
    /// Trees with category splits reached a representation that has none.
    pub const CATEGORY: &'static str = "C0001";
    /// A representation would exceed the memory budget.
    pub const LAYOUT_BUDGET: &'static str = "C0002";
    /// Padding for straight-line walks would exceed the memory budget.
    pub const PAD_BUDGET: &'static str = "C0003";
    /// Private copies of the result would exceed the memory budget.
    pub const PRIVATE_BUDGET: &'static str = "C0004";
    /// The nest still depends on facts of a model.
    pub const SYMBOLIC: &'static str = "C0005";
    /// The nest expands to too much code.
    pub const CODE_SIZE: &'static str = "C0006";
    /// Tiles by probability without a profile of all leaves.
    pub const NO_PROFILE: &'static str = "C0007";
    /// Tiles of nodes where walks or a layout have single nodes.
    pub const SINGLE_NODES: &'static str = "C0008";
    /// A layout that no code generator has.
    pub const NOT_LOWERED: &'static str = "C0009";

    /// Whether it is a mistake of the compiler: a nest that was checked with its model has no unknown facts.
    pub fn is_internal(&self) -> bool {
        self.code == CompileError::SYMBOLIC
    }

    pub(crate) fn new(
        code: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> CompileError {
        CompileError { code, message: message.into(), help: help.into() }
    }
}

impl Display for CompileError {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "{}: {}\n  help: {}", self.code, self.message, self.help)
    }
}

impl std::error::Error for CompileError {}

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
}

impl Default for Budget {
    /// 1 GiB of tables, 64 MiB of scratch.
    fn default() -> Self {
        Budget { tables: sched_nest::footprint::TABLES, scratch: 64 << 20, narrow_indices: false }
    }
}
