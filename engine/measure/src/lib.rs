//! Timings of compiled schedules against each other.
//!
//! A [`Contender`] is code in memory, and a [`Workload`] the rows of its calls. [`race()`] times contenders
//! in turns, so that a change in the machine's speed affects all of them alike. [`RaceLimits`] bound the
//! samples and the time; the caller's `watch` function may end the race. On GPUs a race times whole calls
//! from host memory, or kernels on rows in the GPU's memory.

pub mod bounds;
pub mod caches;
mod calls;
pub mod code;
pub mod draw;
pub mod ledger;
pub mod race;
pub mod rows;
pub mod samples;

pub use calls::{Contender, Workload};
pub use code::{CostPredictor, Draft, compile_all};
pub use draw::{DRAW_SEED, draw_rows};
pub use race::{RaceLimits, RaceProgress, Timing, race};
pub use rows::{OrderedRows, RowNumbers, RowOrder};
pub use samples::Quartiles;
