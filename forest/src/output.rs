//! The output stage: computes margins, predictions and classes from a row's sums.
//!
//! Formulas, the order of operations and types are the trainer's. `exp` and related functions come from the C
//! library, so predictions equal the trainer's to the last bit if it used the same C library. All
//! computations are in the accumulator's type.

use crate::codes;
use crate::error::ModelError;
use crate::output_columns::OutputColumns;
use crate::types::Float;
use sched_categories::Label;
use std::sync::Arc;

/// The steps from a row's sums to its results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Steps from sums to margins, the trainer's raw output. No step changes the number of values.
    pub raw: Vec<Transform>,
    /// Steps from margins to predictions.
    pub value: Vec<Transform>,
    /// The rule that finds the class, if the model predicts classes.
    pub classes: Option<Classes>,
}

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
    /// The first value stays; each further one is its predecessor plus [`EXPECTILE_GAP`] plus `log(1 +
    /// exp(x))` (expectiles of XGBoost, which ascend).
    Ascending,
    /// The one value becomes two: `1 - x` and `x`.
    Complement,
    /// The index of the largest value, the lowest one if several are equal.
    ArgMax,
    /// Expressions over all values.
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

/// Forms of the softmax: exponentials of the distances to the largest value, over their sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Softmax {
    /// XGBoost's softmax: the sum is in double precision.
    Doubled,
    /// The sum is in the accumulator's type.
    Plain,
    /// ONNX Runtime's `SOFTMAX_ZERO`: a value of at most 1e-7 is multiplied by the exponential of minus the
    /// largest value, and is not part of the sum.
    ZeroAside,
}

/// The classes of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes {
    /// The rule.
    pub rule: ClassRule,
    /// The trainer's names of classes; numbers from 0 on if there are none.
    pub labels: Vec<Label>,
}

/// The rule that finds the number of a class.
#[derive(Clone, Debug, PartialEq)]
pub enum ClassRule {
    /// For each margin, class 1 if its prediction is above the bound, else class 0. Applies before a step
    /// that mixes margins.
    ValueAbove(f64),
    /// For each margin, class 1 if it is above the bound, else class 0.
    MarginAbove(f64),
    /// The class of the largest margin, the lowest one if several are equal.
    LargestMargin,
    /// The class of the largest value of the prediction, the lowest one if several are equal.
    LargestValue,
    /// The number that an expression over the margins has.
    Computed(Arc<OutputColumns>),
}

impl Output {
    /// The output whose predictions are the margins, without classes.
    pub fn identity() -> Output {
        Output::default()
    }

    /// One step from margins to predictions, without classes.
    pub fn of(transform: Transform) -> Output {
        Output { value: vec![transform], ..Output::default() }
    }

    /// Adds classes without names to an output.
    pub fn with_classes(self, rule: ClassRule) -> Output {
        Output { classes: Some(Classes { rule, labels: Vec::new() }), ..self }
    }

    /// Number of values per row of a prediction, for a model with `num_margins` margins.
    pub fn columns(&self, num_margins: usize) -> usize {
        self.value.iter().fold(num_margins, |columns, transform| transform.columns(columns))
    }

    /// Turns the sums of one row into margins, in place. Sums of single precision are widened to `f64`.
    pub fn margins(&self, float: Float, values: &mut Vec<f64>) {
        self.raw.iter().for_each(|transform| transform.apply(float, values));
    }

    /// Turns the sums of one row into a prediction, in place. Sums of single precision are widened to `f64`.
    pub fn prediction(&self, float: Float, values: &mut Vec<f64>) {
        self.margins(float, values);
        self.prediction_of_margins(float, values);
    }

    /// Turns the margins of one row into a prediction, in place. Margins of single precision are widened to
    /// `f64`.
    pub fn prediction_of_margins(&self, float: Float, values: &mut Vec<f64>) {
        self.value.iter().for_each(|transform| transform.apply(float, values));
    }

    /// Computes the classes of one row from its sums, which it overwrites. Returns false if the model has no
    /// classes.
    pub fn classes(&self, float: Float, values: &mut Vec<f64>, out: &mut [u32]) -> bool {
        self.margins(float, values);
        self.classes_of_margins(float, values, out)
    }

