//! Devices as data: what a block of a GPU may use, and what lies near a CPU's core.
//!
//! Limits of GPUs are those of one block; shared memory is what a kernel
//! may ask for, in bytes. Sizes of caches are typical of the processors that have the instructions.

use crate::options::{Options, Target, TargetKind};
use sched_nest::GpuAxis;

/// A GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// As a `target` line names it.
    pub name: &'static str,
    /// Most threads of a block.
    pub threads: i64,
    /// Most threads along each axis of a block: x, y and z.
    pub block: [i64; 3],
    /// Most blocks along each axis of a grid: x, y and z.
    pub grid: [i64; 3],
    /// Bytes of shared memory that every block may use.
    pub shared: u64,
    /// Bytes of shared memory of a block in a kernel that asks for more.
    pub shared_most: u64,
    /// Multiprocessors of the device of this kind that computing centres have, which run blocks side by side; AMD calls them
    /// compute units.
    pub multiprocessors: u32,
}

/// A class of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// As a `target` line names it.
    pub name: &'static str,
    /// Bytes of one core's second-level cache.
    pub l2: u64,
    /// Bits of its vector registers, if the name tells.
    pub vector_bits: Option<u32>,
}

const KIB: u64 = 1024;

const fn nvidia(name: &'static str, shared_most_kib: u64, multiprocessors: u32) -> Gpu {
    Gpu {
        name,
        threads: 1024,
        block: [1024, 1024, 64],
        grid: [2_147_483_647, 65_535, 65_535],
        shared: 48 * KIB,
        shared_most: shared_most_kib * KIB,
        multiprocessors,
    }
}

const fn amd(name: &'static str, shared_kib: u64, multiprocessors: u32) -> Gpu {
    Gpu {
        name,
        threads: 1024,
        block: [1024, 1024, 1024],
        grid: [2_147_483_647, 65_535, 65_535],
        shared: shared_kib * KIB,
        shared_most: shared_kib * KIB,
        multiprocessors,
    }
}

/// The GPU that is meant where a target names none and none is at hand.
const USUAL: &str = "sm_80";

/// The GPUs that a target can name.
pub const GPUS: &[Gpu] = &[
    nvidia("sm_60", 48, 56),
    nvidia("sm_61", 48, 30),
    nvidia("sm_70", 96, 80),
    nvidia("sm_75", 64, 40),
    nvidia("sm_80", 163, 108),
    nvidia("sm_86", 99, 84),
    nvidia("sm_87", 163, 16),
    nvidia("sm_89", 99, 142),
    nvidia("sm_90", 227, 132),
    nvidia("sm_100", 227, 148),
    nvidia("sm_120", 99, 188),
    amd("gfx906", 64, 60),
    amd("gfx908", 64, 120),
    amd("gfx90a", 64, 104),
    amd("gfx942", 64, 304),
    amd("gfx1030", 64, 80),
    amd("gfx1100", 64, 96),
];

/// The classes of CPUs that a target can name.
pub const CPUS: &[Cpu] = &[
    Cpu { name: "native", l2: 2048 * KIB, vector_bits: None },
    Cpu { name: "x86-64-v2", l2: 256 * KIB, vector_bits: Some(128) },
    Cpu { name: "x86-64-v3", l2: 256 * KIB, vector_bits: Some(256) },
    Cpu { name: "x86-64-v4", l2: 1024 * KIB, vector_bits: Some(512) },
    Cpu { name: "avx2", l2: 256 * KIB, vector_bits: Some(256) },
    Cpu { name: "avx512", l2: 1024 * KIB, vector_bits: Some(512) },
];

/// The words that a target of this kind can name.
pub fn names(kind: TargetKind) -> Vec<&'static str> {
    match kind {
        TargetKind::Cpu => CPUS.iter().map(|cpu| cpu.name).collect(),
        TargetKind::Gpu => GPUS.iter().map(|gpu| gpu.name).collect(),
    }
}

/// What a schedule may ask of its target. Where the target names no device, a limit that only some have is two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// CPU or GPU.
    pub kind: TargetKind,
    /// The limits of a GPU. Unless the target names one, those that the most capable one has.
    pub gpu: Gpu,
    /// Bytes of shared memory that are enough on any GPU that the target may mean.
    pub shared_everywhere: u64,
    /// Bytes of a core's second-level cache; of the largest one unless the target names a CPU.
    pub l2: u64,
    /// Bits of a CPU's vector registers, if they are known.
    pub vector_bits: Option<u32>,
    /// Most rows of one run of the nest, if that is known.
    pub max_rows: Option<u64>,
}

impl Limits {
    /// The limits of a target, of its first known device if it names several.
    pub fn of(target: &Target) -> Self {
        let named = |name: &str| target.options.iter().any(|option| option == name);
        let gpu = GPUS.iter().find(|gpu| named(gpu.name));
        let cpu = CPUS.iter().find(|cpu| named(cpu.name));
        let any_l2 = CPUS.iter().map(|cpu| cpu.l2).max().unwrap_or(0);
        Limits {
            kind: target.kind,
            gpu: gpu.copied().unwrap_or_else(any_gpu),
            shared_everywhere: gpu.map_or_else(least_shared, |gpu| gpu.shared_most),
            l2: cpu.map_or(any_l2, |cpu| cpu.l2),
            vector_bits: cpu.and_then(|cpu| cpu.vector_bits),
            max_rows: None,
        }
    }

    /// The same, with what a check is told besides the target.
    pub fn of_check(target: &Target, options: &Options) -> Self {
        let limits = Limits::of(target);
        let is_named = CPUS
            .iter()
            .any(|cpu| cpu.vector_bits.is_some() && target.options.iter().any(|option| option == cpu.name));
        let machine = options.vector_bits.filter(|_| !is_named && limits.kind == TargetKind::Cpu);
        Limits { vector_bits: limits.vector_bits.or(machine), max_rows: options.batch_size, ..limits }
    }

    /// Most iterations of a loop on this axis of a block.
    pub fn block_axis(&self, axis: GpuAxis) -> i64 {
        self.gpu.block[axis as usize]
    }

    /// Most iterations of a loop on this axis of the grid.
    pub fn grid_axis(&self, axis: GpuAxis) -> i64 {
        self.gpu.grid[axis as usize]
    }
}

fn least_shared() -> u64 {
    GPUS.iter().map(|gpu| gpu.shared_most).min().unwrap_or(0)
}

/// What at least one GPU can do.
fn any_gpu() -> Gpu {
    let most = |value: fn(&Gpu) -> i64| GPUS.iter().map(value).max().unwrap_or(0);
    Gpu {
        name: "",
        threads: most(|gpu| gpu.threads),
        block: [most(|gpu| gpu.block[0]), most(|gpu| gpu.block[1]), most(|gpu| gpu.block[2])],
        grid: [most(|gpu| gpu.grid[0]), most(|gpu| gpu.grid[1]), most(|gpu| gpu.grid[2])],
        shared: GPUS.iter().map(|gpu| gpu.shared).max().unwrap_or(0),
        shared_most: GPUS.iter().map(|gpu| gpu.shared_most).max().unwrap_or(0),
        multiprocessors: GPUS.iter().find(|gpu| gpu.name == USUAL).map_or(1, |gpu| gpu.multiprocessors),
    }
}
