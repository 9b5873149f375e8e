//! Sums of a thread: where they live, and the accesses that keep them.
//!
//! Each walk adds a leaf to a sum of the thread. The sums of several classes are indexed by the tree's class,
//! so they are on the thread's stack, in the first-level cache. A thread that shares its rows with others
//! moves its sums to a slot whenever a loop over its trees ends.

use super::machine::GpuMachine;
use super::mapping::LaunchMapping;
use super::trees::{selects_class, sum_bytes};
use sched_ir::lir::{ACCESS_BYTES, BANK_BYTES, BANKS, greatest_common_divisor};
use sched_nest::ModelInfo;

/// The accesses of one thread to its sums, and what the sums take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SumAccesses {
    /// Loads and stores of slots.
    pub slot_accesses: f64,
    /// Wavefronts that one such access of a warp takes.
    pub conflicts: f64,
    /// Bytes of the stack.
    pub stack_bytes: f64,
    /// Whether slots are cleared before the walks, since threads add to them in several rounds.
    pub clears_slots: bool,
}

impl SumAccesses {
    /// The sums of a thread of a launch.
    pub fn of(gpu: &GpuMachine, model: &ModelInfo, launch: &LaunchMapping) -> SumAccesses {
        let margins = u64::from(model.num_classes.max(1));
        let indexed = selects_class(model) || (margins > 1 && launch.lanes > 1);
        let stack = if indexed { (launch.lanes * margins) as f64 * sum_bytes(model) } else { 0.0 };
        let adds_in_rounds = launch.slot_rounds > launch.folds.max(1);
        let each = if adds_in_rounds { 2.0 } else { 1.0 };
        let (of_row, conflicts) = match !gpu.packs_slots && has_odd_distance(model, launch) {
            true => (margins, words_of_sum(model) as f64),
            false => (accesses(model), conflicts(margins, sum_bytes(model) as u64, launch)),
        };
        let moves = (launch.rows_of_a_thread() * launch.slot_rounds * of_row) as f64;
        SumAccesses {
            slot_accesses: if launch.folds > 0 { moves * each } else { 0.0 },
            conflicts,
            stack_bytes: stack,
            clears_slots: launch.folds > 0 && (adds_in_rounds || launch.has_partial_round(model)),
        }
    }
}

/// Instructions that load or store the sums of a row: sums that are next to each other share one, as far as
/// its address is a multiple of its size.
pub fn accesses(model: &ModelInfo) -> u64 {
    let margins = u64::from(model.num_classes.max(1));
    let most = ACCESS_BYTES / sum_bytes(model) as u64;
    match greatest_common_divisor(margins, most) {
        1 => margins,
        // The first sum has instructions of its own.
        together => margins / together + 1,
    }
}

/// Words of four bytes of a sum.
fn words_of_sum(model: &ModelInfo) -> u64 {
    (sum_bytes(model) as u64 / BANK_BYTES).max(1)
}

/// Whether slots of threads that walk different trees are at an odd distance. That takes fewer wavefronts,
/// but more instructions, since each sum is accessed by itself.
fn has_odd_distance(model: &ModelInfo, launch: &LaunchMapping) -> bool {
    let margins = u64::from(model.num_classes.max(1));
    let together = greatest_common_divisor(margins, ACCESS_BYTES / sum_bytes(model) as u64);
    let packed = conflicts(margins, sum_bytes(model) as u64, launch);
    launch.trees_in_lanes && packed > (words_of_sum(model) * together) as f64
}

/// Sums from a slot in shared memory to the next one.
pub fn slot_distance(model: &ModelInfo, launch: &LaunchMapping) -> u64 {
    let sums = u64::from(model.num_classes.max(1)) * launch.rows_per_block;
    if has_odd_distance(model, launch) { sums | 1 } else { sums }
}

/// Accesses to the busiest bank if the threads of a warp access the same sum of their adjacent slots. Slots
/// of threads that walk different trees are as far apart as the sums of all rows of the block; those of
/// threads with different rows, as the sums of a thread's rows.
fn conflicts(margins: u64, sum_bytes: u64, launch: &LaunchMapping) -> f64 {
    let words = (sum_bytes / BANK_BYTES).max(1);
    let rows = if launch.trees_in_lanes { launch.rows_per_block } else { launch.lanes };
    (words * greatest_common_divisor(rows * margins, BANKS / words)) as f64
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

    /// 128 threads of a block walk one tree each, for each of some rows.
    fn trees_in_lanes(rows: u64) -> LaunchMapping {
        LaunchMapping {
            rows_per_block: rows,
            row_threads: rows,
            tree_threads: 128,
            trees_in_lanes: true,
            folds: 1,
            slot_rounds: 4,
            ..LaunchMapping::of_rows(Layout::Array, rows)
        }
    }

    #[test]
    fn adjacent_slots_at_even_distances_share_banks() {
        let gpu = GpuMachine { packs_slots: true, ..gpu() };
        let conflicts = |classes, bytes, rows| {
            SumAccesses::of(&gpu, &model(classes, bytes), &trees_in_lanes(rows)).conflicts
        };
        assert_eq!(conflicts(1, 4, 1), 1.0);
        assert_eq!(conflicts(8, 4, 2), 16.0, "`schedc predict --simulate` counts as many");
        assert_eq!(conflicts(8, 4, 4), 32.0);
        assert_eq!(conflicts(3, 4, 1), 1.0);
        assert_eq!(conflicts(1, 8, 1), 2.0, "doubles take two banks");
    }

    #[test]
    fn slots_at_odd_distances_have_separate_banks() {
        let of = |classes, bytes, rows| {
            let sums = SumAccesses::of(&gpu(), &model(classes, bytes), &trees_in_lanes(rows));
            (sums.slot_accesses, sums.conflicts, slot_distance(&model(classes, bytes), &trees_in_lanes(rows)))
        };
        // Four rounds of a load and a store. Adjacent slots took 24 accesses of 32 wavefronts.
        assert_eq!(of(8, 4, 4), (64.0, 1.0, 33));
        assert_eq!(of(8, 8, 1), (64.0, 2.0, 9));
        assert_eq!(of(3, 4, 1), (24.0, 1.0, 3));
        // Four sums at once, in four wavefronts.
        assert_eq!(of(4, 4, 1), (16.0, 4.0, 4));
    }

    #[test]
    fn sums_move_to_slots_once_for_each_round() {
        let sums = SumAccesses::of(&gpu(), &model(1, 4), &trees_in_lanes(1));
        assert_eq!(sums.slot_accesses, 8.0, "four loads and four stores");
        assert!(sums.clears_slots && sums.stack_bytes == 0.0);
        let one_round = LaunchMapping { slot_rounds: 1, ..trees_in_lanes(1) };
        let sums = SumAccesses::of(&gpu(), &model(8, 4), &one_round);
        assert_eq!(sums.slot_accesses, 8.0, "a store for each sum of a slot at an odd distance");
        let gpu = GpuMachine { packs_slots: true, ..gpu() };
        let sums = SumAccesses::of(&gpu, &model(8, 4), &one_round);
        assert_eq!(sums.slot_accesses, 3.0, "one store of the first sum, two of the others");
        assert!(!sums.clears_slots && sums.stack_bytes == 32.0);
    }
}
