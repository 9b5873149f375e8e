//! The side of ties.

/// The side of a value that lies on an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ties {
    /// The value reaches its edge: `edge <= value`.
    Above,
    /// The value does not reach its edge: only `edge < value` counts.
    Below,
}
