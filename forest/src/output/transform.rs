//! Steps of the output stage: their formulas, in the accumulator's type.
//!
//! Exponentials are those of the C library. Logarithms are those of [`sched_columns::functions`], since
//! releases of the library differ in their bits: computed in double precision, and rounded once to the
//! accumulator's type.

use super::columns::OutputColumns;
use crate::types::Float;
use sched_columns::functions;
use std::sync::Arc;

/// A step from sums to results.
#[derive(Clone, Debug, PartialEq)]
pub enum Transform {
    /// `x * factor + bias`, rounded twice; one bias for each value.
    Scale {
        /// The factor.
        factor: f64,
        /// The summand of each value.
        bias: Vec<f64>,
    },
    /// `x / by`.
    Divide {
        /// The divisor.
        by: f64,
    },
    /// A probability.
    Sigmoid(Sigmoid),
    /// `x > 0 ? 1 : 0`.
    Hinge,
    /// `x > bound ? 1 : 0`.
    Above(f64),
    /// `exp(x)`.
    Exp,
    /// `log1p(exp(x))`.
    LogOnePlusExp,
    /// `x * |x|` with the sign of `x`.
    SignedSquare,
    /// The quantile of the normal distribution, as ONNX Runtime approximates it.
    Probit,
    /// `exp2(-x / by)` (isolation forests).
    PowerOfTwo {
        /// The divisor.
        by: f64,
    },
    /// One probability per class.
    Softmax(Softmax),
    /// The first value stays; each further value `x` becomes its predecessor's result plus [`EXPECTILE_GAP`]
    /// plus `log(1 + exp(x))` (expectiles of XGBoost, which ascend).
    Ascending,
    /// A single value becomes two: `1 - x` and `x`.
    Complement,
    /// The index of the largest value, the lowest one if several are equal.
    ArgMax,
    /// The results of expressions over all values.
    Columns(Arc<OutputColumns>),
}

/// The least distance between two values that [ascend](Transform::Ascending): 1e-6 in single precision.
pub const EXPECTILE_GAP: f64 = 1e-6_f32 as f64;

/// Forms of the sigmoid, which differ in the last digit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sigmoid {
    /// XGBoost's sigmoid in single precision: `1 / (exp(min(-x, 88.7)) + 1 + 1e-16)`. In double precision it
    /// is the plain sigmoid.
    Bounded,
    /// `1 / (1 + exp(-slope * x))`.
    Plain {
        /// The factor of `x`.
        slope: f64,
    },
    /// ONNX Runtime's sigmoid: `y = 1 / (1 + exp(-|x|))`, and `1 - y` if `x` is negative.
    Mirrored,
}

/// Forms of the softmax: the exponential of each value minus the largest value, divided by the sum of these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Softmax {
    /// XGBoost's softmax: the sum is in double precision.
    Doubled,
    /// The sum is in the accumulator's type.
    Plain,
    /// ONNX Runtime's `SOFTMAX_ZERO`: a value of magnitude at most 1e-7 is multiplied by the exponential of
    /// minus the largest value, and is not part of the sum.
    ZeroAside,
}

impl Transform {
    /// The number of values after the step, if there are `before` values before it.
    pub(super) fn columns(&self, before: usize) -> usize {
        match self {
            Transform::ArgMax => 1,
            Transform::Complement => 2,
            Transform::Columns(of) => of.results.len(),
            _ => before,
        }
    }

    /// Whether the step maps each value independently of the others.
    pub fn is_by_value(&self) -> bool {
        !matches!(
            self,
            Transform::Softmax(_)
                | Transform::Ascending
                | Transform::ArgMax
                | Transform::Complement
                | Transform::Columns(_)
        )
    }

    pub(super) fn numbers(&self) -> Vec<f64> {
        match self {
            Transform::Scale { factor, bias } => bias.iter().copied().chain([*factor]).collect(),
            Transform::Divide { by } | Transform::PowerOfTwo { by } | Transform::Above(by) => vec![*by],
            Transform::Sigmoid(Sigmoid::Plain { slope }) => vec![*slope],
            _ => Vec::new(),
        }
    }

