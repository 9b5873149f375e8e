//! The types that models compute in.

pub use sched_columns::Float;

/// The types in which a model computes. Trainers differ, and equal predictions need the trainer's own types.
/// The four types are independent of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types {
    /// The type of rows: feature values are rounded to it before they are compared.
    pub input: Float,
    /// The type of thresholds. Comparisons use the wider of this type and the type of rows, so they are
    /// exact.
    pub threshold: Float,
    /// Leaf values and margins have this type.
    pub accumulator: Float,
    /// Predictions are rounded to this type. Class and leaf indices have types of their own.
    pub output: Float,
}

impl Types {
    /// One type for everything.
    pub fn all(float: Float) -> Types {
        Types { input: float, threshold: float, accumulator: float, output: float }
    }
}
