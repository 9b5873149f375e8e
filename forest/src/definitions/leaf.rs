//! The leaf that each tree ends in, by the model's own numbers.

use super::{Definition, LeafResult};

/// The definition.
pub const DEFINITION: Definition = Definition::Trees(LeafResult::Index);
