//! Times calls on NVIDIA GPUs, through the crate `cust`.

use crate::{CudaDevice, GpuError};
use cust::context::{Context, CurrentContext};
use cust::device::DeviceAttribute;
use cust::error::CudaError;
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use sched_llvm::Jit;
use sched_llvm::runtime::{self, Call, CallStatus, Dtype, OutputKind};
use std::time::Duration;

/// More bytes than any GPU has in its caches. Calls that go through these bytes read their rows from the
/// device's memory.
const BYTES_BEYOND_CACHES: usize = 256 << 20;
/// Bytes of the widest type of rows and margins, `f64`.
const WIDEST_ELEMENT_BYTES: usize = 8;
/// Number of times that [`BYTES_BEYOND_CACHES`] bytes are filled before timed calls. The device is then busy
/// until the host has queued the calls.
const FILLS_BEFORE_CALLS: usize = 8;

fn failed(error: CudaError) -> GpuError {
    GpuError::Failed(format!("the driver of the GPU: {error}"))
}

/// The NVIDIA GPUs of this machine.
///
/// # Errors
/// When there is no GPU, or a call of the driver fails.
pub fn devices() -> Result<Vec<CudaDevice>, GpuError> {
    cust::init(cust::CudaFlags::empty()).map_err(failed)?;
    let described = |device: cust::device::Device| {
        let number = |attribute| device.get_attribute(attribute).map(|n| u32::try_from(n).unwrap_or(0));
        let major = number(DeviceAttribute::ComputeCapabilityMajor)?;
        let minor = number(DeviceAttribute::ComputeCapabilityMinor)?;
        let memory = device.total_memory()? as u64;
        Ok(CudaDevice { name: device.name()?, capability: 10 * major + minor, memory })
    };
    let all = cust::device::Device::devices().map_err(failed)?;
    all.map(|device| device.and_then(described).map_err(failed)).collect()
}

/// Packed rows in the memory of the first GPU, with space for margins.
pub struct ResidentRows<'a> {
    model: &'a Jit,
    rows: DeviceBuffer<u8>,
    out: DeviceBuffer<u8>,
    /// A buffer that is filled to keep the device busy while the host puts calls into the stream.
    filled: DeviceBuffer<u8>,
    row_bytes: usize,
    /// Number of rows in the GPU's memory.
    count: usize,
    /// Most rows of a call: those whose margins fit the output buffer.
    max_call_rows: usize,
    /// The first row of the next call.
    next_row: usize,
    events: [Event; 2],
    stream: Stream,
    // Declared last, so dropped last: the other fields live in this context.
    _context: Context,
}

impl<'a> ResidentRows<'a> {
    /// Copies packed rows to the memory of the first GPU, repeated until they exceed its caches.
    ///
    /// # Errors
    /// When there is no GPU, or too little of its memory.
    pub fn new(model: &'a Jit, rows: &[f32]) -> Result<ResidentRows<'a>, GpuError> {
        cust::init(cust::CudaFlags::empty()).map_err(failed)?;
        let device = cust::device::Device::get_device(0).map_err(failed)?;
        // The primary context of the device, which the runtime also uses.
        let context = Context::new(device).map_err(failed)?;
        let descriptor = model.model();
        let features = usize::try_from(descriptor.num_features).unwrap_or(0).max(1);
        let margins = usize::try_from(descriptor.num_margins).unwrap_or(0).max(1);
        let once = bytes_of(rows, descriptor.row_type);
        let row_bytes = features * if descriptor.row_type == Dtype::F64 as i32 { 8 } else { 4 };
        let copies = BYTES_BEYOND_CACHES.div_ceil(once.len().max(1)).max(1);
        let max_call_rows = once.len() / row_bytes;
        let count = max_call_rows * copies;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).map_err(failed)?;
        let rows = copy_to_device(&once.repeat(copies), &stream).map_err(failed)?;
        // SAFETY: calls only write to this buffer.
        let out = unsafe { DeviceBuffer::uninitialized(max_call_rows * margins * WIDEST_ELEMENT_BYTES) }
            .map_err(failed)?;
        // SAFETY: no code reads this buffer.
        let filled = unsafe { DeviceBuffer::uninitialized(BYTES_BEYOND_CACHES) }.map_err(failed)?;
        let event = || Event::new(EventFlags::DEFAULT).map_err(failed);
        let events = [event()?, event()?];
        Ok(ResidentRows {
            model,
            rows,
            out,
            filled,
            row_bytes,
            count,
            max_call_rows,
            next_row: 0,
            events,
            stream,
            _context: context,
        })
    }

