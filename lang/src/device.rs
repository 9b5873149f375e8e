//! Limits of the devices that a target names, from the tables of [`sched_machines`].
//!
//! Limits of GPUs are those of one block. Shared memory is in bytes, as much as a kernel may ask for. Cache
//! sizes are typical of the processors that have the instructions.

use crate::options::{CheckOptions, Target, TargetKind};
use sched_machines::{GPUS, GpuKind, GpuLimits, Level, Maker, cpu_words};
use sched_nest::GpuAxis;

/// A class of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuClass {
    /// The name in a `target` line.
    pub name: &'static str,
    /// Processor level; `None` for `native`.
    pub level: Option<Level>,
}

/// Bytes of a core's second-level cache if the level is not known.
const NATIVE_L2: u64 = 2 << 20;

impl CpuClass {
    /// The class of a word.
    pub fn named(word: &str) -> Option<CpuClass> {
        cpus().find(|cpu| cpu.name == word)
    }

    /// Bytes of one core's second-level cache.
    pub fn l2(self) -> u64 {
        self.level.map_or(NATIVE_L2, Level::l2)
    }

    /// Bits of the CPU's vector registers, if its name determines them.
    pub fn vector_bits(self) -> Option<u32> {
        self.level.map(Level::register_bits)
    }
}

/// The classes of CPUs that a target can name.
pub fn cpus() -> impl Iterator<Item = CpuClass> {
    cpu_words().map(|(name, level)| CpuClass { name, level })
}

/// The words that a target of this kind can name.
pub fn names(kind: TargetKind) -> Vec<&'static str> {
    match kind {
        TargetKind::Cpu => cpus().map(|cpu| cpu.name).collect(),
        TargetKind::Gpu => GPUS.iter().map(|gpu| gpu.name).collect(),
    }
}

/// Limits of a schedule on its target. If the target names no GPU, shared memory has two limits: that of the
/// most capable GPU, and the one that every GPU has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// CPU or GPU.
    pub kind: TargetKind,
    /// Limits of the GPU that the target names, or those of the most capable one.
    pub gpu: GpuLimits,
    /// Bytes of shared memory that a block may use on every GPU that the target may mean.
    pub shared_everywhere: u64,
    /// Threads that the GPU runs in step: a warp (AMD: a wavefront). If the target names no GPU, the number
    /// of NVIDIA's usual GPU.
    pub warp: i64,
    /// Bytes of a core's second-level cache: the largest one of all, unless the target names a CPU.
    pub l2: u64,
    /// Bits of a CPU's vector registers, if they are known.
    pub vector_bits: Option<u32>,
    /// Most rows that the loops process at once, if they are known.
    pub max_rows: Option<u64>,
}

impl Limits {
    /// The limits of a target. If it names several devices, the first known one counts.
    pub fn of(target: &Target) -> Self {
        let named = |name: &str| target.options.iter().any(|option| option == name);
        let gpu = GPUS.iter().find(|gpu| named(gpu.name));
        let cpu = cpus().find(|cpu| named(cpu.name));
        let any_l2 = cpus().map(CpuClass::l2).max().unwrap_or(0);
        Limits {
            kind: target.kind,
            gpu: gpu.map_or_else(any_gpu, |gpu| gpu.limits),
            shared_everywhere: gpu.map_or_else(least_shared_memory, |gpu| gpu.limits.shared_bytes),
            warp: gpu.unwrap_or(GpuKind::default_of(Maker::Nvidia)).warp.into(),
            l2: cpu.map_or(any_l2, CpuClass::l2),
            vector_bits: cpu.and_then(CpuClass::vector_bits),
            max_rows: None,
        }
    }

    /// The limits of a target, completed by the options of a check: the registers of this machine and the
    /// most rows.
    pub fn of_check(target: &Target, options: &CheckOptions) -> Self {
        let limits = Limits::of(target);
        let is_named = cpus()
            .any(|cpu| cpu.vector_bits().is_some() && target.options.iter().any(|option| option == cpu.name));
        let machine = options.vector_bits.filter(|_| !is_named && limits.kind == TargetKind::Cpu);
        Limits { vector_bits: limits.vector_bits.or(machine), max_rows: options.batch_size, ..limits }
    }

    /// Most iterations of a loop on this axis of a block.
    pub fn max_block_iterations(&self, axis: GpuAxis) -> i64 {
        self.gpu.block[axis as usize]
    }

    /// Most iterations of a loop on this axis of the grid.
    pub fn max_grid_iterations(&self, axis: GpuAxis) -> i64 {
        self.gpu.grid[axis as usize]
    }
}

fn least_shared_memory() -> u64 {
    GPUS.iter().map(|gpu| gpu.limits.shared_bytes).min().unwrap_or(0)
}

/// The largest of each limit over all GPUs, with the multiprocessors of the usual one.
fn any_gpu() -> GpuLimits {
    let most = |value: fn(&GpuLimits) -> i64| GPUS.iter().map(|gpu| value(&gpu.limits)).max().unwrap_or(0);
    GpuLimits {
        threads: most(|gpu| gpu.threads),
        block: [most(|gpu| gpu.block[0]), most(|gpu| gpu.block[1]), most(|gpu| gpu.block[2])],
        grid: [most(|gpu| gpu.grid[0]), most(|gpu| gpu.grid[1]), most(|gpu| gpu.grid[2])],
        shared_bytes: GPUS.iter().map(|gpu| gpu.limits.shared_bytes).max().unwrap_or(0),
        multiprocessors: GpuKind::default_of(Maker::Nvidia).limits.multiprocessors,
    }
}
