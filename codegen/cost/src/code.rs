//! Code size of kernels.

use crate::machine::Machine;
use sched_ir::lir::{Block, Function, Op, Scalar, Stmt};

/// Bytes of a vector instruction with prefix, address and displacement: a typical length of AVX-512
/// encodings. With larger values, groups of eight interleaved vectors would seem too long for the instruction
/// cache.
const INSTRUCTION_BYTES: f64 = 7.0;

/// Share of the instruction cache that one straight-line part may fill. The code around it, and other
/// programs' code, take the rest. On Zen 5, whose cache has 32 KiB, a part of 22 KiB took 1.5 times as long
/// in processes with unlucky page addresses.
const CODE_CACHE_SHARE: f64 = 0.75;

/// Whether each straight-line part of a function fits the machine's first-level instruction cache, beside
/// other code.
pub fn fits_code_cache(function: &Function, machine: &Machine) -> bool {
    INSTRUCTION_BYTES * longest_block(function, machine) <= CODE_CACHE_SHARE * machine.code_cache_bytes
}

/// Instructions of the longest straight-line part, roughly: an operation counts once for each register of its
/// result.
fn longest_block(function: &Function, machine: &Machine) -> f64 {
    let mut longest = instructions(&function.body, function, machine);
    Stmt::visit_all(&function.body, |stmt| {
        for block in stmt.blocks() {
            longest = longest.max(instructions(block, function, machine));
        }
    });
    longest
}

/// Instructions of the operations of a block, without those of the loops in it.
fn instructions(block: &Block, function: &Function, machine: &Machine) -> f64 {
    let register = f64::from(machine.register_bits / 8);
    let of = |stmt: &Stmt| match stmt {
        Stmt::Let(_, Op::Int(_) | Op::Float(_) | Op::Splat(_) | Op::Iota) => 0.0,
        Stmt::Let(value, _) => {
            let ty = function.ty(*value);
            if ty.scalar == Scalar::I1 { 1.0 } else { (f64::from(ty.bytes()) / register).max(1.0) }
        }
        _ => 1.0,
    };
    block.iter().map(of).sum()
}
