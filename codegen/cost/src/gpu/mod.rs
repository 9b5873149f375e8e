//! Costs of calls on a GPU, from the nest, the shape of the model's trees and the device's data sheet.
//!
//! [`cost_on`] needs no code. It reads from the nest how rows and trees are mapped to blocks and threads
//! ([`mapping`]), estimates which reads the caches serve ([`reads`]), and counts the work of one block
//! ([`block`]). A launch then takes as long as its slowest part, and a little longer for each other part. The
//! parts are issue slots, accesses to the first-level cache, the latency of a block, bytes from the
//! second-level cache, and bytes from memory.
//!
//! The figures of [`fitted`] were fitted to one half of the times of an H100 in `tests/h100.json`.
//! `tests/gpu.rs` compares the schedule that the model prefers with the fastest one: in that half, in the
//! other half, and for models that were held out.

mod block;
mod columns;
mod coverage;
mod device_slots;
mod figures;
mod fitted;
mod machine;
mod mapping;
mod margins;
mod reads;
mod sums;
mod trees;

use block::{BlockWork, shared_bytes};
use columns::ColumnWork;
use device_slots::DeviceSlots;
use machine::Occupancy;
use mapping::LaunchMapping;
use sched_nest::{ModelInfo, Nest};
use sums::SumAccesses;
use trees::{TreeMemory, margins, row_bytes, sum_bytes};

pub use fitted::FittedFigures;
pub use machine::GpuMachine;

/// The cost of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuCost {
    /// Microseconds of the call's kernels.
    pub us: f64,
}

/// The cost of a call of `rows` rows under a nest with a model. `None` if no loop of the nest is mapped to a
/// GPU, or if an extent is unknown.
pub fn cost_on(gpu: &GpuMachine, model: &ModelInfo, nest: &Nest, rows: u64) -> Option<GpuCost> {
    let rows = rows.max(1);
    let mut launches = mapping::launches(nest, model, rows)?;
    if gpu.packs_slots {
        launches.iter_mut().for_each(|launch| launch.margins_of_slot = margins(model));
    }
    let columns = ColumnWork::of(model);
    // If one launch copies each row once, its blocks compute the columns of their rows.
    let of_blocks = columns.filter(|columns| match launches.as_slice() {
        [launch] if launch.copies_each_row_once => {
            let trees = TreeMemory::of(gpu, model, launch.layout);
            let sums = SumAccesses::of(gpu, model, launch);
            gpu.has_shared(shared_bytes((gpu, model, Some(*columns)), &trees, (launch, &sums)))
        }
        _ => false,
    });
    let before = columns.filter(|_| of_blocks.is_none()).map(|columns| columns.launch_us(gpu, model, rows));
    let us: f64 = launches.iter().map(|launch| launch_us(gpu, (model, of_blocks), launch, rows)).sum();
    Some(GpuCost { us: us + before.unwrap_or(0.0) })
}

/// Microseconds of one launch, whose blocks may compute columns, and of the fold after it.
fn launch_us(
    gpu: &GpuMachine,
    (model, columns): (&ModelInfo, Option<ColumnWork>),
    launch: &LaunchMapping,
    rows: u64,
) -> f64 {
    let trees = TreeMemory::of(gpu, model, launch.layout);
    let blocks = (rows.div_ceil(launch.rows_per_block) * launch.tree_blocks) as f64;
    let busiest = (blocks / gpu.multiprocessors()).ceil();
    let sums = SumAccesses::of(gpu, model, launch);
    let shared = shared_bytes((gpu, model, columns), &trees, (launch, &sums));
    let resident = gpu.resident_blocks((launch.threads(), launch.registers(model)), shared);
    let occupancy = Occupancy { busiest, resident: resident as f64 };
    let work = BlockWork::of((gpu, model, columns), &trees, (launch, sums), rows, occupancy);
    // If there are fewer blocks than multiprocessors, the others use none of the second-level cache's
    // bandwidth.
    let active = blocks.min(gpu.multiprocessors());
    let second_cache = work.tree_bytes + call_bytes(model, &trees, launch, rows) / active;
    let issue = gpu.us(busiest * work.issue);
    let first_cache = gpu.us(busiest * work.wavefronts);
    let latency = gpu.us(occupancy.waves().ceil() * work.chain);
    let second_cache = gpu.us(second_cache / gpu.second_cache_bandwidth(active));
    let of_rows = row_bytes(model) * rows as f64;
    let rereads = launch.has_trees_in_slow_dimension && !gpu.keeps_in_second_cache(of_rows);
    let reads = if rereads { launch.tree_blocks as f64 } else { 1.0 };
    let memory = reads * of_rows / (figures::MEMORY_SHARE * gpu.sheet.dram_gb_s) / 1000.0;
    let parts = [issue, first_cache, latency, second_cache, memory];
    let sum: f64 = parts.iter().map(|us| us.powf(gpu.fitted.overlap_exponent)).sum();
    let fold = DeviceSlots::of(model, launch).map_or(0.0, |slots| slots.fold_us(gpu, launch, rows));
    figures::LAUNCH_US + sum.powf(gpu.fitted.overlap_exponent.recip()) + fold
}

/// Bytes that a call reads of rows and writes of results, through the second-level cache. Blocks that share
/// the trees of a row each read the row.
fn call_bytes(model: &ModelInfo, trees: &TreeMemory, launch: &LaunchMapping, rows: u64) -> f64 {
    let results = margins(model) as f64 * sum_bytes(model);
    let blocks = launch.tree_blocks as f64;
    let read = match launch.copies_rows {
        true => row_bytes(model),
        // Each step reads a sector; the sectors of short rows stay in the first-level cache.
        false => {
            let steps = trees.all_steps() / blocks;
            row_bytes(model) + 2.0 * (steps * figures::SECTOR_BYTES).min(row_bytes(model))
        }
    };
    rows as f64 * (blocks * read + results)
}
