//! Sums of a thread: where they live, and the accesses that keep them.
//!
//! Each walk adds a leaf to a sum of the thread. The sums of several classes are indexed by the tree's class,
//! so they are on the thread's stack, in the first-level cache. If all trees of a slot add to one margin, a
//! thread has a sum of that margin for each of its rows, in registers. A thread that shares its rows with
//! others moves its sums to a slot whenever a loop over its trees ends.

use super::machine::GpuMachine;
use super::mapping::LaunchMapping;
use super::trees::{margins, sum_bytes};
use sched_ir::lir::{ACCESS_BYTES, BANK_BYTES, BANKS, BlockSlots, greatest_common_divisor};
use sched_nest::ModelInfo;

/// The accesses of one thread to its sums, and what the sums take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SumAccesses {
    /// Loads and stores of slots.
    pub slot_accesses: f64,
    /// Wavefronts that one such access of a warp takes.
    pub conflicts: f64,
    /// Wavefronts in which the threads of a warp load a slot each to fold it.
    pub fold_wavefronts: f64,
    /// Bytes of the slots of a block in shared memory.
    pub slot_bytes: u64,
    /// Bytes of the stack.
    pub stack_bytes: f64,
    /// Whether slots are cleared before the walks, since threads add to them in several rounds.
    pub clears_slots: bool,
}

impl SumAccesses {
    /// The sums of a thread of a launch.
    pub fn of(gpu: &GpuMachine, model: &ModelInfo, launch: &LaunchMapping) -> SumAccesses {
        let indexed = launch.selects_class(model) || (launch.margins_of_slot > 1 && launch.lanes > 1);
        let of_stack = if indexed { launch.lanes * launch.margins_of_slot } else { 0 };
        let adds_in_rounds = launch.slot_rounds > launch.folds.max(1);
        let each = if adds_in_rounds { 2.0 } else { 1.0 };
        let moves = match launch.folds {
            0 => SlotMoves::NONE,
            _ if gpu.packs_slots => SlotMoves::to_adjacent_slots(model, launch),
            _ => SlotMoves::to_placed_slots(gpu, model, launch),
        };
        SumAccesses {
            slot_accesses: launch.slot_rounds as f64 * moves.accesses * each,
            conflicts: moves.conflicts,
            fold_wavefronts: moves.fold_wavefronts,
            slot_bytes: launch
                .tree_threads
                .saturating_mul(moves.distance)
                .saturating_mul(sum_bytes(model) as u64),
            stack_bytes: of_stack as f64 * sum_bytes(model),
            clears_slots: launch.folds > 0 && (adds_in_rounds || launch.has_partial_round(model)),
        }
    }
}

/// Moves of the sums of a thread to its slot in shared memory.
struct SlotMoves {
    /// Instructions for all sums of the thread.
    accesses: f64,
    /// Wavefronts of each such instruction of a warp.
    conflicts: f64,
    /// Wavefronts in which the threads of a warp load a slot each to fold it.
    fold_wavefronts: f64,
    /// Sums from a slot to the next one.
    distance: u64,
}

impl SlotMoves {
    /// The moves if no slot is in shared memory.
    const NONE: SlotMoves = SlotMoves { accesses: 0.0, conflicts: 1.0, fold_wavefronts: 1.0, distance: 0 };

    /// Moves to slots whose sums are margin by margin, at distances that need few wavefronts.
    fn to_placed_slots(gpu: &GpuMachine, model: &ModelInfo, launch: &LaunchMapping) -> SlotMoves {
        let slots = BlockSlots {
            rows: launch.rows_per_block,
            margins: margins(model),
            margins_of_slot: launch.margins_of_slot,
            sum_bytes: sum_bytes(model) as u64,
            lanes: lanes(gpu, launch),
            thread_rows: launch.adjacent_rows,
        };
        let places = slots.places();
        let together = slots.together(places.slot, places.margin) as f64;
        let sums = launch.rows_of_a_thread() * launch.margins_of_slot;
        SlotMoves {
            accesses: sums as f64 / together,
            conflicts: slots.walk_wavefronts(places) * together,
            fold_wavefronts: slots.fold_wavefronts(places),
            distance: places.slot,
        }
    }

