//! Code of a GPU: loops whose iterations are blocks or threads, and guards.

use super::kernel_builder::{EmitStmt, KernelBuilder};
use super::scope::InScope;
use crate::fault::{Fault, seeded};
use crate::lir::{Bin, BuildStmts, Cmp, GpuAxis, GpuDimension, GpuLevel};
use crate::mir::{GpuMapping, Guard, MirLoop};
use crate::rows::BlockThreads;

/// Emits a mapped loop: each block or thread runs at most one iteration.
pub(super) fn emit_mapped(k: &mut KernelBuilder, this: &MirLoop, mapping: GpuMapping) {
    let iteration = k.b.id(mapping.dimension);
    let bound = InScope::of_iteration(&mut k.b, &this.iter, iteration);
    let body = |k: &mut KernelBuilder| k.with_var(this.iter.var, bound, |k| this.body.emit(k));
    if !mapping.needs_guard || seeded(Fault::GuardDropped) {
        return body(k);
    }
    let stop = k.loop_end(&this.iter);
    let exists = k.b.cmp(Cmp::Lt, bound.value, stop);
    k.when(exists, body);
}

/// Emits statements that only some blocks or threads run.
pub(super) fn emit_guarded<'a>(
    k: &mut KernelBuilder<'a>,
    guards: &[Guard],
    body: impl FnOnce(&mut KernelBuilder<'a>),
) {
    let mut all = None;
    for guard in guards {
        let holds = match guard {
            Guard::First(dimension) => {
                let (id, zero) = (k.b.id(*dimension), k.b.int(0));
                k.b.cmp(Cmp::Eq, id, zero)
            }
            Guard::Is(var, value) => {
                let (current, value) = (k.variable(*var), k.b.int(*value));
                k.b.cmp(Cmp::Eq, current, value)
            }
            Guard::Exists(iter) => {
                let value = k.variable(iter.var);
                let stop = k.loop_end(iter);
                k.b.cmp(Cmp::Lt, value, stop)
            }
        };
        all = Some(all.map_or(holds, |all| k.b.bin(Bin::And, all, holds)));
    }
    match all.filter(|_| !seeded(Fault::GuardDropped)) {
        Some(all) => k.when(all, body),
        None => body(k),
    }
}

/// Number of the current thread in its block, and number of threads of the block. Numbers grow fastest in
/// dimension x.
pub(super) fn block_threads(k: &mut KernelBuilder, threads: [u32; 3]) -> BlockThreads {
    let mut thread = k.b.int(0);
    for (axis, extent) in [GpuAxis::Z, GpuAxis::Y, GpuAxis::X].into_iter().zip(threads.into_iter().rev()) {
        thread = k.b.mul_int(thread, extent.into());
        if extent > 1 {
            let id = k.b.id(GpuDimension { level: GpuLevel::Block, axis });
            thread = k.b.add(thread, id);
        }
    }
    BlockThreads { thread, count: threads.iter().map(|extent| i64::from(*extent)).product() }
}
