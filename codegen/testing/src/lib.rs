//! Test data for several crates: random and damaged schedules, random forests with rows, and checker options
//! written as words. Helpers distribute a test's work to all cores, and leave a part of its cases to nightly
//! runs. No released program depends on this crate.

pub mod column_trees;
pub mod computed;
mod damage;
pub mod forests;
pub mod linear;
mod nightly;
mod options;
mod parallel;
pub mod schedules;
pub mod shapes;
pub mod timed;
pub mod wide;

pub use damage::damaged;
pub use nightly::{in_turn, is_nightly, seeds};
pub use options::{options, options_of_schedule};
pub use parallel::in_parallel;
pub use schedules::Rng;
