//! Costs of calls on a GPU, from a few simulated blocks of each launch and the device's data sheet.
//!
//! [`cost_on`] runs a few blocks in the simulator and counts. Blocks of a launch are alike, so these stand
//! for all. A launch then takes as long as its busiest part. Parts are instruction issue, shared memory,
//! look-ups of lines, latency that too few warps hide, and bytes from the second cache and from memory.
//!
//! The figures compare schedules. They come from data sheets and have not been compared with a device.

use sched_ir::interp::{Latencies, LaunchSample, Memory, Options, Sampling, sample_launches};
use sched_ir::lir::{Function, KernelKind, Module, Scalar};
use sched_machines::{DataSheet, GpuKind};

/// Bytes of a sector: the unit in which caches and memory transfer.
const SECTOR: f64 = 32.0;
/// Threads whose registers a multiprocessor holds. It has 65,536 registers of 32 bits; 40 for each thread are
/// assumed, not measured. More registers leave fewer blocks side by side.
const THREADS: u32 = 65_536 / 40;
/// Bytes of shared memory that the system reserves for each block, as CUDA documents for compute capability
/// 8.0 and later.
const RESERVED: u64 = 1024;
/// Microseconds from one launch of a call to the next. A typical figure, not measured; a larger one favours
/// schedules of fewer launches.
const LAUNCH_US: f64 = 2.2;
/// Share of the other parts' time that does not overlap with the busiest part. Assumed, not measured: 0 would
/// be perfect overlap, 1 none.
const APART: f64 = 0.1;
/// Blocks of a launch that are simulated and stand for all. Two average out small differences; more take
/// longer.
const BLOCKS: u64 = 2;
/// Approximate number of steps of walks to simulate. It bounds the time for one candidate to a fraction of a
/// second.
const STEPS: u64 = 1 << 18;
/// Fewest and most rows of the simulated call if each thread has one row.
const ROWS: (u64, u64) = (64, 1024);
/// Most rows of a call whose grid is computed; larger calls count as several.
const MOST_ROWS: u64 = 1 << 20;
/// Limits of a simulation: steps of the interpreter, and bytes of memory.
const LIMITS: Options = Options { steps: 400_000_000, memory: 1 << 31, seed: 0, columns: false };

/// A GPU as its data sheet describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuMachine {
    /// The GPU's row of the table `gpus!`.
    pub kind: &'static GpuKind,
    sheet: &'static DataSheet,
}

/// The cost of all executions of one launch.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchCost {
    /// Microseconds.
    pub us: f64,
    /// Wavefronts of shared memory in one execution.
    pub wavefronts: f64,
    /// Sectors of the device's memory in one execution.
    pub sectors: f64,
}

/// The cost of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuCost {
    /// Microseconds of its kernels.
    pub us: f64,
    /// Its launches, in the order in which they first run.
    pub launches: Vec<LaunchCost>,
}

/// A call on a GPU.
#[derive(Clone, Copy, Debug)]
pub struct GpuCall<'a> {
    /// Number of rows.
    pub rows: u64,
    /// Bytes of sample rows, in the layout that the kernel reads, one after the other. They are repeated
    /// until the simulated call has its rows.
    pub sample: &'a [u8],
    /// Bytes of a row of the sample.
    pub row_bytes: usize,
    /// Margins of a row.
    pub margins: usize,
    /// Approximate number of steps of one row through all trees.
    pub steps: u64,
    /// Rows that a thread walks together.
    pub together: u64,
}

/// Mean counts of one block of a launch.
struct BlockCounts {
    instructions: f64,
    /// Cycles from its beginning to its end, without other blocks.
    cycles: f64,
    wavefronts: f64,
    lines: f64,
    sectors: f64,
    /// Distinct sectors of the model's tables.
    model_sectors: f64,
    /// Distinct sectors of the call's input and output.
    call_sectors: f64,
}

