//! Registers that the threads of a launch need, and the shared memory of its blocks.

use super::Builder;
use crate::lir::{SHARED_ALIGNMENT, Space, Value};

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

    /// Bytes of shared memory of the current launch so far.
    pub fn shared_bytes(&self) -> u64 {
        self.shared_bytes
    }

    /// Counts the bytes of a buffer, if it is in shared memory.
    pub fn count_shared_bytes(&mut self, space: Space, bytes: Value) {
        if space == Space::Shared {
            let bytes = self.as_int(bytes).and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(u64::MAX);
            let bytes = bytes.checked_next_multiple_of(SHARED_ALIGNMENT).unwrap_or(u64::MAX);
            self.shared_bytes = self.shared_bytes.saturating_add(bytes);
        }
    }
}
