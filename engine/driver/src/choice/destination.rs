//! The use of compiled code, which decides how long compiling may take.

/// The destination of compiled code and its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeDestination {
    /// Memory, for one call of this number of rows. Compile time counts as much as run time.
    OneCall(usize),
    /// Memory, for calls of unknown sizes.
    Memory,
    /// A file, which is compiled once and called often: code that takes longer to compile pays.
    Artefact,
}
