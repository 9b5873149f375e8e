//! Rows in the memory of a GPU, and the time of kernels on them.

use crate::error::GpuError;
use sched_library::{Driver, TimedStream};
use sched_llvm::runtime::{self, Call, Dtype, ModelDescriptor, OutputKind};
use sched_llvm::{Jit, PackedRows};
use sched_machines::Maker;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The GPU that times kernels: the first one, as in calls that name no GPU.
const DEVICE: i32 = 0;
/// Resident bytes as a multiple of the second-level cache. Calls that go through these bytes read their rows
/// from the device's memory.
const CACHES: usize = 4;
/// Resident bytes if the driver does not know the size of the cache: four times the largest one of 2025.
const DEFAULT_BYTES: usize = 512 << 20;
/// Bytes of the widest type of rows and margins, `f64`.
const WIDEST_ELEMENT_BYTES: usize = 8;
/// Number of times that the buffer of fills is filled before timed calls, at first. The device is then busy
/// until the host has queued the calls.
const LEAST_FILLS: u32 = 8;
/// Most fills before timed calls. A device with a bandwidth of 4 TB/s takes some ten milliseconds for them.
const MOST_FILLS: u32 = 128;
/// Most calls that the host queues before it waits. A stream blocks after about a thousand launches, until
/// one of them is done, and a call may have several.
const MOST_QUEUED_CALLS: usize = 64;

/// The types and the sizes of a model's rows and margins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RowLayout {
    features: usize,
    margins: usize,
    row_type: i32,
}

impl RowLayout {
    fn of(model: &ModelDescriptor) -> RowLayout {
        let count = |number: i32| usize::try_from(number).unwrap_or(0).max(1);
        RowLayout {
            features: count(model.num_features),
            margins: count(model.num_margins),
            row_type: model.row_type,
        }
    }

    fn dtype(self) -> Dtype {
        Dtype::of(self.row_type)
    }

    fn row_bytes(self) -> usize {
        self.features * if self.dtype() == Dtype::F64 { 8 } else { 4 }
    }
}

/// The state of the timed calls.
struct Position {
    /// The first row of the next call.
    next_row: usize,
    /// Fills before the next timed calls.
    fills: u32,
}

/// Packed rows in the memory of the first GPU, with space for margins. Code of all schedules of a model can
/// be timed on the same rows.
pub struct ResidentRows {
    layout: RowLayout,
    /// Address of the rows.
    rows: u64,
    /// Address of the margins.
    out: u64,
    /// Address of a buffer that is filled to keep the device busy while the host queues calls.
    filled: u64,
    filled_bytes: usize,
    /// Number of rows in the GPU's memory.
    count: usize,
    /// Most rows of a call: those whose margins fit the output buffer.
    max_call_rows: usize,
    stream: TimedStream,
    position: Mutex<Position>,
}

impl ResidentRows {
    /// Copies packed rows to the memory of the first GPU, repeated until they exceed its caches. The code is
    /// one of those that will be timed.
    ///
    /// # Errors
    /// When there is no GPU of NVIDIA, or too little of its memory.
    pub fn new(code: &Jit, rows: PackedRows) -> Result<ResidentRows, GpuError> {
        let layout = checked_layout(code)?;
        let once = bytes_of(rows, layout.dtype())?;
        let mut stream = TimedStream::new(DEVICE)?;
        let cache = Driver::get()?.second_cache_bytes(DEVICE)?;
        let beyond_caches = if cache == 0 { DEFAULT_BYTES } else { CACHES * cache };
        let copies = beyond_caches.div_ceil(once.len().max(1)).max(1);
        let max_call_rows = once.len() / layout.row_bytes();
        let rows = match copies {
            1 => stream.upload(&once)?,
            _ => stream.upload(&once.repeat(copies))?,
        };
        Ok(ResidentRows {
            layout,
            rows,
            out: stream.alloc(max_call_rows * layout.margins * WIDEST_ELEMENT_BYTES)?,
            filled: stream.alloc(beyond_caches)?,
            filled_bytes: beyond_caches,
            count: max_call_rows * copies,
            max_call_rows,
            stream,
            position: Mutex::new(Position { next_row: 0, fills: LEAST_FILLS }),
        })
    }

    /// Makes a call on `batch` rows and waits for it. The first call of code loads it and copies its tables,
    /// and the first call of a size allocates memory.
    ///
    /// # Errors
    /// When the call fails, or fewer than `batch` rows are resident.
    pub fn warm_up(&self, code: &Jit, batch: usize) -> Result<(), GpuError> {
        let mut position = self.lock();
        let queued = self.queue_calls(code, batch, 1, &mut position);
        self.settled(queued)
    }

