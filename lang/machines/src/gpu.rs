//! GPUs. `gpus!` is the one table of them.

use std::fmt::{self, Display, Formatter};
use std::hash::{Hash, Hasher};

const KIB: u64 = 1024;

/// A maker of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Maker {
    /// NVIDIA.
    Nvidia,
    /// AMD.
    Amd,
}

impl Maker {
    /// All makers.
    pub const ALL: &'static [Maker] = &[Maker::Nvidia, Maker::Amd];

    /// The name that people write.
    pub const fn name(self) -> &'static str {
        match self {
            Maker::Nvidia => "NVIDIA",
            Maker::Amd => "AMD",
        }
    }

    /// The GPU for which code is made if the user names none and the machine has none. Most GPUs of the last
    /// years run its code.
    pub const fn default_gpu(self) -> &'static str {
        match self {
            Maker::Nvidia => "sm_80",
            Maker::Amd => "gfx90a",
        }
    }

    /// Most threads of a block along x, y and z.
    const fn block(self) -> [i64; 3] {
        match self {
            Maker::Nvidia => [1024, 1024, 64],
            Maker::Amd => [1024, 1024, 1024],
        }
    }
}

impl Display for Maker {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Limits of a schedule's launches on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuLimits {
    /// Most threads of a block.
    pub threads: i64,
    /// Most threads of a block along x, y and z.
    pub block: [i64; 3],
    /// Most blocks of a grid along x, y and z.
    pub grid: [i64; 3],
    /// Most bytes of shared memory that a block may ask for.
    pub shared_bytes: u64,
    /// Multiprocessors (AMD: compute units) of the device of this kind that computing centres have. They run
    /// blocks concurrently.
    pub multiprocessors: u32,
}

impl GpuLimits {
    const fn of(maker: Maker, shared_kib: u64, multiprocessors: u32) -> GpuLimits {
        let (block, grid) = (maker.block(), [2_147_483_647, 65_535, 65_535]);
        GpuLimits { threads: 1024, block, grid, shared_bytes: shared_kib * KIB, multiprocessors }
    }
}

/// Figures of a GPU for the cost model, from its data sheet and from published measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataSheet {
    /// Cycles per nanosecond.
    pub ghz: f64,
    /// Instructions of warps that a multiprocessor issues per cycle.
    pub issue: f64,
    /// Most warps on a multiprocessor.
    pub warps: u32,
    /// Most blocks on a multiprocessor.
    pub blocks: u32,
    /// Shared memory of a multiprocessor.
    pub shared_kib: u64,
    /// First-level cache of a multiprocessor, including shared memory if both are one memory.
    pub l1_kib: u64,
    /// Second-level cache.
    pub l2_mib: u64,
    /// Gigabytes per second from the second-level cache.
    pub l2_gb_s: f64,
    /// Gigabytes per second from memory.
    pub dram_gb_s: f64,
}

/// A kind of GPUs: a row of the table.
#[derive(Debug)]
pub struct GpuKind {
    /// Name in a `target` line and for `--gpu`. Unique.
    pub name: &'static str,
    /// Maker, which decides the driver and the form of code.
    pub maker: Maker,
    /// NVIDIA: ten times the major number of the compute capability, plus the minor one. AMD: 0.
    pub capability: u32,
    /// LLVM's name for the GPU. If LLVM 19 does not know the GPU, the name of the newest one that it knows,
    /// whose code the driver translates.
    pub llvm_name: &'static str,
    /// NVIDIA: version of PTX, as a feature of LLVM.
    pub llvm_features: &'static str,
    /// Threads of a warp (AMD: wavefront).
    pub warp: u32,
    /// Limits of launches.
    pub limits: GpuLimits,
    /// Figures for the cost model; `None` if it does not know the GPU.
    pub sheet: Option<DataSheet>,
}

/// Declares the GPUs, each maker's in ascending order of age. A row is: name, maker, and the columns that the
/// fields of [`GpuKind`], [`GpuLimits`] and [`DataSheet`] describe.
macro_rules! gpus {
    ($($name:literal $maker:ident {
        capability: $capability:literal, llvm_name: $llvm_name:literal, llvm_features: $llvm_features:literal,
        warp: $warp:literal, shared_kib: $shared_kib:literal, multiprocessors: $multiprocessors:literal,
        sheet: $sheet:expr,
    })*) => {
        /// The GPUs that a target can name and code is generated for.
        pub static GPUS: &[GpuKind] = &[$(GpuKind {
            name: $name,
            maker: Maker::$maker,
            capability: $capability,
            llvm_name: $llvm_name,
            llvm_features: $llvm_features,
            warp: $warp,
            limits: GpuLimits::of(Maker::$maker, $shared_kib, $multiprocessors),
            sheet: $sheet,
        }),*];
    };
}

