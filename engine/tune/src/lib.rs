//! The search for fast schedules, by the cost model and by timing.
//!
//! [`tune()`] looks for the best schedule for each of some call sizes. The cost model selects candidates to
//! compile. The candidates take turns, and clearly slower ones drop out early. Then the search tries
//! neighbours of the best one, which differ in one number or in the layout, until none is better or the
//! budget is spent. With a start schedule, only its params vary. For GPUs a [`Strategy`] proposes schedules,
//! and without a GPU the simulator's counts replace times. The result is a schedule as a person would write
//! it.

mod field;
mod gpu;
mod limits;
mod params;
mod search;
mod state;
mod text;

pub use gpu::{GpuSearch, Predicted, Strategy};
pub use state::{State, Tried};
pub use text::text;

use sched_lang::Target;
use sched_llvm::Cpu;
use schedc_driver::{Failure, Model, ScheduleValues, Source};
use schedc_measure::{Ordered, Quartiles};
use serde::Serialize;
use std::ops::ControlFlow;
use std::time::Duration;

/// The task of a search.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The model, for the type of the rows.
    pub model: &'a Model,
    /// The processor.
    pub cpu: Cpu,
    /// The target of the schedule.
    pub target: &'a Target,
    /// The rows of the largest calls.
    pub rows: &'a Ordered,
    /// Rows per call for which to search, in ascending order.
    pub sizes: &'a [usize],
    /// Numbers of threads of the calls. All have the same weight.
    pub threads: &'a [i32],
    /// Time limit of the search.
    pub budget: Duration,
    /// A schedule whose params are varied, if there is one.
    pub start: Option<&'a Source>,
    /// Values of params and properties from the command line.
    pub values: &'a ScheduleValues,
    /// Options for GPUs, if the target is one.
    pub gpu: GpuSearch,
}

/// The speed of calls of one size on a number of threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Threads.
    pub threads: i32,
    /// Microseconds for a row, with quartiles.
    pub us_per_row: Quartiles,
    /// Microseconds per row of schedc's own choice.
    pub chosen_us_per_row: Quartiles,
}

/// The best schedule for calls of one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Best {
    /// Rows of the calls.
    pub rows: usize,
    /// The schedule's directives, a line each, or a whole text where params of a start schedule were varied.
    pub schedule: String,
    /// Its measured speed, by number of threads.
    pub figures: Vec<Figure>,
    /// Its speed by the simulator's counts, for GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Predicted>,
    /// The number of schedules that the search tried for it.
    pub tried: usize,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SearchResult {
    /// The best schedules, by rows in ascending order.
    pub best: Vec<Best>,
    /// The largest number of rows that each schedule but the last serves.
    pub bounds: Vec<usize>,
    /// Whether the user ended the search, before the budget was spent or all candidates were tried.
    pub ended_early: bool,
}

/// The progress of a search, for display.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The share of the budget that is spent.
    pub spent: f64,
    /// Rows of the calls that are being timed.
    pub rows: usize,
    /// The time of a row under the best schedule so far, in microseconds.
    pub best: Option<f64>,
}

/// Searches the best schedules. Calls `watch` often. If `watch` ends the search, the result is the best so
/// far. Skips schedules whose times are in `state`, and adds new times to it.
///
/// # Errors
///
/// When no schedule can be compiled for the model, or a call fails.
pub fn tune(
    task: &Task,
    state: &mut State,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<SearchResult, Failure> {
    if task.target.is_gpu() {
        return gpu::search(task, state, watch);
    }
    match task.start {
        Some(start) => params::search(task, start, state, watch),
        None => search::search(task, state, watch),
    }
}
