//! Slots of sums in the device's memory: the bytes that threads move, and the time of a fold.

use super::figures;
use super::machine::GpuMachine;
use super::mapping::LaunchMapping;
use super::sums::accesses;
use super::trees::{margins, sum_bytes};
use sched_ir::mir::{FoldPiece, folds_in_launch};
use sched_nest::ModelInfo;

/// The slots of a launch in the device's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceSlots {
    /// Number of slots.
    slots: u64,
    /// Margins of a slot.
    margins_of_slot: u64,
    /// Slots that the fold of a sum adds up.
    slots_of_sum: u64,
    /// Margins of a row.
    margins: u64,
    /// Bytes of a sum.
    sum_bytes: f64,
}

impl DeviceSlots {
    /// The slots of a launch; `None` if it has none.
    pub fn of(model: &ModelInfo, launch: &LaunchMapping) -> Option<DeviceSlots> {
        let (slots, margins) = (launch.device_slots, margins(model));
        // Blocks fold slots in shared memory to slots of all margins.
        let (margins_of_slot, slots_of_sum) = match launch.folds {
            0 => (launch.margins_of_slot, launch.slots_of_sum(model, slots)),
            _ => (margins, slots),
        };
        let sum_bytes = sum_bytes(model);
        (slots > 0).then_some(DeviceSlots { slots, margins_of_slot, slots_of_sum, margins, sum_bytes })
    }

    /// Microseconds of adding up the slots of `rows` rows, by the last blocks of the launch or by a second
    /// launch.
    pub fn fold_us(&self, gpu: &GpuMachine, launch: &LaunchMapping, rows: u64) -> f64 {
        let bytes = self.bytes(rows);
        let share = (self.written_bytes(rows) + bytes) / gpu.multiprocessors();
        let bandwidth = gpu.second_cache_bandwidth(gpu.multiprocessors());
        let moved = gpu.us(gpu.fitted.slot_traffic * share / bandwidth);
        let wait = if gpu.keeps_in_second_cache(bytes) { 1.0 } else { figures::MEMORY_FOLD_FACTOR };
        let sums = (rows * self.margins) as f64;
        let rounds = (sums / (gpu.multiprocessors() * figures::FOLDING_THREADS)).max(1.0);
        let block_sums = launch.rows_per_block * self.margins;
        let (before, rounds) = match self.fold_in_launch(gpu, launch) {
            true => {
                let rounds = rounds.max(block_sums.div_ceil(launch.threads()) as f64);
                let waits = match launch.tree_blocks {
                    1 => gpu.fitted.barrier_cycles,
                    _ => gpu.fitted.ticket_cycles(),
                };
                (gpu.us(waits), rounds)
            }
            false => (figures::LAUNCH_US, rounds),
        };
        let cycles = match self.piece(gpu, launch) {
            Some(piece) => self.cycles_in_pieces(gpu, piece, wait),
            None => self.slots_of_sum as f64 * gpu.fitted.device_fold_cycles * wait,
        };
        before + moved + gpu.us(cycles * rounds)
    }

    /// Whether the last blocks of the launch fold.
    fn fold_in_launch(&self, gpu: &GpuMachine, launch: &LaunchMapping) -> bool {
        let sums = launch.rows_per_block * self.margins;
        !gpu.folds_in_second_launch && folds_in_launch(self.slots_of_sum, sums, launch.threads())
    }

    /// The piece in which a block folds slots, if it folds them in pieces.
    fn piece(&self, gpu: &GpuMachine, launch: &LaunchMapping) -> Option<FoldPiece> {
        let sums = launch.rows_per_block * self.margins;
        let piece = FoldPiece::of(self.slots_of_sum, sums, launch.threads());
        piece.filter(|_| self.fold_in_launch(gpu, launch))
    }

    /// Bytes of a piece in the shared memory of a block.
    pub fn piece_bytes(&self, gpu: &GpuMachine, launch: &LaunchMapping) -> u64 {
        let sums = |piece: FoldPiece| piece.sums * piece.slots();
        self.piece(gpu, launch).map_or(0, sums) * self.sum_bytes as u64
    }

