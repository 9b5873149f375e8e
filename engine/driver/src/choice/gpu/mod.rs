//! The choice of a schedule for GPUs, if the user gives none.
//!
//! Shared memory limits the speed of kernels: each step of a walk reads a node and a value of its row from
//! it. The best schedule reads the fewest words, with bins instead of values, and four rows for one node
//! (docs/gpu.md counts them). Candidates are in that order. The choice is the first one that is legal, fits
//! the memory of a block, and adds trees in the model's order. A row's result is then the same in calls of
//! all sizes.
//!
//! If rows alone occupy too few multiprocessors, trees are distributed over blocks and threads, too
//! (`gpu/groups.rs`).

mod chooser;
mod groups;
mod price;
mod texts;

pub use chooser::{chosen, chosen_for};
pub use price::Pricer;
