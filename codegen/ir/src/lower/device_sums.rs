//! Slots in a GPU's memory, and their folds: by a separate launch, or by the threads of a block.

use super::elements::launch_over;
use super::kernel_builder::KernelBuilder;
use super::shared::most_shared;
use super::sum_target::{PrivateBuffer, SumTarget};
use crate::lir::{Address, Bin, Build, Cmp, Space, Ty, Value};
use crate::mir::{Iter, Limit, Opening, Private, PrivateId, Seed};

/// Operands of a fold on a device.
#[derive(Clone, Copy)]
pub(super) struct DeviceFold<'f> {
    pub(super) private: &'f PrivateBuffer,
    /// Number of slots.
    pub(super) slots: Value,
    pub(super) into: &'f SumTarget,
    /// Index in the target to which the first sum of each slot is added.
    pub(super) first: Value,
    /// Start of the target's sums.
    pub(super) opening: &'f Opening,
}

impl KernelBuilder<'_> {
    /// Sets the `count` sums of a buffer to -0.0 in a launch.
    pub(super) fn clear_on_device(&mut self, id: PrivateId, private: &PrivateBuffer, count: Value) {
        let (element, buffer, nothing) = (self.ports.accumulator, private.buffer, self.nothing());
        launch_over(self, &format!("clear{}", id.0), count, |k, index| {
            k.b.store(Address::element(buffer, index, element), nothing);
        });
    }

    /// Adds slots to a target in their order, in a launch with one thread per sum.
    pub(super) fn fold_on_device(&mut self, id: PrivateId, fold: DeviceFold) {
        launch_over(self, &format!("fold{}", id.0), fold.private.slot_size, |k, index| {
            k.fold_sum(fold, index);
        });
    }

    /// Adds slots to a target in their order, by the threads of a block.
    pub(super) fn fold_in_block(&mut self, fold: DeviceFold, threads: [u32; 3]) {
        self.b.barrier();
        let team = self.team(threads);
        let count = fold.private.held;
        self.for_loop((team.thread, count, team.count), &[], |k, index, _| {
            k.fold_sum(fold, index);
            Vec::new()
        });
    }

    /// Sets slots in shared memory to -0.0.
    pub(super) fn clear_in_block(&mut self, private: &PrivateBuffer) {
        let (element, buffer, nothing) = (self.ports.accumulator, private.buffer, self.nothing());
        let team = self.team(self.threads.unwrap_or([1; 3]));
        let end = self.b.mul(private.slots, private.slot_size);
        self.for_loop((team.thread, end, team.count), &[], |k, index, _| {
            k.b.store(Address::element(buffer, index, element), nothing);
            Vec::new()
        });
        self.b.barrier();
    }

    /// Folds one sum of the target: its start, then the slots.
    fn fold_sum(&mut self, fold: DeviceFold, index: Value) {
        let DeviceFold { private, slots, into, first, opening } = fold;
        let element = self.ports.accumulator;
        let target = self.b.add(first, index);
        let at = Address::element(into.buffer, target, element);
        let begin = if into.atomic {
            self.nothing()
        } else {
            let margins = self.ports.margins();
            self.opened(
                opening,
                |k| {
                    let per_row = k.b.int(margins);
                    let row = k.b.bin(Bin::IDiv, target, per_row);
                    let before = k.b.mul(row, per_row);
                    k.b.sub(target, before)
                },
                |k| k.b.load(Ty::of(element), at),
            )
        };
        let zero = self.b.int(0);
        let sum = self.for_loop((zero, slots, 1), &[begin], |k, slot, sum| {
            let before = k.b.mul(slot, private.slot_size);
            let source = k.b.add(before, index);
            let part = k.b.load(Ty::of(element), Address::element(private.buffer, source, element));
            vec![k.b.add(sum[0], part)]
        });
        if into.atomic {
            self.b.atomic_add(at, sum[0]);
        } else {
            let sum = self.finished(into.buffer, sum[0]);
            self.b.store(at, sum);
        }
    }

    /// Start of a sum: the seed of a margin, or the value in memory.
    pub(super) fn opened(
        &mut self,
        opening: &Opening,
        margin: impl FnOnce(&mut Self) -> Value,
        memory: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        let Opening::Seed(seed, firsts) = opening else { return memory(self) };
        let seed = |k: &mut Self| match seed {
            Seed::Nothing => k.nothing(),
            Seed::Base => k.base_of(margin),
        };
        match self.is_first(firsts) {
            None => seed(self),
            Some(first) => self.if_else(first, |k| vec![seed(k)], |k| vec![memory(k)])[0],
        }
    }

    /// Whether all loops are in their first iterations; `None` if there are no loops.
    pub(super) fn is_first(&mut self, loops: &[Iter]) -> Option<Value> {
        let mut all = None;
        for iter in loops {
            let (value, start) = (self.scope.value(&mut self.b, iter.var), self.b.int(iter.start));
            let first = self.b.cmp(Cmp::Eq, value, start);
            all = Some(all.map_or(first, |all| self.b.bin(Bin::And, all, first)));
        }
        all
    }

    /// Base value of a margin.
    fn base_of(&mut self, margin: impl FnOnce(&mut Self) -> Value) -> Value {
        let ty = Ty::of(self.ports.accumulator);
        let bases = &self.ports.lowering.hir.forest.base;
        let Some(table) = self.ports.base else {
            return self.b.float(ty, bases.first().copied().unwrap_or(0.0));
        };
        let margin = margin(self);
        match self.b.as_int(margin).and_then(|margin| bases.get(usize::try_from(margin).ok()?)) {
            Some(base) => self.b.float(ty, *base),
            None => self.b.load(ty, Address::element(table, margin, self.ports.accumulator)),
        }
    }

    /// Allocates slots in shared memory, and emits the body.
    pub(super) fn shared_private(&mut self, private: &Private) {
        let rows = self.scope.window(&mut self.b, &private.window);
        let (element, margins) = (self.ports.accumulator, self.ports.margins());
        let mut slots = 1;
        let mut loops = Vec::with_capacity(private.slots.len());
        for iter in &private.slots {
            let trips = constant_trips(iter);
            slots *= trips;
            loops.push((iter.var, self.b.int(trips)));
        }
        let slots = private.filled.unwrap_or(slots);
        let most = private.window.high.map_or(0, |high| high - private.window.low);
        let bytes = slots.saturating_mul(most).saturating_mul(margins).saturating_mul(element.bytes().into());
        let bytes = self.b.int(most_shared(bytes));
        let held = self.b.mul_int(rows.count, margins);
        let (slots, slot_size) = (self.b.int(slots), self.b.int(most * margins));
        self.alloc_in(Space::Shared, "shared_sums", element, bytes, |k, buffer| {
            let first_row = rows.first;
            let made = PrivateBuffer { buffer, slots, loops, first_row, slot_size, held };
            k.scope.privates.insert(private.id, made);
            k.block(&private.body);
            k.scope.privates.remove(&private.id);
            // Later allocations may reuse this memory.
            k.b.barrier();
        });
    }
}

/// Number of iterations of a loop with a constant end.
fn constant_trips(iter: &Iter) -> i64 {
    let end = |stop: &crate::mir::Bound| match stop.limit {
        Limit::Const(limit) => Some(limit - stop.less.plus),
        Limit::Rows => None,
    };
    let stop = iter.stops.iter().filter_map(end).min().unwrap_or(iter.start);
    ((stop - iter.start + iter.step - 1) / iter.step).max(0)
}
