//! Figures of the cost model for GPUs that are counted, or come from data sheets and measurements. Those that
//! are fitted to times are in [`super::fitted`].

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
/// Accesses to the second-level cache between the last store of a block and its first load of slots, if it is
/// the last block of its group: a fence, a ticket and another fence. Counted, not fitted: the times in
/// `tests/h100.json` are those of second launches.
pub const TICKET_ACCESSES: f64 = 3.0;
/// Microseconds from one launch of a call to the next: those of empty kernels on an H100.
pub const LAUNCH_US: f64 = 2.1;
/// Threads of each multiprocessor that add up slots in the device's memory.
pub const FOLDING_THREADS: f64 = 1024.0;
/// Cycles for adding up a slot that the second-level cache lacks, as a multiple of those for one that it has.
pub const MEMORY_FOLD_FACTOR: f64 = 2.0;
/// Loads of slots that a thread has in flight while it folds. So a load arrives after ten times the cycles of
/// a slot in such a fold. Counted in machine code.
pub const LOADS_IN_FLIGHT: f64 = 10.0;
/// Cycles for adding up a slot that is in shared memory already. Counted, not fitted: an addition takes four
/// cycles, and 32 of them wait for one load.
pub const PIECE_SLOT_CYCLES: f64 = 5.0;
/// Rows whose bins share a 32-bit word, so that a thread tests the first levels for all of them at once.
pub const PACKED_ROWS: u64 = 4;
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
