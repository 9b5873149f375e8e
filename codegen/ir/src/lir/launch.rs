//! Launches: the code of a GPU.
//!
//! A [`Launch`] runs its body once for each thread of each block of a grid. Blocks are independent of each
//! other; the threads of a block wait for each other at [`Stmt::Barrier`]s. Two threads may touch the same
//! bytes only by loads, by [`Stmt::AtomicAdd`], or if their accesses are in order: with a barrier between
//! them, if they are in one block, or by tickets.
//!
//! [`Stmt::Ticket`] orders accesses of different blocks. One block makes the accesses, a barrier, a
//! [`Stmt::Fence`] and a ticket. Another block later takes a ticket of the same counter, and then makes a
//! fence, a barrier and its own accesses. A fence and the ticket beside it order nothing without the barrier,
//! since one thread takes the ticket: the barrier puts the accesses of the other threads before the fence of
//! that thread, and its later fence before their accesses.
//!
//! The code around a launch runs on the host. Its values are visible in the body and equal for all
//! threads. Launches of one function run one after the other.
//!
//! Inside a launch an [`Stmt::Alloc`] of a [`Space::Private`] buffer is memory of one thread, and of a
//! [`Space::Shared`] buffer memory of one block. Both have a constant size. Outside it is device
//! memory, which all threads share. A [`Space::Counters`] buffer is such memory, for tickets.
//!
//! Barriers, fences, tickets and shared memory must be in *uniform* control flow: all threads of a block
//! reach them, or none. The verifier proves it (`verify/launch.rs`). So a launch contains no parallel loop
//! and no launch.

use super::{Address, Block, BufferId, Function, Op, Space, Stmt, Value};
use std::collections::BTreeMap;

pub use sched_nest::{GpuAxis, GpuDimension, GpuLevel};

/// Alignment of shared buffers in bytes.
pub const SHARED_ALIGNMENT: u64 = 64;

/// Largest number of threads of a block, on all devices.
pub const MAX_THREADS: u32 = 1024;

/// A grid of blocks of threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Name that profilers show, a C identifier, unique in the function.
    pub name: String,
    /// Number of blocks in the dimensions x, y and z, as indices. The launch is empty if one of them is not
    /// positive.
    pub grid: [Value; 3],
    /// Threads of a block in the dimensions x, y and z: at least 1 each, and a product of at most
    /// [`MAX_THREADS`].
    pub block: [u32; 3],
    /// Registers of a thread that leave room for its sums of several margins. `None` if it has no such sums,
    /// or if they are in memory.
    pub registers: Option<u32>,
    /// Statements of a thread.
    pub body: Block,
}

/// A ticket for a block: the number of blocks that have taken one from the same counter before. All threads
/// of the block wait for each other. Then one thread adds 1 to the counter and passes its old value to the
/// others, through shared memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ticket {
    /// The ticket, an `i32`: the same in all threads of the block.
    pub number: Value,
    /// The counter, an `i32` of a [`Space::Counters`] buffer.
    pub counter: Address,
    /// Shared memory of the block, for one `i32` that no other statement accesses.
    pub shared: BufferId,
}

/// Processor that runs a variant of a model's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessorKind {
    /// The host runs all code, in its own memory.
    Host,
    /// The host only starts launches, and every buffer is device memory.
    Device,
}

/// Transfer of rows from host to device as bins, which are fewer bytes than values. The host runs
/// [`KernelKind::Quantize`], and the device the kernels that read bins.
///
/// Bins are bytes in blocks of rows: the first bin of all rows of a block, then the second bin, and so
/// on. The last block has full size.
///
/// [`KernelKind::Quantize`]: super::KernelKind::Quantize
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinTransfer {
    /// Rows of a block.
    pub block_rows: u32,
    /// Bytes of a row's bins.
    pub row_bytes: u32,
    /// Bytes of a row's values.
    pub value_bytes: u32,
    /// Fewest rows of a run that transfers bins; shorter runs transfer values.
    pub least_rows: i64,
    /// Throughput of the bus in bytes per nanosecond. Runs whose threads cannot quantize rows as fast as the
    /// bus takes their values transfer values.
    pub bus: u32,
}

impl BinTransfer {
    /// Bytes of the bins of `rows` rows.
    pub fn bytes(&self, rows: u64) -> u64 {
        rows.next_multiple_of(self.block_rows.into()) * u64::from(self.row_bytes)
    }
}

impl Launch {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().fold(1, |all, extent| all.saturating_mul(*extent))
    }

    /// Shared memory of a block: consecutive buffers and their bytes, rounded up to `SHARED_ALIGNMENT`.
    pub fn shared_buffers(&self, function: &Function) -> Vec<(BufferId, u64)> {
        let rounded = |(buffer, bytes): (BufferId, u64)| (buffer, bytes.next_multiple_of(SHARED_ALIGNMENT));
        self.buffers_in(Space::Shared, function).into_iter().map(rounded).collect()
    }

    /// The buffers that the launch allocates in `space`, in order, and their bytes.
    pub fn buffers_in(&self, space: Space, function: &Function) -> Vec<(BufferId, u64)> {
        let mut constants = BTreeMap::new();
        let mut note = |stmt: &Stmt| {
            if let Stmt::Let(value, Op::Int(bytes)) = stmt {
                constants.insert(*value, *bytes);
            }
        };
        Stmt::visit_all(&function.body, &mut note);
        let mut found = Vec::new();
        Stmt::visit_all(&self.body, |stmt| {
            if let Stmt::Alloc(alloc) = stmt
                && function.buffer(alloc.buffer).space == space
            {
                let bytes = constants.get(&alloc.bytes).and_then(|bytes| u64::try_from(*bytes).ok());
                found.push((alloc.buffer, bytes.unwrap_or(0)));
            }
        });
        found
    }
}
