//! What a call costs on a GPU: from what some blocks of each launch do, and from the device's data sheet.
//!
//! [`cost_on`] runs a few blocks in the simulator and counts. Blocks of a launch are alike, so these stand
//! for all. Then [`GpuMachine::time`] asks what takes longest: the units of a multiprocessor that issue
//! instructions, deliver words of shared memory or look up lines; the time from the beginning of a block to
//! its end, where there are too few warps to hide it; or the bytes from the second cache and from memory.
//!
//! The figures compare schedules. They come from data sheets and have not been compared with a device.

use sched_ir::interp::{Latencies, LaunchSample, Memory, Options, Sampling, sample_launches};
use sched_ir::lir::{Function, KernelKind, Module, Scalar};
use sched_machines::{DataSheet, GpuKind};

/// Bytes of a sector.
const SECTOR: f64 = 32.0;
/// Threads whose registers a multiprocessor holds, at 40 registers of 32 bits each.
const THREADS: u32 = 65_536 / 40;
/// Bytes of shared memory that a block takes beside its own.
const RESERVED: u64 = 1024;
/// Microseconds from one launch of a call to the next.
const LAUNCH_US: f64 = 2.2;
/// How much of what is not the busiest part does not hide behind it.
const APART: f64 = 0.1;
/// Blocks of a launch that stand for all.
const BLOCKS: u64 = 2;
/// Steps of walks that are simulated, about.
const STEPS: u64 = 1 << 18;
/// Fewest and most rows of the call that is simulated, where a thread has one.
const ROWS: (u64, u64) = (64, 1024);
/// Most rows whose grid is asked for: calls of more are as several.
const MOST_ROWS: u64 = 1 << 20;
/// What a simulation may use up.
const LIMITS: Options = Options { steps: 400_000_000, memory: 1 << 31, seed: 0, columns: false };

/// A GPU as its data sheet describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuMachine {
    /// The row of the table.
    pub kind: &'static GpuKind,
    sheet: &'static DataSheet,
}

/// What a launch is limited by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchLimit {
    /// Instructions that are issued.
    Issue,
    /// Words of shared memory.
    Shared,
    /// Lines that are looked up in the first cache.
    Lines,
    /// What one thing waits for another.
    Latency,
    /// Bytes from the second cache.
    SecondCache,
    /// Bytes from memory.
    Memory,
}

/// A launch, or several of the same kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchTime {
    /// Its name.
    pub name: String,
    /// Microseconds, over all times that it runs.
    pub us: f64,
    /// What most of them are for.
    pub limit: LaunchLimit,
    /// Instructions of warps, in all.
    pub instructions: f64,
    /// Wavefronts of shared memory, in all.
    pub wavefronts: f64,
    /// Sectors of the device's memory, in all.
    pub sectors: f64,
}

/// What a call costs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuCost {
    /// Microseconds of its kernels.
    pub us: f64,
    /// Its launches, in the order in which they first run.
    pub launches: Vec<LaunchTime>,
}

/// A call whose cost is asked for.
#[derive(Clone, Copy, Debug)]
pub struct GpuCall<'a> {
    /// Rows.
    pub rows: u64,
    /// Some rows, as the kernel reads them, one after the other; they are repeated as often as needed.
    pub sample: &'a [u8],
    /// Bytes of a row of these.
    pub row_bytes: usize,
    /// Margins of a row.
    pub margins: usize,
    /// Steps that a row takes through all trees, about.
    pub steps: u64,
    /// Rows that a thread walks at once.
    pub together: u64,
}

/// One block of a launch, on average.
struct PerBlock {
    instructions: f64,
    cycles: f64,
    wavefronts: f64,
    lines: f64,
    sectors: f64,
    model_sectors: f64,
    call_sectors: f64,
}

impl GpuMachine {
    /// The GPU of a name such as `sm_90`, or the newest known one that is no newer. None if the table has no
    /// figures for it.
    pub fn named(name: &str) -> Option<GpuMachine> {
        let capability = || name.strip_prefix("sm_")?.trim_end_matches('a').parse().ok();
        let kind = GpuKind::named(name).or_else(|| GpuKind::of_capability(capability()?))?;
        Some(GpuMachine { kind, sheet: kind.sheet.as_ref()? })
    }

    fn sampling(&self, blocks: u64) -> Sampling {
        let [arithmetic, shared, near, far, barrier] = self.sheet.latencies;
        Sampling {
            warp: self.kind.warp,
            blocks,
            latencies: Latencies { arithmetic, shared, near, far, barrier },
        }
    }