gpus! {
    "sm_60" Nvidia {
        capability: 60, llvm_name: "sm_60", llvm_features: "+ptx70",
        warp: 32, shared_kib: 48, multiprocessors: 56,
        sheet: Some(DataSheet {
            ghz: 1.33, issue: 2.0, warps: 64, blocks: 32, shared_kib: 64,
            l1_kib: 24, l2_mib: 4, l2_gb_s: 1600.0, dram_gb_s: 732.0,
        }),
    }
    "sm_61" Nvidia {
        capability: 61, llvm_name: "sm_61", llvm_features: "+ptx70",
        warp: 32, shared_kib: 48, multiprocessors: 30,
        sheet: Some(DataSheet {
            ghz: 1.58, issue: 4.0, warps: 64, blocks: 32, shared_kib: 96,
            l1_kib: 48, l2_mib: 3, l2_gb_s: 1200.0, dram_gb_s: 547.0,
        }),
    }
    "sm_70" Nvidia {
        capability: 70, llvm_name: "sm_70", llvm_features: "+ptx70",
        warp: 32, shared_kib: 96, multiprocessors: 80,
        sheet: Some(DataSheet {
            ghz: 1.53, issue: 4.0, warps: 64, blocks: 32, shared_kib: 96,
            l1_kib: 128, l2_mib: 6, l2_gb_s: 2500.0, dram_gb_s: 900.0,
        }),
    }
    "sm_75" Nvidia {
        capability: 75, llvm_name: "sm_75", llvm_features: "+ptx70",
        warp: 32, shared_kib: 64, multiprocessors: 40,
        sheet: Some(DataSheet {
            ghz: 1.59, issue: 4.0, warps: 32, blocks: 16, shared_kib: 64,
            l1_kib: 96, l2_mib: 4, l2_gb_s: 1300.0, dram_gb_s: 320.0,
        }),
    }
    "sm_80" Nvidia {
        capability: 80, llvm_name: "sm_80", llvm_features: "+ptx70",
        warp: 32, shared_kib: 163, multiprocessors: 108,
        sheet: Some(DataSheet {
            ghz: 1.41, issue: 4.0, warps: 64, blocks: 32, shared_kib: 164,
            l1_kib: 192, l2_mib: 40, l2_gb_s: 4000.0, dram_gb_s: 1555.0,
        }),
    }
    "sm_86" Nvidia {
        capability: 86, llvm_name: "sm_86", llvm_features: "+ptx70",
        warp: 32, shared_kib: 99, multiprocessors: 84,
        sheet: Some(DataSheet {
            ghz: 1.8, issue: 4.0, warps: 48, blocks: 16, shared_kib: 100,
            l1_kib: 128, l2_mib: 6, l2_gb_s: 2700.0, dram_gb_s: 768.0,
        }),
    }
    "sm_87" Nvidia {
        capability: 87, llvm_name: "sm_87", llvm_features: "+ptx70",
        warp: 32, shared_kib: 163, multiprocessors: 16,
        sheet: Some(DataSheet {
            ghz: 1.3, issue: 4.0, warps: 48, blocks: 16, shared_kib: 164,
            l1_kib: 192, l2_mib: 4, l2_gb_s: 800.0, dram_gb_s: 205.0,
        }),
    }
    "sm_89" Nvidia {
        capability: 89, llvm_name: "sm_89", llvm_features: "+ptx78",
        warp: 32, shared_kib: 99, multiprocessors: 142,
        sheet: Some(DataSheet {
            ghz: 2.49, issue: 4.0, warps: 48, blocks: 24, shared_kib: 100,
            l1_kib: 128, l2_mib: 96, l2_gb_s: 5000.0, dram_gb_s: 864.0,
        }),
    }
    "sm_90" Nvidia {
        capability: 90, llvm_name: "sm_90", llvm_features: "+ptx78",
        warp: 32, shared_kib: 227, multiprocessors: 132,
        sheet: Some(DataSheet {
            ghz: 1.83, issue: 4.0, warps: 64, blocks: 32, shared_kib: 228,
            l1_kib: 256, l2_mib: 50, l2_gb_s: 5500.0, dram_gb_s: 3350.0,
        }),
    }
    "sm_100" Nvidia {
        capability: 100, llvm_name: "sm_90", llvm_features: "+ptx78",
        warp: 32, shared_kib: 227, multiprocessors: 148,
        sheet: Some(DataSheet {
            ghz: 1.85, issue: 4.0, warps: 64, blocks: 32, shared_kib: 228,
            l1_kib: 256, l2_mib: 126, l2_gb_s: 8000.0, dram_gb_s: 8000.0,
        }),
    }
    "sm_120" Nvidia {
        capability: 120, llvm_name: "sm_90", llvm_features: "+ptx78",
        warp: 32, shared_kib: 99, multiprocessors: 188,
        sheet: Some(DataSheet {
            ghz: 2.4, issue: 4.0, warps: 48, blocks: 24, shared_kib: 100,
            l1_kib: 128, l2_mib: 128, l2_gb_s: 7000.0, dram_gb_s: 1792.0,
        }),
    }
    "gfx906" Amd {
        capability: 0, llvm_name: "gfx906", llvm_features: "",
        warp: 64, shared_kib: 64, multiprocessors: 60,
        sheet: None,
    }
    "gfx908" Amd {
        capability: 0, llvm_name: "gfx908", llvm_features: "",
        warp: 64, shared_kib: 64, multiprocessors: 120,
        sheet: None,
    }
    "gfx90a" Amd {
        capability: 0, llvm_name: "gfx90a", llvm_features: "",
        warp: 64, shared_kib: 64, multiprocessors: 104,
        sheet: None,
    }
    "gfx942" Amd {
        capability: 0, llvm_name: "gfx942", llvm_features: "",
        warp: 64, shared_kib: 64, multiprocessors: 304,
        sheet: None,
    }
    "gfx1030" Amd {
        capability: 0, llvm_name: "gfx1030", llvm_features: "",
        warp: 32, shared_kib: 64, multiprocessors: 80,
        sheet: None,
    }
    "gfx1100" Amd {
        capability: 0, llvm_name: "gfx1100", llvm_features: "",
        warp: 32, shared_kib: 64, multiprocessors: 96,
        sheet: None,
    }
}

