//! The timed calls of a race: from host memory by a clock of the host, or on rows in a GPU's memory by the
//! GPU's own clock.

use crate::rows::{CallRows, OrderedRows, RowOrder};
use rustix::time::{ClockId, clock_gettime};
use sched_gpu::{GpuError, ResidentRows};
use sched_llvm::runtime::{CallStatus, Dtype, OutputKind, output_type};
use sched_llvm::{CompiledCode, Jit, PackedResults};
use schedc_driver::{Failure, RowMemory, help_for_status};
use std::sync::Arc;
use std::time::Duration;

/// Most pieces of the rows that the calls of a sample use. Further calls use the same pieces again.
const MOST_PIECES: usize = 1024;

/// Compiled code in a race.
#[derive(Clone)]
pub struct Contender {
    /// Its name in reports.
    pub name: String,
    /// The compiled schedule.
    pub code: Arc<Jit>,
    /// The order of the rows in memory that it reads.
    pub order: RowOrder,
    /// Whether some calls run on a GPU.
    pub on_device: bool,
}

/// The timed calls: `batch` rows each, again from the first row after the last.
#[derive(Clone, Copy)]
pub struct Workload<'a> {
    /// The rows, at least `batch` of them.
    pub rows: &'a OrderedRows,
    /// Rows per call.
    pub batch: usize,
    /// Threads per call; 0 leaves the number to the runtime.
    pub threads: i32,
    /// The memory of the rows. On rows in a GPU's memory, the time of a call is that of its kernels.
    pub rows_in: RowMemory,
}

/// Makes a call that is part of no sample.
pub fn warm_up(contender: &Contender, workload: &Workload, clock: ClockId) -> Result<(), Failure> {
    match workload.rows_in {
        RowMemory::Host => time_from_host(contender, workload, 1, clock).map(drop),
        RowMemory::Device => resident(contender, workload)?
            .warm_up(&contender.code, workload.batch)
            .map_err(|error| kernel_failure(contender, workload, &error)),
    }
}

/// The time of `calls` calls.
pub fn time_calls(
    contender: &Contender,
    workload: &Workload,
    calls: usize,
    clock: ClockId,
) -> Result<Duration, Failure> {
    match workload.rows_in {
        RowMemory::Host => time_from_host(contender, workload, calls, clock),
        RowMemory::Device => resident(contender, workload)?
            .time_calls(&contender.code, workload.batch, calls)
            .map_err(|error| kernel_failure(contender, workload, &error)),
    }
}

fn resident<'a>(contender: &Contender, workload: &Workload<'a>) -> Result<&'a ResidentRows, Failure> {
    let resident = workload.rows.resident(&contender.code);
    resident.map_err(|error| kernel_failure(contender, workload, &error))
}

/// Words for the failure of a call on rows in a GPU's memory.
fn kernel_failure(contender: &Contender, workload: &Workload, error: &GpuError) -> Failure {
    let failed = |message: String, help: &str| {
        Failure::new(sched_llvm::codes::PREDICTION, format!("timing kernels failed: {message}"), help)
    };
    match error {
        error if error.is_call_for_processor() => {
            let name = if contender.name.is_empty() { "the schedule" } else { &contender.name };
            Failure::usage(
                format!("{name} keeps calls of {} rows on the processor", workload.batch),
                "time calls that run on the GPU, with --batch, or leave out --rows-in",
            )
        }
        GpuError::Unsuitable(why) => {
            failed((*why).to_string(), "name a schedule for a GPU of NVIDIA, or leave out --rows-in")
        }
        GpuError::Call(status) => failed(status.to_string(), help_for_call(*status)),
        GpuError::Memory(why) => failed(
            format!("the rows do not fit into the GPU's memory: {why}"),
            "end other programs on the GPU; time fewer rows a call, with --batch; or leave out --rows-in, \
             since whole calls need less memory",
        ),
        GpuError::Failed(why) => {
            failed(why.clone(), "check the GPU and its driver, for example with `nvidia-smi`")
        }
        GpuError::NotBuiltIn => failed(error.to_string(), "leave out --rows-in"),
    }
}

fn help_for_call(status: CallStatus) -> &'static str {
    match status.code() {
        CallStatus::DRIVER | CallStatus::DEVICE => "time it on a machine with a GPU, or name --target cpu",
        CallStatus::MEMORY | CallStatus::DEVICE_MEMORY => "time fewer rows a call, with --batch",
        other => help_for_status(Some(other)),
    }
}

fn time_from_host(
    contender: &Contender,
    workload: &Workload,
    calls: usize,
    clock: ClockId,
) -> Result<Duration, Failure> {
    let Workload { rows, batch, threads, .. } = *workload;
    let outputs = usize::try_from(contender.code.model().num_margins).unwrap_or(0);
    let doubles = output_type(contender.code.model(), OutputKind::Raw) == Dtype::F64;
    let (floats, doubles) = if doubles { (0, batch * outputs) } else { (batch * outputs, 0) };
    let (mut floats, mut doubles) = (vec![0f32; floats], vec![0f64; doubles]);
    let whole = rows.count.saturating_sub(batch) + 1;
    // The rows of each call are selected before the clock starts, as a caller has them before its call.
    let pieces = (0..calls.min(MOST_PIECES)).map(|call| {
        let first = call * batch % whole;
        rows.call_rows(contender.order, first..first + batch)
    });
    let pieces: Vec<CallRows> = pieces.collect();
    let since = now(clock);
    for piece in pieces.iter().cycle().take(calls) {
        let out = if doubles.is_empty() {
            PackedResults::F32(&mut floats)
        } else {
            PackedResults::F64(&mut doubles)
        };
        let done = contender.code.predict(OutputKind::Raw, piece.rows(), batch, out, threads);
        done.map_err(|status| {
            let message = format!("prediction failed: {status}");
            Failure::new(sched_llvm::codes::PREDICTION, message, help_for_call(status))
        })?;
    }
    Ok(now(clock).saturating_sub(since))
}

/// The clock for calls from the host and for budgets: processor time for one thread, since other processes
/// disturb it less, and wall-clock time for several threads and for GPUs.
pub fn clock(threads: i32, on_device: bool) -> ClockId {
    if threads == 1 && !on_device { ClockId::ThreadCPUTime } else { ClockId::Monotonic }
}

/// The time of a clock.
pub fn now(clock: ClockId) -> Duration {
    Duration::try_from(clock_gettime(clock)).unwrap_or_default()
}
