//! Registers that the threads of a launch need.

use super::Builder;

/// Registers of a thread that has one sum: as many threads as a multiprocessor can run then fit.
const REGISTERS: u32 = 32;
/// Registers are assigned in multiples of this number.
const REGISTER_UNIT: u32 = 8;
/// Most registers that a launch asks for.
const MOST_REGISTERS: u32 = 64;

impl Builder {
    /// Lets threads of the current launch have registers for `sums` sums beside those of their walks.
    pub fn keep_sums_in_registers(&mut self, sums: i64) {
        let sums = u32::try_from(sums).unwrap_or(MOST_REGISTERS);
        let registers = REGISTERS.saturating_add(sums).next_multiple_of(REGISTER_UNIT).min(MOST_REGISTERS);
        self.registers = self.registers.max(Some(registers));
    }
}