impl GpuMachine {
    /// The GPU of a name such as `sm_90`, or the newest known one that is no newer. `None` if the table has
    /// no figures for it.
    pub fn named(name: &str) -> Option<GpuMachine> {
        let capability = || name.strip_prefix("sm_")?.trim_end_matches('a').parse().ok();
        let kind = GpuKind::named(name).or_else(|| GpuKind::of_capability(capability()?))?;
        Some(GpuMachine { kind, sheet: kind.sheet.as_ref()? })
    }

    /// The settings of the simulator for `blocks` blocks of each launch.
    fn sampling(&self, blocks: u64) -> Sampling {
        let [arithmetic, shared, near, far, barrier] = self.sheet.latencies;
        Sampling {
            warp: self.kind.warp,
            blocks,
            latencies: Latencies { arithmetic, shared, near, far, barrier },
        }
    }

    /// Blocks that a multiprocessor runs side by side (its occupancy), if each has `threads` threads and
    /// `shared` bytes of shared memory.
    fn side_by_side(&self, threads: u32, shared: u64) -> u32 {
        let warps = threads.div_ceil(self.kind.warp).max(1);
        let by_shared = (self.sheet.shared_kib << 10) / (shared + RESERVED);
        let by_shared = u32::try_from(by_shared).unwrap_or(u32::MAX);
        (self.sheet.warps / warps)
            .min(THREADS / (warps * self.kind.warp))
            .min(self.sheet.blocks)
            .min(by_shared)
            .max(1)
    }

    /// The cost of one execution of a launch of `blocks` blocks. `share` is the ratio of a block's rows to
    /// those of a simulated block.
    fn launch_cost(&self, sample: &LaunchSample, blocks: f64, share: f64) -> LaunchCost {
        let one = block_counts(sample, share);
        let threads = sample.cost.block.iter().product();
        let resident = f64::from(self.side_by_side(threads, sample.cost.shared));
        let busiest = (blocks / f64::from(self.kind.limits.multiprocessors)).ceil();
        let together = resident.min(busiest).max(1.0);
        // Sectors that exceed the first cache beside the shared memory of the resident blocks are read again
        // from the second one.
        let held = (self.sheet.l1_kib << 10) as f64 - together * sample.cost.shared as f64;
        let once = one.model_sectors + one.call_sectors;
        let fits = (held.max(0.0) / (together * once * SECTOR).max(1.0)).min(1.0);
        let missed = once + (one.sectors - once).max(0.0) * (1.0 - fits);
        let cycles = |of_block: f64| busiest * of_block / self.sheet.ghz / 1000.0;
        let us = |bytes: f64, gb_s: f64| bytes / gb_s / 1000.0;
        let all_sectors = blocks * one.call_sectors * SECTOR;
        let issue = cycles(one.instructions / self.sheet.issue);
        let shared_memory = cycles(one.wavefronts);
        let first_cache = cycles(one.lines);
        let latency = (busiest / together).ceil() * one.cycles / self.sheet.ghz / 1000.0;
        let second_cache = us(blocks * missed * SECTOR, self.sheet.l2_gb_s);
        let memory = us(all_sectors, self.sheet.dram_gb_s);
        let parts = [issue, shared_memory, first_cache, latency, second_cache, memory];
        let most = parts.into_iter().fold(0.0, f64::max);
        let sum: f64 = parts.iter().sum();
        LaunchCost {
            us: LAUNCH_US + most + APART * (sum - most),
            wavefronts: blocks * one.wavefronts,
            sectors: blocks * one.sectors,
        }
    }
}

