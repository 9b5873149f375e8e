//! Slots in a GPU's memory, and their folds: by a separate launch, or by the threads of a block.

use super::elements::launch_over;
use super::kernel_builder::KernelBuilder;
use super::launch::block_threads;
use super::opening::sum_start;
use super::sum_target::{PrivateBuffer, SumTarget, SummedMargins};
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, BuildStmts, Ty, Value};
use crate::mir::{PrivateId, SlotMargins, SumStart};

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

/// The terms of a sum that a fold adds to.
#[derive(Clone, Copy)]
pub(super) struct FoldedTerms {
    /// First slot with a term.
    pub(super) first_slot: Value,
    /// Slots from a term to the next one.
    pub(super) step: i64,
    /// Index of the terms in their slots.
    pub(super) place: Value,
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
        launch_over(k, &format!("fold{}", id.0), self.private.sums, |k, index| self.sum(k, index));
    }

    /// Adds slots to a target in their order, by the threads of a block.
    pub(super) fn in_block(self, k: &mut KernelBuilder, threads: [u32; 3]) {
        k.b.barrier();
        let begin = k.b.int(0);
        self.by_threads(k, threads, (begin, self.private.sums));
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

    /// The slots of the sum with this number among those that the fold adds to, and its place in each slot.
    pub(super) fn terms(self, k: &mut KernelBuilder, index: Value) -> FoldedTerms {
        let (layout, margins) = (self.private.layout, k.ports.margins());
        let zero = k.b.int(0);
        if margins == 1 || (layout.margins, layout.margin_distance) == (SlotMargins::All, 1) {
            return FoldedTerms { first_slot: zero, step: 1, place: index };
        }
        let per_row = k.b.int(margins);
        let row = k.b.bin(Bin::IDiv, index, per_row);
        let before = k.b.mul(row, per_row);
        let margin = k.b.sub(index, before);
        match layout.margins {
            SlotMargins::InTurn if !seeded(Fault::MarginsOutOfTurn) => {
                FoldedTerms { first_slot: margin, step: margins, place: row }
            }
            SlotMargins::InTurn => FoldedTerms { first_slot: zero, step: margins, place: row },
            SlotMargins::All => {
                let before = k.b.mul_int(margin, layout.margin_distance);
                FoldedTerms { first_slot: zero, step: 1, place: k.b.add(before, row) }
            }
        }
    }

    /// Index in the target of the sum with this number.
    fn target(self, k: &mut KernelBuilder, index: Value) -> Value {
        k.b.add(self.first, index)
    }

    /// Value with which a sum starts.
    pub(super) fn start_of(self, k: &mut KernelBuilder, index: Value) -> Value {
        let DeviceFold { into, start, .. } = self;
        let element = k.ports.accumulator;
        if into.atomic {
            return k.ports.empty_sum(&mut k.b);
        }
        let target = self.target(k, index);
        let margins = k.ports.margins();
        let margin = |k: &mut KernelBuilder| {
            let per_row = k.b.int(margins);
            let row = k.b.bin(Bin::IDiv, target, per_row);
            let before = k.b.mul(row, per_row);
            k.b.sub(target, before)
        };
        let at = Address::element(into.buffer, target, element);
        sum_start(k, start, margin, |k| k.b.load(Ty::of(element), at))
    }

    /// Adds a term to a sum.
    pub(super) fn add(self, k: &mut KernelBuilder, index: Value, sum: Value, term: Value) -> Value {
        let target = self.target(k, index);
        self.into.sum(&mut k.b, sum, term, SummedMargins::OfIndex(target))
    }

    /// Stores a complete sum in the target, or adds it to an atomic one.
    pub(super) fn store_sum(self, k: &mut KernelBuilder, index: Value, sum: Value) {
        let target = self.target(k, index);
        let at = Address::element(self.into.buffer, target, k.ports.accumulator);
        if self.into.atomic {
            k.b.atomic_add(at, sum);
        } else {
            let sum = k.ports.result_of_sum(&mut k.b, self.into.buffer, sum);
            k.b.store(at, sum);
        }
    }

    /// Folds one sum of the target: its start value plus the slots.
    fn sum(self, k: &mut KernelBuilder, index: Value) {
        let DeviceFold { private, slots, .. } = self;
        let element = k.ports.accumulator;
        let begin = self.start_of(k, index);
        let terms = self.terms(k, index);
        let sum = k.for_loop((terms.first_slot, slots, terms.step), &[begin], |k, slot, sum| {
            let before = k.b.mul(slot, private.layout.slot_distance);
            let source = k.b.add(before, terms.place);
            let part = k.b.load(Ty::of(element), Address::element(private.buffer, source, element));
            vec![self.add(k, index, sum[0], part)]
        });
        self.store_sum(k, index, sum[0]);
    }
}
