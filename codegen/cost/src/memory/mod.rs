//! The memory model: the level of the caches from which each load and store is served.
//!
//! The bytes that one iteration of a loop touches stay in the smallest cache that holds them. If the next
//! iteration touches them again, that cache serves them. So the level that serves an access is the smallest
//! one that holds an iteration of the innermost loop which returns to the access's line. The outermost of
//! these loops is the sequence of calls.

mod access;
mod model;
mod residency;

pub use access::{LoopAround, MemoryOperand};
pub use model::MemoryModel;
pub use residency::Residency;
