//! Figures of the cost model for GPUs.
//!
//! The figures from [`LAUNCH_US`] on were fitted to times of an H100: twelve models in calls of 1 to
//! 1,000,000 rows (`tests/h100.json`). The fit minimized two sums. One has the squared logarithms of
//! predicted over measured times, with the largest weights for schedules near the fastest of a call. The
//! other is the expected loss of the preferred schedule. Cycles and instructions are those of a warp. Several
//! figures include effects that the model does not count one by one, so they differ from a data sheet's
//! figures for a single access.

use sched_nest::StepFigures;

/// Bytes of a sector: the unit in which caches and memory transfer data.
pub const SECTOR_BYTES: f64 = 32.0;
/// Bytes of a line of the first-level cache, and bytes that all banks of shared memory deliver in one cycle.
pub const LINE_BYTES: f64 = 128.0;
/// Walks of a warp.
pub const WALKS_OF_A_WARP: f64 = 32.0;
/// 32-bit registers of a multiprocessor.
pub const REGISTERS: u64 = 65_536;
/// Registers of a thread whose walks are interleaved by two at most: `ptxas` reports 28 to 32 for kernels of
/// all layouts.
pub const THREAD_REGISTERS: u64 = 32;
/// Registers of each further interleaved `preorder` walk of a thread. With four walks, `ptxas` reports 48 to
/// 56 registers in all.
pub const PREORDER_WALK_REGISTERS: u64 = 12;
/// Registers for the sums of several classes, beside walks that compare values: `ptxas` reports 39 and 40 in
/// all.
pub const CLASS_REGISTERS: u64 = 8;
/// Threads get registers in multiples of this number.
pub const REGISTER_UNIT: u64 = 8;
/// Bytes of shared memory that the system reserves for each block, as CUDA documents for compute capability
/// 8.0 and later.
pub const RESERVED_BYTES: u64 = 1024;
/// Most bytes that a multiprocessor gets from the second-level cache in one cycle.
pub const MOST_SECOND_CACHE_BYTES: f64 = 64.0;
/// Expected accesses to the busiest of 32 banks if 32 threads each access a random bank.
pub const BANK_CONFLICTS: f64 = 3.5;
/// Bandwidth of the device's memory, as a share of the data sheet's; 2912 GB/s were measured.
pub const MEMORY_SHARE: f64 = 0.87;
/// Clock of a busy device, as a share of the data sheet's.
pub const CLOCK_SHARE: f64 = 0.96;
/// Bytes of rows or slots that fit the second-level cache, as a share of its size: it has two halves.
pub const KEPT_SECOND_CACHE_SHARE: f64 = 0.5;

