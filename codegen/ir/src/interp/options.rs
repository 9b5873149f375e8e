//! Limits and options of a run.

/// Limits of a run, and choices that LIR leaves open.
#[derive(Clone, Copy, Debug)]
pub struct InterpreterOptions {
    /// Largest number of steps of a run. Each statement, each iteration, and every 64 bytes of temporary
    /// memory are a step.
    pub max_steps: u64,
    /// Largest number of bytes of temporary memory at a time.
    pub max_memory: u64,
    /// Seed of the order of parallel iterations, and of blocks and threads of launches.
    pub seed: u64,
    /// Whether the input is one column after the other, instead of rows.
    pub input_is_columns: bool,
    /// Whether the output holds initial margins, to which the function adds. Otherwise it must write its
    /// output before it reads it.
    pub adds_to_output: bool,
}

impl Default for InterpreterOptions {
    fn default() -> InterpreterOptions {
        InterpreterOptions {
            max_steps: 100_000_000,
            max_memory: 256 << 20,
            seed: 0,
            input_is_columns: false,
            adds_to_output: false,
        }
    }
}
