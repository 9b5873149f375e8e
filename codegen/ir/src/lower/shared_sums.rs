//! Slots of sums in the shared memory of a block.

use super::kernel_builder::{EmitStmt, KernelBuilder};
use super::launch::block_threads;
use super::scope::constant_stop;
use super::shared::limit_shared_bytes;
use super::sum_target::{PrivateBuffer, SlotLayout};
use crate::lir::{Address, BuildStmts, SlotPlaces, Space};
use crate::mir::{Iter, Private};

/// Allocates slots in shared memory, and emits the body.
pub(super) fn emit(k: &mut KernelBuilder, private: &Private, threads: [u32; 3]) {
    let rows = k.window(&private.window);
    let (element, margins) = (k.ports.accumulator, k.ports.margins());
    let trips: Vec<i64> = private.slots.iter().map(constant_trips).collect();
    let loops = private.slots.iter().zip(&trips).map(|(iter, trips)| (iter.var, k.b.int(*trips))).collect();
    let slots = private.filled_slots.unwrap_or_else(|| trips.iter().product());
    let sizes = (margins.unsigned_abs(), u64::from(element.bytes()));
    let block = private.block_slots(&k.ports.lowering.mir.vars, threads, sizes);
    // Earlier passes refuse blocks of any number of rows.
    let (places, rows_together) = block.map_or_else(Default::default, |block| {
        let bytes =
            |places: SlotPlaces| slots.unsigned_abs().saturating_mul(places.slot).saturating_mul(sizes.1);
        let all = |places: SlotPlaces| k.b.shared_bytes().saturating_add(bytes(places));
        let (padded, packed) = (block.places(), block.packed());
        let places = if k.ports.may_take_shared(all(packed), all(padded)) { padded } else { packed };
        (places, Some(block.together(places.slot, places.margin) as i64))
    });
    let distance = i64::try_from(places.slot).unwrap_or(i64::MAX);
    let bytes = slots.saturating_mul(distance).saturating_mul(element.bytes().into());
    let bytes = k.b.int(limit_shared_bytes(bytes));
    let layout = SlotLayout {
        margins: private.margins,
        slot_distance: k.b.int(distance),
        row_distance: 1,
        margin_distance: places.margin as i64,
    };
    let (slots, sums) = (k.b.int(slots), k.b.mul_int(rows.count, margins));
    k.alloc_in(Space::Shared, "shared_sums", element, bytes, |k, buffer| {
        let made = PrivateBuffer { buffer, slots, loops, first_row: rows.first, layout, sums, rows_together };
        k.with_private(private.id, made, |k| private.body.emit(k));
        // Later allocations may reuse this memory.
        k.b.barrier();
    });
}

/// Sets slots in shared memory to -0.0, by the threads of the block.
pub(super) fn clear(k: &mut KernelBuilder, private: &PrivateBuffer, threads: [u32; 3]) {
    let (element, buffer) = (k.ports.accumulator, private.buffer);
    let nothing = k.ports.empty_sum(&mut k.b);
    let block_threads = block_threads(k, threads);
    let end = k.b.mul(private.slots, private.layout.slot_distance);
    k.for_loop((block_threads.thread, end, block_threads.count), &[], |k, index, _| {
        k.b.store(Address::element(buffer, index, element), nothing);
        Vec::new()
    });
    k.b.barrier();
}

/// Number of iterations of a loop with a constant end.
fn constant_trips(iter: &Iter) -> i64 {
    ((constant_stop(iter) - iter.start + iter.step - 1) / iter.step).max(0)
}
