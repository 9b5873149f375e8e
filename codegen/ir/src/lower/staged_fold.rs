//! Folds of many slots in the device's memory by the threads of a block. All threads load slots to shared
//! memory, piece by piece. After each piece, a thread for each sum adds its slots in their order.
//!
//! A thread that loads its slots itself has some ten loads in flight, and waits for the second-level cache
//! every ten slots. With all threads of the block, most slots of a sum arrive within one such wait.

use super::device_sums::{DeviceFold, FoldedTerms};
use super::kernel_builder::KernelBuilder;
use super::launch::block_threads;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, BufferId, BuildStmts, Cmp, SHARED_ALIGNMENT, Space, Ty, Value};
use crate::mir::{FoldPiece, PIECE_LOADS, SlotMargins};

/// Loads that a thread makes for a piece.
const LOADS: i64 = PIECE_LOADS as i64;

/// Terms of a sum that a thread loads from shared memory before it adds them up. More hide more of the
/// latency of these loads, and take more registers.
const TERMS_TOGETHER: i64 = 8;

/// The sizes of a staged fold.
#[derive(Clone, Copy)]
pub(super) struct Staging {
    /// Threads of the block in each dimension.
    threads: [u32; 3],
    /// Sums that are folded at a time.
    sums: i64,
    /// Terms of each of these sums that the threads load with one instruction.
    terms: i64,
}

impl Staging {
    /// The sizes for a fold of at most `most_sums` sums by the threads of a block. `None` if threads load the
    /// slots of their sums themselves, if the number of sums is unknown, or if shared memory has no room for
    /// a piece.
    pub(super) fn of(
        k: &KernelBuilder,
        fold: &DeviceFold,
        threads: [u32; 3],
        most_sums: Option<i64>,
    ) -> Option<Staging> {
        let slots = u64::try_from(k.b.as_int(fold.slots)?).ok()?;
        let slots = match fold.private.layout.margins {
            SlotMargins::All => slots,
            SlotMargins::InTurn => slots.div_ceil(k.ports.margins().unsigned_abs().max(1)),
        };
        let count = threads.iter().map(|extent| u64::from(*extent)).product();
        let piece = FoldPiece::of(slots, u64::try_from(most_sums?).ok()?, count)?;
        let staging = Staging { threads, sums: piece.sums as i64, terms: piece.slots_of_load as i64 };
        let bytes = staging.bytes(k).unsigned_abs().next_multiple_of(SHARED_ALIGNMENT);
        let others = k.b.shared_bytes();
        let fits = k.ports.may_take_shared(others, others.saturating_add(bytes));
        (fits && !fold.into.atomic).then_some(staging)
    }

    /// Bytes of a piece.
    fn bytes(self, k: &KernelBuilder) -> i64 {
        self.sums * self.terms * LOADS * i64::from(k.ports.accumulator.bytes())
    }

    /// Adds the slots of the sums in a range to the target, in their order.
    pub(super) fn emit(self, k: &mut KernelBuilder, fold: DeviceFold, (begin, end): (Value, Value)) {
        let (element, bytes) = (k.ports.accumulator, k.b.int(self.bytes(k)));
        let thread = block_threads(k, self.threads).thread;
        k.alloc_in(Space::Shared, "staged_slots", element, bytes, |k, staged| {
            k.for_loop((begin, end, self.sums), &[], |k, first, _| {
                let (left, most) = (k.b.sub(end, first), k.b.int(self.sums));
                let existing = k.b.min(left, most);
                StagedFold { fold, sizes: self, staged, thread, first, existing }.emit(k);
                Vec::new()
            });
        });
    }
}

/// A fold of as many sums as are folded at a time.
struct StagedFold<'f> {
    fold: DeviceFold<'f>,
    sizes: Staging,
    /// Shared memory for a piece: `[terms][sums]`.
    staged: BufferId,
    /// Number of the thread in its block.
    thread: Value,
    /// Number of the first sum.
    first: Value,
    /// Number of sums that exist.
    existing: Value,
}

/// The terms that a thread loads: of one sum.
struct ThreadTerms {
    /// Whether the thread loads terms.
    loads: Value,
    /// First slot with a term of the sum, slots from a term to the next one, and index in each slot.
    of_sum: FoldedTerms,
    /// Number of the thread's first term in a piece.
    term: Value,
}

