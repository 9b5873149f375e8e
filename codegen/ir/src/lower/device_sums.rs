//! Slots in a GPU's memory, and their folds: by a separate launch, or by the threads of a block.

use super::elements::launch_over;
use super::kernel_builder::KernelBuilder;
use super::launch::block_threads;
use super::opening::sum_start;
use super::sum_target::{PrivateBuffer, SumTarget, SummedMargins};
use crate::lir::{Address, Bin, BuildStmts, Ty, Value};
use crate::mir::{PrivateId, SumStart};

/// Operands of a fold on a GPU: the addition of all slots of a private buffer into a target.
#[derive(Clone, Copy)]
pub(super) struct DeviceFold<'f> {
    /// The private buffer with the slots.
    pub(super) private: &'f PrivateBuffer,
    /// Number of slots.
    pub(super) slots: Value,
    /// Target of the sums.
    pub(super) into: &'f SumTarget,
    /// Index in the target to which the first sum of each slot is added.
    pub(super) first: Value,
    /// Value with which the target's sums start.
    pub(super) start: &'f SumStart,
}

/// Sets the `count` sums of a buffer to -0.0 in a launch.
pub(super) fn clear(k: &mut KernelBuilder, id: PrivateId, private: &PrivateBuffer, count: Value) {
    let (element, buffer) = (k.ports.accumulator, private.buffer);
    let nothing = k.ports.empty_sum(&mut k.b);
    launch_over(k, &format!("clear{}", id.0), count, |k, index| {
        k.b.store(Address::element(buffer, index, element), nothing);
    });
}

impl DeviceFold<'_> {
    /// Adds slots to a target in their order, in a launch with one thread per sum.
    pub(super) fn in_launch(self, k: &mut KernelBuilder, id: PrivateId) {
        launch_over(k, &format!("fold{}", id.0), self.private.slot_size, |k, index| self.sum(k, index));
    }

    /// Adds slots to a target in their order, by the threads of a block.
    pub(super) fn in_block(self, k: &mut KernelBuilder, threads: [u32; 3]) {
        k.b.barrier();
        let begin = k.b.int(0);
        self.by_threads(k, threads, (begin, self.private.used_size));
    }

    /// Adds the slots of the sums in a range to the target, in their order, by the threads of a block.
    pub(super) fn by_threads(self, k: &mut KernelBuilder, threads: [u32; 3], (begin, end): (Value, Value)) {
        let block_threads = block_threads(k, threads);
        let first = k.b.add(begin, block_threads.thread);
        k.for_loop((first, end, block_threads.count), &[], |k, index, _| {
            self.sum(k, index);
            Vec::new()
        });
    }

    /// Folds one sum of the target: its start value plus the slots.
    fn sum(self, k: &mut KernelBuilder, index: Value) {
        let DeviceFold { private, slots, into, first, start } = self;
        let element = k.ports.accumulator;
        let target = k.b.add(first, index);
        let at = Address::element(into.buffer, target, element);
        let begin = if into.atomic {
            k.ports.empty_sum(&mut k.b)
        } else {
            let margins = k.ports.margins();
            let margin = |k: &mut KernelBuilder| {
                let per_row = k.b.int(margins);
                let row = k.b.bin(Bin::IDiv, target, per_row);
                let before = k.b.mul(row, per_row);
                k.b.sub(target, before)
            };
            sum_start(k, start, margin, |k| k.b.load(Ty::of(element), at))
        };
        let zero = k.b.int(0);
        let sum = k.for_loop((zero, slots, 1), &[begin], |k, slot, sum| {
            let before = k.b.mul(slot, private.slot_size);
            let source = k.b.add(before, index);
            let part = k.b.load(Ty::of(element), Address::element(private.buffer, source, element));
            vec![into.sum(&mut k.b, sum[0], part, SummedMargins::OfIndex(target))]
        });
        if into.atomic {
            k.b.atomic_add(at, sum[0]);
        } else {
            let sum = k.ports.result_of_sum(&mut k.b, into.buffer, sum[0]);
            k.b.store(at, sum);
        }
    }
}
