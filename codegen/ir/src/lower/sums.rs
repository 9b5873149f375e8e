//! Accumulators: base values of the output, private slots, and folds.

use super::device_sums::DeviceFold;
use super::kernel_builder::KernelBuilder;
use super::sum_target::{CopiedSums, PrivateBuffer, SumTarget};
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, BufferId, Build, Scalar, Task, Ty, Value};
use crate::mir::{Fold, Private, PrivateId, Var, Window};
use crate::rows::CopiedRows;

/// Indices of a fold: first sum of the slot and of the target.
#[derive(Clone, Copy)]
struct FoldAt {
    slot: Value,
    into: Value,
}

impl KernelBuilder<'_> {
    /// Sets the margins of some rows to their base values.
    pub(super) fn fill_base(&mut self, window: &Window) {
        let (first, end) = if window.is_whole() {
            let rows = self.b.rows();
            (self.b.int(0), rows)
        } else {
            let rows = self.scope.window(&mut self.b, window);
            (rows.first, self.b.add(rows.first, rows.count))
        };
        let (out, element) = (self.ports.out, self.ports.accumulator);
        let Some(base) = self.ports.base else {
            let base = self.ports.lowering.hir.forest.base.first().copied().unwrap_or(0.0);
            let value = self.b.float(Ty::of(element), base);
            let value = self.finished(out, value);
            self.for_loop((first, end, 1), &[], |k, row, _| {
                k.b.store(Address::element(out, row, element), value);
                Vec::new()
            });
            return;
        };
        let margins = self.ports.margins();
        self.for_loop((first, end, 1), &[], |k, row, _| {
            let (zero, end, first) = (k.b.int(0), k.b.int(margins), k.b.mul_int(row, margins));
            k.for_loop((zero, end, 1), &[], |k, margin, _| {
                let value = k.b.load(Ty::of(element), Address::element(base, margin, element));
                let index = k.b.add(first, margin);
                let value = k.finished(out, value);
                k.b.store(Address::element(out, index, element), value);
                Vec::new()
            });
            Vec::new()
        });
    }

    /// Copies the sums of the rows of a copy to blocks for the walks inside, and writes them back.
    pub(super) fn cache_sums(&mut self, rows: CopiedRows, block: u32, body: impl FnOnce(&mut Self)) {
        let (margins, element, out) = (self.ports.margins(), self.ports.accumulator, self.ports.out);
        let elements = self.b.mul_int(rows.held, margins);
        let bytes = self.b.mul_int(elements, i64::from(element.bytes()));
        self.alloc("cached_sums", element, bytes, |k, buffer| {
            k.each_sum(rows, block, |k, outside, at| {
                let value = k.b.load(Ty::of(element), Address::element(out, outside, element));
                k.b.store(Address::element(buffer, at, element), value);
            });
            let outer = k.scope.copied_sums.replace(CopiedSums { buffer, first_row: rows.first, block });
            body(k);
            k.scope.copied_sums = outer;
            k.each_sum(rows, block, |k, outside, at| {
                let value = k.b.load(Ty::of(element), Address::element(buffer, at, element));
                k.b.store(Address::element(out, outside, element), value);
            });
        });
    }

    /// Calls `body` for each margin of the rows of a copy, with its index in the output and in the
    /// blocks.
    fn each_sum(&mut self, rows: CopiedRows, block: u32, body: impl FnMut(&mut Self, Value, Value)) {
        self.doing(Task::Sums, |k| k.of_each_sum(rows, block, body));
    }

    fn of_each_sum(&mut self, rows: CopiedRows, block: u32, mut body: impl FnMut(&mut Self, Value, Value)) {
        let margins = self.ports.margins();
        let zero = self.b.int(0);
        self.for_loop((zero, rows.count, 1), &[], |k, row, _| {
            let size = k.b.int(i64::from(block));
            let number = k.b.bin(Bin::IDiv, row, size);
            let start = k.b.mul(number, size);
            let lane = k.b.sub(row, start);
            let start = k.b.mul_int(start, margins);
            let inside = k.b.add(start, lane);
            let row = k.b.add(rows.first, row);
            let outside = k.b.mul_int(row, margins);
            let (zero, end) = (k.b.int(0), k.b.int(margins));
            k.for_loop((zero, end, 1), &[], |k, margin, _| {
                let outside = k.b.add(outside, margin);
                let column = k.b.mul_int(margin, i64::from(block));
                let at = k.b.add(inside, column);
                body(k, outside, at);
                Vec::new()
            });
            Vec::new()
        });
    }

    /// Allocates one slot of sums for each iteration of the loop inside, and emits the body.
    pub(super) fn private(&mut self, private: &Private) {
        if private.shared {
            return self.shared_private(private);
        }
        let mut slots = self.b.int(1);
        let mut loops = Vec::with_capacity(private.slots.len());
        for iter in &private.slots {
            let trips = self.scope.trip(&mut self.b, iter);
            slots = self.b.mul(slots, trips);
            loops.push((iter.var, trips));
        }
        if let Some(filled) = private.filled.filter(|_| !seeded(Fault::EmptySlotFolded)) {
            slots = self.b.int(filled);
        }
        let rows = self.scope.window(&mut self.b, &private.window);
        let margins = self.ports.margins();
        let slot_size = self.b.mul_int(rows.count, margins);
        let elements = self.b.mul(slots, slot_size);
        let element = self.ports.accumulator;
        let bytes = self.b.mul_int(elements, i64::from(element.bytes()));
        self.alloc("private", element, bytes, |k, buffer| {
            let first_row = rows.first;
            let made = PrivateBuffer { buffer, slots, loops, first_row, slot_size, held: slot_size };
            k.scope.privates.insert(private.id, made);
            k.block(&private.body);
            k.scope.privates.remove(&private.id);
        });
    }

    /// Sets the current iteration's slot to -0.0.
    pub(super) fn zero(&mut self, id: PrivateId, var: Var) {
        let Some(private) = self.scope.privates.get(&id).cloned() else { return };
        let slot = self.scope.iteration(&mut self.b, var);
        let start = self.b.mul(slot, private.slot_size);
        let end = self.b.add(start, private.slot_size);
        self.clear(private.buffer, start, end);
    }

    /// Sets all slots to -0.0.
    pub(super) fn zero_all(&mut self, id: PrivateId) {
        let Some(private) = self.scope.privates.get(&id).cloned() else { return };
        let start = self.b.int(0);
        let end = self.b.mul(private.slots, private.slot_size);
        if self.threads.is_some() {
            return self.clear_in_block(&private);
        }
        if self.on_device {
            return self.clear_on_device(id, &private, end);
        }
        self.clear(private.buffer, start, end);
    }

    fn clear(&mut self, buffer: BufferId, start: Value, end: Value) {
        let element = self.ports.accumulator;
        let nothing = self.nothing();
        self.for_loop((start, end, 1), &[], |k, index, _| {
            k.b.store(Address::element(buffer, index, element), nothing);
            Vec::new()
        });
    }

    /// -0.0, which leaves the first summand unchanged, even another -0.0.
    pub(super) fn nothing(&mut self) -> Value {
        self.b.float(Ty::of(self.ports.accumulator), -0.0)
    }

    /// Adds all slots to the target, slot by slot in iteration order, `width` sums at a time.
    pub(super) fn fold(&mut self, fold: &Fold) {
        let Some(private) = self.scope.privates.get(&fold.from).cloned() else { return };
        let into = self.scope.sums(&mut self.b, self.ports, &fold.into);
        let skipped = self.b.mul_int(private.first_row, self.ports.lowering.hir.forest.num_margins as i64);
        let first = self.b.add(into.origin, skipped);
        let (zero, mut slots) = (self.b.int(0), private.slots);
        if seeded(Fault::FoldForgetsSlot) {
            slots = self.b.add_int(slots, -1);
        }
        let device = DeviceFold { private: &private, slots, into: &into, first, opening: &fold.opening };
        if let Some(threads) = self.threads {
            return self.fold_in_block(device, threads);
        }
        if self.on_device {
            return self.fold_on_device(fold.from, device);
        }
        let width = if into.atomic { 1 } else { i64::from(fold.width.max(1)) };
        self.for_loop((zero, slots, 1), &[], |k, slot, _| {
            let slot = k.b.mul(slot, private.slot_size);
            let at = FoldAt { slot, into: first };
            // Vectors as far as they fit, then single sums.
            let whole = if width > 1 {
                let divisor = k.b.int(width);
                let vectors = k.b.bin(Bin::IDiv, private.slot_size, divisor);
                let whole = k.b.mul(vectors, divisor);
                k.fold_range(&private, &into, (zero, whole, width), at);
                whole
            } else {
                zero
            };
            k.fold_range(&private, &into, (whole, private.slot_size, 1), at);
            Vec::new()
        });
    }

    fn fold_range(
        &mut self,
        private: &PrivateBuffer,
        into: &SumTarget,
        range: (Value, Value, i64),
        at: FoldAt,
    ) {
        let element = self.ports.accumulator;
        let ty = lanes(element, range.2);
        self.for_loop(range, &[], |k, index, _| {
            let source = k.b.add(at.slot, index);
            let part = k.b.load(ty, Address::element(private.buffer, source, element));
            let target = k.b.add(at.into, index);
            into.add(&mut k.b, target, part);
            Vec::new()
        });
    }
}

fn lanes(element: Scalar, width: i64) -> Ty {
    Ty::vector(element, u16::try_from(width).unwrap_or(1))
}
