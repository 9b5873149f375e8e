//! Forms of definitions of outputs.

use crate::forest::Forest;
use crate::output::Transform;

/// The definition of an output.
#[derive(Clone, Copy)]
pub enum OutputDefinition {
    /// A result for each tree, from the leaf that the row ends in.
    Trees(LeafResult),
    /// Steps from the margins of a row to its results; `None` if the model lacks the output.
    Margins(fn(&Forest) -> Option<Vec<Transform>>),
}

/// Result of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafResult {
    /// The trainer's own number of the leaf.
    Index,
    /// The value that the leaf adds to the margin of its tree.
    Value,
}