    /// A short name.
    pub fn name(&self) -> &'static str {
        match self {
            Transform::Scale { .. } => "scale",
            Transform::Divide { .. } => "average",
            Transform::Sigmoid(_) => "sigmoid",
            Transform::Hinge => "hinge",
            Transform::Above(_) => "above",
            Transform::Exp => "exp",
            Transform::LogOnePlusExp => "log1p_exp",
            Transform::SignedSquare => "signed_square",
            Transform::Probit => "probit",
            Transform::PowerOfTwo { .. } => "exp2",
            Transform::Softmax(Softmax::ZeroAside) => "softmax_zero",
            Transform::Softmax(_) => "softmax",
            Transform::Ascending => "ascending",
            Transform::Complement => "complement",
            Transform::ArgMax => "argmax",
            Transform::Columns(_) => "expression",
        }
    }

    /// Applies the step to one row, in the accumulator's type; values are widened.
    pub(super) fn apply(&self, float: Float, values: &mut Vec<f64>) {
        let round = |x: f64| match float {
            Float::F32 => f64::from(x as f32),
            Float::F64 => x,
        };
        let exp = |x: f64| match float {
            Float::F32 => f64::from((x as f32).exp()),
            Float::F64 => x.exp(),
        };
        match self {
            Transform::Scale { factor, bias } => {
                for (value, bias) in values.iter_mut().zip(bias) {
                    *value = round(round(*value * round(*factor)) + round(*bias));
                }
            }
            Transform::Divide { by } => each(values, |x| round(x / round(*by))),
            Transform::Sigmoid(form) => each(values, |x| match (form, float) {
                (Sigmoid::Bounded, Float::F32) => f64::from(bounded_sigmoid(x as f32)),
                (Sigmoid::Bounded, Float::F64) => 1.0 / (1.0 + (-x).exp()),
                (Sigmoid::Plain { slope }, _) => round(1.0 / round(1.0 + exp(round(round(-slope) * x)))),
                (Sigmoid::Mirrored, _) => {
                    let y = round(1.0 / round(1.0 + exp(-x.abs())));
                    if x < 0.0 { round(1.0 - y) } else { y }
                }
            }),
            Transform::Hinge => Transform::Above(0.0).apply(float, values),
            Transform::Above(bound) => each(values, |x| f64::from(u8::from(x > *bound))),
            Transform::Exp => each(values, exp),
            Transform::LogOnePlusExp => each(values, |x| round(functions::log_one_plus(exp(x)))),
            Transform::SignedSquare => each(values, |x| round(x * x.abs())),
            Transform::Probit => each(values, |x| f64::from(probit(x as f32))),
            Transform::PowerOfTwo { by } => each(values, |x| {
                let power = round(-x / round(*by));
                match float {
                    Float::F32 => f64::from((power as f32).exp2()),
                    Float::F64 => power.exp2(),
                }
            }),
            Transform::Softmax(form) => softmax(*form, values, exp, round),
            Transform::Ascending => {
                for index in 1..values.len() {
                    let step = round(EXPECTILE_GAP + softplus(values[index], exp, round));
                    values[index] = round(values[index - 1] + step);
                }
            }
            Transform::Complement => {
                let value = values.first().copied().unwrap_or_default();
                *values = vec![round(1.0 - value), value];
            }
            Transform::ArgMax => *values = vec![arg_max(values) as f64],
            Transform::Columns(of) => *values = of.values(values),
        }
    }
}

fn each(values: &mut [f64], f: impl Fn(f64) -> f64) {
    for value in values {
        *value = f(*value);
    }
}

/// `log(1 + exp(x))` without overflow.
fn softplus(x: f64, exp: impl Fn(f64) -> f64, round: impl Fn(f64) -> f64) -> f64 {
    let small = round(functions::log_one_plus(exp(-x.abs())));
    if x <= 0.0 { small } else { round(x + small) }
}

/// XGBoost's sigmoid: bounded so that the exponential does not overflow.
fn bounded_sigmoid(x: f32) -> f32 {
    let denominator = (-x).min(88.7).exp() + 1.0 + 1e-16;
    1.0 / denominator
}

/// ONNX Runtime's quantile of the normal distribution, in single precision.
fn probit(x: f32) -> f32 {
    let x = 2.0 * x - 1.0;
    let sign = if x < 0.0 { -1.0 } else { 1.0 };
    let log = functions::log_of_single(f64::from((1.0 - x) * (1.0 + x))) as f32;
    let v = 2.0 / (std::f32::consts::PI * 0.147) + 0.5 * log;
    let v2 = 1.0 / 0.147 * log;
    let v3 = -v + (v * v - v2).sqrt();
    std::f32::consts::SQRT_2 * (sign * v3.sqrt())
}

/// The index of the largest value, the lowest one if several are equal.
fn arg_max(values: &[f64]) -> usize {
    let mut best = 0;
    for (index, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = index;
        }
    }
    best
}

fn softmax(form: Softmax, values: &mut [f64], exp: impl Fn(f64) -> f64, round: impl Fn(f64) -> f64) {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let near_zero_factor = exp(-largest);
    let mut sum = 0.0;
    for value in values.iter_mut() {
        if form == Softmax::ZeroAside && value.abs() <= f64::from(1e-7_f32) {
            *value = round(*value * near_zero_factor);
            continue;
        }
        *value = exp(round(*value - largest));
        sum += *value;
        if form != Softmax::Doubled {
            sum = round(sum);
        }
    }
    let sum = round(sum);
    for value in values {
        *value = round(*value / sum);
    }
}
