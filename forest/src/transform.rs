//! From margins to the prediction that the trainer reports.
//!
//! Formulas, the order of operations and types are the trainer's, and `exp` is the C library's, so that predictions are
//! equal to the last bit where the trainer used the same C library.

use crate::forest::{Float, Forest, Transform};

impl Transform {
    /// Values per row that a prediction has.
    pub fn outputs(self, num_margins: usize) -> usize {
        match self {
            Transform::ArgMax => 1,
            _ => num_margins,
        }
    }

    /// Turns the margins of one row into its prediction, in the accumulator's type; values are widened.
    ///
    /// The prediction has [`outputs`](Transform::outputs) values and replaces the first ones of `margins`.
    pub fn apply(self, float: Float, margins: &mut [f64]) {
        match (self, float) {
            (Transform::Identity, _) => {}
            (Transform::Hinge, _) => each(margins, |x| f64::from(u8::from(x > 0.0))),
            (Transform::ArgMax, _) => {
                let class = arg_max(margins);
                if let Some(first) = margins.first_mut() {
                    *first = class as f64;
                }
            }
            (Transform::Sigmoid, Float::F32) => each(margins, |x| f64::from(sigmoid(x as f32))),
            (Transform::Sigmoid, Float::F64) => each(margins, |x| 1.0 / (1.0 + (-x).exp())),
            (Transform::Exp, Float::F32) => each(margins, |x| f64::from((x as f32).exp())),
            (Transform::Exp, Float::F64) => each(margins, f64::exp),
            (Transform::Softmax, Float::F32) => {
                softmax(margins, |x| f64::from((x as f32).exp()), |x| x as f32)
            }
            (Transform::Softmax, Float::F64) => softmax(margins, f64::exp, |x| x),
        }
    }
}

impl Forest {
    /// Values per row of a prediction.
    pub fn num_outputs(&self) -> usize {
        self.transform.outputs(self.num_margins)
    }
}

fn each(values: &mut [f64], f: impl Fn(f64) -> f64) {
    for value in values {
        *value = f(*value);
    }
}

/// XGBoost's sigmoid: bounded so that the exponential does not overflow.
fn sigmoid(x: f32) -> f32 {
    let denominator = (-x).min(88.7).exp() + 1.0 + 1e-16;
    1.0 / denominator
}

/// The index of the largest value, the first one of equals.
pub(crate) fn arg_max(values: &[f64]) -> usize {
    let mut best = 0;
    for (index, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = index;
        }
    }
    best
}

/// Softmax as XGBoost computes it: the exponentials are rounded to single precision, summed in double precision, and
/// divided by the rounded sum.
fn softmax<T: Into<f64>>(values: &mut [f64], exp: impl Fn(f64) -> f64, round: impl Fn(f64) -> T) {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for value in values.iter_mut() {
        *value = exp(round(*value - largest).into());
        sum += *value;
    }
    let sum: f64 = round(sum).into();
    for value in values {
        *value = round(*value / sum).into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(transform: Transform, float: Float, margins: &[f64]) -> Vec<f64> {
        let mut values = margins.to_vec();
        transform.apply(float, &mut values);
        values.truncate(transform.outputs(margins.len()));
        values
    }

    #[test]
    fn transforms_by_hand() {
        for float in [Float::F32, Float::F64] {
            assert_eq!(applied(Transform::Identity, float, &[1.5, -2.0]), [1.5, -2.0]);
            assert_eq!(applied(Transform::Hinge, float, &[0.0, 1e-30, -1.0]), [0.0, 1.0, 0.0]);
            assert_eq!(applied(Transform::ArgMax, float, &[1.0, 3.0, 3.0]), [1.0]);
            assert_eq!(applied(Transform::Sigmoid, float, &[0.0]), [0.5]);
            assert_eq!(applied(Transform::Exp, float, &[0.0]), [1.0]);
            assert_eq!(applied(Transform::Softmax, float, &[7.0, 7.0]), [0.5, 0.5]);
        }
    }

    #[test]
    fn extremes_stay_finite() {
        let small = applied(Transform::Sigmoid, Float::F32, &[-1000.0])[0];
        assert!(small > 0.0 && small < 1e-37, "{small}");
        assert_eq!(applied(Transform::Sigmoid, Float::F32, &[1000.0]), [1.0]);
        assert_eq!(applied(Transform::Softmax, Float::F32, &[-1000.0, 1000.0]), [0.0, 1.0]);
    }
}