    /// Blocks that a multiprocessor runs side by side.
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

    /// A launch of so many blocks, each with its share of the rows.
    fn time(&self, sample: &LaunchSample, blocks: f64, share: f64) -> LaunchTime {
        let one = per_block(sample, share);
        let threads = sample.cost.block.iter().product();
        let resident = f64::from(self.side_by_side(threads, sample.cost.shared));
        let busiest = (blocks / f64::from(self.kind.limits.multiprocessors)).ceil();
        let together = resident.min(busiest).max(1.0);
        // What a multiprocessor's first cache does not hold of the blocks that it runs comes again from the
        // second one.
        let held = (self.sheet.l1_kib << 10) as f64 - together * sample.cost.shared as f64;
        let once = one.model_sectors + one.call_sectors;
        let fits = (held.max(0.0) / (together * once * SECTOR).max(1.0)).min(1.0);
        let missed = once + (one.sectors - once).max(0.0) * (1.0 - fits);
        let cycles = |of_block: f64| busiest * of_block / self.sheet.ghz / 1000.0;
        let us = |bytes: f64, gb_s: f64| bytes / gb_s / 1000.0;
        let all_sectors = blocks * one.call_sectors * SECTOR;
        let parts = [
            (LaunchLimit::Issue, cycles(one.instructions / self.sheet.issue)),
            (LaunchLimit::Shared, cycles(one.wavefronts)),
            (LaunchLimit::Lines, cycles(one.lines)),
            (LaunchLimit::Latency, (busiest / together).ceil() * one.cycles / self.sheet.ghz / 1000.0),
            (LaunchLimit::SecondCache, us(blocks * missed * SECTOR, self.sheet.l2_gb_s)),
            (LaunchLimit::Memory, us(all_sectors, self.sheet.dram_gb_s)),
        ];
        let (limit, most) = parts
            .into_iter()
            .fold((LaunchLimit::Issue, 0.0), |most, part| if part.1 > most.1 { part } else { most });
        let sum: f64 = parts.iter().map(|(_, us)| us).sum();
        LaunchTime {
            name: sample.cost.name.clone(),
            us: LAUNCH_US + most + APART * (sum - most),
            limit,
            instructions: blocks * one.instructions,
            wavefronts: blocks * one.wavefronts,
            sectors: blocks * one.sectors,
        }
    }
}

fn per_block(sample: &LaunchSample, share: f64) -> PerBlock {
    let ran = sample.ran.max(1) as f64;
    let pieces = |shared: bool| {
        let all = sample.cost.accesses.iter().filter(move |access| access.shared == shared);
        share * all.map(|access| access.pieces).sum::<u64>() as f64 / ran
    };
    let part = |all: u64| share * all as f64 / ran;
    PerBlock {
        instructions: part(sample.blocks.instructions),
        cycles: sample.blocks.cycles as f64 / ran,
        wavefronts: pieces(true),
        lines: part(sample.blocks.lines),
        sectors: pieces(false),
        // More rows of a block read the same nodes.
        model_sectors: sample.blocks.model_sectors as f64 / ran,
        call_sectors: part(sample.blocks.call_sectors),
    }
}

/// What a call of the kernel from rows to margins costs. None if there is no such kernel, if it launches
/// nothing, or if the simulator does not come to an end.
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
            let mut launch = gpu.time(sample, all, share);
            launch.us *= times * runs;
            cost.us += launch.us;
            cost.launches.push(launch);
        }
    }
    (!cost.launches.is_empty()).then_some(cost)
}

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
    fn devices_are_known_by_name_or_stand_for_newer_ones() {
        let name = |wanted: &str| GpuMachine::named(wanted).map(|gpu| gpu.kind.name);
        assert_eq!(name("sm_80"), Some("sm_80"));
        assert_eq!(name("sm_90a"), Some("sm_90"));
        assert_eq!(name("sm_103"), Some("sm_100"));
        assert_eq!(name("gfx90a"), None);
        assert_eq!(name("sm_10"), None, "older than all");
    }

    #[test]
    fn blocks_share_a_multiprocessor_as_far_as_its_memory_goes() {
        let gpu = GpuMachine::named("sm_90").expect("it is known");
        assert_eq!(gpu.side_by_side(128, 0), 12, "as registers allow");
        assert_eq!(gpu.side_by_side(32, 0), 32, "as many as there may be");
        assert_eq!(gpu.side_by_side(128, 100 << 10), 2);
        assert_eq!(gpu.side_by_side(1024, 227 << 10), 1);
    }
}
