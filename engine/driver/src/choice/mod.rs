//! The choice of a schedule if the user gives none: among candidates, the ones that the cost model finds
//! cheapest.
//!
//! [`candidates`] differ in the lanes of vectors (rows, trees, or no vectors), and in the layout. Each
//! is lowered, and [`sched_cost`] estimates calls of several sizes under it. Only the costs are kept. The
//! cheapest candidates become blocks of the schedule, which end where their costs cross (`crossings`).

pub mod candidate;
pub mod candidates;
mod chosen;
mod crossings;
mod destination;
mod evaluate;
pub mod gpu;
mod layers;
mod one_call;
mod sizes;

pub use candidate::{Candidate, VectorForm};
pub use chosen::ChosenSchedules;
pub use crossings::last_where;
pub use destination::{CodeDestination, Effort};
pub use evaluate::{CandidateCode, Evaluator, PricedCandidate};
pub use layers::{LayerLanes, LayerTile};
pub use sizes::SIZES;
