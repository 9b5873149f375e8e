//! Times of kernels without transfers, by the clock of the GPU, on rows in its memory.

use crate::terminal::Terminal;
use sched_gpu::{GpuError, ResidentRows};
use sched_llvm::Jit;
use schedc_driver::Failure;
use std::time::Duration;

/// Approximate duration of a sample. A longer one averages more calls, but takes longer.
const SAMPLE_DURATION: Duration = Duration::from_millis(2);
/// Most calls of a sample. A stream blocks after some hundred launches, until one of them is done.
const MOST_CALLS: usize = 64;

/// The contenders by their numbers, with copies of the rows in the GPU's memory for those that run on it.
pub struct KernelTimer<'a> {
    contenders: Vec<Option<ResidentRows<'a>>>,
}

impl<'a> KernelTimer<'a> {
    /// Copies the rows to the GPU for each contender that is not `None`. Prints a note if kernels cannot be
    /// timed.
    pub fn new(contenders: &[Option<&'a Jit>], rows: &[f32], terminal: &Terminal) -> KernelTimer<'a> {
        let mut why = None;
        let resident = |jit: &Option<&'a Jit>| {
            jit.and_then(|jit| keep_first_error(ResidentRows::new(jit, rows), &mut why))
        };
        let contenders: Vec<_> = contenders.iter().map(resident).collect();
        let any = contenders.iter().any(Option::is_some);
        if let Some(why) = why {
            let more = match why {
                GpuError::NotBuiltIn => "; docs/gpu.md describes how to build schedc with it",
                GpuError::Failed(_) => "",
            };
            terminal.say(&format!(
                "note: kernels alone are not timed, only whole calls with transfers: {why}{more}"
            ));
        } else if let Some(device) =
            sched_gpu::devices().ok().filter(|_| any).and_then(|all| all.into_iter().next())
        {
            terminal.say(&format!("device: {device}"));
        }
        KernelTimer { contenders }
    }

    /// The median time of a contender's kernels per row, in microseconds. `None` if the contender runs on the
    /// processor, or if kernels are not timed.
    pub fn us_per_row(
        &mut self,
        contender: usize,
        batch: usize,
        samples: u32,
    ) -> Result<Option<f64>, Failure> {
        let Some(Some(resident)) = self.contenders.get_mut(contender) else { return Ok(None) };
        let failed = |error: GpuError| {
            let help = "time fewer rows, with --batch";
            Failure::new(sched_llvm::codes::PREDICTION, format!("timing kernels failed: {error}"), help)
        };
        // The first call of a size allocates memory; the second one estimates the duration of a call.
        resident.mean_call_time(batch, 1).map_err(failed)?;
        let one = resident.mean_call_time(batch, 1).map_err(failed)?.max(Duration::from_nanos(100));
        let calls = ((SAMPLE_DURATION.as_secs_f64() / one.as_secs_f64()) as usize).clamp(1, MOST_CALLS);
        let mut times = Vec::new();
        for _ in 0..samples.max(1) {
            times.push(resident.mean_call_time(batch, calls).map_err(failed)?.max(Duration::from_nanos(1)));
        }
        times.sort();
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        Ok(Some(median.as_secs_f64() * 1e6 / batch.max(1) as f64))
    }
}

/// The value of a result. Keeps the first error in `first`.
fn keep_first_error<T>(result: Result<T, GpuError>, first: &mut Option<GpuError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            first.get_or_insert(error);
            None
        }
    }
}
