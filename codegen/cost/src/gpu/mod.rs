//! Costs of calls on a GPU, from the nest, the shape of the model's trees and the device's data sheet.
//!
//! [`cost_on`] needs no code: it reads from the nest how rows and trees are mapped to blocks and threads
//! ([`mapping`]), and counts the work of one block ([`block`]). A launch then takes as long as the busiest part
//! of a multiprocessor, and a little longer for each other part. The parts are issue slots, accesses of the
//! first cache, latency that too few warps hide, bytes from the second cache, and bytes from memory.
//!
//! The figures of [`figures`] were fitted to times of an H100. `tests/h100.json` has these times, and
//! `tests/gpu.rs` compares the schedule that the model prefers with the fastest one.

mod block;
mod figures;
mod mapping;
mod trees;

use block::{BlockWork, Occupancy, shared_bytes};
use mapping::Mapping;
use sched_machines::{DataSheet, GpuKind, Maker};
use sched_nest::{ModelInfo, Nest};
use trees::Trees;

/// A GPU as its data sheet describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuMachine {
    /// The row of the table.
    pub kind: &'static GpuKind,
    sheet: &'static DataSheet,
}

/// The part of a GPU that bounds the time of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuLimit {
    /// Instructions of warps.
    Issue,
    /// Accesses of shared memory and of the first cache.
    FirstCache,
    /// Latency that the resident warps do not hide.
    Latency,
    /// Bytes from the second cache.
    SecondCache,
    /// Bytes from the device's memory.
    Memory,
}

/// The cost of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuCost {
    /// Microseconds of its kernels.
    pub us: f64,
    /// The part that takes longest, in the launch that takes longest.
    pub limit: GpuLimit,
}

impl GpuMachine {
    /// The GPU of a name such as `sm_90`, or the newest known one that is no newer. `None` if the table has
    /// no figures for it.
    pub fn named(name: &str) -> Option<GpuMachine> {
        let capability = || name.strip_prefix("sm_")?.trim_end_matches('a').parse().ok();
        let kind = GpuKind::named(name).or_else(|| GpuKind::of_capability(capability()?))?;
        Some(GpuMachine { kind, sheet: kind.sheet.as_ref()? })
    }

    /// The GPU whose figures stand for GPUs without any.
    pub fn usual() -> Option<GpuMachine> {
        GpuMachine::named(Maker::Nvidia.usual())
    }

    /// Multiprocessors.
    fn multiprocessors(&self) -> f64 {
        f64::from(self.kind.limits.multiprocessors)
    }

    /// Blocks that a multiprocessor runs side by side (its occupancy), if each has `threads` threads and
    /// `shared` bytes of shared memory.
    fn side_by_side(&self, threads: u64, shared: u64) -> u64 {
        let warp = u64::from(self.kind.warp);
        let warps = threads.div_ceil(warp).max(1);
        let by_shared = (self.sheet.shared_kib << 10) / (shared + figures::RESERVED_BYTES);
        (u64::from(self.sheet.warps) / warps)
            .min(figures::REGISTERS / (figures::THREAD_REGISTERS * warps * warp))
            .min(u64::from(self.sheet.blocks))
            .min(by_shared)
            .max(1)
    }

    /// Microseconds of some cycles.
    fn us(&self, cycles: f64) -> f64 {
        cycles / (figures::CLOCK * self.sheet.ghz) / 1000.0
    }

    /// Bytes a cycle that a multiprocessor gets from the second cache.
    fn second_cache_bytes(&self) -> f64 {
        figures::SECOND_CACHE * self.sheet.l2_gb_s
            / self.multiprocessors()
            / (figures::CLOCK * self.sheet.ghz)
    }
}

/// The cost of a call of `rows` rows under a nest with a model. `None` if no loop of the nest is mapped to a
/// GPU, or if an extent is unknown.
pub fn cost_on(gpu: &GpuMachine, model: &ModelInfo, nest: &Nest, rows: u64) -> Option<GpuCost> {
    let launches = mapping::launches(nest, model, rows.max(1))?;
    let mut total: Option<(GpuCost, f64)> = None;
    for launch in &launches {
        let (us, limit) = launch_cost(gpu, model, launch, rows.max(1));
        let (cost, longest) = total.get_or_insert((GpuCost { us: 0.0, limit }, us));
        cost.us += us;
        if us > *longest {
            (cost.limit, *longest) = (limit, us);
        }
    }
    total.map(|(cost, _)| cost)
}

