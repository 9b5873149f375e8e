//! Sums of a thread: started once, kept in registers during the walks, stored once.

use super::kernel_builder::{EmitStmt, KernelBuilder};
use super::launch::emit_guarded;
use super::opening::{is_first, sum_start};
use super::scope::InScope;
use super::sum_target::{KeptSums, SumTarget};
use crate::lir::{Address, BufferId, BuildStmts, Cmp, Ty, Value};
use crate::mir::{Iter, StartValue, SumStart, ThreadSums};
use crate::plan::ThreadRegisterSums;

impl EmitStmt for ThreadSums {
    /// Emits the walks of a thread, with code before that starts their sums and code after that stores them.
    fn emit(&self, k: &mut KernelBuilder) {
        let target = k.sums(&self.target);
        match k.ports.lowering.plan.thread_sums.get(&self.id).copied() {
            Some(kept) => KeptInThread { sums: self, target, kept }.emit(k),
            None => {
                begin_in_memory(k, self, &target);
                self.body.emit(k);
            }
        }
    }
}

/// Sums of a thread in the thread's own memory. All indices into it are constants, even in walks, so that
/// LLVM replaces the memory by registers.
struct KeptInThread<'s> {
    sums: &'s ThreadSums,
    target: SumTarget,
    kept: ThreadRegisterSums,
}

impl EmitStmt for KeptInThread<'_> {
    fn emit(&self, k: &mut KernelBuilder) {
        let KeptInThread { sums, target, kept } = self;
        let mut first_row = k.affine(&sums.outer_row());
        first_row = k.b.add_int(first_row, sums.loops.iter().map(|iter| iter.start).sum());
        let bytes = k.b.int(kept.rows * target.margins * i64::from(target.element.bytes()));
        k.alloc("thread_sums", target.element, bytes, |k, buffer| {
            self.begin(k, buffer);
            let of = sums.target.accumulator;
            let loops = sums.loops.iter().map(|iter| (iter.var, iter.start)).collect();
            k.with_kept_sums(KeptSums { of, buffer, first_row, loops }, |k| sums.body.emit(k));
            self.store(k, buffer);
        });
    }
}

impl KeptInThread<'_> {
    /// Starts the sums: with a start value, or with the sums in the target.
    fn begin(&self, k: &mut KernelBuilder, buffer: BufferId) {
        let KeptInThread { sums, target, kept } = self;
        let atomic = SumStart::Value(StartValue::NegativeZero, Vec::new());
        let start = if target.atomic { &atomic } else { &sums.start };
        let (first_value, firsts) = match start {
            SumStart::Value(first_value, firsts) => (*first_value, firsts.as_slice()),
            SumStart::Memory => (StartValue::NegativeZero, [].as_slice()),
        };
        let always = SumStart::Value(first_value, Vec::new());
        for at in 0..kept.rows * target.margins {
            let margin = |k: &mut KernelBuilder| k.b.int(at % target.margins);
            let value = sum_start(k, &always, margin, |k| k.ports.empty_sum(&mut k.b));
            let at = k.b.int(at);
            k.b.store(Address::element(buffer, at, target.element), value);
        }
        if *start == SumStart::Memory {
            return self.load(k, buffer);
        }
        if let Some(first) = is_first(k, firsts) {
            k.if_else(
                first,
                |_| Vec::new(),
                |k| {
                    self.load(k, buffer);
                    Vec::new()
                },
            );
        }
    }

    /// Loads the sums of existing rows from the target.
    fn load(&self, k: &mut KernelBuilder, buffer: BufferId) {
        let element = self.target.element;
        emit_guarded(k, &self.sums.guards, |k| {
            self.each_sum(k, |k, at, outside| {
                let outside = Address::element(self.target.buffer, outside, element);
                let value = k.b.load(Ty::of(element), outside);
                let at = k.b.int(at);
                k.b.store(Address::element(buffer, at, element), value);
            });
        });
    }

    /// Stores or adds the sums of existing rows to the target.
    fn store(&self, k: &mut KernelBuilder, buffer: BufferId) {
        let SumTarget { buffer: to, element, atomic, .. } = self.target;
        emit_guarded(k, &self.sums.guards, |k| {
            self.each_sum(k, |k, at, outside| {
                let at = k.b.int(at);
                let value = k.b.load(Ty::of(element), Address::element(buffer, at, element));
                let outside = Address::element(to, outside, element);
                if atomic {
                    k.b.atomic_add(outside, value);
                } else {
                    let value = k.ports.result_of_sum(&mut k.b, to, value);
                    k.b.store(outside, value);
                }
            });
        });
    }

    /// Calls `body` for each sum of the rows that the thread walks, with the sum's index among the kept sums
    /// and in the target.
    fn each_sum<'a>(
        &self,
        k: &mut KernelBuilder<'a>,
        mut body: impl FnMut(&mut KernelBuilder<'a>, i64, Value),
    ) {
        let KeptInThread { sums, target, .. } = self;
        each_row(k, &sums.loops, 0, &mut |k, place| {
            let row = k.affine(&sums.row);
            let first = target.first_margin(&mut k.b, row, None);
            for margin in 0..target.margins {
                let outside = k.b.add_int(first, margin);
                body(k, place * target.margins + margin, outside);
            }
        });
    }
}

