//! The leaf value that each tree adds to its margin.

use crate::definition::{LeafResult, OutputDefinition};

/// The definition.
pub const DEFINITION: OutputDefinition = OutputDefinition::Trees(LeafResult::Value);
