//! Quantization: small integers replace thresholds and feature values in comparisons.
//!
//! [`bins`] finds the bins of a forest's features, and [`encode`] emits the code that quantizes rows,
//! [`shared`] that for the rows of a GPU's block. [`fetch`] chooses how vectors of rows load the bins that
//! nodes compare with, and [`offsets`] stores where these are. [`sets`] has the sets that nodes test for
//! categories. Nothing here knows the layout of trees in memory.

pub mod bins;
pub mod encode;
pub mod fetch;
mod levels;
pub mod of_columns;
pub mod offsets;
pub mod sets;
pub mod shared;

pub use bins::{BinMap, QuantizedRows};
