//! Loops and cases of the host and of threads, and the dispatch of statements.

use super::kernel_builder::{EmitStmt, KernelBuilder};
use super::scope::{InScope, constant_stop};
use super::unroll_and_jam::TreeLoop;
use super::{launch, sums};
use crate::lir::{BuildStmts, Cmp, Task};
use crate::mir::{LoopMode, MirLoop, MirStmt, Var};

/// Largest number of cases that are tested one after the other. More cases are halved by a comparison first.
const MOST_TESTED_ARMS: usize = 8;

impl EmitStmt for [MirStmt] {
    fn emit(&self, k: &mut KernelBuilder) {
        self.iter().for_each(|stmt| stmt.emit(k));
    }
}

impl EmitStmt for MirStmt {
    /// Emits a statement. Kernels without sums skip the statements that set, keep or fold sums.
    fn emit(&self, k: &mut KernelBuilder) {
        let are_sums = k.ports.results.are_sums();
        match self {
            MirStmt::Loop(this) => k.attribute_to_loop(this.iter.var, |k| this.emit(k)),
            MirStmt::Walks(walks) => k.attribute_to_loop(walks.iter.var, |k| walks.emit(k)),
            MirStmt::Case(var, arms) => case(k, *var, arms),
            MirStmt::CacheRows(cache) => cache.emit(k),
            MirStmt::CacheTrees(cache) => cache.emit(k),
            MirStmt::ShareTrees(copy) if are_sums => copy.emit(k),
            MirStmt::ShareTrees(copy) => copy.body.emit(k),
            MirStmt::Base(window) if are_sums => {
                k.attribute_to_task(Task::Sums, |k| sums::fill_base(k, window))
            }
            MirStmt::Launch(launch) => launch.emit(k),
            MirStmt::When(guards, body) => launch::emit_guarded(k, guards, |k| body.emit(k)),
            MirStmt::ThreadSums(thread) if are_sums => thread.emit(k),
            MirStmt::ThreadSums(thread) => thread.body.emit(k),
            MirStmt::Private(private) if are_sums => private.emit(k),
            MirStmt::Private(private) => private.body.emit(k),
            MirStmt::Zero(id, var) if are_sums => {
                k.attribute_to_task(Task::Sums, |k| sums::clear_slot(k, *id, *var))
            }
            MirStmt::ZeroAll(id) if are_sums => {
                k.attribute_to_task(Task::Sums, |k| sums::clear_all_slots(k, *id))
            }
            MirStmt::Fold(fold) if are_sums => k.attribute_to_task(Task::Sums, |k| fold.emit(k)),
            MirStmt::Base(_) | MirStmt::Zero(..) | MirStmt::ZeroAll(_) | MirStmt::Fold(_) => {}
        }
    }
}

impl EmitStmt for MirLoop {
    fn emit(&self, k: &mut KernelBuilder) {
        match self.mode {
            LoopMode::Serial => serial(k, self),
            LoopMode::UnrollAndJam => match TreeLoop::of(k, self) {
                Some(trees) => trees.emit(k),
                None => serial(k, self),
            },
            LoopMode::Parallel => parallel(k, self),
            LoopMode::Unrolled => unrolled(k, self),
            LoopMode::Mapped(mapping) => launch::emit_mapped(k, self, mapping),
        }
    }
}

fn serial(k: &mut KernelBuilder, this: &MirLoop) {
    let (lo, hi) = (k.b.int(this.iter.start), k.loop_end(&this.iter));
    k.for_loop((lo, hi, this.iter.step), &[], |k, value, _| {
        k.with_var(this.iter.var, InScope::value(value), |k| this.body.emit(k));
        Vec::new()
    });
}

fn parallel(k: &mut KernelBuilder, this: &MirLoop) {
    let trip = k.trip(&this.iter);
    k.parallel(trip, |k, iteration| {
        let bound = InScope::of_iteration(&mut k.b, &this.iter, iteration);
        k.with_var(this.iter.var, bound, |k| this.body.emit(k));
    });
}

/// Emits the code of each iteration separately, under a test if the end is not a constant.
fn unrolled(k: &mut KernelBuilder, this: &MirLoop) {
    let stop = k.loop_end(&this.iter);
    let end = constant_stop(&this.iter);
    let mut at = this.iter.start;
    while at < end {
        let value = k.b.int(at);
        let runs = k.b.cmp(Cmp::Lt, value, stop);
        k.when(runs, |k| {
            k.with_var(this.iter.var, InScope::value(value), |k| this.body.emit(k));
        });
        at += this.iter.step;
    }
}

/// Emits the bodies of all cases, of which the variable's value selects one. The last case needs no test,
/// since some case always applies. Many cases are halved first, which limits nesting and the number of tests.
fn case(k: &mut KernelBuilder, var: Var, arms: &[(i64, Vec<MirStmt>)]) {
    if arms.len() > MOST_TESTED_ARMS
        && let (low, high) = arms.split_at(arms.len() / 2)
        && let Some((first, _)) = high.first()
    {
        let current = k.variable(var);
        let first = k.b.int(*first);
        let is_low = k.b.cmp(Cmp::Lt, current, first);
        let half = |half: &[(i64, Vec<MirStmt>)], k: &mut KernelBuilder| {
            case(k, var, half);
            Vec::new()
        };
        k.if_else(is_low, |k| half(low, k), |k| half(high, k));
        return;
    }
    let Some(((value, body), rest)) = arms.split_first() else { return };
    if rest.is_empty() {
        return body.emit(k);
    }
    let current = k.variable(var);
    let this = k.b.int(*value);
    let is_this = k.b.cmp(Cmp::Eq, current, this);
    k.if_else(
        is_this,
        |k| {
            body.emit(k);
            Vec::new()
        },
        |k| {
            case(k, var, rest);
            Vec::new()
        },
    );
}
