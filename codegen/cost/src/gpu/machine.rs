//! A GPU by its data sheet.

use super::figures;
use super::fitted::FittedFigures;
use sched_machines::{DataSheet, GpuKind, Maker};

/// Sizes of shared memory, in KiB, that a multiprocessor can be set to. `ncu` reports 16, 164 and 228 for
/// kernels of `docs/gpu/kernels.md` that need slightly less.
const SHARED_KIB: [u64; 9] = [8, 16, 32, 64, 100, 132, 164, 196, 228];

/// A GPU as its data sheet describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuMachine {
    /// The GPU's row in the table of GPUs.
    pub kind: &'static GpuKind,
    pub(super) sheet: &'static DataSheet,
    /// The figures that were fitted to times.
    pub fitted: FittedFigures,
    /// Whether a second launch folds all slots in the device's memory, as when the times behind the model's
    /// figures were taken. Otherwise the last blocks of a launch fold where that takes less time.
    pub folds_in_second_launch: bool,
    /// Whether slots have the sums of all margins, and those in shared memory are adjacent, as when these
    /// times were taken. Otherwise a slot has one margin if all its trees add to that one, and slots in
    /// shared memory are placed so that the threads of a warp reach different banks.
    pub packs_slots: bool,
}

/// The blocks of a launch on one multiprocessor.
#[derive(Clone, Copy)]
pub struct Occupancy {
    /// Blocks that the busiest multiprocessor runs, at the same time or one after the other.
    pub busiest: f64,
    /// Most blocks that a multiprocessor runs at the same time.
    pub resident: f64,
}

impl Occupancy {
    /// Number of times that the busiest multiprocessor is filled with blocks; at least 1.
    pub fn waves(self) -> f64 {
        (self.busiest / self.resident).max(1.0)
    }
}

impl GpuMachine {
    /// The GPU of a name such as `sm_90`, or the newest known one that is no newer. `None` if the table has
    /// no figures for it.
    pub fn named(name: &str) -> Option<GpuMachine> {
        let capability = || name.strip_prefix("sm_")?.trim_end_matches('a').parse().ok();
        let kind = GpuKind::named(name).or_else(|| GpuKind::of_capability(capability()?))?;
        Some(GpuMachine {
            kind,
            sheet: kind.sheet.as_ref()?,
            fitted: FittedFigures::fit(),
            folds_in_second_launch: false,
            packs_slots: false,
        })
    }

    /// The GPU whose figures are used for GPUs that the table lacks.
    pub fn fallback() -> Option<GpuMachine> {
        GpuMachine::named(Maker::Nvidia.default_gpu())
    }

    /// Number of multiprocessors.
    pub(super) fn multiprocessors(&self) -> f64 {
        f64::from(self.kind.limits.multiprocessors)
    }

    /// Blocks that a multiprocessor runs at the same time (its occupancy), if each has `threads` threads with
    /// `registers` registers, and `shared` bytes of shared memory.
    pub(super) fn resident_blocks(&self, (threads, registers): (u64, u64), shared: u64) -> u64 {
        let warp = u64::from(self.kind.warp);
        let warps = threads.div_ceil(warp).max(1);
        let by_shared = (self.sheet.shared_kib << 10) / (shared + figures::RESERVED_BYTES);
        (u64::from(self.sheet.warps) / warps)
            .min(figures::REGISTERS / (registers * warps * warp))
            .min(u64::from(self.sheet.blocks))
            .min(by_shared)
            .max(1)
    }

    /// Whether a block can have this many bytes of shared memory.
    pub(super) fn has_shared(&self, bytes: u64) -> bool {
        bytes + figures::RESERVED_BYTES <= self.sheet.shared_kib << 10
    }

    /// Whether the second-level cache keeps this many bytes of rows or slots until they are read again.
    pub(super) fn keeps_in_second_cache(&self, bytes: f64) -> bool {
        bytes <= (self.sheet.l2_mib << 20) as f64 * figures::KEPT_SECOND_CACHE_SHARE
    }

    /// Converts cycles to microseconds.
    pub(super) fn us(&self, cycles: f64) -> f64 {
        cycles / (figures::CLOCK_SHARE * self.sheet.ghz) / 1000.0
    }

    /// Bytes of the first-level cache if `resident` blocks have `shared` bytes of shared memory each. On GPUs
    /// where both share one memory, the driver reserves for shared memory the smallest of a few sizes that
    /// holds the blocks'.
    pub(super) fn first_cache(&self, resident: f64, shared: u64) -> f64 {
        let DataSheet { l1_kib, shared_kib, .. } = *self.sheet;
        if l1_kib <= shared_kib || shared == 0 {
            return (l1_kib << 10) as f64;
        }
        let needed = resident * (shared + figures::RESERVED_BYTES) as f64;
        let holds = |kib: &u64| (kib << 10) as f64 >= needed;
        let taken = SHARED_KIB.into_iter().find(holds).map_or(shared_kib, |kib| kib.min(shared_kib));
        ((l1_kib - taken) << 10) as f64
    }

    /// Bytes a cycle that each of `active` multiprocessors gets from the second-level cache.
    pub(super) fn second_cache_bandwidth(&self, active: f64) -> f64 {
        let all =
            self.fitted.second_cache_factor * self.sheet.l2_gb_s / (figures::CLOCK_SHARE * self.sheet.ghz);
        (all / active).min(figures::MOST_SECOND_CACHE_BYTES)
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
    fn the_first_cache_is_what_shared_memory_leaves() {
        let kib = |name: &str, resident, shared| {
            GpuMachine::named(name).expect("it is known").first_cache(resident, shared) / 1024.0
        };
        assert_eq!(kib("sm_90", 16.0, 8192), 92.0, "147,456 bytes: 164 KiB");
        assert_eq!(kib("sm_90", 2.0, 6912), 240.0, "15,872 bytes: 16 KiB");
        assert_eq!(kib("sm_90", 32.0, 0), 256.0);
        assert_eq!(kib("sm_86", 1.0, 99 << 10), 28.0);
        assert_eq!(kib("sm_61", 8.0, 8192), 48.0, "it is a memory of its own");
    }

    #[test]
    fn registers_blocks_and_shared_memory_limit_occupancy() {
        let gpu = GpuMachine::named("sm_90").expect("it is known");
        assert_eq!(gpu.resident_blocks((1024, 32), 0), 2, "warps");
        assert_eq!(gpu.resident_blocks((512, 56), 0), 2, "registers");
        assert_eq!(gpu.resident_blocks((32, 32), 0), 32, "blocks");
        assert_eq!(gpu.resident_blocks((128, 32), 100 << 10), 2);
        assert_eq!(gpu.resident_blocks((1024, 32), 227 << 10), 1);
    }
}
