//! Fast schedules, found by the cost model and by timing.
//!
//! [`tune()`] looks for the best schedule for calls of each of some sizes. The cost model says which candidates are worth
//! compiling; those take turns, and what is clearly slower stops early. Near the best one its neighbours are tried, which
//! differ from it in one number or in the layout, until none is better or the budget is spent. A start schedule keeps its
//! directives, and its params are varied instead. For GPUs a [`Strategy`] proposes schedules, and the simulator's counts
//! stand for times where there is no GPU. What comes out is a schedule as a person would write it.

mod field;
mod gpu;
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

/// What is to be found.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The model, for the type of the rows.
    pub model: &'a Model,
    /// The processor.
    pub cpu: Cpu,
    /// What the schedule is for.
    pub target: &'a Target,
    /// Rows, as many as the largest calls have.
    pub rows: &'a Ordered,
    /// Rows of the calls that are to be fast, in ascending order.
    pub sizes: &'a [usize],
    /// Threads of the calls; each counts alike.
    pub threads: &'a [i32],
    /// How long it may take in all.
    pub budget: Duration,
    /// A schedule whose params are varied, if there is one.
    pub start: Option<&'a Source>,
    /// Values that schedules take from outside.
    pub values: &'a ScheduleValues,
    /// How it goes about GPUs, if the target is one.
    pub gpu: GpuSearch,
}

/// How fast calls of one size are on some threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Threads.
    pub threads: i32,
    /// Microseconds for a row, with quartiles.
    pub us_per_row: Quartiles,
    /// The same of the schedule that schedc chooses.
    pub chosen_us_per_row: Quartiles,
}

/// The best schedule for calls of one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Best {
    /// Rows of the calls.
    pub rows: usize,
    /// The schedule's directives, a line each, or a whole text where params of a start schedule were varied.
    pub schedule: String,
    /// How fast it is.
    pub figures: Vec<Figure>,
    /// What the simulator's counts say of it, on GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Predicted>,
    /// How many schedules were looked at for it.
    pub tried: usize,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Found {
    /// The best schedules, by rows in ascending order.
    pub best: Vec<Best>,
    /// For each but the last: the most rows of the calls that it serves.
    pub bounds: Vec<usize>,
    /// Whether the search was ended before its budget was spent and before nothing better was left to try.
    pub ended_early: bool,
}

/// Where a search is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The share of the budget that is spent.
    pub spent: f64,
    /// Rows of the calls that are being timed.
    pub rows: usize,
    /// The time of a row under the best schedule so far, in microseconds.
    pub best: Option<f64>,
}

/// Looks for the best schedules. `watch` is told often, and may end the search: what is known then is the result. What
/// `state` knows need not be timed again, and what is found out is added to it.
///
/// # Errors
///
/// When no schedule can be compiled for the model, or a call fails.
pub fn tune(
    task: &Task,
    state: &mut State,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Found, Failure> {
    if task.target.is_gpu() {
        return gpu::search(task, state, watch);
    }
    match task.start {
        Some(start) => params::search(task, start, state, watch),
        None => search::search(task, state, watch),
    }
}
