//! A processor, and the state that its machine-specific forms share.

use super::carry::EarlierI64Ops;
use super::known_bits::KnownBits;

/// An x86 processor, and the earlier operations of a kernel on which its machine-specific forms depend.
pub(crate) struct X86 {
    /// Instruction sets that code may use, as `CPU_*` bits of the runtime.
    pub(super) cpu_needs: u64,
    /// Whether gathers are so slow that single loads are no slower.
    pub(super) gathers_slowly: bool,
    /// Bounds and bits of earlier integers.
    pub(super) known: KnownBits,
    /// Earlier sums, which additions with carry replace.
    pub(super) sums: EarlierI64Ops,
}

impl X86 {
    /// A processor with these instruction sets.
    pub(crate) fn new(cpu_needs: u64, gathers_slowly: bool) -> X86 {
        X86 { cpu_needs, gathers_slowly, known: KnownBits::default(), sums: EarlierI64Ops::default() }
    }
}
