//! The task of a search, and its progress.

use crate::gpu::strategy::Strategy;
use sched_lang::Target;
use sched_llvm::{Cpu, Gpu};
use schedc_driver::{Model, RowMemory, ScheduleSource, ScheduleValues};
use schedc_measure::OrderedRows;
use std::time::Duration;

/// The task of a search.
#[derive(Clone, Copy)]
pub struct TuningTask<'a> {
    /// The model, as it is compiled for the type of the rows.
    pub model: &'a Model,
    /// The processor.
    pub cpu: Cpu,
    /// The target of the schedule.
    pub target: &'a Target,
    /// The rows of the largest calls.
    pub rows: &'a OrderedRows,
    /// Rows per call for which to search, in ascending order.
    pub sizes: &'a [usize],
    /// Numbers of threads of the calls. All have the same weight.
    pub threads: &'a [i32],
    /// Time limit of the search.
    pub budget: Duration,
    /// A schedule whose params are varied, if there is one.
    pub start: Option<&'a ScheduleSource>,
    /// Values of params and properties from the command line.
    pub values: &'a ScheduleValues,
    /// Options for GPUs, if the target is one.
    pub gpu: GpuSearchOptions,
    /// Whether the result may be slower than schedc's own choice.
    pub allow_slower: bool,
}

impl TuningTask<'_> {
    /// The memory of the rows of timed calls, if the target is a GPU.
    pub fn rows_in(&self) -> Option<RowMemory> {
        self.target.is_gpu().then_some(self.gpu.rows_in)
    }
}

/// Options of the search for GPUs.
#[derive(Clone, Copy, Debug, Default)]
pub struct GpuSearchOptions {
    /// The strategy that proposes schedules.
    pub strategy: Strategy,
    /// Whether the cost model decides although a GPU could measure times.
    pub by_cost_model: bool,
    /// The memory of the rows of timed calls. On rows in the GPU's memory, kernels alone are timed.
    pub rows_in: RowMemory,
}

impl GpuSearchOptions {
    /// Whether schedules are timed: there is a GPU, and the user does not ask for the cost model.
    pub fn is_timed(&self) -> bool {
        !self.by_cost_model && Gpu::installed().is_some()
    }
}

/// The progress of a search, for display.
#[derive(Clone, Copy, Debug)]
pub struct SearchProgress {
    /// The share of the budget that is spent.
    pub spent: f64,
    /// Rows of the calls that are being timed.
    pub rows: usize,
    /// The memory of these rows, if a GPU is timed.
    pub rows_in: Option<RowMemory>,
    /// The time of a row under the best schedule so far, in microseconds.
    pub best: Option<f64>,
}
