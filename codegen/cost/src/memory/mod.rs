//! The memory model: the level of the caches from which each load and store is served.
//!
//! The bytes that one iteration of a loop touches stay in the smallest cache that holds them. Bytes that the
//! next iteration touches again are found there. An access is therefore served by the level that holds one
//! iteration of the innermost loop that returns to its line. The outermost of these loops are the calls,
//! which follow each other.

mod access;
mod model;
mod residency;

pub use access::{LoopAround, Operand};
pub use model::MemoryModel;
pub use residency::Residency;
