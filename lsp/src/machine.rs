//! The machine that the server runs on: the target of schedules that name none.

use sched_machines::Level;

/// Bits of this machine's vector registers. `None` if its processor has none of the known levels.
pub fn vector_bits() -> Option<u32> {
    Level::of(Level::host()).map(Level::register_bits)
}
