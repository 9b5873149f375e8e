//! The types that models compute in.

pub use sched_columns::Float;

/// The types a model computes in; trainers differ, and equal predictions need the trainer's own types. Every
/// combination has a meaning, and none follows from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types {
    /// The type of rows: feature values are rounded to it before they are compared.
    pub input: Float,
    /// Thresholds have this type. Values are compared with them in the wider one of both types, which is
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
