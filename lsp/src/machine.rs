//! The machine that the server runs on, which is the one that a schedule without a target is for.

use sched_machines::Level;

/// Bits of this machine's vector registers. `None` if its processor has none of the known levels.
pub fn vector_bits() -> Option<u32> {
    Level::of(Level::host()).map(Level::register_bits)
}