    /// The mean time of `calls` consecutive calls for the margins of `batch` rows each, by the GPU's own
    /// clock. The calls go through the resident rows in order. The host's part of a call does not count.
    ///
    /// # Errors
    /// When a call fails, or fewer than `batch` rows are resident.
    pub fn mean_call_time(&mut self, batch: usize, calls: usize) -> Result<Duration, GpuError> {
        for value in 0..FILLS_BEFORE_CALLS {
            // SAFETY: no code reads this buffer.
            unsafe { self.filled.set_8_async(value as u8, &self.stream) }.map_err(failed)?;
        }
        let [first, last] = &self.events;
        first.record(&self.stream).map_err(failed)?;
        for _ in 0..calls {
            self.next_row = if self.next_row + batch > self.count { 0 } else { self.next_row };
            self.enqueue_call(self.next_row, batch).map_err(|status| GpuError::Failed(status.to_string()))?;
            self.next_row += batch;
        }
        last.record(&self.stream).map_err(failed)?;
        last.synchronize().map_err(failed)?;
        let micros = f64::from(last.elapsed_time_f32(first).map_err(failed)?) * 1e3;
        Ok(Duration::from_secs_f64((micros * 1e-6 / calls.max(1) as f64).max(0.0)))
    }

    /// Puts a call into the stream.
    fn enqueue_call(&self, first: usize, batch: usize) -> Result<(), CallStatus> {
        let model = self.model.model();
        let offset = (first * self.row_bytes) as u64;
        let rows = (self.rows.as_device_ptr().as_raw() + offset) as *const std::ffi::c_void;
        let out = self.out.as_device_ptr().as_raw() as *mut std::ffi::c_void;
        let dtype = if model.row_type == Dtype::F64 as i32 { Dtype::F64 } else { Dtype::F32 };
        // The runtime refuses a negative number of rows.
        let n_rows =
            if batch <= self.max_call_rows && first + batch <= self.count { batch as i64 } else { -1 };
        let stream = self.stream.as_inner().cast();
        let call = Call { memory: 1, stream, ..Call::new(OutputKind::Raw, dtype, rows, n_rows, out) };
        // SAFETY: rows and output are in the GPU's memory and have the lengths that the call states. They
        // live until the stream is done, since `drop` waits for it.
        unsafe { runtime::call(model, &call) }
    }
}

impl Drop for ResidentRows<'_> {
    fn drop(&mut self) {
        // The buffers are freed after this. If the wait fails, the device has failed, and no kernel uses
        // them.
        let _ = CurrentContext::synchronize();
    }
}

/// Copies bytes to the GPU in `stream`, whose calls read them: the stream waits for no other one.
fn copy_to_device(bytes: &[u8], stream: &Stream) -> Result<DeviceBuffer<u8>, CudaError> {
    // SAFETY: no code reads the buffer before the copy has filled it.
    let mut buffer = unsafe { DeviceBuffer::uninitialized(bytes.len()) }?;
    // SAFETY: the bytes live until the stream has been waited for.
    let copied = unsafe { buffer.async_copy_from(bytes, stream) };
    stream.synchronize()?;
    copied.map(|()| buffer)
}

/// Rows in the type that the model reads.
fn bytes_of(rows: &[f32], row_type: i32) -> Vec<u8> {
    match row_type == Dtype::F64 as i32 {
        true => rows.iter().flat_map(|x| f64::from(*x).to_le_bytes()).collect(),
        false => rows.iter().flat_map(|x| x.to_le_bytes()).collect(),
    }
}
