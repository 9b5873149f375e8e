//! Limits of a compilation, and properties of the machine that it generates code for.

/// Largest number of trees whose walks unroll-and-jam interleaves, if their nodes are looked up in vector
/// registers. The tables of eight trees exceed the registers: on Zen 5, the code was twice as long and no
/// faster.
pub const MOST_LOOKUP_TREES: u32 = 4;

/// Limits on tables and scratch memory in bytes, and properties of the target machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Largest number of bytes of all tables of the model together, padding included.
    pub tables: u64,
    /// Largest number of bytes of private sums and copied rows in one run of the nest. If this memory grows
    /// with the number of rows, runs have fewer rows.
    pub scratch: u64,
    /// Whether indices have 32 bits instead of 64, as on machines with 32-bit registers. Runs have at most as
    /// many rows as such indices reach.
    pub narrow_indices: bool,
    /// Whether sums start from values that the caller puts in the output, instead of the model's base
    /// values.
    pub base_is_given: bool,
    /// Costs of fetching operands in vectors of rows.
    pub fetch: FetchCosts,
}

impl Default for Budget {
    /// 1 GiB of tables, 64 MiB of scratch.
    fn default() -> Self {
        Budget {
            tables: sched_nest::footprint::MAX_TABLE_BYTES,
            scratch: 64 << 20,
            narrow_indices: false,
            base_is_given: false,
            fetch: FetchCosts::default(),
        }
    }
}

/// Costs of the instructions of a fetch on a machine, all in one unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FetchCosts {
    /// Bytes of a vector register.
    pub register_bytes: u16,
    /// Cost of loading a register, or a scalar.
    pub load: f64,
    /// Cost of selecting between two registers, lane by lane.
    pub choose: f64,
    /// Cost of testing a bit of each lane of a register.
    pub test: f64,
    /// Cost of a table look-up for a register of bytes, in 16, 32, 64 and 128 bytes.
    pub look_up: [f64; 4],
    /// Cost of a gather per lane.
    pub gather: f64,
    /// Cost of widening bytes to a register of words, or of narrowing them.
    pub convert: f64,
}

impl Default for FetchCosts {
    /// Instruction counts with 512-bit registers.
    fn default() -> FetchCosts {
        FetchCosts {
            register_bytes: 64,
            load: 1.0,
            choose: 1.0,
            test: 1.0,
            look_up: [1.0, 1.0, 1.0, 2.0],
            gather: 1.375,
            convert: 4.0,
        }
    }
}

impl FetchCosts {
    /// Number of registers that hold `bytes` bytes.
    pub fn registers(&self, bytes: u16) -> f64 {
        f64::from(bytes.div_ceil(self.register_bytes.max(1)))
    }

    /// Cost of looking up a byte for each of `lanes` rows in a table of one byte per node of a level.
    pub fn level_lookup(&self, nodes: u64, lanes: u16) -> f64 {
        let size = nodes.next_power_of_two().ilog2().saturating_sub(4) as usize;
        let [.., longest] = self.look_up;
        self.registers(lanes) * self.look_up.get(size).copied().unwrap_or(longest)
    }
}
