//! The work of one block of threads.

use super::columns::ColumnWork;
use super::device_slots::DeviceSlots;
use super::figures::{self, PACKED_ROWS};
use super::machine::{GpuMachine, Occupancy};
use super::mapping::LaunchMapping;
use super::reads::{Misses, WalkReads};
use super::sums::SumAccesses;
use super::trees::{TreeMemory, margins, row_bytes};
use sched_nest::ModelInfo;

/// Most steps of the search for a bin of 8 bits, and for one of 16 bits.
const MOST_SEARCH_STEPS: [f64; 2] = [8.0, 14.0];
/// Bytes of the first-level cache that are left to trees, at least, however much stacks take.
const LEAST_FIRST_CACHE: f64 = 8192.0;
/// Bytes of a tree that a thread copies with one instruction.
const COPIED_AT_ONCE: f64 = 16.0;
/// Rows per block below which copies are padded, so that consecutive features of a row are in different banks
/// of shared memory.
const FEW_ROWS: u64 = 32;

/// Rows of a block up to which it has at least [`LEAST_COLUMN_THREADS`] threads if it computes columns.
const FEW_COLUMN_ROWS: u64 = 8;

/// Fewest threads of a block that computes the columns of few rows.
const LEAST_COLUMN_THREADS: f64 = 128.0;

/// The work of one block, in cycles of a multiprocessor that runs no other block.
pub struct BlockWork {
    /// Cycles in which all issue slots are busy.
    pub issue: f64,
    /// Cycles in which the first-level cache is busy.
    pub wavefronts: f64,
    /// Cycles from beginning to end: the sum of the latencies of consecutive steps.
    pub chain: f64,
    /// Bytes of trees that a multiprocessor reads from the second-level cache, for all its blocks.
    pub tree_bytes: f64,
}

/// Bytes of shared memory of a block, which may compute columns.
pub fn shared_bytes(
    (gpu, model, columns): (&GpuMachine, &ModelInfo, Option<ColumnWork>),
    trees: &TreeMemory,
    (launch, sums): (&LaunchMapping, &SumAccesses),
) -> u64 {
    let rows = if launch.copies_rows { copied_rows(model, launch) } else { 0 };
    let rows = rows + columns.map_or(0, |columns| columns.row_bytes() * launch.rows_per_block);
    let piece = DeviceSlots::of(model, launch).map_or(0, |slots| slots.piece_bytes(gpu, launch));
    rows + sums.slot_bytes + piece + (launch.copied_trees as f64 * trees.tree_bytes()) as u64
}

/// Bytes of a block's copied rows. The values of one feature are padded to whole lines, or in blocks of less
/// than [`FEW_ROWS`] rows to an odd number of values.
fn copied_rows(model: &ModelInfo, launch: &LaunchMapping) -> u64 {
    let bins = launch.layout.compares_bins();
    let value = u64::from(if bins { model.bin_bytes.max(1) } else { model.value_bytes.max(4) });
    let rows = launch.rows_per_block;
    let packed = bins && launch.lanes == PACKED_ROWS;
    let held = if rows < FEW_ROWS && !packed {
        rows | 1
    } else {
        rows.next_multiple_of((figures::LINE_BYTES as u64 / value).max(1))
    };
    held * value * u64::from(model.shared_values(launch.layout))
}

/// A block of a launch while its work is added up.
struct BlockEstimator<'a> {
    gpu: &'a GpuMachine,
    model: &'a ModelInfo,
    trees: &'a TreeMemory,
    launch: &'a LaunchMapping,
    occupancy: Occupancy,
    /// Bytes that shared memory leaves to the first-level cache.
    first_cache: f64,
    /// Rows of the block, at most those of the call.
    rows: f64,
    threads: f64,
    warps: f64,
    sums: SumAccesses,
    work: BlockWork,
}

impl BlockWork {
    /// The work of a block of a launch in a call of `rows` rows.
    pub fn of(
        (gpu, model, columns): (&GpuMachine, &ModelInfo, Option<ColumnWork>),
        trees: &TreeMemory,
        (launch, sums): (&LaunchMapping, SumAccesses),
        rows: u64,
        occupancy: Occupancy,
    ) -> BlockWork {
        let threads = launch.threads() as f64;
        let shared = shared_bytes((gpu, model, columns), trees, (launch, &sums));
        let stacks = occupancy.resident * threads * sums.stack_bytes;
        let mut estimator = BlockEstimator {
            gpu,
            model,
            trees,
            launch,
            occupancy,
            first_cache: (gpu.first_cache(occupancy.resident, shared) - stacks).max(LEAST_FIRST_CACHE),
            sums,
            rows: launch.rows_per_block.min(rows) as f64,
            threads,
            warps: (threads / f64::from(gpu.kind.warp)).ceil(),
            work: BlockWork {
                issue: 0.0,
                wavefronts: 0.0,
                chain: gpu.fitted.block_overhead,
                tree_bytes: 0.0,
            },
        };
        estimator
            .add_instructions(estimator.warps * gpu.fitted.block_overhead / f64::from(gpu.kind.warp / 8));
        estimator.add_walks(rows);
        estimator.add_sums();
        estimator.add_rows();
        columns.iter().for_each(|columns| estimator.add_columns(columns));
        estimator.add_folds();
        estimator.add_copies_of_trees();
        estimator.work
    }
}