    /// The time of `calls` consecutive calls for the margins of `batch` rows each, by the GPU's own clock.
    /// The calls go through the resident rows in order. The host's part of a call does not count.
    ///
    /// # Errors
    /// When a call fails, or fewer than `batch` rows are resident.
    pub fn time_calls(&self, code: &Jit, batch: usize, calls: usize) -> Result<Duration, GpuError> {
        let mut position = self.lock();
        let mut spent = Duration::ZERO;
        let mut remaining = calls;
        while remaining > 0 {
            let queued = remaining.min(MOST_QUEUED_CALLS);
            spent += self.time_queued_calls(code, batch, queued, &mut position)?;
            remaining -= queued;
        }
        Ok(spent)
    }

    /// The time of calls that are all in the stream before the GPU begins the first one.
    fn time_queued_calls(
        &self,
        code: &Jit,
        batch: usize,
        calls: usize,
        position: &mut Position,
    ) -> Result<Duration, GpuError> {
        loop {
            let queued = self.queue_timed_calls(code, batch, calls, position);
            let has_begun = queued.and_then(|()| Ok(self.stream.has_begun()?));
            let has_begun = self.settled(has_begun)?;
            // If the GPU began before the host had queued all calls, it may have waited for the host.
            if !has_begun || position.fills >= MOST_FILLS {
                return Ok(self.stream.elapsed()?);
            }
            position.fills *= 2;
        }
    }

    fn queue_timed_calls(
        &self,
        code: &Jit,
        batch: usize,
        calls: usize,
        position: &mut Position,
    ) -> Result<(), GpuError> {
        for value in 0..position.fills {
            // SAFETY: the buffer has this length.
            unsafe { self.stream.fill(self.filled, value as u8, self.filled_bytes) }?;
        }
        self.stream.begin()?;
        self.queue_calls(code, batch, calls, position)?;
        Ok(self.stream.end()?)
    }

    /// Waits for all work in the stream. The code may be dropped afterwards, also if a call has failed.
    fn settled<T>(&self, queued: Result<T, GpuError>) -> Result<T, GpuError> {
        let finished = self.stream.finish();
        let value = queued?;
        finished?;
        Ok(value)
    }

    /// Puts calls into the stream.
    fn queue_calls(
        &self,
        code: &Jit,
        batch: usize,
        calls: usize,
        position: &mut Position,
    ) -> Result<(), GpuError> {
        if checked_layout(code)? != self.layout {
            return Err(GpuError::Unsuitable("the code reads other rows than those in the GPU's memory"));
        }
        if batch > self.max_call_rows {
            return Err(GpuError::Unsuitable("a call has more rows than are in the GPU's memory"));
        }
        for _ in 0..calls {
            if position.next_row + batch > self.count {
                position.next_row = 0;
            }
            self.queue_call(code, position.next_row, batch)?;
            position.next_row += batch;
        }
        Ok(())
    }

    /// Puts a call on the rows from `first` on into the stream. The rows and their margins are resident.
    fn queue_call(&self, code: &Jit, first: usize, batch: usize) -> Result<(), GpuError> {
        let address = self.rows + (first * self.layout.row_bytes()) as u64;
        let at = |address: u64| ptr::without_provenance_mut::<c_void>(address as usize);
        let n_rows = i64::try_from(batch).unwrap_or(i64::MAX);
        let call = Call {
            memory: 1,
            device: DEVICE,
            stream: self.stream.stream().handle(),
            ..Call::new(OutputKind::Raw, self.layout.dtype(), at(address), n_rows, at(self.out))
        };
        // SAFETY: rows and output are in the GPU's memory and have the lengths that the call states. They
        // live until the stream is done.
        Ok(unsafe { runtime::call(code.model(), &call) }?)
    }

    /// One thread at a time puts calls into the stream.
    fn lock(&self) -> MutexGuard<'_, Position> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The layout of the rows that code for NVIDIA's GPUs reads.
fn checked_layout(code: &Jit) -> Result<RowLayout, GpuError> {
    match code.gpu_maker() {
        None => Err(GpuError::Unsuitable("the code runs on the processor")),
        Some(Maker::Amd) => Err(GpuError::Unsuitable(
            "kernels are timed by NVIDIA's driver, and the code is for a GPU of AMD",
        )),
        Some(Maker::Nvidia) => Ok(RowLayout::of(code.model())),
    }
}

/// Rows in the type that the model reads.
fn bytes_of(rows: PackedRows, dtype: Dtype) -> Result<Vec<u8>, GpuError> {
    Ok(match (rows, dtype) {
        (PackedRows::F32(rows), Dtype::F64) => {
            rows.iter().flat_map(|x| f64::from(*x).to_le_bytes()).collect()
        }
        (PackedRows::F32(rows), _) => rows.iter().flat_map(|x| x.to_le_bytes()).collect(),
        (PackedRows::F64(rows), Dtype::F64) => rows.iter().flat_map(|x| x.to_le_bytes()).collect(),
        (PackedRows::F64(rows), _) => rows.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect(),
        (PackedRows::Columns(_), _) => {
            return Err(GpuError::Unsuitable("rows in the GPU's memory are packed, not columns"));
        }
    })
}
