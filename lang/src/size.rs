//! Size of the code of a schedule.

/// Size of the expanded code of a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeSize {
    /// Number of separate copies of walks.
    pub walks: u64,
    /// Estimated number of instructions of intermediate code.
    pub instructions: u64,
    /// Estimated number of loops.
    pub loops: u64,
}
