//! Accumulators: base values of the output, copied sums, private slots, and folds.

use super::device_sums::DeviceFold;
use super::kernel_builder::{EmitStmt, KernelBuilder};
use super::ports::SumRounding;
use super::scope::WindowRows;
use super::staged_fold::Staging;
use super::sum_target::{CopiedSums, PrivateBuffer, SlotLayout, SumTarget, SummedMargins};
use super::{device_sums, shared_sums};
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, BufferId, BuildStmts, Scalar, Task, Ty, Value};
use crate::mir::{Fold, Private, PrivateId, SlotMargins, Var, Window};
use crate::rows::CopiedRows;

/// Sets the margins of some rows to their base values.
pub(super) fn fill_base(k: &mut KernelBuilder, window: &Window) {
    let (first, end) = if window.is_whole() {
        let rows = k.b.n_rows();
        (k.b.int(0), rows)
    } else {
        let rows = k.window(window);
        (rows.first, k.b.add(rows.first, rows.count))
    };
    let (out, element) = (k.ports.out, k.ports.accumulator);
    let Some(base) = k.ports.base else {
        let base = k.ports.lowering.hir.forest.base.first().copied().unwrap_or(0.0);
        let value = k.b.float(Ty::of(element), base);
        let value = k.ports.result_of_sum(&mut k.b, out, value);
        k.for_loop((first, end, 1), &[], |k, row, _| {
            k.b.store(Address::element(out, row, element), value);
            Vec::new()
        });
        return;
    };
    let margins = k.ports.margins();
    k.for_loop((first, end, 1), &[], |k, row, _| {
        let (zero, end, first) = (k.b.int(0), k.b.int(margins), k.b.mul_int(row, margins));
        k.for_loop((zero, end, 1), &[], |k, margin, _| {
            let value = k.b.load(Ty::of(element), Address::element(base, margin, element));
            let index = k.b.add(first, margin);
            let value = k.ports.result_of_sum(&mut k.b, out, value);
            k.b.store(Address::element(out, index, element), value);
            Vec::new()
        });
        Vec::new()
    });
}

/// Copies the sums of the rows of a copy into blocks, emits the body, which adds to them, and writes the sums
/// back.
pub(super) fn emit_copied<'a>(
    k: &mut KernelBuilder<'a>,
    rows: CopiedRows,
    block_rows: u32,
    body: impl FnOnce(&mut KernelBuilder<'a>),
) {
    let (margins, element, out) = (k.ports.margins(), k.ports.accumulator, k.ports.out);
    let elements = k.b.mul_int(rows.capacity, margins);
    let bytes = k.b.mul_int(elements, i64::from(element.bytes()));
    k.alloc("cached_sums", element, bytes, |k, buffer| {
        for_each_copied(k, rows, block_rows, |k, outside, at| {
            let value = k.b.load(Ty::of(element), Address::element(out, outside, element));
            k.b.store(Address::element(buffer, at, element), value);
        });
        k.with_copied_sums(CopiedSums { buffer, first_row: rows.first, block_rows }, body);
        for_each_copied(k, rows, block_rows, |k, outside, at| {
            let value = k.b.load(Ty::of(element), Address::element(buffer, at, element));
            k.b.store(Address::element(out, outside, element), value);
        });
    });
}

/// Calls `body` for each margin of the rows of a copy, with the margin's index in the output and in the
/// blocks.
fn for_each_copied<'a>(
    k: &mut KernelBuilder<'a>,
    rows: CopiedRows,
    block_rows: u32,
    mut body: impl FnMut(&mut KernelBuilder<'a>, Value, Value),
) {
    let margins = k.ports.margins();
    k.attribute_to_task(Task::Sums, |k| {
        let zero = k.b.int(0);
        k.for_loop((zero, rows.count, 1), &[], |k, row, _| {
            let size = k.b.int(i64::from(block_rows));
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
                let column = k.b.mul_int(margin, i64::from(block_rows));
                let at = k.b.add(inside, column);
                body(k, outside, at);
                Vec::new()
            });
            Vec::new()
        });
    });
}

impl EmitStmt for Private {
    /// Allocates one slot of sums for each iteration of the loops inside, and emits the body.
    fn emit(&self, k: &mut KernelBuilder) {
        if let Some(threads) = k.block_threads().filter(|_| self.shared) {
            return shared_sums::emit(k, self, threads);
        }
        let mut slots = k.b.int(1);
        let mut loops = Vec::with_capacity(self.slots.len());
        for iter in &self.slots {
            let trips = k.trip(iter);
            slots = k.b.mul(slots, trips);
            loops.push((iter.var, trips));
        }
        if let Some(filled) = self.filled_slots.filter(|_| !seeded(Fault::EmptySlotFolded)) {
            slots = k.b.int(filled);
        }
        let rows = k.window(&self.window);
        let sums = k.b.mul_int(rows.count, k.ports.margins());
        let (slot_distance, row_distance) = match self.margins {
            SlotMargins::All => (sums, k.ports.margins()),
            SlotMargins::InTurn => (rows.count, 1),
        };
        let layout = SlotLayout { margins: self.margins, slot_distance, row_distance, margin_distance: 1 };
        let elements = k.b.mul(slots, slot_distance);
        let element = k.ports.accumulator;
        let bytes = k.b.mul_int(elements, i64::from(element.bytes()));
        k.alloc("private", element, bytes, |k, buffer| {
            let first_row = rows.first;
            let made = PrivateBuffer { buffer, slots, loops, first_row, layout, sums, rows_together: None };
            k.with_private(self.id, made, |k| self.body.emit(k));
        });
    }
}

