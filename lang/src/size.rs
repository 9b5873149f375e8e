//! How much code a schedule asks for.

/// The code that a schedule asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Walks that are written out, each with code of its own.
    pub walks: u64,
    /// About how many instructions of intermediate code they have together.
    pub instructions: u64,
    /// About how many loops there are in it.
    pub loops: u64,
}
