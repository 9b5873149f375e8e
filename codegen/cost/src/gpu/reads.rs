//! Reads of nodes: the parts of the trees that the warps of a multiprocessor read, and the cache that serves
//! them.

use super::figures::{
    LINE_BYTES, PACKED_ROWS, SECTOR_BYTES, SUBTREE_CYCLES, SUBTREE_INSTRUCTIONS, WALKS_OF_A_WARP,
};
use super::machine::{GpuMachine, Occupancy};
use super::mapping::LaunchMapping;
use super::trees::{TreeLevel, TreeMemory};
use sched_nest::{Layout, StepFigures};

/// Bytes of a leaf, for the estimate of the part of a tree that rows read.
const LEAF_BYTES: f64 = 4.0;
/// Largest footprint of a tree, as a multiple of its size: sectors at its ends also hold nodes of other
/// trees.
const PARTIAL_SECTORS: f64 = 1.2;
/// Number of lines that hold the leaves of a warp's walks, if each walk is in another tree.
const LINES_OF_LEAVES: f64 = 8.0;

/// Reads of the nodes of one walk by a warp.
pub struct WalkReads {
    /// Steps until the slowest walk of the warp ends.
    pub steps: f64,
    /// Instructions of these steps.
    pub instructions: f64,
    /// Cycles of these steps if the first-level cache has the nodes.
    pub cycles: f64,
    /// Misses of the first-level cache, as a multiple of those in most layouts.
    pub miss_factor: f64,
    /// Distinct sectors of all steps.
    pub sectors: f64,
    /// Distinct lines of all steps.
    pub lines: f64,
}

/// Reads of nodes beyond the first-level cache.
pub struct Misses {
    /// Sectors that a multiprocessor reads from the second-level cache, for all its blocks.
    pub sectors: f64,
    /// Share of steps that wait for the second-level cache.
    pub steps: f64,
}

/// Figures of the step at a level. Rows whose bins share a word share the instructions of the first levels
/// only, if levels below are stored otherwise.
fn step_of(gpu: &GpuMachine, trees: &TreeMemory, launch: &LaunchMapping, level: usize) -> StepFigures {
    let is_top = level < trees.top_levels;
    match (launch.lanes, launch.layout.has_top_levels()) {
        (PACKED_ROWS, true) if !is_top => {
            let step = gpu.fitted.step(launch.layout);
            StepFigures { instructions: PACKED_ROWS as f64 * step.instructions, ..step }
        }
        (PACKED_ROWS, _) => gpu.fitted.packed_step(),
        _ if is_top => gpu.fitted.top_step(launch.layout),
        _ => gpu.fitted.step(launch.layout),
    }
}

/// Expected number of distinct items after `draws` random draws from `all` items.
fn distinct(all: f64, draws: f64) -> f64 {
    all * (1.0 - (-draws / all).exp())
}

/// Number of trees that the threads of a warp walk at a time.
fn trees_of_a_warp(launch: &LaunchMapping) -> f64 {
    (WALKS_OF_A_WARP / launch.row_threads as f64).max(1.0)
}

impl WalkReads {
    /// The reads of a launch's walks.
    pub fn of(gpu: &GpuMachine, trees: &TreeMemory, launch: &LaunchMapping) -> WalkReads {
        let together = launch.walks_in_flight() as f64;
        let lanes = launch.lanes as f64;
        // Threads of a warp that walk different trees read different lines.
        let trees_of_a_warp = trees_of_a_warp(launch);
        let mut reads = WalkReads {
            steps: 0.0,
            instructions: 0.0,
            cycles: 0.0,
            miss_factor: 0.0,
            sectors: 0.0,
            lines: 0.0,
        };
        for (depth, level) in trees.levels.iter().enumerate() {
            let node_bytes = trees.node_bytes_of(depth);
            let step = step_of(gpu, trees, launch, depth);
            let bytes = level.nodes * node_bytes;
            let walks = WALKS_OF_A_WARP * level.reach;
            let distinct_of = |unit: f64| match (launch.trees_in_lanes, launch.layout.has_adjacent_trees()) {
                (true, true) => {
                    let nodes = distinct(level.nodes.max(1.0), walks);
                    walks.min(nodes * (WALKS_OF_A_WARP * node_bytes / unit).max(1.0))
                }
                (true, false) => walks.min((WALKS_OF_A_WARP * trees.tree_bytes() / unit).max(1.0)),
                (false, _) => {
                    let of_a_tree = WALKS_OF_A_WARP / trees_of_a_warp * level.reach;
                    lanes * trees_of_a_warp * distinct((bytes / unit).max(1.0), of_a_tree)
                }
            };
            let active = match trees.is_sparse {
                true => 1.0 - (1.0 - level.reach.min(1.0)).powf(WALKS_OF_A_WARP * together),
                false => level.reach,
            };
            reads.steps += active;
            reads.instructions += active * step.instructions;
            reads.cycles += active * step.cycles;
            reads.miss_factor += active * step.miss_factor;
            reads.sectors += distinct_of(SECTOR_BYTES).max(1.0) * active;
            reads.lines += distinct_of(LINE_BYTES).max(1.0) * active;
        }
        reads.miss_factor /= reads.steps.max(f64::MIN_POSITIVE);
        if trees.top_levels > 0 {
            reads.instructions += lanes * SUBTREE_INSTRUCTIONS;
            reads.cycles += SUBTREE_CYCLES;
            reads.sectors += lanes * trees_of_a_warp;
            reads.lines += lanes * trees_of_a_warp;
        }
        reads.sectors += 1.0;
        reads.lines += if launch.trees_in_lanes { LINES_OF_LEAVES } else { 1.0 };
        reads
    }
}

