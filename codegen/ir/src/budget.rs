//! What bounds a compilation, and what it is told of the machine that code is for.

/// Bounds on what a compilation may build, tables and scratch in bytes, and what its machine is like.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// What vectors of rows take to fetch what they compare.
    pub fetch: FetchCosts,
}

impl Default for Budget {
    /// 1 GiB of tables, 64 MiB of scratch.
    fn default() -> Self {
        Budget {
            tables: sched_nest::footprint::TABLES,
            scratch: 64 << 20,
            narrow_indices: false,
            base_is_given: false,
            fetch: FetchCosts::default(),
        }
    }
}

/// What the parts of a fetch take on a machine, in any unit that all share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FetchCosts {
    /// Bytes of a register.
    pub register: u16,
    /// To load a register, or a number.
    pub load: f64,
    /// To choose between two registers, lane by lane.
    pub choose: f64,
    /// To test a bit of each lane of a register.
    pub test: f64,
    /// To look up a register of bytes in 16, 32, 64 and 128 bytes.
    pub look_up: [f64; 4],
    /// To load one lane from a place of its own.
    pub gather: f64,
    /// To make a register of words of bytes, or bytes of it.
    pub convert: f64,
}

impl Default for FetchCosts {
    /// Instructions, where registers have 512 bits.
    fn default() -> FetchCosts {
        FetchCosts {
            register: 64,
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
    /// Registers of so many bytes.
    pub fn registers(&self, bytes: u16) -> f64 {
        f64::from(bytes.div_ceil(self.register.max(1)))
    }

    /// To look up a byte for each of `lanes` rows among those of a level's nodes.
    pub fn look_up(&self, nodes: u64, lanes: u16) -> f64 {
        let size = nodes.next_power_of_two().ilog2().saturating_sub(4) as usize;
        let [.., longest] = self.look_up;
        self.registers(lanes) * self.look_up.get(size).copied().unwrap_or(longest)
    }
}