/// Mean counts of a block with `share` times the rows of a simulated block.
fn block_counts(sample: &LaunchSample, share: f64) -> BlockCounts {
    let ran = sample.ran.max(1) as f64;
    let pieces = |shared: bool| {
        let all = sample.cost.accesses.iter().filter(move |access| access.shared == shared);
        share * all.map(|access| access.pieces).sum::<u64>() as f64 / ran
    };
    let scaled = |all: u64| share * all as f64 / ran;
    BlockCounts {
        instructions: scaled(sample.blocks.instructions),
        cycles: sample.blocks.cycles as f64 / ran,
        wavefronts: pieces(true),
        lines: scaled(sample.blocks.lines),
        sectors: pieces(false),
        // More rows of a block read the same nodes.
        model_sectors: sample.blocks.model_sectors as f64 / ran,
        call_sectors: scaled(sample.blocks.call_sectors),
    }
}

/// The cost of a call of the kernel from rows to margins. `None` if there is no such kernel, if it launches
/// no block, or if the simulation exceeds its limits.
pub fn cost_on(gpu: &GpuMachine, module: &Module, call: &GpuCall<'_>) -> Option<GpuCost> {
    let (_, function) = module.kernels.iter().find(|(kind, _)| *kind == KernelKind::Raw)?;
    let most =
        module.rows_per_run.and_then(|rows| u64::try_from(rows).ok()).unwrap_or(u64::MAX).clamp(1, MOST_ROWS);
    let rows = call.rows.clamp(1, most);
    let runs = call.rows.max(1).div_ceil(rows) as f64;
    let affordable = STEPS / call.steps.max(1);
    let simulated = rows.min(affordable.clamp(ROWS.0 * call.together, ROWS.1).next_power_of_two());
    let size = call.row_bytes * usize::try_from(simulated).ok()?;
    let input: Vec<u8> = call.sample.iter().copied().cycle().take(size).collect();
    let ran = launches(module, function, call, (simulated, &input), &gpu.sampling(BLOCKS))?;
    let grids = launches(module, function, call, (rows, &[]), &gpu.sampling(0))?;
    let mut cost = GpuCost::default();
    for (sample, full) in ran.iter().zip(&grids) {
        let times = full.cost.times.max(1) as f64;
        let (few, all) =
            (sample.cost.blocks as f64 / sample.cost.times.max(1) as f64, full.cost.blocks as f64 / times);
        if all > 0.0 {
            let share = rows as f64 / simulated as f64 * few / all;
            let mut launch = gpu.launch_cost(sample, all, share);
            launch.us *= times * runs;
            cost.us += launch.us;
            cost.launches.push(launch);
        }
    }
    (!cost.launches.is_empty()).then_some(cost)
}

/// Simulates a call of `rows` rows whose input is `input`.
fn launches(
    module: &Module,
    function: &Function,
    call: &GpuCall<'_>,
    (rows, input): (u64, &[u8]),
    sampling: &Sampling,
) -> Option<Vec<LaunchSample>> {
    let element = match module.types.margins {
        Scalar::F64 => 8,
        _ => 4,
    };
    let mut output = vec![0; usize::try_from(rows).ok()?.checked_mul(call.margins * element)?];
    let memory =
        Memory { rows: i64::try_from(rows).ok()?, input, output: &mut output, tables: &module.tables };
    sample_launches(function, memory, &LIMITS, sampling).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_devices_have_the_figures_of_the_newest_older_one() {
        let name = |wanted: &str| GpuMachine::named(wanted).map(|gpu| gpu.kind.name);
        assert_eq!(name("sm_80"), Some("sm_80"));
        assert_eq!(name("sm_90a"), Some("sm_90"));
        assert_eq!(name("sm_103"), Some("sm_100"));
        assert_eq!(name("gfx90a"), None);
        assert_eq!(name("sm_10"), None, "older than all devices");
    }

    #[test]
    fn registers_blocks_and_shared_memory_limit_occupancy() {
        let gpu = GpuMachine::named("sm_90").expect("it is known");
        assert_eq!(gpu.side_by_side(128, 0), 12, "registers");
        assert_eq!(gpu.side_by_side(32, 0), 32, "blocks");
        assert_eq!(gpu.side_by_side(128, 100 << 10), 2);
        assert_eq!(gpu.side_by_side(1024, 227 << 10), 1);
    }
}
