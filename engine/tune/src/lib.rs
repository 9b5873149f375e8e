//! The search for fast schedules, by the cost model and by timing.
//!
//! [`tune()`] looks for the best schedule for each of some call sizes. The cost model selects candidates to
//! compile. The candidates take turns, and clearly slower ones drop out early. Then the search tries
//! neighbours of the best one, which differ in one number or in the layout, until none is better or the
//! budget is spent. With a start schedule, only its params vary. For GPUs a [`Strategy`] proposes schedules,
//! and without a GPU predicted costs replace times. The result is a schedule as a person would write it.

mod field;
mod gpu;
mod limits;
mod params;
mod results;
mod search;
mod state;
mod task;
mod text;

pub use gpu::Strategy;
pub use results::{BestSchedule, CallSpeed, PredictedSpeed, SearchResult};
pub use state::{SearchState, TimedSchedule};
pub use task::{GpuSearchOptions, SearchProgress, TuningTask};
pub use text::{calls_text, rows_text, schedule_of_size, schedule_text, speed_ratio_text};

use schedc_driver::Failure;
use std::ops::ControlFlow;

/// Searches the best schedules. Calls `watch` often. If `watch` ends the search, the result is the best so
/// far. Skips schedules whose times are in `state`, and adds new times to it.
///
/// # Errors
///
/// When no schedule can be compiled for the model, or a call fails.
pub fn tune(
    task: &TuningTask,
    state: &mut SearchState,
    watch: &mut dyn FnMut(&SearchProgress) -> ControlFlow<()>,
) -> Result<SearchResult, Failure> {
    if task.target.is_gpu() {
        return gpu::search(task, state, watch);
    }
    match task.start {
        Some(start) => params::search(task, start, state, watch),
        None => search::search(task, state, watch),
    }
}
