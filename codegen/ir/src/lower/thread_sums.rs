//! Sums of a thread: started once, kept in registers during the walks, stored once.

use super::kernel_builder::{EmitStmt, KernelBuilder};
use super::launch::emit_guarded;
use super::opening::{is_first, sum_start};
use super::scope::InScope;
use super::sum_target::{KeptSums, SumTarget};
use crate::lir::{Address, BufferId, BuildStmts, Cmp, Ty, Value};
use crate::mir::{Iter, Minuend, StartValue, SumStart, ThreadSums};
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
            k.with_kept_sums(
                KeptSums { of, buffer, margins: target.margins, rows: kept.rows, first_row, loops },
                |k| sums.body.emit(k),
            );
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
            let margin = |k: &mut KernelBuilder| k.b.int(at / kept.rows.max(1));
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

    /// Loads the sums from the target.
    fn load(&self, k: &mut KernelBuilder, buffer: BufferId) {
        let element = self.target.element;
        emit_guarded(k, &self.sums.guards, |k| {
            self.each_piece(k, |k, piece| {
                let ty = Ty::vector(element, piece.lanes);
                let value = k.b.load(ty, Address::element(self.target.buffer, piece.outside, element));
                let kept = k.b.int(piece.kept);
                k.b.store(Address::element(buffer, kept, element), value);
            });
        });
    }

    /// Stores or adds the sums to the target.
    fn store(&self, k: &mut KernelBuilder, buffer: BufferId) {
        let SumTarget { buffer: to, element, atomic, .. } = self.target;
        emit_guarded(k, &self.sums.guards, |k| {
            self.each_piece(k, |k, piece| {
                let kept = k.b.int(piece.kept);
                let ty = Ty::vector(element, piece.lanes);
                let value = k.b.load(ty, Address::element(buffer, kept, element));
                let outside = Address::element(to, piece.outside, element);
                if atomic {
                    k.b.atomic_add(outside, value);
                } else {
                    let value = k.ports.result_of_sum(&mut k.b, to, value);
                    k.b.store(outside, value);
                }
            });
        });
    }

    /// Calls `body` for each piece of the sums of the thread's rows. Rows after the last row of the call are
    /// left out, unless the target has places for them.
    fn each_piece<'a>(
        &self,
        k: &mut KernelBuilder<'a>,
        mut body: impl FnMut(&mut KernelBuilder<'a>, SumsPiece),
    ) {
        let KeptInThread { sums, target, kept } = self;
        let lanes = self.rows_together();
        each_row(k, (&sums.loops, lanes.is_none()), 0, &mut |k, place| {
            let lanes = lanes.unwrap_or(1);
            if place % lanes != 0 {
                return;
            }
            let row = k.affine(&sums.row);
            let first = target.first_margin(&mut k.b, row, None);
            for margin in 0..target.margins {
                let outside = k.b.add_int(first, margin * target.margin_distance);
                body(k, SumsPiece { kept: margin * kept.rows + place, outside, lanes: lanes as u16 });
            }
        });
    }

    /// Number of adjacent rows whose sums are one piece. `None` if each row must be tested to exist.
    fn rows_together(&self) -> Option<i64> {
        let KeptInThread { sums, target, kept } = self;
        let together = target.rows_together.filter(|_| !target.atomic)?;
        let is_whole = sums.loops.iter().all(ends_with_call_alone);
        (is_whole && kept.rows % together.max(1) == 0).then_some(together.max(1))
    }
}

/// Sums of adjacent rows and one margin.
struct SumsPiece {
    /// Index of the first one among the kept sums.
    kept: i64,
    /// Index of the first one in the target.
    outside: Value,
    /// Number of rows.
    lanes: u16,
}

/// Calls `body` for each row of some loops, with the row's index among the kept rows. If `must_exist`, rows
/// after the last row of the call are left out.
fn each_row<'a>(
    k: &mut KernelBuilder<'a>,
    (loops, must_exist): (&[Iter], bool),
    place: i64,
    body: &mut dyn FnMut(&mut KernelBuilder<'a>, i64),
) {
    let Some((iter, inner)) = loops.split_first() else { return body(k, place) };
    let stop = k.loop_end(iter);
    let most = k.ports.largest_end(iter).unwrap_or(iter.start);
    let mut at = iter.start;
    while at < most {
        let value = k.b.int(at);
        let place = place + at - iter.start;
        let mut row = |k: &mut KernelBuilder<'a>| {
            let inner = (inner, must_exist);
            k.with_var(iter.var, InScope::value(value), |k| each_row(k, inner, place, body));
        };
        if must_exist {
            let exists = k.b.cmp(Cmp::Lt, value, stop);
            k.when(exists, row);
        } else {
            row(k);
        }
        at += iter.step;
    }
}

/// Whether only the end of the call can end a loop earlier than in other iterations of the loops around it.
fn ends_with_call_alone(iter: &Iter) -> bool {
    iter.stops.iter().all(|stop| stop.limit == Minuend::Rows || stop.less.vars.is_empty())
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
        let at = target.margin_after(&mut k.b, first, margin);
        let value = k.ports.result_of_sum(&mut k.b, target.buffer, value);
        k.b.store(Address::element(target.buffer, at, target.element), value);
        Vec::new()
    });
}