impl GpuKind {
    /// The GPU of a name.
    pub fn named(name: &str) -> Option<&'static GpuKind> {
        GPUS.iter().find(|gpu| gpu.name == name)
    }

    /// The GPU for which code is made if the user names none of this maker and the machine has none.
    pub fn default_of(maker: Maker) -> &'static GpuKind {
        GpuKind::named(maker.default_gpu()).unwrap_or(&GPUS[0])
    }

    /// The newest GPU of NVIDIA that runs on a device of this compute capability, written as in
    /// [`GpuKind::capability`]. None if the device is older than all of them.
    pub fn of_capability(capability: u32) -> Option<&'static GpuKind> {
        let known = GPUS.iter().filter(|gpu| gpu.maker == Maker::Nvidia && gpu.capability <= capability);
        known.max_by_key(|gpu| gpu.capability)
    }

    /// The GPUs of a maker, the oldest first.
    pub fn of_maker(maker: Maker) -> impl Iterator<Item = &'static GpuKind> {
        GPUS.iter().filter(move |gpu| gpu.maker == maker)
    }
}

impl PartialEq for GpuKind {
    fn eq(&self, other: &GpuKind) -> bool {
        self.name == other.name
    }
}

impl Eq for GpuKind {}

impl Hash for GpuKind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_their_rows() {
        for gpu in GPUS {
            assert_eq!(GpuKind::named(gpu.name), Some(gpu), "a name is given twice");
            let by_capability = format!("sm_{}", gpu.capability);
            assert_eq!(gpu.name == by_capability, gpu.maker == Maker::Nvidia, "{}", gpu.name);
        }
        for maker in Maker::ALL {
            assert_eq!(GpuKind::default_of(*maker).name, maker.default_gpu());
            let ages = GpuKind::of_maker(*maker).map(|gpu| gpu.capability);
            assert!(ages.is_sorted(), "{maker}");
        }
    }

    #[test]
    fn newer_devices_run_the_code_of_the_newest_known_one() {
        let name = |capability| GpuKind::of_capability(capability).map(|gpu| gpu.name);
        assert_eq!((name(80), name(103), name(37)), (Some("sm_80"), Some("sm_100"), None));
    }

    #[test]
    fn a_block_has_no_more_shared_memory_than_its_multiprocessor() {
        for gpu in GPUS {
            let most = gpu.sheet.map_or(u64::MAX, |sheet| sheet.shared_kib * KIB);
            assert!(
                gpu.limits.shared_bytes <= most && gpu.limits.threads >= i64::from(gpu.warp),
                "{}",
                gpu.name
            );
        }
    }
}
