//! What the tests of several crates share: random schedules, damaged ones, random forests with rows, and options of a check written
//! as words. No program that people get is built on this crate.

mod damage;
pub mod forests;
mod options;
pub mod schedules;
pub mod shapes;

pub use damage::damaged;
pub use options::{options, options_of};
pub use schedules::Rng;
