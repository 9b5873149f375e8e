//! The leaf value that each tree adds to its margin.

use super::{Definition, LeafResult};

/// The definition.
pub const DEFINITION: Definition = Definition::Trees(LeafResult::Value);
