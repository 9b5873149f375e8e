//! The values that a feature can have, as consecutive whole numbers.
//!
//! Each value has an *index*, and a larger value has a larger index. For floating-point numbers, the index
//! follows from the bits, so that a search for a threshold is a bisection over whole numbers.

use crate::pipeline::{Input, InputKind};
use sched_forest::Float;

/// Whole numbers up to this magnitude are exact in double precision.
const EXACT_INTEGERS_END: i64 = 1 << 53;

/// The set of values that a feature can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeatureDomain {
    /// All numbers of a floating-point type but NaN.
    Float(Float),
    /// Whole numbers that double precision represents exactly.
    Whole,
    /// The codes of names from 0 on, and -1 for an unknown name.
    Codes {
        /// The number of names.
        count: u32,
    },
}

impl FeatureDomain {
    /// The domain of an input, in rows of a type.
    pub fn of(input: &Input, rows: Float) -> FeatureDomain {
        match input.kind {
            InputKind::Float(_) => FeatureDomain::Float(rows),
            InputKind::Integer => FeatureDomain::Whole,
            InputKind::Truth => FeatureDomain::Codes { count: 2 },
            InputKind::Text => FeatureDomain::Codes { count: input.names.labels.len() as u32 },
        }
    }

    /// The indices of the smallest and of the largest value.
    pub fn bounds(self) -> (i64, i64) {
        match self {
            FeatureDomain::Float(float) => {
                (index_of(f64::NEG_INFINITY, float), index_of(f64::INFINITY, float))
            }
            FeatureDomain::Whole => (-EXACT_INTEGERS_END, EXACT_INTEGERS_END),
            FeatureDomain::Codes { count } => (-1, i64::from(count) - 1),
        }
    }

    /// The value with this index.
    pub fn value(self, index: i64) -> f64 {
        match self {
            FeatureDomain::Float(Float::F32) => {
                let index = index as i32;
                f64::from(f32::from_bits(if index >= 0 { index as u32 } else { !(index as u32) | 1 << 31 }))
            }
            FeatureDomain::Float(Float::F64) => {
                f64::from_bits(if index >= 0 { index as u64 } else { !(index as u64) | 1 << 63 })
            }
            FeatureDomain::Whole | FeatureDomain::Codes { .. } => index as f64,
        }
    }

    /// The index of a value.
    pub fn index(self, value: f64) -> i64 {
        match self {
            FeatureDomain::Float(float) => index_of(value, float),
            FeatureDomain::Whole | FeatureDomain::Codes { .. } => value as i64,
        }
    }

    /// Whether a test can separate the value with this index from the next one. False for -0 and 0, which
    /// compare as equal.
    pub fn can_split_after(self, index: i64) -> bool {
        !matches!(self, FeatureDomain::Float(_)) || index != -1
    }
}

/// The index of a number among those of its type. -0 comes directly before 0.
fn index_of(value: f64, float: Float) -> i64 {
    match float {
        Float::F32 => {
            let bits = (value as f32).to_bits() as i32;
            i64::from(if bits >= 0 { bits } else { !(bits & i32::MAX) })
        }
        Float::F64 => {
            let bits = value.to_bits() as i64;
            if bits >= 0 { bits } else { !(bits & i64::MAX) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_ascend_with_values() {
        for float in [Float::F32, Float::F64] {
            let domain = FeatureDomain::Float(float);
            let (low, high) = domain.bounds();
            assert_eq!((domain.value(low), domain.value(high)), (f64::NEG_INFINITY, f64::INFINITY));
            assert_eq!((domain.value(-1).to_bits(), domain.value(0).to_bits()), (1 << 63, 0));
            let values = [-1e30, -1.5, -1e-40, -0.0, 0.0, 1e-40, 2.5, 1e30];
            let indices = values.map(|value| index_of(value, float));
            assert!(indices.is_sorted_by(|left, right| left < right), "{indices:?}");
            for (value, index) in values.into_iter().zip(indices) {
                let held = if float == Float::F32 { f64::from(value as f32) } else { value };
                assert_eq!(domain.value(index).to_bits(), held.to_bits());
                assert!(domain.value(index + 1) > held || value == -0.0);
            }
        }
    }
}
