//! Margins of the slots of a launch.

use super::coverage::AxisLoops;
use super::trees::margins;
use sched_nest::{Axis, GpuLevel, Loop, LoopId, ModelInfo, Nest, Reduce, TreeOrder, margins_of_slot};

/// Whether a loop runs as threads of a block.
pub fn is_thread_loop(this: &Loop) -> bool {
    this.annotations.gpu_dimension.is_some_and(|dimension| dimension.level == GpuLevel::Block)
}

/// Margins of the slots that threads fill on a path of loops, with its loops over trees.
pub fn margins_of_slots((nest, model): (&Nest, &ModelInfo), path: &[LoopId], trees: &AxisLoops) -> u64 {
    let all = margins(model);
    let slots = loops_with_slots(nest, path);
    let loops = path.iter().filter(|id| nest.get(**id).axis != Axis::Row);
    let begins_with_first = |id: &LoopId| {
        let start = nest.get(*id).start.as_int().and_then(|start| u64::try_from(start).ok());
        start.is_some_and(|start| start % all == 0)
    };
    let has_several = |id: &LoopId| {
        let annotations = &nest.get(*id).annotations;
        annotations.interleave.max(annotations.vectorize).is_some_and(|trees| trees > 1)
    };
    let keeps_order = nest.tree_order == TreeOrder::Model || model.depths.iter().is_sorted();
    let in_turn = model.takes_margins_in_turn && keeps_order && loops.clone().all(begins_with_first);
    if !in_turn || slots.is_empty() || slots.iter().any(has_several) {
        return all;
    }
    let others = loops.filter(|id| !slots.contains(id) && trees.trips(**id) > 1);
    let others: Vec<u64> = others.map(|id| trees.step(*id)).collect();
    let slots: Vec<(u64, u64)> = slots.iter().map(|id| (trees.step(*id), trees.trips(*id))).collect();
    margins_of_slot(all, &slots, &others)
}

/// The loops over trees whose iterations have the slots that threads fill: those over the threads of a block
/// if slots are in shared memory, otherwise all mapped ones.
fn loops_with_slots(nest: &Nest, path: &[LoopId]) -> Vec<LoopId> {
    let reduce = |id: &LoopId| nest.get(*id).annotations.reduce;
    let is_mapped =
        |id: &LoopId| nest.get(*id).axis != Axis::Row && nest.get(*id).annotations.gpu_dimension.is_some();
    let mut slots: Vec<LoopId> = path.iter().copied().filter(is_mapped).collect();
    if slots.iter().any(|id| reduce(id) == Some(Reduce::Shared)) {
        slots.retain(|id| is_thread_loop(nest.get(*id)));
    }
    // A loop that adds atomically has slots only if a loop inside it has.
    let last = slots.iter().rposition(|id| reduce(id) != Some(Reduce::Atomic));
    slots.truncate(last.map_or(0, |last| last + 1));
    slots
}
