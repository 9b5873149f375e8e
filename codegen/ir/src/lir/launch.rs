//! Launches: the code of a GPU.
//!
//! A [`Launch`] runs its body once for each thread of each block of a grid. Blocks are independent of each other; the
//! threads of a block meet at [`Stmt::Barrier`]s. Two threads may touch the same bytes only by loads, by
//! [`Stmt::AtomicAdd`], or if both are of one block and a barrier stands between the two accesses.
//!
//! What is around a launch is code of the host. Its values, of which the body sees all, are the same for all threads.
//! Launches of one function run one after the other.
//!
//! Inside a launch an [`Stmt::Alloc`] of a [`Space::Private`] buffer is memory of one thread, and of a
//! [`Space::Shared`] buffer memory of one block; both have a constant size. Outside it is memory of the device, which
//! all threads share.
//!
//! Barriers and shared memory stand under *uniform* control only: all threads of a block come by, or none. The verifier
//! proves it (`verify/launch.rs`). So there is no parallel loop and no launch inside a launch.

use super::{Block, BufferId, Function, Op, Space, Stmt, Value};
use std::collections::BTreeMap;

pub use sched_nest::{GpuAxis, GpuDimension, GpuLevel};

/// Buffers that a block shares begin at multiples of so many bytes.
pub const SHARED_ALIGNMENT: u64 = 64;

/// Most threads of a block, on all devices.
pub const MAX_THREADS: u32 = 1024;

/// A grid of blocks of threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// What profilers call it, a C identifier, unique in the function.
    pub name: String,
    /// Blocks in the directions x, y and z, indices; none if one of them is not positive.
    pub grid: [Value; 3],
    /// Threads of a block in the directions x, y and z, at least 1 each and [`MAX_THREADS`] in all.
    pub block: [u32; 3],
    /// What each thread does.
    pub body: Block,
}

/// Where a variant of a model's kernels runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// All of it is code of the host, which reads and writes the memory of the host.
    Host,
    /// The host runs nothing but launches, and every buffer is memory of a device.
    Device,
}

/// How rows in memory of the host travel to a device as bins, which are fewer bytes than values: the host runs
/// [`KernelKind::Quantize`], and the device kernels that read bins.
///
/// Bins are bytes, in blocks of rows: the first bin of all rows of a block, then the second one, and so on. The last block
/// is as long as the others.
///
/// [`KernelKind::Quantize`]: super::KernelKind::Quantize
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinTransfer {
    /// Rows of a block.
    pub block: u32,
    /// Bytes of a row's bins.
    pub row_bytes: u32,
    /// Bytes of its values.
    pub value_bytes: u32,
    /// Runs of fewer rows take the values.
    pub least_rows: i64,
    /// Bytes that the bus delivers in a nanosecond: runs whose threads do not quantize as fast take the values, too.
    pub bus: u32,
}

impl BinTransfer {
    /// Bytes of the bins of so many rows.
    pub fn bytes(&self, rows: u64) -> u64 {
        rows.next_multiple_of(self.block.into()) * u64::from(self.row_bytes)
    }
}

impl Launch {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().fold(1, |all, extent| all.saturating_mul(*extent))
    }

    /// The memory that the threads of a block share: buffers and their bytes. They lie one behind the other, each aligned
    /// to `SHARED_ALIGNMENT`.
    pub fn shared(&self, function: &Function) -> Vec<(BufferId, u64)> {
        let mut constants = BTreeMap::new();
        let mut note = |stmt: &Stmt| {
            if let Stmt::Let(value, Op::Int(bytes)) = stmt {
                constants.insert(*value, *bytes);
            }
        };
        Stmt::visit_all(&function.body, &mut note);
        let mut shared = Vec::new();
        Stmt::visit_all(&self.body, |stmt| {
            if let Stmt::Alloc(alloc) = stmt
                && function.buffer(alloc.buffer).space == Space::Shared
            {
                let bytes = constants.get(&alloc.bytes).and_then(|bytes| u64::try_from(*bytes).ok());
                shared.push((alloc.buffer, bytes.unwrap_or(0).next_multiple_of(SHARED_ALIGNMENT)));
            }
        });
        shared
    }
}
