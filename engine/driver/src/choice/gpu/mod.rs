//! The schedules that are used on GPUs where none is given.
//!
//! [`candidates`](candidates::candidates) lists schedules by the form of the model, the cost model of
//! [`sched_cost`] prices each for calls of several sizes, and the cheapest ones become blocks of the
//! schedule, which end where their costs cross. Only schedules are compared that are legal, which includes
//! that they fit the memory of a block, and that add trees in the model's order. A row's result is then the
//! same in calls of all sizes.

pub mod candidates;
mod chooser;
mod price;
pub mod shape;

pub use chooser::{chosen, chosen_for};
pub use price::{Pricer, is_compilable};
