//! The work of one block.

use super::figures::{self, StepFigures};
use super::machine::GpuMachine;
use super::mapping::Mapping;
use super::trees::{Trees, row_bytes, sum_bytes};
use sched_nest::{Layout, ModelInfo};

/// Rows of a vector on GPUs.
const FOUR: u64 = 4;
/// Steps of the search for a bin of 8 bits, and of 16 bits.
const STEPS_OF_A_SEARCH: [f64; 2] = [8.0, 14.0];
/// Bytes that a thread copies of a tree at once.
const COPIED_AT_ONCE: f64 = 16.0;

/// The work of one block, in cycles of a multiprocessor that it has for itself.
pub struct BlockWork {
    /// Cycles in which all issue slots are busy.
    pub issue: f64,
    /// Cycles in which the first cache is busy.
    pub wavefronts: f64,
    /// Cycles from beginning to end, each step after the one before.
    pub chain: f64,
    /// Bytes of trees that the block reads.
    touched: f64,
    /// Share of later blocks' reads that the first cache does not serve.
    missing: f64,
    /// Bytes of all trees.
    tree_bytes: f64,
    copies_trees: bool,
}

/// The blocks of a multiprocessor.
#[derive(Clone, Copy)]
pub struct Occupancy {
    /// Blocks that the busiest multiprocessor runs, one after the other or side by side.
    pub busiest: f64,
    /// Most blocks side by side.
    pub resident: f64,
}

/// Bytes of shared memory of a block.
pub fn shared_bytes(model: &ModelInfo, trees: &Trees, launch: &Mapping) -> u64 {
    let rows = if launch.cached_rows { launch.rows_per_block * model.copied_bytes(launch.layout) } else { 0 };
    let margins = u64::from(model.num_classes.max(1)) * sum_bytes(model) as u64;
    let slots = if launch.folds > 0 { launch.tree_threads * launch.rows_per_block * margins } else { 0 };
    rows + slots + (launch.cached_trees as f64 * trees.bytes / trees.count) as u64
}

/// A block of a launch while its work is added up.
struct Reader<'a> {
    gpu: &'a GpuMachine,
    model: &'a ModelInfo,
    trees: &'a Trees,
    launch: &'a Mapping,
    occupancy: Occupancy,
    /// Bytes of shared memory of the block.
    shared: f64,
    /// Rows of the block that the call has.
    rows: f64,
    threads: f64,
    warps: f64,
    step: StepFigures,
    work: BlockWork,
}

impl BlockWork {
    /// The work of a block of a launch in a call of `rows` rows.
    pub fn of(
        (gpu, model): (&GpuMachine, &ModelInfo),
        trees: &Trees,
        launch: &Mapping,
        rows: u64,
        occupancy: Occupancy,
    ) -> BlockWork {
        let threads = launch.threads() as f64;
        let mut reader = Reader {
            gpu,
            model,
            trees,
            launch,
            occupancy,
            shared: shared_bytes(model, trees, launch) as f64,
            rows: launch.rows_per_block.min(rows) as f64,
            threads,
            warps: (threads / f64::from(gpu.kind.warp)).ceil(),
            step: if launch.lanes == FOUR { figures::FOUR } else { figures::step(launch.layout) },
            work: BlockWork {
                issue: 0.0,
                wavefronts: 0.0,
                chain: figures::BLOCK,
                touched: 0.0,
                missing: 0.0,
                tree_bytes: trees.bytes,
                copies_trees: launch.cached_trees > 0,
            },
        };
        reader.add_instructions(reader.warps * figures::BLOCK / f64::from(gpu.kind.warp / 8));
        reader.add_reads();
        reader.add_walks();
        reader.add_rows();
        reader.add_folds();
        reader.add_copies_of_trees();
        reader.work
    }

    /// Bytes of trees that a multiprocessor reads from the second cache for `blocks` blocks.
    pub fn second_cache_bytes(&self, blocks: f64) -> f64 {
        if self.copies_trees {
            blocks * self.tree_bytes
        } else if self.missing > 0.0 {
            self.touched * (1.0 + (blocks - 1.0).max(0.0) * self.missing)
        } else {
            (blocks * self.touched).min(self.tree_bytes)
        }
    }
}