    /// Computes the classes of one row from its margins, which it overwrites. Returns false if the model has
    /// no classes.
    pub fn classes_of_margins(&self, float: Float, values: &mut Vec<f64>, out: &mut [u32]) -> bool {
        let Some(Classes { rule, .. }) = &self.classes else { return false };
        match rule {
            // The step `ArgMax` already computes the class.
            ClassRule::LargestValue => {
                let before = self.value.iter().take_while(|transform| **transform != Transform::ArgMax);
                before.for_each(|transform| transform.apply(float, values));
            }
            ClassRule::ValueAbove(_) => {
                let by_value = self.value.iter().take_while(|transform| transform.is_by_value());
                by_value.for_each(|transform| transform.apply(float, values));
            }
            ClassRule::MarginAbove(_) | ClassRule::LargestMargin => {}
            ClassRule::Computed(columns) => *values = columns.of(values),
        }
        match rule {
            ClassRule::ValueAbove(bound) | ClassRule::MarginAbove(bound) => {
                out.iter_mut().zip(values).for_each(|(out, value)| *out = u32::from(*value > *bound));
            }
            ClassRule::Computed(_) => {
                out.iter_mut().zip(values).for_each(|(out, value)| *out = *value as u32)
            }
            ClassRule::LargestMargin | ClassRule::LargestValue => out.fill(arg_max(values) as u32),
        }
        true
    }

    /// Checks that each step accepts the number of values before it. `sums` is the type of sums.
    pub(crate) fn check(&self, num_margins: usize, sums: Float) -> Result<(), ModelError> {
        let bad = |message: String| Err(ModelError::new(codes::BAD_PARAMETER, message).at("output"));
        if !self.raw.iter().all(Transform::is_by_value) {
            return bad("a step to margins mixes several of them".into());
        }
        let mixed = self.value.iter().position(|transform| !transform.is_by_value());
        if mixed.is_some_and(|at| at + 1 < self.value.len()) {
            return bad("a step follows one that mixes the values of a row".into());
        }
        if let Some(Classes { rule: ClassRule::Computed(expressions), .. }) = &self.classes {
            expressions.check(num_margins, sums).or_else(bad)?;
        }
        let mut columns = num_margins;
        for transform in self.raw.iter().chain(&self.value) {
            match transform {
                Transform::Scale { bias, .. } if bias.len() != columns => {
                    return bad(format!("{} numbers are added to {columns} values", bias.len()));
                }
                Transform::Complement if columns != 1 => {
                    return bad(format!("{columns} values have no complement"));
                }
                _ => {}
            }
            if let Transform::Columns(expressions) = transform {
                if self.value.len() > 1 {
                    return bad("a step stands beside expressions over all margins".into());
                }
                expressions.check(num_margins, sums).or_else(bad)?;
            }
            if !transform.numbers().iter().all(|number| number.is_finite()) {
                return bad("a number of the output is not finite".into());
            }
            columns = transform.columns(columns);
        }
        Ok(())
    }
}