    /// Moves to adjacent slots, whose sums are row by row.
    fn to_adjacent_slots(model: &ModelInfo, launch: &LaunchMapping) -> SlotMoves {
        let (margins, sum_bytes) = (margins(model), sum_bytes(model) as u64);
        SlotMoves {
            accesses: (launch.rows_of_a_thread() * accesses(margins, sum_bytes)) as f64,
            conflicts: conflicts(margins, sum_bytes, launch),
            fold_wavefronts: 1.0,
            distance: fitted_distance(margins, sum_bytes, launch),
        }
    }
}

/// The slot and the first row of each thread of a warp.
fn lanes(gpu: &GpuMachine, launch: &LaunchMapping) -> Vec<(u64, u64)> {
    let threads = launch.threads().min(u64::from(gpu.kind.warp));
    let lane = |thread: u64| {
        let (tree, row) = match launch.trees_in_lanes {
            true => (thread % launch.tree_threads, thread / launch.tree_threads),
            false => (thread / launch.row_threads, thread % launch.row_threads),
        };
        (tree, row * launch.adjacent_rows)
    };
    (0..threads).map(lane).collect()
}

/// Instructions that load or store the sums of a row: sums that are next to each other share one, as far as
/// its address is a multiple of its size.
pub fn accesses(margins: u64, sum_bytes: u64) -> u64 {
    match greatest_common_divisor(margins, ACCESS_BYTES / sum_bytes) {
        1 => margins,
        // The first sum has instructions of its own.
        together => margins / together + 1,
    }
}

/// Accesses to the busiest bank if the threads of a warp access the same sum of their adjacent slots. Slots
/// of threads that walk different trees are as far apart as the sums of all rows of the block; those of
/// threads with different rows, as the sums of a thread's rows.
fn conflicts(margins: u64, sum_bytes: u64, launch: &LaunchMapping) -> f64 {
    let words = (sum_bytes / BANK_BYTES).max(1);
    let rows = if launch.trees_in_lanes { launch.rows_per_block } else { launch.lanes };
    (words * greatest_common_divisor(rows * margins, BANKS / words)) as f64
}

