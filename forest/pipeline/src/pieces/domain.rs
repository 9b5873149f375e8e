//! The values that a feature can have, as consecutive whole numbers.
//!
//! Each value has an *index*, and a larger value has a larger index. For floating-point numbers, the index
//! follows from the bits, so that a search for a threshold is a bisection over whole numbers.

use crate::pipeline::{InputKind, PipelineInput};
use sched_forest::Float;

/// Whole numbers up to this magnitude are exact in double precision.
const EXACT_INTEGERS_END: i64 = 1 << 53;

/// The set of values that a feature can have, without missing ones.
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
    pub fn of(input: &PipelineInput, rows: Float) -> FeatureDomain {
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

    /// The nearest value that rows can hold. A number that is no code becomes the code of unknown names, and
    /// missing values stay missing.
    pub fn nearest(self, value: f64) -> f64 {
        match self {
            _ if value.is_nan() => value,
            FeatureDomain::Float(_) => value,
            FeatureDomain::Whole => {
                let end = EXACT_INTEGERS_END as f64;
                self.value(self.index(value.clamp(-end, end)))
            }
            FeatureDomain::Codes { .. } => {
                let code = self.index(value);
                let (first, last) = self.bounds();
                let is_code = (first..=last).contains(&code) && self.value(code) == value;
                self.value(if is_code { code } else { first })
            }
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
    fn the_nearest_value_is_one_that_rows_hold() {
        let (half, float) = (FeatureDomain::Whole.nearest(-0.5), FeatureDomain::Float(Float::F32));
        assert_eq!((half.to_bits(), FeatureDomain::Whole.nearest(7.9)), (0, 7.0));
        assert_eq!(FeatureDomain::Whole.nearest(f64::INFINITY), EXACT_INTEGERS_END as f64);
        assert_eq!(float.nearest(0.1), 0.1);
        let codes = FeatureDomain::Codes { count: 3 };
        assert_eq!([2.0, -1.0, 3.0, 0.5, -1e300].map(|x| codes.nearest(x)), [2.0, -1.0, -1.0, -1.0, -1.0]);
        for domain in [FeatureDomain::Whole, float, codes] {
            assert!(domain.nearest(f64::NAN).is_nan(), "{domain:?}");
        }
    }

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