/// Microseconds of one launch and of the fold behind it, and the part that takes longest.
fn launch_cost(gpu: &GpuMachine, model: &ModelInfo, launch: &Mapping, rows: u64) -> (f64, GpuLimit) {
    let trees = Trees::of(model, launch.layout);
    let blocks = rows.div_ceil(launch.rows_per_block) * launch.tree_blocks;
    let busiest = (blocks as f64 / gpu.multiprocessors()).ceil();
    let resident = gpu.side_by_side(launch.threads(), shared_bytes(model, &trees, launch)) as f64;
    let work = BlockWork::of((gpu, model), &trees, launch, rows, Occupancy { busiest, resident });
    let chains = if busiest > resident { busiest / resident } else { 1.0 };
    let second_cache = work.second_cache_bytes(busiest) + call_bytes(model, launch, rows, gpu);
    let parts = [
        (GpuLimit::Issue, gpu.us(busiest * work.issue)),
        (GpuLimit::FirstCache, gpu.us(busiest * work.wavefronts)),
        (GpuLimit::Latency, gpu.us(chains * work.chain)),
        (GpuLimit::SecondCache, gpu.us(second_cache / gpu.second_cache_bytes())),
        (GpuLimit::Memory, row_bytes(model) * rows as f64 / (figures::MEMORY * gpu.sheet.dram_gb_s) / 1000.0),
    ];
    let longest =
        parts.iter().copied().fold(parts[0], |most, part| if part.1 > most.1 { part } else { most });
    let sum: f64 = parts.iter().map(|(_, us)| us.powf(figures::OVERLAP)).sum();
    let us = figures::LAUNCH_US + sum.powf(figures::OVERLAP.recip()) + fold_us(gpu, model, launch, rows);
    (us, longest.0)
}

/// Bytes of the rows and results of a call that a multiprocessor moves.
fn call_bytes(model: &ModelInfo, launch: &Mapping, rows: u64, gpu: &GpuMachine) -> f64 {
    let times = if launch.cached_rows { launch.tree_blocks as f64 } else { 1.0 };
    let results = f64::from(model.num_classes.max(1)) * sum_bytes(model);
    let read = match launch.cached_rows {
        true => row_bytes(model),
        // Each step reads a sector, and the sectors of few rows stay in the first cache.
        false => {
            let trees = Trees::of(model, launch.layout);
            row_bytes(model) + 2.0 * (trees.all_steps * figures::SECTOR).min(row_bytes(model))
        }
    };
    rows as f64 * (read * times + results) / gpu.multiprocessors()
}

/// Microseconds of the launch that adds up slots in the device's memory; 0 without such slots.
fn fold_us(gpu: &GpuMachine, model: &ModelInfo, launch: &Mapping, rows: u64) -> f64 {
    if launch.device_slots == 0 {
        return 0.0;
    }
    let margins = f64::from(model.num_classes.max(1));
    let (slots, rows) = (launch.device_slots as f64, rows as f64);
    let bytes = slots * rows * margins * sum_bytes(model);
    let moved = if bytes < (gpu.sheet.l2_mib << 20) as f64 * figures::SLOTS_IN_CACHE {
        gpu.us(2.0 * bytes / gpu.multiprocessors() / gpu.second_cache_bytes())
    } else {
        figures::SLOTS_IN_MEMORY * bytes * margins.sqrt() / (figures::MEMORY * gpu.sheet.dram_gb_s) / 1000.0
    };
    let rounds = (rows * margins / (gpu.multiprocessors() * figures::FOLDING_THREADS)).max(1.0);
    figures::LAUNCH_US + moved + gpu.us(slots * figures::DEVICE_FOLD_CYCLES * rounds)
}

/// Bytes of a row as the caller passes it.
fn row_bytes(model: &ModelInfo) -> f64 {
    f64::from(model.num_features) * f64::from(model.value_bytes.max(4))
}

/// Bytes of a sum.
fn sum_bytes(model: &ModelInfo) -> f64 {
    f64::from(model.sum_bytes.max(4))
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
        assert_eq!(gpu.side_by_side(1024, 0), 2, "registers and warps");
        assert_eq!(gpu.side_by_side(32, 0), 32, "blocks");
        assert_eq!(gpu.side_by_side(128, 100 << 10), 2);
        assert_eq!(gpu.side_by_side(1024, 227 << 10), 1);
    }
}
