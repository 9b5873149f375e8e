//! What a run may use up.

/// What a run may use up, and how it goes about what is left open.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many steps a run may take. Statements, iterations, and every 64 bytes of temporary memory are one
    /// each.
    pub steps: u64,
    /// How many bytes of temporary memory may be alive at a time.
    pub memory: u64,
    /// Picks the order of the iterations of parallel loops.
    pub seed: u64,
    /// Whether the input is columns, one behind the other, and not rows.
    pub columns: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { steps: 100_000_000, memory: 256 << 20, seed: 0, columns: false }
    }
}