impl Transform {
    /// Values after the step, if there are `before` values before it.
    fn columns(&self, before: usize) -> usize {
        match self {
            Transform::ArgMax => 1,
            Transform::Columns(columns) => columns.results.len(),
            Transform::Complement => 2,
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

    fn numbers(&self) -> Vec<f64> {
        match self {
            Transform::Scale { factor, bias } => bias.iter().copied().chain([*factor]).collect(),
            Transform::Divide { by } | Transform::PowerOfTwo { by } => vec![*by],
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
    fn apply(&self, float: Float, values: &mut Vec<f64>) {
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
            Transform::Hinge => each(values, |x| f64::from(u8::from(x > 0.0))),
            Transform::Exp => each(values, exp),
            Transform::LogOnePlusExp => each(values, |x| match float {
                Float::F32 => f64::from((x as f32).exp().ln_1p()),
                Float::F64 => x.exp().ln_1p(),
            }),
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
                    let step = round(EXPECTILE_GAP + softplus(float, values[index]));
                    values[index] = round(values[index - 1] + step);
                }
            }
            Transform::Complement => {
                let value = values.first().copied().unwrap_or_default();
                *values = vec![round(1.0 - value), value];
            }
            Transform::ArgMax => *values = vec![arg_max(values) as f64],
            Transform::Columns(columns) => *values = columns.of(values),
        }
    }
}

fn each(values: &mut [f64], f: impl Fn(f64) -> f64) {
    for value in values {
        *value = f(*value);
    }
}

/// `log(1 + exp(x))` without overflow.
fn softplus(float: Float, x: f64) -> f64 {
    let small = match float {
        Float::F32 => f64::from((-x.abs() as f32).exp().ln_1p()),
        Float::F64 => (-x.abs()).exp().ln_1p(),
    };
    match float {
        _ if x <= 0.0 => small,
        Float::F32 => f64::from((x + small) as f32),
        Float::F64 => x + small,
    }
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
    let log = ((1.0 - x) * (1.0 + x)).ln();
    let v = 2.0 / (std::f32::consts::PI * 0.147) + 0.5 * log;
    let v2 = 1.0 / 0.147 * log;
    let v3 = -v + (v * v - v2).sqrt();
    std::f32::consts::SQRT_2 * (sign * v3.sqrt())
}

/// The index of the largest value, the lowest one if several are equal.
pub(crate) fn arg_max(values: &[f64]) -> usize {
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
    let aside = exp(-largest);
    let mut sum = 0.0;
    for value in values.iter_mut() {
        if form == Softmax::ZeroAside && value.abs() <= f64::from(1e-7_f32) {
            *value = round(*value * aside);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(transform: Transform, float: Float, margins: &[f64]) -> Vec<f64> {
        let mut values = margins.to_vec();
        Output::of(transform).prediction(float, &mut values);
        values
    }

    #[test]
    fn transforms_by_hand() {
        for float in [Float::F32, Float::F64] {
            let sigmoids = [Sigmoid::Bounded, Sigmoid::Plain { slope: 2.0 }, Sigmoid::Mirrored];
            for sigmoid in sigmoids {
                assert_eq!(applied(Transform::Sigmoid(sigmoid), float, &[0.0]), [0.5]);
            }
            for softmax in [Softmax::Doubled, Softmax::Plain] {
                assert_eq!(applied(Transform::Softmax(softmax), float, &[7.0, 7.0]), [0.5, 0.5]);
            }
            let scale = Transform::Scale { factor: 2.0, bias: vec![0.5, -1.0] };
            assert_eq!(applied(scale, float, &[1.5, -2.0]), [3.5, -5.0]);
            assert_eq!(applied(Transform::Divide { by: 4.0 }, float, &[1.0]), [0.25]);
            assert_eq!(applied(Transform::Hinge, float, &[0.0, 1e-30, -1.0]), [0.0, 1.0, 0.0]);
            assert_eq!(applied(Transform::Exp, float, &[0.0]), [1.0]);
            assert_eq!(applied(Transform::SignedSquare, float, &[-3.0, 2.0]), [-9.0, 4.0]);
            assert_eq!(applied(Transform::PowerOfTwo { by: 2.0 }, float, &[4.0, 0.0]), [0.25, 1.0]);
            assert_eq!(applied(Transform::Complement, float, &[0.25]), [0.75, 0.25]);
            assert_eq!(applied(Transform::ArgMax, float, &[1.0, 3.0, 3.0]), [1.0]);
            assert_eq!(applied(Transform::Probit, float, &[0.5]), [0.0]);
        }
        for float in [Float::F32, Float::F64] {
            let values = applied(Transform::Ascending, float, &[-3.0, -200.0, 0.0, 200.0]);
            let ln2 = std::f64::consts::LN_2;
            let expected = [-3.0, -3.0 + 1e-6, -3.0 + 2e-6 + ln2, 197.0 + 3e-6 + ln2];
            let far = |(value, expected): (&f64, &f64)| (value - expected).abs() > 2e-5;
            assert!(!values.iter().zip(&expected).any(far), "{values:?}");
            assert_eq!(applied(Transform::Ascending, float, &[-7.0]), [-7.0]);
        }
        let small = applied(Transform::LogOnePlusExp, Float::F64, &[-40.0])[0];
        assert_eq!(small, (-40.0f64).exp());
        let aside = applied(Transform::Softmax(Softmax::ZeroAside), Float::F32, &[0.0, 1.0]);
        assert_eq!(aside, [0.0, 1.0]);
    }

    #[test]
    fn extremes_stay_finite() {
        let sigmoid = Transform::Sigmoid(Sigmoid::Bounded);
        let small = applied(sigmoid.clone(), Float::F32, &[-1000.0])[0];
        assert!(small > 0.0 && small < 1e-37, "{small}");
        assert_eq!(applied(sigmoid, Float::F32, &[1000.0]), [1.0]);
        let softmax = Transform::Softmax(Softmax::Doubled);
        assert_eq!(applied(softmax, Float::F32, &[-1000.0, 1000.0]), [0.0, 1.0]);
    }

    #[test]
    fn the_largest_value_is_found_once() {
        let output = Output::of(Transform::ArgMax).with_classes(ClassRule::LargestValue);
        let mut class = [9];
        assert!(output.classes(Float::F32, &mut vec![0.0, 3.0, 1.0], &mut class));
        assert_eq!(class, [1]);
    }

    #[test]
    fn steps_fit_the_values_that_they_meet() {
        let complement = Output::of(Transform::Complement);
        assert_eq!((complement.columns(1), complement.check(1, Float::F64)), (2, Ok(())));
        let scale = Output::of(Transform::Scale { factor: 1.0, bias: vec![0.0] });
        let infinite = Output::of(Transform::Divide { by: f64::INFINITY });
        let mixed = Output { raw: vec![Transform::ArgMax], ..Output::default() };
        let late = Output { value: vec![Transform::ArgMax, Transform::Exp], ..Output::default() };
        for (output, margins) in [(complement, 2), (scale, 2), (infinite, 1), (mixed, 1), (late, 1)] {
            assert_eq!(output.check(margins, Float::F64).unwrap_err().code, codes::BAD_PARAMETER);
        }
    }
}