/// Weight, from 0 to 1, of the assumption that all leaves have equally many rows. The rest is the weight of
/// the assumption that each test sends half of the rows to each side.
pub const LEAF_SHARE: f64 = 0.88;
/// Microseconds from one launch of a call to the next.
pub const LAUNCH_US: f64 = 1.78;
/// Exponent of the p-norm that combines the parts of a launch: 1 means no overlap, infinity perfect overlap.
pub const OVERLAP_EXPONENT: f64 = 1.57;
/// Bandwidth of the second-level cache, as a multiple of the data sheet's.
pub const SECOND_CACHE_FACTOR: f64 = 1.53;
/// Bytes of trees or rows that the first-level cache keeps, as a share of its size.
pub const KEPT_SHARE: f64 = 0.9;
/// Drift of the warps of a multiprocessor in a loop over trees: 0 if all walk the same trees at a time, 1 if
/// each walks a tree of its own.
pub const DRIFT: f64 = 0.111;
/// Cycles that a miss of the first-level cache adds to a step.
pub const MISS_CYCLES: f64 = 444.0;
/// Cycles that each sector adds to a step that misses the first-level cache.
pub const SECTOR_CYCLES: f64 = 7.33;
/// Cycles that reading a row in the device's memory adds to a step if the first-level cache lacks the row.
pub const ROW_MISS_CYCLES: f64 = 480.0;
/// Cycles before and after the steps of a walk.
pub const WALK_CYCLES: f64 = 19.0;
/// Cycles of each further walk of a thread, as a share of the first one's: it begins before the previous walk
/// ends.
pub const NEXT_WALK_SHARE: f64 = 0.555;
/// Share of the latency of each further walk that overlaps, if walks are interleaved.
pub const INTERLEAVING_OVERLAP: f64 = 0.332;
/// Cycles that selecting the sum of a tree's class adds to a walk.
pub const CLASS_CYCLES: f64 = 347.0;
/// Instructions that selecting the sum of a tree's class adds to a walk.
pub const CLASS_INSTRUCTIONS: f64 = 19.8;
/// Instructions for moving a sum to a slot, or for adding the value of a leaf vector.
pub const SUM_INSTRUCTIONS: f64 = 2.73;
/// Cycles for moving a sum to a slot, or for adding the value of a leaf vector.
pub const SUM_CYCLES: f64 = 3.81;
/// Instructions and cycles of a block, in addition to those for its rows, trees and sums.
pub const BLOCK_OVERHEAD: f64 = 373.0;
/// Cycles of a barrier.
pub const BARRIER_CYCLES: f64 = 28.7;
/// Instructions to find the bin of a value, without the steps of the search.
pub const BIN_INSTRUCTIONS: f64 = 58.4;
/// Cycles to find the bin of a value, without the steps of the search.
pub const BIN_CYCLES: f64 = 326.0;
/// Instructions of a step of the search for a bin.
pub const SEARCH_INSTRUCTIONS: f64 = 9.34;
/// Cycles of a step of the search for a bin.
pub const SEARCH_CYCLES: f64 = 188.0;
/// Instructions for copying a value.
pub const COPY_INSTRUCTIONS: f64 = 48.4;
/// Cycles for copying a value, or 16 bytes of a tree.
pub const COPY_CYCLES: f64 = 78.4;
/// Instructions for adding up a slot in shared memory.
pub const FOLD_INSTRUCTIONS: f64 = 4.04;
/// Cycles for adding up a slot in shared memory.
pub const FOLD_CYCLES: f64 = 4.52;
/// Instructions for clearing a sum of a slot.
pub const FILL_INSTRUCTIONS: f64 = 16.1;
/// Cycles for clearing a sum of a slot.
pub const FILL_CYCLES: f64 = 190.0;
/// Cycles for adding up a slot in the device's memory.
pub const DEVICE_FOLD_CYCLES: f64 = 30.7;
/// Cycles from the last store of a block to its first load of slots, if it is the last block of its group: a
/// fence, a ticket and another fence, each with an access to the second-level cache. Counted, not fitted: the
/// times in `tests/h100.json` are those of second launches.
pub const TICKET_CYCLES: f64 = 3.0 * MISS_CYCLES;
/// Threads of each multiprocessor that add up slots in the device's memory.
pub const FOLDING_THREADS: f64 = 1024.0;
/// Traffic of the second-level cache for each byte of slots that is written or read.
pub const SLOT_TRAFFIC: f64 = 1.75;
/// Cycles for adding up a slot that the second-level cache lacks, as a multiple of those for one that it has.
pub const MEMORY_FOLD_FACTOR: f64 = 2.0;
/// Cost of reading a value of a row from the device's memory, as a multiple of reading a copied one.
pub const UNCOPIED_ROW_FACTOR: f64 = 1.95;
/// Wavefronts (passes through the first-level cache) of a load in which the threads of a warp read 32
/// different rows.
pub const ROW_WAVEFRONTS: f64 = 0.287;
/// Wavefronts (passes through the first-level cache) of a load in which the threads of a warp read nodes of
/// one line.
pub const LINE_WAVEFRONTS: f64 = 0.38;

/// Rows whose bins share a 32-bit word, so that a thread tests the first levels for all of them at once.
pub const PACKED_ROWS: u64 = 4;
/// The step of four rows whose bins share a word.
pub const PACKED_STEP: StepFigures = StepFigures::new(26.5, 46.6, 1.0);

/// Instructions with which a walk enters the subtree below complete levels: an address, the load of the
/// subtree's entry, and its first leaf position. Counted, not fitted, as are the cycles: no GPU has been
/// measured with such a layout. Its steps cost those of its two parts.
pub const SUBTREE_INSTRUCTIONS: f64 = 6.0;
/// Cycles of that load from the first-level cache.
pub const SUBTREE_CYCLES: f64 = 40.0;

/// Instructions of a term of a sum that is a column: two loads, shared by eight sums, a product and an
/// addition in double precision. Counted, not fitted, as are the next three.
pub const TERM_INSTRUCTIONS: f64 = 4.0;
/// Cycles of a term of eight sums: a load from shared memory, a product and an addition, one after the other.
pub const TERM_CYCLES: f64 = 46.0;
/// Instructions of a column that is no sum.
pub const COLUMN_INSTRUCTIONS: f64 = 30.0;
/// Cycles of a column that is no sum.
pub const COLUMN_CYCLES: f64 = 120.0;
