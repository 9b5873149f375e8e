//! Quantization: small numbers in place of thresholds and feature values, which compare alike.
//!
//! [`bins`] finds the bins of a forest's features, [`encode`] is the code that quantizes rows, and [`fetch`]
//! and [`offsets`] say how walks get the bins that nodes compare with; [`sets`] has those that ask for categories. Nothing here knows how trees lie in
//! memory.

pub mod bins;
pub mod encode;
pub mod fetch;
pub mod of_columns;
pub mod offsets;
pub mod sets;

pub use bins::{BinMap, QuantizedRows};
