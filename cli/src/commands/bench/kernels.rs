//! Times of kernels beside those of whole calls, by the clock of the GPU, on rows in its memory.

use crate::terminal::Terminal;
use sched_gpu::GpuError;
use schedc_driver::{Failure, RowMemory};
use schedc_measure::{Contender, OrderedRows, RaceLimits, Workload, race};
use std::ops::ControlFlow;

/// Times the kernels of contenders that run on a GPU.
pub struct KernelTimer {
    is_possible: bool,
}

impl KernelTimer {
    /// Copies the rows to the GPU if some contender runs on it. Prints a note if kernels cannot be timed.
    pub fn new(contenders: &[Contender], rows: &OrderedRows, terminal: &Terminal) -> KernelTimer {
        let Some(first) = contenders.iter().find(|one| one.on_device) else {
            return KernelTimer { is_possible: false };
        };
        let resident = rows.resident(&first.code);
        match &resident {
            Ok(_) => show_device(terminal),
            Err(why) => terminal
                .say(&format!("note: kernels alone are not timed, only whole calls with transfers: {why}")),
        }
        KernelTimer { is_possible: resident.is_ok() }
    }

    /// The median time of a contender's kernels per row, in microseconds. `None` if the contender runs calls
    /// of this size on the processor, or if kernels are not timed.
    pub fn us_per_row(
        &self,
        contender: &Contender,
        whole_calls: &Workload,
        limits: &RaceLimits,
    ) -> Result<Option<f64>, Failure> {
        if !self.is_possible || !contender.on_device {
            return Ok(None);
        }
        let resident = whole_calls.rows.resident(&contender.code);
        let first_call = resident.and_then(|rows| rows.warm_up(&contender.code, whole_calls.batch));
        if first_call.as_ref().is_err_and(GpuError::is_call_for_processor) {
            return Ok(None);
        }
        let workload = Workload { rows_in: RowMemory::Device, ..*whole_calls };
        let timings =
            race(std::slice::from_ref(contender), &workload, limits, &mut |_| ControlFlow::Continue(()))?;
        Ok(timings.first().and_then(|timing| timing.quartiles()).map(|time| time.median))
    }
}

/// Prints the name of the GPU, in builds that know it.
pub fn show_device(terminal: &Terminal) {
    if let Some(device) = sched_gpu::devices().ok().and_then(|all| all.into_iter().next()) {
        terminal.say(&format!("device: {device}"));
    }
}