impl Reader<'_> {
    fn add_instructions(&mut self, warp_instructions: f64) {
        self.work.issue += warp_instructions / self.gpu.sheet.issue;
    }

    fn margins(&self) -> f64 {
        f64::from(self.model.num_classes.max(1))
    }

    /// Cost of wide values, as a ratio.
    fn wide(&self) -> f64 {
        if self.model.value_bytes > 4 { figures::WIDE } else { 1.0 }
    }

    /// Bytes of tables that the first cache serves.
    fn first_cache(&self) -> f64 {
        let shared = self.occupancy.resident * (self.shared + figures::RESERVED_BYTES as f64);
        let rest = (self.gpu.sheet.l1_kib << 10) as f64 - shared;
        (rest * figures::HOT).max(figures::LEAST_FIRST_CACHE)
    }

    /// Reads of trees, and the share of them that misses the first cache.
    fn add_reads(&mut self) {
        let (trees, launch) = (self.trees, self.launch);
        let blocks = launch.tree_blocks as f64;
        let touched = trees.count / blocks * trees.touched_bytes(self.rows);
        let in_lanes = match launch.trees_in_lanes {
            false => 1.0,
            true if launch.layout == Layout::Reorg => figures::SIDE_BY_SIDE_BYTES,
            true => figures::APART_BYTES,
        };
        self.work.touched = touched.min(trees.bytes / blocks * 1.3) * in_lanes;
        self.work.missing = (1.0 - self.first_cache() / trees.bytes).max(0.0);
    }

    /// Share of the steps that miss the first cache. The first blocks of a multiprocessor miss always.
    fn misses(&self) -> f64 {
        let Occupancy { busiest, resident } = self.occupancy;
        match self.work.copies_trees {
            true => 0.0,
            false if busiest <= resident => 1.0,
            false => self.work.missing.max(resident / busiest),
        }
    }

    fn add_walks(&mut self) {
        let (trees, launch, step) = (self.trees, self.launch, &self.step);
        let rows = launch.rows_per_block.div_ceil(launch.row_threads * launch.lanes).max(1) as f64;
        let walks = launch.thread_trees as f64 * rows;
        let classes = if self.model.num_classes > 1 { 1.0 } else { 0.0 };
        let of_a_walk = trees.steps * step.instructions * self.wide()
            + figures::WALK_INSTRUCTIONS * launch.lanes as f64
            + figures::CLASS_INSTRUCTIONS * classes;
        let cycles = trees.steps * (step.cycles * self.wide() + self.misses() * figures::MISS_CYCLES);
        let together = launch.together.min(launch.thread_trees).max(1) as f64;
        // The sums of several classes are in memory, where straight walks of several trees wait for each
        // other.
        let share = if classes > 0.0 && launch.layout.is_straight() { 0.0 } else { step.together };
        let overlap = 1.0 + (together - 1.0) * share;
        let mut chain = walks * (cycles + figures::WALK_CYCLES) / overlap;
        chain += walks * figures::CLASS_CYCLES * classes;
        if !launch.cached_rows {
            let all = self.occupancy.resident * self.rows * row_bytes(self.model);
            let misses = 1.0 - (self.first_cache() / all).min(1.0);
            chain += walks * trees.steps * figures::ROW_MISS_CYCLES * misses;
        }
        let wavefronts = self.warps * walks * self.wavefronts_of_a_walk();
        self.add_instructions(self.warps * walks * of_a_walk);
        self.work.chain += chain;
        self.work.wavefronts += wavefronts;
    }

    fn wavefronts_of_a_walk(&self) -> f64 {
        let (trees, launch) = (self.trees, self.launch);
        if launch.trees_in_lanes {
            return (trees.steps + 1.0) * self.step.apart * self.wide();
        }
        let lanes = launch.lanes as f64;
        // Threads of a warp that walk other trees read other lines.
        let trees_of_a_warp = (figures::WALKS_OF_A_WARP / launch.row_threads as f64).max(1.0);
        let lines = |level: i32| {
            let nodes = 2f64.powi(level);
            let bytes = if trees.is_sparse { 2.0 * nodes.min(trees.nodes) } else { nodes } * trees.node_bytes;
            let most = nodes.min(figures::WALKS_OF_A_WARP) * lanes;
            ((bytes / figures::LINE).max(1.0) * trees_of_a_warp).min(most)
        };
        let nodes: f64 = (0..=trees.steps.round() as i32).map(lines).sum();
        let uncopied = if launch.cached_rows { 1.0 } else { figures::UNCOPIED_ROW };
        let vectors = if launch.lanes > 1 { figures::FOUR_ROWS } else { 1.0 };
        nodes * figures::LINE_WAVEFRONTS + trees.steps * uncopied * vectors * figures::ROW_WAVEFRONTS
    }

    /// Copies of rows, as values or as bins.
    fn add_rows(&mut self) {
        if !self.launch.cached_rows {
            return;
        }
        let values = f64::from(self.model.copied_features(self.launch.layout)) * self.rows;
        let of_a_thread = (values / self.threads).ceil();
        let warp = f64::from(self.gpu.kind.warp);
        if self.launch.layout.compares_bins() {
            let [byte, word] = STEPS_OF_A_SEARCH;
            let searches = if self.model.bin_bytes > 1 { word / byte } else { 1.0 };
            self.add_instructions(values * figures::BIN_INSTRUCTIONS * searches / warp);
            self.work.chain += of_a_thread.powf(figures::BIN_EXPONENT) * figures::BIN_CYCLES * searches;
        } else {
            self.add_instructions(values * figures::COPY / warp);
            self.work.chain += of_a_thread * figures::COPY + figures::MISS_CYCLES;
        }
    }

    /// Sums of slots in shared memory.
    fn add_folds(&mut self) {
        if self.launch.folds == 0 {
            return;
        }
        let (folds, threads) = (self.launch.folds as f64, self.launch.tree_threads as f64);
        let slots = threads * self.rows * self.margins();
        let warp = f64::from(self.gpu.kind.warp);
        if self.model.num_classes > 1 {
            self.add_instructions(folds * slots * figures::FILL_INSTRUCTIONS / warp);
            self.work.chain += folds * figures::FILL_CYCLES * slots / self.threads;
        }
        self.add_instructions(folds * slots * figures::FOLD_INSTRUCTIONS / warp);
        self.work.wavefronts += folds * slots / warp;
        let rounds = (self.margins() * self.rows / self.threads).max(1.0);
        // Later pieces add to sums in memory.
        let sum = if folds > 1.0 { figures::MISS_CYCLES } else { 0.0 };
        self.work.chain +=
            folds * (2.0 * figures::BARRIER_CYCLES + threads * figures::FOLD_CYCLES * rounds + sum);
    }

    fn add_copies_of_trees(&mut self) {
        if self.launch.cached_trees == 0 {
            return;
        }
        let pieces = (self.trees.count / self.launch.cached_trees as f64).ceil();
        let copies = self.trees.bytes / COPIED_AT_ONCE * figures::COPY;
        self.add_instructions(copies / f64::from(self.gpu.kind.warp));
        self.work.chain += pieces * 2.0 * figures::BARRIER_CYCLES + copies / self.threads;
    }
}