/// Calls `body` for each existing row of some loops, with the row's index among the kept rows.
fn each_row<'a>(
    k: &mut KernelBuilder<'a>,
    loops: &[Iter],
    place: i64,
    body: &mut dyn FnMut(&mut KernelBuilder<'a>, i64),
) {
    let Some((iter, inner)) = loops.split_first() else { return body(k, place) };
    let stop = k.loop_end(iter);
    let most = k.ports.largest_end(iter).unwrap_or(iter.start);
    let mut at = iter.start;
    while at < most {
        let value = k.b.int(at);
        let exists = k.b.cmp(Cmp::Lt, value, stop);
        let place = place + at - iter.start;
        k.when(exists, |k| {
            k.with_var(iter.var, InScope::value(value), |k| each_row(k, inner, place, body));
        });
        at += iter.step;
    }
}

/// Sets sums in memory to their start values.
fn begin_in_memory(k: &mut KernelBuilder, sums: &ThreadSums, target: &SumTarget) {
    let SumStart::Value(first_value, firsts) = &sums.start else { return };
    let always = SumStart::Value(*first_value, Vec::new());
    let begin = |k: &mut KernelBuilder| {
        emit_guarded(k, &sums.guards, |k| begin_rows(k, sums, &sums.loops, &always, target));
    };
    match is_first(k, firsts) {
        None => begin(k),
        Some(first) => k.when(first, begin),
    }
}

fn begin_rows(
    k: &mut KernelBuilder,
    sums: &ThreadSums,
    loops: &[Iter],
    start: &SumStart,
    target: &SumTarget,
) {
    if let Some((iter, inner)) = loops.split_first() {
        let (lo, hi) = (k.b.int(iter.start), k.loop_end(iter));
        k.for_loop((lo, hi, iter.step), &[], |k, value, _| {
            k.with_var(iter.var, InScope::value(value), |k| begin_rows(k, sums, inner, start, target));
            Vec::new()
        });
        return;
    }
    let row = k.affine(&sums.row);
    let first = target.first_margin(&mut k.b, row, None);
    let (zero, end) = (k.b.int(0), k.b.int(target.margins));
    k.for_loop((zero, end, 1), &[], |k, margin, _| {
        let value = sum_start(k, start, |_| margin, |k| k.ports.empty_sum(&mut k.b));
        let at = k.b.add(first, margin);
        let value = k.ports.result_of_sum(&mut k.b, target.buffer, value);
        k.b.store(Address::element(target.buffer, at, target.element), value);
        Vec::new()
    });
}