/// Bytes of one tree that `rows` rows read.
fn footprint(trees: &TreeMemory, layout: Layout, rows: f64) -> f64 {
    let sectors = |(depth, level): (usize, &TreeLevel)| {
        let bytes = level.nodes * trees.node_bytes_of(depth);
        let read = distinct((bytes / SECTOR_BYTES).max(1.0), rows * level.reach.max(1e-12));
        if layout.has_adjacent_trees() { read.min(bytes / SECTOR_BYTES) } else { read }
    };
    let nodes: f64 = trees.levels.iter().map(|level| level.nodes).sum();
    let leaves = distinct((nodes * LEAF_BYTES / SECTOR_BYTES).max(0.5), rows);
    let all: f64 = trees.levels.iter().enumerate().map(sectors).sum();
    SECTOR_BYTES * (all + leaves).min(PARTIAL_SECTORS * trees.tree_bytes() / SECTOR_BYTES)
}

/// Bytes of the trees that `blocks` blocks read at a time if each warp walks trees of its own.
fn bytes_apart(trees: &TreeMemory, launch: &LaunchMapping, blocks: f64) -> f64 {
    let warps = blocks * (launch.threads() as f64 / WALKS_OF_A_WARP).max(1.0);
    let of_a_warp = trees_of_a_warp(launch);
    let walked = warps * of_a_warp * launch.walks_in_flight() as f64;
    let rows = WALKS_OF_A_WARP / of_a_warp * launch.lanes as f64;
    walked.min(trees.count / launch.tree_blocks as f64) * footprint(trees, launch.layout, rows)
}

impl Misses {
    /// The reads beyond a first-level cache of `first_cache` bytes, if warps read `accesses` sectors in all.
    pub fn of(
        (gpu, trees): (&GpuMachine, &TreeMemory),
        launch: &LaunchMapping,
        (rows, occupancy): (f64, Occupancy),
        first_cache: f64,
        accesses: f64,
    ) -> Misses {
        let Occupancy { busiest, resident } = occupancy;
        let drift = gpu.fitted.drift;
        if launch.copied_trees > 0 {
            let copied = launch.copy_rounds as f64 * trees.bytes / launch.tree_blocks as f64;
            return Misses { sectors: busiest * copied / SECTOR_BYTES, steps: 0.0 };
        }
        let waves = occupancy.waves();
        let of_a_block = trees.count / launch.tree_blocks as f64;
        let footprint = footprint(trees, launch.layout, rows * resident.min(busiest));
        let exceeding = |bytes: f64| (1.0 - gpu.fitted.kept_share * first_cache / bytes).max(0.0);
        // The first-level cache may lose a tree while warps walk it, or before the next wave of blocks reads
        // it again.
        let in_step = ((launch.tree_threads * launch.walks_in_flight()) as f64).min(of_a_block) * footprint;
        let apart = bytes_apart(trees, launch, resident.min(busiest)).max(in_step);
        let evicted = exceeding((1.0 - drift) * in_step + drift * apart);
        let reread = exceeding(of_a_block * footprint);
        // The blocks of a wave read a tree at about the same time, and all wait for the block that reads it
        // first.
        let first = 1.0 + (waves - 1.0) * reread;
        let once = (of_a_block * footprint / SECTOR_BYTES * first).min(accesses);
        let cold = first / waves;
        Misses { sectors: once + (accesses - once) * evicted, steps: cold + (1.0 - cold) * evicted }
    }
}