/// Sets the current iteration's slot to -0.0.
pub(super) fn clear_slot(k: &mut KernelBuilder, id: PrivateId, var: Var) {
    let Some(private) = k.scope().private(id).cloned() else { return };
    let slot = k.iteration(var);
    let start = k.b.mul(slot, private.layout.slot_distance);
    let end = k.b.add(start, private.layout.slot_distance);
    clear(k, private.buffer, start, end);
}

/// Sets all slots to -0.0.
pub(super) fn clear_all_slots(k: &mut KernelBuilder, id: PrivateId) {
    let Some(private) = k.scope().private(id).cloned() else { return };
    let start = k.b.int(0);
    let end = k.b.mul(private.slots, private.layout.slot_distance);
    if let Some(threads) = k.block_threads() {
        return shared_sums::clear(k, &private, threads);
    }
    if k.is_on_device() {
        return device_sums::clear(k, id, &private, end);
    }
    clear(k, private.buffer, start, end);
}

fn clear(k: &mut KernelBuilder, buffer: BufferId, start: Value, end: Value) {
    let element = k.ports.accumulator;
    let nothing = k.ports.empty_sum(&mut k.b);
    k.for_loop((start, end, 1), &[], |k, index, _| {
        k.b.store(Address::element(buffer, index, element), nothing);
        Vec::new()
    });
}

impl Fold {
    /// Emits the fold of the sums of some rows by the threads of a block. There are at most `max_rows` rows;
    /// `None` if only the number of rows of the call bounds them.
    pub(super) fn emit_rows(
        &self,
        k: &mut KernelBuilder,
        (rows, max_rows): (WindowRows, Option<i64>),
        threads: [u32; 3],
    ) {
        self.with_operands(k, |k, device| {
            let margins = k.ports.margins();
            let begin = k.b.sub(rows.first, device.private.first_row);
            let begin = k.b.mul_int(begin, margins);
            let count = k.b.mul_int(rows.count, margins);
            let end = k.b.add(begin, count);
            let most_sums = max_rows.map(|rows| rows.saturating_mul(margins));
            match Staging::of(k, &device, threads, most_sums) {
                Some(staging) => staging.emit(k, device, (begin, end)),
                None => device.by_threads(k, threads, (begin, end)),
            }
        });
    }

    /// Calls `emit` with the operands of the fold on a GPU, if its slots are in scope.
    fn with_operands(&self, k: &mut KernelBuilder, emit: impl FnOnce(&mut KernelBuilder, DeviceFold)) {
        let Some(private) = k.scope().private(self.from).cloned() else { return };
        let into = k.sums(&self.into);
        let skipped = k.b.mul_int(private.first_row, k.ports.margins());
        let first = k.b.add(into.origin, skipped);
        let mut slots = private.slots;
        if seeded(Fault::FoldForgetsSlot) {
            slots = k.b.add_int(slots, -1);
        }
        emit(k, DeviceFold { private: &private, slots, into: &into, first, start: &self.start });
    }
}

impl EmitStmt for Fold {
    fn emit(&self, k: &mut KernelBuilder) {
        self.with_operands(k, |k, device| {
            if let Some(threads) = k.block_threads() {
                return device.in_block(k, threads);
            }
            if k.is_on_device() {
                return device.in_launch(k, self.from);
            }
            self.on_host(k, device);
        });
    }
}

impl Fold {
    /// Adds all slots to the target, slot by slot in iteration order, `width` sums at a time.
    fn on_host(&self, k: &mut KernelBuilder, fold: DeviceFold) {
        let DeviceFold { private, slots, into, first, .. } = fold;
        let zero = k.b.int(0);
        let host = HostFold { private, into, first };
        let is_one_by_one = into.atomic || matches!(into.rounding, SumRounding::ByMargin(_));
        let width = if is_one_by_one { 1 } else { i64::from(self.width.max(1)) };
        k.for_loop((zero, slots, 1), &[], |k, slot, _| {
            let slot = k.b.mul(slot, private.layout.slot_distance);
            // As many whole vectors as fit, then single sums.
            let whole = if width > 1 {
                let divisor = k.b.int(width);
                let vectors = k.b.bin(Bin::IDiv, private.sums, divisor);
                let whole = k.b.mul(vectors, divisor);
                host.add(k, slot, (zero, whole, width));
                whole
            } else {
                zero
            };
            host.add(k, slot, (whole, private.sums, 1));
            Vec::new()
        });
    }
}

/// A fold in loops of the host.
struct HostFold<'f> {
    private: &'f PrivateBuffer,
    into: &'f SumTarget,
    /// Index in the target to which the first sum of each slot is added.
    first: Value,
}

impl HostFold<'_> {
    /// Adds a range of a slot's sums to the target, `range.2` sums at a time. `slot` is the index of the
    /// slot's first sum in the private buffer; `range` counts from there.
    fn add(&self, k: &mut KernelBuilder, slot: Value, range: (Value, Value, i64)) {
        let element = k.ports.accumulator;
        let ty = lanes(element, range.2);
        k.for_loop(range, &[], |k, index, _| {
            let source = k.b.add(slot, index);
            let part = k.b.load(ty, Address::element(self.private.buffer, source, element));
            let target = k.b.add(self.first, index);
            self.into.add(&mut k.b, target, part, SummedMargins::OfIndex(target));
            Vec::new()
        });
    }
}

fn lanes(element: Scalar, width: i64) -> Ty {
    Ty::vector(element, u16::try_from(width).unwrap_or(1))
}
