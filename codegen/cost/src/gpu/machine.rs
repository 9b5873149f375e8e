//! A GPU by its data sheet.

use super::figures;
use sched_machines::{DataSheet, GpuKind, Maker};

/// A GPU as its data sheet describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuMachine {
    /// The row of the table.
    pub kind: &'static GpuKind,
    pub(super) sheet: &'static DataSheet,
}

impl GpuMachine {
    /// The GPU of a name such as `sm_90`, or the newest known one that is no newer. `None` if the table has
    /// no figures for it.
    pub fn named(name: &str) -> Option<GpuMachine> {
        let capability = || name.strip_prefix("sm_")?.trim_end_matches('a').parse().ok();
        let kind = GpuKind::named(name).or_else(|| GpuKind::of_capability(capability()?))?;
        Some(GpuMachine { kind, sheet: kind.sheet.as_ref()? })
    }

    /// The GPU whose figures are used for GPUs that the table lacks.
    pub fn usual() -> Option<GpuMachine> {
        GpuMachine::named(Maker::Nvidia.usual())
    }

    /// Multiprocessors.
    pub(super) fn multiprocessors(&self) -> f64 {
        f64::from(self.kind.limits.multiprocessors)
    }

    /// Blocks that a multiprocessor runs side by side (its occupancy), if each has `threads` threads and
    /// `shared` bytes of shared memory.
    pub(super) fn side_by_side(&self, threads: u64, shared: u64) -> u64 {
        let warp = u64::from(self.kind.warp);
        let warps = threads.div_ceil(warp).max(1);
        let by_shared = (self.sheet.shared_kib << 10) / (shared + figures::RESERVED_BYTES);
        (u64::from(self.sheet.warps) / warps)
            .min(figures::REGISTERS / (figures::THREAD_REGISTERS * warps * warp))
            .min(u64::from(self.sheet.blocks))
            .min(by_shared)
            .max(1)
    }

    /// Converts cycles to microseconds.
    pub(super) fn us(&self, cycles: f64) -> f64 {
        cycles / (figures::CLOCK * self.sheet.ghz) / 1000.0
    }

    /// Bytes a cycle that a multiprocessor gets from the second cache.
    pub(super) fn second_cache_bytes(&self) -> f64 {
        figures::SECOND_CACHE * self.sheet.l2_gb_s
            / self.multiprocessors()
            / (figures::CLOCK * self.sheet.ghz)
    }
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