impl StagedFold<'_> {
    fn emit(&self, k: &mut KernelBuilder) {
        let terms = self.thread_terms(k);
        let is_used = k.b.cmp(Cmp::Lt, self.thread, self.existing);
        // Threads without a sum take the last one, and do not store it.
        let index = self.index(k, self.thread);
        let FoldedTerms { first_slot, step, .. } = self.fold.terms(k, index);
        let own_terms = self.count_from(k, first_slot, step);
        let zero = k.b.int(0);
        let all_terms = self.count_from(k, zero, step);
        let begin = self.fold.start_of(k, index);
        let piece = self.sizes.terms * LOADS;
        let sum = k.for_loop((zero, all_terms, piece), &[begin], |k, from, sum| {
            k.when(terms.loads, |k| self.load_piece(k, &terms, from));
            k.b.barrier();
            let left = k.b.sub(own_terms, from);
            let most = k.b.int(piece);
            let terms = k.b.min(left, most);
            let next = k.if_else(is_used, |k| self.add_piece(k, (index, terms), sum), |_| sum.to_vec());
            if !seeded(Fault::PieceNotAwaited) {
                k.b.barrier();
            }
            next
        });
        k.when(is_used, |k| self.fold.store_sum(k, index, sum[0]));
    }

    /// Number of a sum among those that the fold adds to. If the sum does not exist, the last one.
    fn index(&self, k: &mut KernelBuilder, sum: Value) -> Value {
        let last = k.b.add_int(self.existing, -1);
        let sum = k.b.min(sum, last);
        k.b.add(self.first, sum)
    }

    /// Number of terms of a sum whose first one is in slot `first`, and whose others are `step` slots apart.
    fn count_from(&self, k: &mut KernelBuilder, first: Value, step: i64) -> Value {
        let slots = k.b.sub(self.fold.slots, first);
        let slots = k.b.add_int(slots, step - 1);
        let step = k.b.int(step);
        k.b.bin(Bin::IDiv, slots, step)
    }

    /// The terms that the current thread loads. Neighbouring threads load terms of neighbouring sums.
    fn thread_terms(&self, k: &mut KernelBuilder) -> ThreadTerms {
        let Staging { sums, terms, .. } = self.sizes;
        let (sums, threads) = (k.b.int(sums), k.b.int(sums * terms));
        let term = k.b.bin(Bin::IDiv, self.thread, sums);
        let before = k.b.mul(term, sums);
        let sum = k.b.sub(self.thread, before);
        let index = self.index(k, sum);
        let loads = k.b.cmp(Cmp::Lt, self.thread, threads);
        ThreadTerms { loads, of_sum: self.fold.terms(k, index), term }
    }

    /// Loads a piece that begins with the term numbered `from` of each sum. Each thread makes all its loads
    /// before it stores them, so that it waits once. Terms behind the last one are the last one again.
    fn load_piece(&self, k: &mut KernelBuilder, terms: &ThreadTerms, from: Value) {
        let element = k.ports.accumulator;
        let (private, last_slot) = (self.fold.private, k.b.add_int(self.fold.slots, -1));
        let FoldedTerms { first_slot, step, place } = terms.of_sum;
        let first = k.b.add(from, terms.term);
        let load = |k: &mut KernelBuilder, ahead: i64| {
            let term = k.b.add_int(first, ahead * self.sizes.terms);
            let ahead = k.b.mul_int(term, step);
            let slot = k.b.add(first_slot, ahead);
            let slot = k.b.min(slot, last_slot);
            let before = k.b.mul(slot, private.layout.slot_distance);
            let source = k.b.add(before, place);
            k.b.load(Ty::of(element), Address::element(private.buffer, source, element))
        };
        let values: Vec<Value> = (0..LOADS).map(|ahead| load(k, ahead)).collect();
        for (ahead, value) in (0..LOADS).zip(values) {
            let place = k.b.add_int(self.thread, ahead * self.sizes.terms * self.sizes.sums);
            k.b.store(Address::element(self.staged, place, element), value);
        }
    }

    /// Adds some terms of the thread's sum, which are in shared memory.
    fn add_piece(&self, k: &mut KernelBuilder, (index, terms): (Value, Value), sum: &[Value]) -> Vec<Value> {
        let (zero, together) = (k.b.int(0), k.b.int(TERMS_TOGETHER));
        let groups = k.b.bin(Bin::IDiv, terms, together);
        let grouped = k.b.mul(groups, together);
        let sum = self.add_terms(k, index, (zero, grouped, TERMS_TOGETHER), sum);
        self.add_terms(k, index, (grouped, terms, 1), &sum)
    }

    /// Adds a range of terms, `range.2` of which are loaded together.
    fn add_terms(
        &self,
        k: &mut KernelBuilder,
        index: Value,
        range: (Value, Value, i64),
        sum: &[Value],
    ) -> Vec<Value> {
        let element = k.ports.accumulator;
        k.for_loop(range, sum, |k, term, sum| {
            let before = k.b.mul_int(term, self.sizes.sums);
            let source = k.b.add(before, self.thread);
            let loads = (0..range.2).map(|ahead| {
                let source = k.b.add_int(source, ahead * self.sizes.sums);
                k.b.load(Ty::of(element), Address::element(self.staged, source, element))
            });
            let terms: Vec<Value> = loads.collect();
            vec![terms.into_iter().fold(sum[0], |sum, term| self.fold.add(k, index, sum, term))]
        })
    }
}