/// Sums from an adjacent slot to the next one. The figures of the model were fitted with a further sum
/// between slots if many threads of a warp would reach the same bank.
fn fitted_distance(margins: u64, sum_bytes: u64, launch: &LaunchMapping) -> u64 {
    let sums = margins * launch.rows_per_block;
    let words = (sum_bytes / BANK_BYTES).max(1);
    let together = greatest_common_divisor(margins, ACCESS_BYTES / sum_bytes);
    let is_slow = conflicts(margins, sum_bytes, launch) > (words * together) as f64;
    if launch.trees_in_lanes && is_slow { sums | 1 } else { sums }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_nest::Layout;

    fn model(classes: u32, sum_bytes: u32) -> ModelInfo {
        ModelInfo { num_classes: classes, sum_bytes, ..ModelInfo::default() }
    }

    fn gpu() -> GpuMachine {
        GpuMachine::named("sm_90").unwrap()
    }

    /// The GPU with adjacent slots of all margins.
    fn packing_gpu() -> GpuMachine {
        GpuMachine { packs_slots: true, ..gpu() }
    }

    /// 128 threads of a block walk one tree each, for each of some rows. Slots have some margins.
    fn trees_in_lanes(rows: u64, margins: u64) -> LaunchMapping {
        LaunchMapping {
            rows_per_block: rows,
            row_threads: rows,
            adjacent_rows: 1,
            tree_threads: 128,
            trees_in_lanes: true,
            folds: 1,
            slot_rounds: 4,
            ..LaunchMapping::of_rows(Layout::Array, rows, margins)
        }
    }

    /// Accesses, their wavefronts, those of folds, and sums from a slot to the next one.
    fn moves(gpu: &GpuMachine, model: &ModelInfo, launch: &LaunchMapping) -> (f64, f64, f64, u64) {
        let sums = SumAccesses::of(gpu, model, launch);
        let distance = sums.slot_bytes / launch.tree_threads / u64::from(model.sum_bytes);
        (sums.slot_accesses, sums.conflicts, sums.fold_wavefronts, distance)
    }

    #[test]
    fn adjacent_slots_at_even_distances_share_banks() {
        let of = |classes: u32, bytes, rows| {
            let launch = trees_in_lanes(rows, classes.into());
            moves(&packing_gpu(), &model(classes, bytes), &launch)
        };
        assert_eq!(of(1, 4, 1), (8.0, 1.0, 1.0, 1));
        assert_eq!(of(8, 4, 2), (24.0, 16.0, 1.0, 17), "`schedc predict --simulate` counts as many");
        assert_eq!(of(8, 4, 4), (24.0, 32.0, 1.0, 33));
        assert_eq!(of(3, 4, 1), (24.0, 1.0, 1.0, 3));
        assert_eq!(of(1, 8, 1), (8.0, 2.0, 1.0, 1), "doubles take two banks");
    }

    #[test]
    fn slots_of_all_margins_have_separate_banks() {
        let of = |classes: u32, bytes, rows| {
            moves(&gpu(), &model(classes, bytes), &trees_in_lanes(rows, classes.into()))
        };
        // Four rounds of a load and a store. Adjacent slots took 24 accesses of 32 wavefronts.
        assert_eq!(of(8, 4, 4), (64.0, 1.0, 1.0, 33));
        assert_eq!(of(8, 8, 1), (64.0, 2.0, 1.0, 9));
        assert_eq!(of(3, 4, 1), (24.0, 1.0, 1.0, 3));
        assert_eq!(of(4, 4, 1), (32.0, 1.0, 1.0, 5));
    }

    #[test]
    fn slots_of_one_margin_have_one_sum_of_each_row() {
        let (model, launch) = (model(8, 4), trees_in_lanes(4, 1));
        // Eight times fewer accesses than with all margins. Some of the 32 sums of a fold share a bank.
        assert_eq!(moves(&gpu(), &model, &launch), (8.0, 1.0, 2.0, 5));
        let sums = SumAccesses::of(&gpu(), &model, &launch);
        assert_eq!((sums.stack_bytes, sums.slot_bytes), (0.0, 128 * 5 * 4));
        assert!(!launch.selects_class(&model));
        assert_eq!(launch.slots_of_sum(&model, 128), 16);
        assert_eq!(launch.slots_of_sum(&model, 1), 1);
    }

    #[test]
    fn threads_with_adjacent_rows_store_several_sums_at_once() {
        let four_rows = |margins| LaunchMapping {
            rows_per_block: 128,
            row_threads: 32,
            lanes: 4,
            adjacent_rows: 4,
            tree_threads: 8,
            trees_in_lanes: false,
            slot_rounds: 1,
            ..trees_in_lanes(128, margins)
        };
        let of = |margins| moves(&gpu(), &model(8, 4), &four_rows(margins));
        // Four sums of a margin in an access of four wavefronts.
        assert_eq!(of(8), (8.0, 4.0, 1.0, 1056));
        assert_eq!(of(1), (1.0, 4.0, 1.0, 132));
        assert_eq!(SumAccesses::of(&gpu(), &model(8, 4), &four_rows(8)).stack_bytes, 128.0);
        assert_eq!(SumAccesses::of(&gpu(), &model(8, 4), &four_rows(1)).stack_bytes, 0.0);
    }

    #[test]
    fn sums_move_to_slots_once_for_each_round() {
        let sums = SumAccesses::of(&gpu(), &model(1, 4), &trees_in_lanes(1, 1));
        assert_eq!(sums.slot_accesses, 8.0, "four loads and four stores");
        assert!(sums.clears_slots && sums.stack_bytes == 0.0);
        let one_round = LaunchMapping { slot_rounds: 1, ..trees_in_lanes(1, 8) };
        let sums = SumAccesses::of(&gpu(), &model(8, 4), &one_round);
        assert_eq!(sums.slot_accesses, 8.0, "a store for each sum of a slot");
        let sums = SumAccesses::of(&packing_gpu(), &model(8, 4), &one_round);
        assert_eq!(sums.slot_accesses, 3.0, "one store of the first sum, two of the others");
        assert!(!sums.clears_slots && sums.stack_bytes == 32.0);
    }
}
