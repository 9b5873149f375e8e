//! Figures of the cost model for GPUs.
//!
//! Least squares on the logarithms of times of an H100 (`tests/h100.json`) fitted them: of twelve models, in
//! calls of 1 to 1,000,000 rows. Times near the fastest of a call weighed most. Cycles and
//! instructions are those of a warp. Several figures stand for effects that the model does not count one by
//! one, so that they differ from what a data sheet says of a single access.

use sched_nest::Layout;

/// Bytes of a sector: the unit in which caches and memory transfer.
pub const SECTOR: f64 = 32.0;
/// Bytes of a line of the first cache.
pub const LINE: f64 = 128.0;
/// Walks of a warp.
pub const WALKS_OF_A_WARP: f64 = 32.0;
/// 32-bit registers of a multiprocessor.
pub const REGISTERS: u64 = 65_536;
/// Registers of a thread. `ptxas` reports 24 to 32 for kernels of all layouts, up to 4 walks together.
pub const THREAD_REGISTERS: u64 = 32;
/// Bytes of shared memory that the system reserves for each block, as CUDA documents for compute capability
/// 8.0 and later.
pub const RESERVED_BYTES: u64 = 1024;
/// Clock of a busy device, as a share of the data sheet's.
pub const CLOCK: f64 = 0.96;
/// Microseconds from one launch of a call to the next.
pub const LAUNCH_US: f64 = 2.75;
/// Exponent of the norm that adds up the parts of a launch: 1 would be no overlap, infinity a perfect one.
pub const OVERLAP: f64 = 1.55;
/// Bandwidth of the second cache, as a multiple of the data sheet's. It exceeds 1 because the model counts
/// each line that a block touches, even if a neighbouring block has loaded the line.
pub const SECOND_CACHE: f64 = 2.4;
/// Bandwidth of the device's memory, as a share of the data sheet's.
pub const MEMORY: f64 = 0.69;
/// Bytes of tables that the first cache can serve, as a multiple of its size. It exceeds 1 because most walks
/// stay in a part of a table.
pub const HOT: f64 = 3.6;
/// Least bytes of the first cache beside shared memory.
pub const LEAST_FIRST_CACHE: f64 = 16_384.0;
/// Cycles that a miss of the first cache adds to a step.
pub const MISS_CYCLES: f64 = 268.0;
/// Cycles that a miss of the first cache adds to a step if it is a miss for a row in the device's memory.
pub const ROW_MISS_CYCLES: f64 = 100.0;
/// Cycles before and behind the steps of a walk.
pub const WALK_CYCLES: f64 = 23.6;
/// Instructions before and behind the steps of a walk.
pub const WALK_INSTRUCTIONS: f64 = 2.4;
/// Cycles and instructions that choosing the sum of a class adds to a walk.
pub const CLASS_CYCLES: f64 = 67.5;
/// See [`CLASS_CYCLES`].
pub const CLASS_INSTRUCTIONS: f64 = 18.3;
/// Instructions and cycles of a block besides its rows, trees and sums.
pub const BLOCK: f64 = 62.0;
/// Cycles of a barrier.
pub const BARRIER_CYCLES: f64 = 33.9;
/// Instructions for a value's bin, with eight steps of search.
pub const BIN_INSTRUCTIONS: f64 = 72.3;
/// Cycles for the bin of a thread's first value, with eight steps of search.
pub const BIN_CYCLES: f64 = 1890.0;
/// Exponent of the number of values in the cycles for their bins: searches overlap a little.
pub const BIN_EXPONENT: f64 = 0.955;
/// Instructions and cycles for copying a value, or 16 bytes of a tree.
pub const COPY: f64 = 94.4;
/// Instructions for adding up a slot in shared memory.
pub const FOLD_INSTRUCTIONS: f64 = 5.6;
/// Cycles for adding up a slot in shared memory.
pub const FOLD_CYCLES: f64 = 1.43;
/// Instructions for filling a slot of several classes, most of which stay zero.
pub const FILL_INSTRUCTIONS: f64 = 51.3;
/// Cycles for filling a slot of several classes.
pub const FILL_CYCLES: f64 = 22.2;
/// Cycles for adding up a slot in the device's memory.
pub const DEVICE_FOLD_CYCLES: f64 = 28.5;
/// Threads of a multiprocessor that add up slots in the device's memory.
pub const FOLDING_THREADS: f64 = 1024.0;
/// Bytes of slots that fit the second cache, as a share of its size.
pub const SLOTS_IN_CACHE: f64 = 0.76;
/// Bytes of memory traffic for each byte of slots, if these exceed the second cache, for one class. The
/// traffic grows with the square root of the number of classes.
pub const SLOTS_IN_MEMORY: f64 = 1.65;
/// Cost of reading a value of a row from the device's memory, as a multiple of reading a copied one.
pub const UNCOPIED_ROW: f64 = 8.0;
/// Cost of reading a feature of four rows that share a word, as a multiple of reading it for one row.
pub const FOUR_ROWS: f64 = 0.75;
/// Wavefronts of shared memory when the threads of a warp each read a value of their rows.
pub const ROW_WAVEFRONTS: f64 = 0.63;
/// Wavefronts when the threads of a warp read nodes from one cache line.
pub const LINE_WAVEFRONTS: f64 = 0.4;
/// Cost of a step with 64-bit values, as a ratio to 32-bit ones.
pub const WIDE: f64 = 1.36;
/// Bytes of trees in lanes, as a ratio to those of rows in lanes, with the same nodes side by side and
/// without.
pub const SIDE_BY_SIDE_BYTES: f64 = 0.85;
/// See [`SIDE_BY_SIDE_BYTES`].
pub const APART_BYTES: f64 = 2.9;

/// The cost of a step of a walk in a layout.
pub struct StepFigures {
    /// Instructions.
    pub instructions: f64,
    /// Cycles if the first cache has the node.
    pub cycles: f64,
    /// Share of a further walk's latency that overlaps, where walks advance together.
    pub together: f64,
    /// Wavefronts if the threads of a warp walk different trees.
    pub apart: f64,
}

/// The steps of four rows together.
pub const FOUR: StepFigures = StepFigures { instructions: 38.1, cycles: 47.1, together: 0.4, apart: 11.8 };

/// The step of one row.
pub const fn step(layout: Layout) -> StepFigures {
    let (instructions, cycles, together, apart) = match layout {
        Layout::Array => (14.0, 181.0, 0.68, 9.8),
        Layout::Sparse => (15.3, 235.0, 0.3, 9.5),
        Layout::Preorder => (8.0, 393.0, 0.0, 5.9),
        Layout::Reorg => (10.7, 345.0, 0.4, 4.0),
        // Layouts of straight walks differ little; the figures are those of `quantized`.
        Layout::Quantized | Layout::Levels | Layout::Oblivious => (9.0, 66.1, 0.4, 11.8),
    };
    StepFigures { instructions, cycles, together, apart }
}
