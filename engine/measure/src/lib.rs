//! How fast compiled schedules are, against each other.
//!
//! A [`Contender`] is code in memory, a [`Workload`] is the rows of its calls, and [`race()`] times contenders in turns, so that
//! a change in the machine's speed meets all of them alike. A [`Rule`] says how many samples there are and when to stop;
//! whoever watches the race may end it.

pub mod bounds;
pub mod caches;
pub mod code;
pub mod draw;
pub mod ledger;
pub mod race;
pub mod rows;
pub mod samples;

pub use code::{Draft, Predictor, compile_all};
pub use draw::{DRAWN_FROM, draw};
pub use race::{Contender, Progress, Rule, Timing, Workload, race};
pub use rows::{Numbers, Order, Ordered};
pub use samples::Quartiles;
