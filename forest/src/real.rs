//! Numbers in single and in double precision.

use sched_columns::Float;

/// A type of feature values and results: `f32` or `f64`.
pub trait Real: Copy {
    /// The value in double precision.
    fn widen(self) -> f64;
    /// The nearest value of this type.
    fn narrow(value: f64) -> Self;
}

impl Real for f32 {
    fn widen(self) -> f64 {
        f64::from(self)
    }
    fn narrow(value: f64) -> f32 {
        value as f32
    }
}

impl Real for f64 {
    fn widen(self) -> f64 {
        self
    }
    fn narrow(value: f64) -> f64 {
        value
    }
}

/// A feature value in the type of rows.
pub(crate) fn rounded(value: f64, rows: Float) -> f64 {
    match rows {
        Float::F32 => f64::from(value as f32),
        Float::F64 => value,
    }
}
