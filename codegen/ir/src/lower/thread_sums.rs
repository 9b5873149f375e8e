//! Sums of a thread: started once, kept in registers during the walks, stored once.

use super::kernel_builder::KernelBuilder;
use super::scope::InScope;
use super::sum_target::{KeptSums, SumTarget};
use crate::lir::{Address, BufferId, Build, Cmp, Ty, Value};
use crate::mir::{Iter, Opening, Seed, ThreadSums};
use crate::plan::KeptRows;

impl KernelBuilder<'_> {
    /// Emits the walks of a thread, and the start and the end of their sums.
    pub(super) fn thread_sums(&mut self, sums: &ThreadSums) {
        let target = self.scope.sums(&mut self.b, self.ports, &sums.target);
        match self.ports.lowering.plan.thread_sums.get(&sums.id).copied() {
            Some(kept) => self.kept(sums, &target, kept),
            None => {
                self.begin_in_memory(sums, &target);
                self.block(&sums.body);
            }
        }
    }

    /// Keeps the sums in memory of the thread. All indices are constants, in walks too, so that the
    /// memory becomes registers.
    fn kept(&mut self, sums: &ThreadSums, target: &SumTarget, kept: KeptRows) {
        let (element, margins) = (target.element, target.margins);
        let atomic = Opening::Seed(Seed::Nothing, Vec::new());
        let opening = if target.atomic { &atomic } else { &sums.opening };
        let mut first_row = self.scope.affine(&mut self.b, &sums.row_around());
        first_row = self.b.add_int(first_row, sums.loops.iter().map(|iter| iter.start).sum());
        let bytes = self.b.int(kept.rows * margins * i64::from(element.bytes()));
        self.alloc("thread_sums", element, bytes, |k, buffer| {
            k.begin_kept(sums, opening, target, buffer, kept);
            let of = sums.target.accumulator;
            let loops = sums.loops.iter().map(|iter| (iter.var, iter.start)).collect();
            let outer = k.scope.kept_sums.replace(KeptSums { of, buffer, first_row, loops });
            k.block(&sums.body);
            k.scope.kept_sums = outer;
            k.guarded(&sums.guards, |k| {
                k.each_kept(sums, target, |k, at, outside| {
                    let value = k.kept_sum(buffer, at, target);
                    let outside = Address::element(target.buffer, outside, element);
                    if target.atomic {
                        k.b.atomic_add(outside, value);
                    } else {
                        let value = k.finished(target.buffer, value);
                        k.b.store(outside, value);
                    }
                });
            });
        });
    }

    fn kept_sum(&mut self, buffer: BufferId, at: i64, target: &SumTarget) -> Value {
        let at = self.b.int(at);
        self.b.load(Ty::of(target.element), Address::element(buffer, at, target.element))
    }

    fn begin_kept(
        &mut self,
        sums: &ThreadSums,
        opening: &Opening,
        target: &SumTarget,
        buffer: BufferId,
        kept: KeptRows,
    ) {
        let (seed, firsts) = match opening {
            Opening::Seed(seed, firsts) => (*seed, firsts.as_slice()),
            Opening::Memory => (Seed::Nothing, [].as_slice()),
        };
        let always = Opening::Seed(seed, Vec::new());
        for at in 0..kept.rows * target.margins {
            let value = self.opened(&always, |k| k.b.int(at % target.margins), |k| k.nothing());
            let at = self.b.int(at);
            self.b.store(Address::element(buffer, at, target.element), value);
        }
        let from_memory = |k: &mut Self| {
            k.guarded(&sums.guards, |k| {
                k.each_kept(sums, target, |k, at, outside| {
                    let outside = Address::element(target.buffer, outside, target.element);
                    let value = k.b.load(Ty::of(target.element), outside);
                    let at = k.b.int(at);
                    k.b.store(Address::element(buffer, at, target.element), value);
                });
            });
        };
        if *opening == Opening::Memory {
            return from_memory(self);
        }
        if let Some(first) = self.is_first(firsts) {
            self.if_else(
                first,
                |_| Vec::new(),
                |k| {
                    from_memory(k);
                    Vec::new()
                },
            );
        }
    }

    /// Calls `body` for each sum of the rows that the thread walks, with its index among the kept sums
    /// and in the target.
    fn each_kept(
        &mut self,
        sums: &ThreadSums,
        target: &SumTarget,
        mut body: impl FnMut(&mut Self, i64, Value),
    ) {
        self.each_kept_row(&sums.loops, 0, &mut |k, place| {
            let row = k.scope.affine(&mut k.b, &sums.row);
            let first = target.row(&mut k.b, row, None);
            for margin in 0..target.margins {
                let outside = k.b.add_int(first, margin);
                body(k, place * target.margins + margin, outside);
            }
        });
    }

    fn each_kept_row(&mut self, loops: &[Iter], place: i64, body: &mut dyn FnMut(&mut Self, i64)) {
        let Some((iter, inner)) = loops.split_first() else { return body(self, place) };
        let stop = self.scope.stop(&mut self.b, iter);
        let most = self.ports.most(iter).unwrap_or(iter.start);
        let mut at = iter.start;
        while at < most {
            let value = self.b.int(at);
            let exists = self.b.cmp(Cmp::Lt, value, stop);
            let place = place + at - iter.start;
            self.when(exists, |k| {
                k.with_var(iter.var, InScope::value(value), |k| k.each_kept_row(inner, place, body));
            });
            at += iter.step;
        }
    }

    /// Sets sums in memory to their start.
    fn begin_in_memory(&mut self, sums: &ThreadSums, target: &SumTarget) {
        let Opening::Seed(seed, firsts) = &sums.opening else { return };
        let always = Opening::Seed(*seed, Vec::new());
        let begin =
            |k: &mut Self| k.guarded(&sums.guards, |k| k.begin_rows(sums, &sums.loops, &always, target));
        match self.is_first(firsts) {
            None => begin(self),
            Some(first) => self.when(first, begin),
        }
    }

    fn begin_rows(&mut self, sums: &ThreadSums, loops: &[Iter], opening: &Opening, target: &SumTarget) {
        if let Some((iter, inner)) = loops.split_first() {
            let (lo, hi) = (self.b.int(iter.start), self.scope.stop(&mut self.b, iter));
            self.for_loop((lo, hi, iter.step), &[], |k, value, _| {
                k.with_var(iter.var, InScope::value(value), |k| k.begin_rows(sums, inner, opening, target));
                Vec::new()
            });
            return;
        }
        let row = self.scope.affine(&mut self.b, &sums.row);
        let first = target.row(&mut self.b, row, None);
        let (zero, end) = (self.b.int(0), self.b.int(target.margins));
        self.for_loop((zero, end, 1), &[], |k, margin, _| {
            let value = k.opened(opening, |_| margin, |k| k.nothing());
            let at = k.b.add(first, margin);
            let value = k.finished(target.buffer, value);
            k.b.store(Address::element(target.buffer, at, target.element), value);
            Vec::new()
        });
    }
}