    /// Cycles in which a block folds a sum piece by piece: it waits for each piece, and a thread adds it up.
    fn cycles_in_pieces(&self, gpu: &GpuMachine, piece: FoldPiece, wait: f64) -> f64 {
        let arrival = figures::LOADS_IN_FLIGHT * gpu.fitted.device_fold_cycles * wait;
        let pieces = self.slots_of_sum.div_ceil(piece.slots()) as f64;
        pieces * (arrival + 2.0 * gpu.fitted.barrier_cycles)
            + self.slots_of_sum as f64 * figures::PIECE_SLOT_CYCLES
    }

    /// Bytes of the slots of `rows` rows.
    fn bytes(&self, rows: u64) -> f64 {
        (self.slots * rows * self.margins_of_slot) as f64 * self.sum_bytes
    }

    /// Bytes that the stores of these slots move. Neighbouring threads write sums of neighbouring rows, in
    /// sectors of their own if a row has many.
    fn written_bytes(&self, rows: u64) -> f64 {
        let of_a_row = self.margins_of_slot as f64 * self.sum_bytes;
        let stores = self.slots * rows * accesses(self.margins_of_slot, self.sum_bytes as u64);
        stores as f64 * of_a_row.min(figures::SECTOR_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_nest::Layout;

    fn model(classes: u32) -> ModelInfo {
        ModelInfo { num_classes: classes, sum_bytes: 4, ..ModelInfo::default() }
    }

    /// 13 blocks with the same 32 rows have 8 trees each, in 8 threads of each row.
    fn groups(margins: u64) -> LaunchMapping {
        LaunchMapping {
            row_threads: 32,
            tree_blocks: 13,
            tree_threads: 8,
            device_slots: 104,
            ..LaunchMapping::of_rows(Layout::Array, 32, margins)
        }
    }

    #[test]
    fn slots_of_one_margin_take_fewer_bytes_and_loads() {
        let [all, one] = [8, 1].map(|margins| DeviceSlots::of(&model(8), &groups(margins)).unwrap());
        assert_eq!((all.bytes(100), all.slots_of_sum), (332_800.0, 104));
        assert_eq!((one.bytes(100), one.slots_of_sum), (41_600.0, 13));
        assert!(one.written_bytes(100) < all.written_bytes(100) / 8.0, "no sector is written in part");
        let gpu = GpuMachine::named("sm_90").unwrap();
        let us = |slots: DeviceSlots| slots.fold_us(&gpu, &groups(1), 1000);
        assert!(us(one) < us(all));
    }

    #[test]
    fn blocks_fold_shared_slots_to_slots_of_all_margins() {
        let shared = LaunchMapping { folds: 1, device_slots: 13, ..groups(1) };
        let slots = DeviceSlots::of(&model(8), &shared).unwrap();
        assert_eq!((slots.margins_of_slot, slots.slots_of_sum), (8, 13));
        assert_eq!(DeviceSlots::of(&model(8), &LaunchMapping { device_slots: 0, ..groups(1) }), None);
    }

    #[test]
    fn fewer_slots_of_each_sum_are_folded_in_the_launch() {
        // A block of 8 threads has 32 sums of 104 slots, or of 13.
        let [all, one] = [8, 1].map(|margins| DeviceSlots::of(&model(8), &groups(margins)).unwrap());
        assert!(!folds_in_launch(all.slots_of_sum, 32, 8) && folds_in_launch(one.slots_of_sum, 32, 8));
    }

    #[test]
    fn pieces_shorten_the_fold_of_many_slots() {
        let gpu = GpuMachine::named("sm_90").unwrap();
        let second = GpuMachine { folds_in_second_launch: true, ..gpu };
        // 125 blocks of 8 trees and 32 rows, with 256 threads: 32 slots of a sum in a piece.
        let launch = LaunchMapping { device_slots: 1000, tree_blocks: 125, ..groups(1) };
        let slots = DeviceSlots::of(&model(1), &launch).unwrap();
        let us = |gpu: &GpuMachine| slots.fold_us(gpu, &launch, 1000);
        assert!(us(&gpu) < 0.8 * us(&second), "{} {}", us(&gpu), us(&second));
    }
}
