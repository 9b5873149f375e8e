//! Forms of operations for x86.
//!
//! - Shuffles of registers look up short tables (`plan.rs`, `lookup.rs`, `permute.rs`), and extract halves of
//!   lanes from two registers at once (`permute.rs`).
//! - An addition with carry adds a tested bit (`carry.rs`).
//! - A select makes numbers of masks (`mask.rs`).
//! - Gathers wait for no mask, or are single loads on processors with slow gathers (`gather.rs`).

mod carry;
mod gather;
mod isa;
mod known_bits;
mod lookup;
mod mask;
mod permute;
mod plan;
mod processor;

pub(super) use processor::X86;
