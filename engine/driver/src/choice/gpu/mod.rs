//! The choice of a schedule for a GPU if the user gives none.
//!
//! [`candidates`](candidates::candidates) lists schedules by the shape of the model's trees. The cost model
//! of [`sched_cost`] prices each for calls of several sizes, and the cheapest ones become blocks of the
//! schedule, which end where their costs cross. Candidates that are illegal, need more shared memory than a
//! block has, or add trees in another order than the model are left out. So a row's result is the same in
//! calls of all sizes.

pub mod candidates;
mod chooser;
mod price;
pub mod shape;

pub use chooser::{chosen, chosen_for};
pub use price::{Pricer, is_compilable};
