//! Ties: values that lie exactly on an edge or a threshold.

/// The side of an edge to which a value on the edge belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ties {
    /// The value reaches its edge: `edge <= value`.
    Above,
    /// The value does not reach its edge: only `edge < value` counts.
    Below,
}
