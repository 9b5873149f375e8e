//! Quantization: small integers replace thresholds and feature values in comparisons.
//!
//! [`bins`] finds the bins of a forest's features, and [`encode`] emits the code that quantizes rows.
//! [`fetch`] and [`offsets`] decide how walks load the bins that nodes compare with; [`sets`] does so
//! for nodes that test categories. Nothing here knows the layout of trees in memory.

pub mod bins;
pub mod encode;
pub mod fetch;
mod levels;
pub mod of_columns;
pub mod offsets;
pub mod sets;

pub use bins::{BinMap, QuantizedRows};
