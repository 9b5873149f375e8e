//! Accumulators: the output's base values, private slots, and folds.

use super::scope::{CachedSums, Kernel, PrivateBuffer};
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, BufferId, Build, Scalar, Ty, Value};
use crate::mir::{Accumulator, Fold, Private, PrivateId, Target, Var};
use crate::rows::Copied;

/// Sums of rows `[rows][margins]`, starting with row `first_row`.
#[derive(Clone, Copy, Debug)]
pub struct Sums {
    /// The buffer.
    pub buffer: BufferId,
    /// The element of row 0's first margin; rows before `first_row` are not there.
    pub origin: Value,
    /// Whether additions are atomic.
    pub atomic: bool,
    /// Rows of a block, if sums lie in blocks that begin with row `first_row`, and margin by margin within a block.
    pub block: Option<u32>,
}

impl Kernel<'_> {
    /// Sets every margin to its base value.
    pub(super) fn fill_base(&mut self) {
        let (rows, out, element) = (self.b.rows(), self.out, self.accumulator);
        let zero = self.b.int(0);
        let Some(base) = self.base else {
            let first = self.lowering.hir.forest.base.first().copied().unwrap_or(0.0);
            let value = self.b.float(Ty::of(element), first);
            self.for_loop((zero, rows, 1), &[], |k, row, _| {
                k.b.store(Address::element(out, row, element), value);
                Vec::new()
            });
            return;
        };
        let margins = self.margins_per_row();
        self.for_loop((zero, rows, 1), &[], |k, row, _| {
            let (zero, end, first) = (k.b.int(0), k.b.int(margins), k.b.mul_int(row, margins));
            k.for_loop((zero, end, 1), &[], |k, margin, _| {
                let value = k.b.load(Ty::of(element), Address::element(base, margin, element));
                let index = k.b.add(first, margin);
                k.b.store(Address::element(out, index, element), value);
                Vec::new()
            });
            Vec::new()
        });
    }

    /// The accumulator of a target.
    pub(super) fn sums(&mut self, target: &Target) -> Sums {
        let atomic = target.atomic;
        let output = Sums { buffer: self.out, origin: self.b.int(0), atomic, block: None };
        match target.accumulator {
            Accumulator::Output => match self.cached_sums {
                None => output,
                Some(CachedSums { buffer, first_row, block }) => {
                    let skipped = self.b.mul_int(first_row, -self.margins_per_row());
                    Sums { buffer, origin: skipped, atomic, block: Some(block) }
                }
            },
            Accumulator::Slot(id, var) => match self.privates.get(&id).copied() {
                None => output,
                Some(private) => {
                    let slot = self.iteration(var);
                    let start = self.b.mul(slot, private.slot_size);
                    let skipped =
                        self.b.mul_int(private.first_row, self.lowering.hir.forest.num_margins as i64);
                    let origin = self.b.sub(start, skipped);
                    Sums { buffer: private.buffer, origin, atomic, block: None }
                }
            },
        }
    }

    fn iteration(&mut self, var: Var) -> Value {
        let bound = self.vars.get(&var).and_then(|bound| bound.iteration);
        bound.unwrap_or_else(|| self.b.int(0))
    }

    /// Adds a value to memory, atomically if the target asks for it.
    pub(super) fn add_to(&mut self, sums: &Sums, index: Value, value: Value) {
        let at = Address::element(sums.buffer, index, self.accumulator);
        if sums.atomic {
            self.b.atomic_add(at, value);
        } else {
            let old = self.b.load(self.b.ty(value), at);
            let sum = self.b.add(old, value);
            self.b.store(at, sum);
        }
    }

    /// Copies the sums of the rows of a copy for the walks inside, and writes them back.
    pub(super) fn cache_sums(&mut self, rows: Copied, block: u32, body: impl FnOnce(&mut Self)) {
        let (margins, element, out) = (self.margins_per_row(), self.accumulator, self.out);
        let elements = self.b.mul_int(rows.held, margins);
        let bytes = self.b.mul_int(elements, i64::from(element.bytes()));
        self.alloc("cached_sums", element, bytes, |k, buffer| {
            let zero = k.b.int(0);
            k.each_sum((rows.first, zero, rows.count), block, |k, outside, at| {
                let value = k.b.load(Ty::of(element), Address::element(out, outside, element));
                k.b.store(Address::element(buffer, at, element), value);
            });
            let outer = k.cached_sums.replace(CachedSums { buffer, first_row: rows.first, block });
            body(k);
            k.cached_sums = outer;
            k.each_sum((rows.first, zero, rows.count), block, |k, outside, at| {
                let value = k.b.load(Ty::of(element), Address::element(buffer, at, element));
                k.b.store(Address::element(out, outside, element), value);
            });
        });
    }

    /// Calls `body` for each margin of the rows `first_row + from .. first_row + to`, with its place in the output and
    /// in blocks.
    fn each_sum(
        &mut self,
        (first_row, from, to): (Value, Value, Value),
        block: u32,
        mut body: impl FnMut(&mut Self, Value, Value),
    ) {
        let margins = self.margins_per_row();
        self.for_loop((from, to, 1), &[], |k, row, _| {
            let size = k.b.int(i64::from(block));
            let number = k.b.bin(Bin::IDiv, row, size);
            let start = k.b.mul(number, size);
            let lane = k.b.sub(row, start);
            let start = k.b.mul_int(start, margins);
            let inside = k.b.add(start, lane);
            let row = k.b.add(first_row, row);
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

    /// One slot of sums for each iteration of the loop inside.
    pub(super) fn private(&mut self, private: &Private) {
        let slots = self.trip(&private.slots);
        let (first_row, rows) = self.window(&private.window);
        let margins = self.margins_per_row();
        let slot_size = self.b.mul_int(rows, margins);
        let elements = self.b.mul(slots, slot_size);
        let element = self.accumulator;
        let bytes = self.b.mul_int(elements, i64::from(element.bytes()));
        self.alloc("private", element, bytes, |k, buffer| {
            k.privates.insert(private.id, PrivateBuffer { buffer, slots, first_row, slot_size });
            k.block(&private.body);
            k.privates.remove(&private.id);
        });
    }

    /// Sets the current iteration's slot to zero.
    pub(super) fn zero(&mut self, id: PrivateId, var: Var) {
        let Some(private) = self.privates.get(&id).copied() else { return };
        let slot = self.iteration(var);
        let start = self.b.mul(slot, private.slot_size);
        let end = self.b.add(start, private.slot_size);
        self.clear(private.buffer, start, end);
    }

    /// Sets all slots to zero.
    pub(super) fn zero_all(&mut self, id: PrivateId) {
        let Some(private) = self.privates.get(&id).copied() else { return };
        let start = self.b.int(0);
        let end = self.b.mul(private.slots, private.slot_size);
        self.clear(private.buffer, start, end);
    }

    fn clear(&mut self, buffer: BufferId, start: Value, end: Value) {
        let element = self.accumulator;
        let zero = self.b.float(Ty::of(element), 0.0);
        self.for_loop((start, end, 1), &[], |k, index, _| {
            k.b.store(Address::element(buffer, index, element), zero);
            Vec::new()
        });
    }

    /// Adds all slots into the target, slot by slot in iteration order, `width` sums at a time.
    pub(super) fn fold(&mut self, fold: &Fold) {
        let Some(private) = self.privates.get(&fold.from).copied() else { return };
        let into = self.sums(&fold.into);
        let skipped = self.b.mul_int(private.first_row, self.lowering.hir.forest.num_margins as i64);
        let first = self.b.add(into.origin, skipped);
        let (zero, mut slots) = (self.b.int(0), private.slots);
        if seeded(Fault::FoldForgetsSlot) {
            slots = self.b.add_int(slots, -1);
        }
        let width = if into.atomic { 1 } else { i64::from(fold.width.max(1)) };
        self.for_loop((zero, slots, 1), &[], |k, slot, _| {
            let from = k.b.mul(slot, private.slot_size);
            // Vectors as far as they fit, then one sum at a time.
            let whole = if width > 1 {
                let divisor = k.b.int(width);
                let vectors = k.b.bin(Bin::IDiv, private.slot_size, divisor);
                let whole = k.b.mul(vectors, divisor);
                k.fold_range(&private, &into, (zero, whole, width), (from, first));
                whole
            } else {
                zero
            };
            k.fold_range(&private, &into, (whole, private.slot_size, 1), (from, first));
            Vec::new()
        });
    }

    fn fold_range(
        &mut self,
        private: &PrivateBuffer,
        into: &Sums,
        range: (Value, Value, i64),
        (from, first): (Value, Value),
    ) {
        let element = self.accumulator;
        let ty = lanes(element, range.2);
        self.for_loop(range, &[], |k, index, _| {
            let source = k.b.add(from, index);
            let part = k.b.load(ty, Address::element(private.buffer, source, element));
            let target = k.b.add(first, index);
            k.add_to(into, target, part);
            Vec::new()
        });
    }
}

fn lanes(element: Scalar, width: i64) -> Ty {
    Ty::vector(element, u16::try_from(width).unwrap_or(1))
}
