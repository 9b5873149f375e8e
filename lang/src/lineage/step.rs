//! Indices of operations.

/// Index of an operation on the builder, given by the caller. For example, the position of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DirectiveIndex(pub u32);