impl BlockEstimator<'_> {
    fn add_instructions(&mut self, warp_instructions: f64) {
        self.work.issue += warp_instructions / self.gpu.sheet.issue;
    }

    fn margins(&self) -> f64 {
        margins(self.model) as f64
    }

    /// Warps of the block with at least one thread that walks a tree, in a call of `rows` rows.
    fn walking_warps(&self, rows: u64) -> f64 {
        let warp = u64::from(self.gpu.kind.warp);
        let launch = self.launch;
        let used = launch.row_threads.min(rows.div_ceil(launch.lanes));
        let warps = match launch.trees_in_lanes {
            true => (launch.tree_threads * used).div_ceil(warp),
            false if launch.row_threads >= warp => launch.tree_threads * used.div_ceil(warp),
            false => return self.warps,
        };
        warps as f64
    }

    fn add_walks(&mut self, call_rows: u64) {
        let launch = self.launch;
        let warps = self.walking_warps(call_rows);
        let rows = launch.rows_per_block.div_ceil(launch.row_threads * launch.lanes).max(1) as f64;
        let walks = launch.thread_trees as f64 * rows;
        let reads = WalkReads::of(self.gpu, self.trees, launch);
        let accesses = self.occupancy.busiest * warps * walks * reads.sectors;
        let misses = Misses::of(
            (self.gpu, self.trees),
            launch,
            (self.rows, self.occupancy),
            self.first_cache,
            accesses,
        );
        self.work.tree_bytes = misses.sectors * figures::SECTOR_BYTES;
        let waiting = misses.steps * reads.miss_factor;
        let classes = if launch.selects_class(self.model) { 1.0 } else { 0.0 };
        // The sums of several classes are in memory. Straight-line walks of several trees that compare bins
        // then wait for each other's sums.
        let waits = classes > 0.0 && launch.layout.has_straight_line_walks() && launch.layout.compares_bins();
        let overlap = if waits { 0.0 } else { self.gpu.fitted.interleaving_overlap };
        let overlap = 1.0 + (launch.walks_in_flight() as f64 - 1.0) * overlap;
        let cycles = reads.cycles
            + reads.steps * waiting * self.gpu.fitted.miss_cycles
            + waiting * reads.sectors * self.gpu.fitted.sector_cycles
            + self.gpu.fitted.walk_cycles;
        let following = 1.0 + (walks - 1.0) * self.gpu.fitted.next_walk_share;
        self.work.chain +=
            following * cycles / overlap + walks * self.gpu.fitted.class_cycles * classes / overlap;
        if !launch.copies_rows {
            let all = self.occupancy.resident * self.rows * row_bytes(self.model);
            let misses = 1.0 - (self.gpu.fitted.kept_share * self.first_cache / all).min(1.0);
            self.work.chain += walks * reads.steps * self.gpu.fitted.row_miss_cycles * misses;
        }
        let instructions = reads.instructions + self.gpu.fitted.class_instructions * classes;
        self.add_instructions(warps * walks * instructions);
        let of_rows = match (launch.copies_rows, launch.trees_in_lanes) {
            (true, true) => figures::BANK_CONFLICTS,
            (true, false) => 1.0,
            (false, _) => self.gpu.fitted.uncopied_row_factor,
        };
        let of_rows = reads.steps * of_rows * launch.lanes as f64 * self.gpu.fitted.row_wavefronts;
        self.work.wavefronts += warps * walks * (reads.lines * self.gpu.fitted.line_wavefronts + of_rows);
    }

    /// Adds the work of keeping sums: values of leaf vectors beyond the first, and accesses to slots.
    fn add_sums(&mut self) {
        let launch = self.launch;
        let further = if self.model.has_leaf_vectors { self.margins() - 1.0 } else { 0.0 };
        let vectors = (launch.thread_trees * launch.rows_of_a_thread()) as f64 * further;
        let slots = self.sums.slot_accesses;
        self.add_instructions(self.warps * (vectors + slots) * self.gpu.fitted.sum_instructions);
        self.work.wavefronts += self.warps * slots * self.sums.conflicts;
        self.work.chain += vectors * self.gpu.fitted.sum_cycles
            + slots * self.sums.conflicts.max(self.gpu.fitted.sum_cycles);
    }

    /// Adds the work of copying the block's rows, as values or as bins.
    fn add_rows(&mut self) {
        if !self.launch.copies_rows {
            return;
        }
        let values = f64::from(self.model.shared_values(self.launch.layout)) * self.rows;
        let of_a_thread = (values / self.threads).ceil();
        let warp = f64::from(self.gpu.kind.warp);
        if self.launch.layout.compares_bins() {
            let steps = self.search_steps();
            let instructions = self.gpu.fitted.bin_instructions + steps * self.gpu.fitted.search_instructions;
            self.add_instructions(values * instructions / warp);
            self.work.chain +=
                of_a_thread * (self.gpu.fitted.bin_cycles + steps * self.gpu.fitted.search_cycles);
        } else {
            self.add_instructions(values * self.gpu.fitted.copy_instructions / warp);
            self.work.chain += of_a_thread * self.gpu.fitted.copy_cycles + self.gpu.fitted.miss_cycles;
        }
    }

    /// Steps of the search for the bin of a feature. If they are unknown, each node counts as a threshold.
    fn search_steps(&self) -> f64 {
        if self.model.search_steps > 0 {
            return f64::from(self.model.search_steps) / f64::from(self.model.bins_per_row.max(1));
        }
        let most = if self.model.bin_bytes > 1 { MOST_SEARCH_STEPS[1] } else { MOST_SEARCH_STEPS[0] };
        let nodes = self.trees.count * self.trees.inner_nodes;
        (1.0 + nodes / f64::from(self.model.tested_features.max(1))).log2().clamp(1.0, most)
    }

    /// Adds the work of computing the columns of the block's rows.
    fn add_columns(&mut self, columns: &ColumnWork) {
        let warp = f64::from(self.gpu.kind.warp);
        self.add_instructions(self.rows * columns.instructions() / warp);
        self.work.wavefronts += columns.wavefronts(self.rows);
        let threads = match self.launch.rows_per_block {
            ..=FEW_COLUMN_ROWS => self.threads.max(LEAST_COLUMN_THREADS),
            _ => self.threads,
        };
        self.work.chain += columns.chain(self.gpu, threads / self.rows);
    }

    /// Adds the work of folding slots in shared memory.
    fn add_folds(&mut self) {
        if self.launch.folds == 0 {
            return;
        }
        let (launch, folds) = (self.launch, self.launch.folds as f64);
        let slots = launch.slots_of_sum(self.model, launch.tree_threads) as f64;
        let warp = f64::from(self.gpu.kind.warp);
        if self.sums.clears_slots {
            let sums = (launch.tree_threads * launch.margins_of_slot) as f64 * self.rows;
            self.add_instructions(folds * sums * self.gpu.fitted.fill_instructions / warp);
            self.work.chain += folds * self.gpu.fitted.fill_cycles * sums / self.threads;
        }
        // Each thread adds up the slots of one sum, so with few sums most threads of a warp are idle.
        let of_warps = folds * slots * (self.margins() * self.rows / warp).ceil();
        self.add_instructions(of_warps * self.gpu.fitted.fold_instructions);
        self.work.wavefronts += of_warps * self.sums.fold_wavefronts;
        let of_slot = self.gpu.fitted.fold_cycles.max(self.sums.fold_wavefronts);
        let rounds = (self.margins() * self.rows / self.threads).max(1.0);
        // If a block folds several times, each fold adds to sums in memory.
        let sum = if folds > 1.0 { self.gpu.fitted.miss_cycles } else { 0.0 };
        self.work.chain += folds * (2.0 * self.gpu.fitted.barrier_cycles + slots * of_slot * rounds + sum);
    }

    fn add_copies_of_trees(&mut self) {
        if self.launch.copied_trees == 0 {
            return;
        }
        let launch = self.launch;
        let (blocks, rounds) = (launch.tree_blocks as f64, launch.copy_rounds as f64);
        let pieces = rounds * (self.trees.count / blocks / launch.copied_trees as f64).ceil();
        let copies = rounds * self.trees.bytes / blocks / COPIED_AT_ONCE * self.gpu.fitted.copy_cycles;
        self.add_instructions(copies / f64::from(self.gpu.kind.warp));
        self.work.chain += pieces * 2.0 * self.gpu.fitted.barrier_cycles + copies / self.threads;
    }
}
