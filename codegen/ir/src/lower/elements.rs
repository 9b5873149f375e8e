//! Launches with one thread per element.

use crate::lir::{Bin, BuildStmts, Cmp, GpuAxis, GpuDimension, GpuLevel, Value};

/// Threads of a block in a launch with one thread per element.
const THREADS: u32 = 256;

/// Emits a launch with a thread for each number below `count`.
pub fn launch_over<B: BuildStmts>(k: &mut B, name: &str, count: Value, body: impl FnOnce(&mut B, Value)) {
    let threads = i64::from(THREADS);
    let b = k.builder();
    let more = b.add_int(count, threads - 1);
    let extent = b.int(threads);
    let blocks = b.bin(Bin::IDiv, more, extent);
    let one = b.int(1);
    k.launch(name, [blocks, one, one], [THREADS, 1, 1], |k| {
        let b = k.builder();
        let [block, thread] =
            [GpuLevel::Grid, GpuLevel::Block].map(|level| b.id(GpuDimension { level, axis: GpuAxis::X }));
        let before = b.mul_int(block, threads);
        let number = b.add(before, thread);
        let exists = b.cmp(Cmp::Lt, number, count);
        k.when(exists, |k| body(k, number));
    });
}
