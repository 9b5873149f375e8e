//! Formulas of output steps on single values.

use crate::columns::functions;
use crate::fault::{Fault, seeded};
use crate::lir::{Bin, Builder, Cast, Cmp, Math, Scalar, Ty, Value};
use sched_forest::{EXPECTILE_GAP, Sigmoid, Transform};

/// Code of output steps on one value. Steps over all values of a row leave the value unchanged.
pub struct OutputFormula<'b> {
    /// Builder of the operations.
    pub b: &'b mut Builder,
    /// Element type of margins.
    pub element: Scalar,
}

impl OutputFormula<'_> {
    /// A value after all steps. `number` is the margin's number in its row.
    pub fn apply_steps(&mut self, steps: &[Transform], x: Value, number: usize) -> Value {
        steps.iter().fold(x, |x, step| self.apply_step(step, x, number))
    }

    fn apply_step(&mut self, step: &Transform, x: Value, number: usize) -> Value {
        match step {
            Transform::Scale { factor, bias } => {
                let (factor, bias) =
                    (self.float(*factor), self.float(bias.get(number).copied().unwrap_or(0.0)));
                let product = self.b.bin(Bin::Mul, x, factor);
                self.b.add(product, bias)
            }
            Transform::Divide { .. } if seeded(Fault::AverageForgotten) => x,
            Transform::Divide { by } => {
                let by = self.float(*by);
                self.b.bin(Bin::Div, x, by)
            }
            Transform::Sigmoid(form) => self.sigmoid(*form, x),
            Transform::Hinge => self.exceeds(x, 0.0),
            Transform::Above(bound) => self.exceeds(x, *bound),
            Transform::Exp => self.b.math(Math::Exp, x),
            Transform::LogOnePlusExp => {
                let power = self.b.math(Math::Exp, x);
                functions::log_one_plus(self.b, power)
            }
            Transform::SignedSquare => {
                let size = self.absolute(x);
                self.b.bin(Bin::Mul, x, size)
            }
            Transform::Probit => self.probit(x),
            Transform::PowerOfTwo { by } => {
                let (by, negated) = (self.float(*by), self.negated(x));
                let power = self.b.bin(Bin::Div, negated, by);
                self.b.math(Math::PowerOfTwo, power)
            }
            Transform::Softmax(_)
            | Transform::Ascending
            | Transform::Complement
            | Transform::ArgMax
            | Transform::Columns(_) => x,
        }
    }

    fn float(&mut self, x: f64) -> Value {
        self.b.float(Ty::of(self.element), x)
    }

    fn negated(&mut self, x: Value) -> Value {
        let minus_zero = self.float(-0.0);
        self.b.sub(minus_zero, x)
    }

    /// Absolute value.
    pub fn absolute(&mut self, x: Value) -> Value {
        let negated = self.negated(x);
        self.b.bin(Bin::Max, x, negated)
    }

    fn sigmoid(&mut self, form: Sigmoid, x: Value) -> Value {
        let one = self.float(1.0);
        let exponent = match form {
            Sigmoid::Plain { slope } if slope != 1.0 => {
                let slope = self.float(-slope);
                self.b.bin(Bin::Mul, x, slope)
            }
            Sigmoid::Bounded if self.element == Scalar::F32 => {
                let (negated, bound) = (self.negated(x), self.float(88.7));
                self.b.bin(Bin::Min, negated, bound)
            }
            Sigmoid::Plain { .. } | Sigmoid::Bounded => self.negated(x),
            Sigmoid::Mirrored => {
                let size = self.absolute(x);
                self.negated(size)
            }
        };
        let power = self.b.math(Math::Exp, exponent);
        let mut denominator = self.b.add(power, one);
        if form == Sigmoid::Bounded && self.element == Scalar::F32 {
            let tiny = self.float(1e-16);
            denominator = self.b.add(denominator, tiny);
        }
        let y = self.b.bin(Bin::Div, one, denominator);
        if form != Sigmoid::Mirrored {
            return y;
        }
        let (zero, rest) = (self.float(0.0), self.b.sub(one, y));
        let negative = self.b.cmp(Cmp::OLt, x, zero);
        self.b.select(negative, rest, y)
    }

    /// Distance between consecutive expectiles of a row: the gap plus `log(1 + exp(x))`, without overflow.
    pub fn expectile_distance(&mut self, x: Value) -> Value {
        let (zero, gap, size) = (self.float(0.0), self.float(EXPECTILE_GAP), self.absolute(x));
        let exponent = self.negated(size);
        let power = self.b.math(Math::Exp, exponent);
        let small = functions::log_one_plus(self.b, power);
        let large = self.b.add(x, small);
        let positive = self.b.cmp(Cmp::OLt, zero, x);
        let softplus = self.b.select(positive, large, small);
        self.b.add(gap, softplus)
    }

    /// Quantile of the normal distribution, in single precision as in ONNX Runtime.
    fn probit(&mut self, x: Value) -> Value {
        let single = Ty::of(Scalar::F32);
        let x = self.b.cast(Cast::Float, x, single);
        let float = |b: &mut Builder, x: f32| b.float(single, x.into());
        let b = &mut *self.b;
        let (one, two, half, zero) = (float(b, 1.0), float(b, 2.0), float(b, 0.5), float(b, 0.0));
        let doubled = b.bin(Bin::Mul, two, x);
        let x = b.sub(doubled, one);
        let (below, above) = (b.sub(one, x), b.add(one, x));
        let product = b.bin(Bin::Mul, below, above);
        let log = functions::log_of_single(b, product);
        let first = float(b, 2.0 / (std::f32::consts::PI * 0.147));
        let halved = b.bin(Bin::Mul, half, log);
        let v = b.add(first, halved);
        let inverse = float(b, 1.0 / 0.147);
        let v2 = b.bin(Bin::Mul, inverse, log);
        let square = b.bin(Bin::Mul, v, v);
        let inside = b.sub(square, v2);
        let root = b.square_root(inside);
        let v3 = b.sub(root, v);
        let root = b.square_root(v3);
        let minus_zero = float(b, -0.0);
        let negated = b.sub(minus_zero, root);
        let negative = b.cmp(Cmp::OLt, x, zero);
        let signed = b.select(negative, negated, root);
        let factor = float(b, std::f32::consts::SQRT_2);
        let y = b.bin(Bin::Mul, factor, signed);
        b.cast(Cast::Float, y, Ty::of(self.element))
    }

    /// `x > bound ? 1 : 0`
    fn exceeds(&mut self, x: Value, bound: f64) -> Value {
        let (bound, one, zero) = (self.float(bound), self.float(1.0), self.float(0.0));
        let above = self.b.cmp(Cmp::OLt, bound, x);
        self.b.select(above, one, zero)
    }
}
