//! The leaf that each tree ends in, by the model's own numbers.

use crate::definition::{LeafResult, OutputDefinition};

/// The definition.
pub const DEFINITION: OutputDefinition = OutputDefinition::Trees(LeafResult::Index);
