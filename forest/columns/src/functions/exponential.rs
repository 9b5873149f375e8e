//! Functions of `e^x`: the exponential itself, the hyperbolic tangent and the logistic function.
//!
//! `x = k ln(2) + r` with a whole `k` and `|r| <= ln(2) / 2`. Then `e^x = 2^k (1 + r + r^2 q(r))`, where `q`
//! is a polynomial. For results in double precision, `r` and sums are pairs: a double and its rounding error.

use super::coefficients::{EXP, EXP_SHORT, LN2, LN2_HIGH, LN2_LOW, LOG2_E};
use super::number::{Number, Truth, Word};

/// `1.5 * 2^52`. Adding it to a number rounds that number to a whole number, which the low bits of the sum
/// hold.
pub(super) const ROUNDING_SHIFT: f64 = 6_755_399_441_055_744.0;

/// Exponent of the number 1 as its bits store it.
const BIAS: i64 = 1023;

/// Bounds of `x`: `e^x` is 0 below and infinity above.
const BOUNDS: (f64, f64) = (-746.0, 710.0);

/// `e^x` as `2^k (1 + rest)`.
#[derive(Clone, Copy)]
struct ReducedPower<N: Number> {
    /// `k`.
    exponent: N,
    /// A word whose low bits are those of `k`.
    word: N::Word,
    /// `r`, the larger part of the rest.
    r: N,
    /// The smaller part of the rest.
    small: N,
}

/// A number as a sum: the nearest double, and its error.
#[derive(Clone, Copy)]
pub(super) struct Pair<N> {
    pub high: N,
    pub low: N,
}

/// `high + low` as a pair, where `low` is the smaller one.
pub(super) fn pair<N: Number>(high: N, low: N) -> Pair<N> {
    let sum = high + low;
    Pair { high: sum, low: (high - sum) + low }
}

impl<N: Number> ReducedPower<N> {
    /// Splits `x + x_error`, where `x_error` is the rounding error of `x`.
    fn new(x: N, x_error: Option<N>) -> ReducedPower<N> {
        let shifted = x.fma(x.of(LOG2_E), x.of(ROUNDING_SHIFT));
        let exponent = shifted - x.of(ROUNDING_SHIFT);
        let long = exponent.fma(x.of(-LN2_HIGH), x);
        let r = exponent.fma(x.of(-LN2_LOW), long);
        let error = exponent.fma(x.of(-LN2_LOW), long - r);
        let (square, factor) = (r * r, r.polynomial(&EXP));
        let small = match x_error {
            None => square.fma(factor, error),
            Some(x_error) => {
                // The error times the derivative, which is the exponential itself.
                let rest = square * factor;
                let derivative = r + rest + x.of(1.0);
                derivative.fma(error + x_error, rest)
            }
        };
        ReducedPower { exponent, word: shifted.word(), r, small }
    }

    /// `base + rest` as a pair, for a base that is 0 or has a larger magnitude than the rest.
    fn with(&self, base: N) -> Pair<N> {
        let sum = pair(base, self.r);
        pair(sum.high, sum.low + self.small)
    }

    /// Two powers of 2 whose product is `2^k`. Both are normal numbers even if the product is not.
    fn powers(&self) -> [N; 2] {
        let exponent = self.word.plus(self.word.of(2 * BIAS)).and(0xfff);
        let half = exponent.shift_right(1);
        [half, exponent.minus(half)].map(|exponent| exponent.shift_left(52).bitcast())
    }

    /// `2^-k`, but 0 for the largest `k`.
    fn inverse_power(&self) -> N {
        let power = self.word.of(BIAS).minus(self.word).shift_left(52).bitcast();
        let most = power.of(1000.0);
        most.is_below(self.exponent).select(power.of(0.0), power)
    }

    /// `e^x`, rounded.
    fn value(&self) -> N {
        let [first, second] = self.powers();
        self.with(self.r.of(1.0)).high * first * second
    }
}

/// `e^x`.
pub(super) fn exp<N: Number>(x: N) -> N {
    ReducedPower::new(x.clamped(BOUNDS.0, BOUNDS.1), None).value()
}

/// `e^(x + more)`, where `more` is the rounding error of `x`.
pub(super) fn exp_of_pair<N: Number>(x: N, more: N) -> N {
    ReducedPower::new(x.clamped(BOUNDS.0, BOUNDS.1), Some(more)).value()
}

/// `(e^x - 1) / 2^k` as a pair.
fn split_minus_one<N: Number>(split: &ReducedPower<N>) -> Pair<N> {
    // 2^k (1 + rest) - 1 = 2^k ((1 - 2^-k) + rest)
    let (one, inverse) = (split.r.of(1.0), split.inverse_power());
    let base = one - inverse;
    let error = (one - base) - inverse;
    let sum = pair(base, split.r);
    pair(sum.high, sum.low + error + split.small)
}

/// `e^x - 1`.
pub(super) fn exp_minus_one<N: Number>(x: N) -> N {
    // For x below -50 the result is -1.
    let split = ReducedPower::new(x.clamped(-50.0, BOUNDS.1), None);
    let [first, second] = split.powers();
    let result = split_minus_one(&split).high * first * second;
    or_zero_itself(x, result)
}

/// `x` itself if it is -0 or 0, so that the sign is kept; else the result.
pub(super) fn or_zero_itself<N: Number>(x: N, result: N) -> N {
    x.magnitude().is_at_most(x.of(0.0)).select(x, result)
}

/// The hyperbolic tangent.
pub(super) fn tanh<N: Number>(x: N) -> N {
    // With e = e^2x - 1: e / (e + 2). For x above 22 the result is 1. Sums are no pairs here: kernels and
    // nets compute this function in their innermost loops, where pairs would take twice the operations.
    let size = x.magnitude().at_most(22.0);
    let (power, rest) = plain(size + size);
    let e = power.fma(rest, power - x.of(1.0));
    (e / (e + x.of(2.0))).signed_as(x)
}

/// `2^k` and `e^r - 1`, without the rounding error of `r`, for `x` from 0 to 700.
fn plain<N: Number>(x: N) -> (N, N) {
    let shifted = x.fma(x.of(LOG2_E), x.of(ROUNDING_SHIFT));
    let exponent = shifted - x.of(ROUNDING_SHIFT);
    let r = exponent.fma(x.of(-LN2_LOW), exponent.fma(x.of(-LN2_HIGH), x));
    let word = shifted.word();
    let power = word.plus(word.of(BIAS)).shift_left(52).bitcast();
    (power, (r * r).fma(r.polynomial(&EXP), r))
}

/// `1 / (1 + e^-x)`.
pub(super) fn logistic<N: Number>(x: N) -> N {
    // With e = e^-|x|, which does not overflow: e / (1 + e) for negative x, else 1 / (1 + e).
    let split = ReducedPower::new((-x.magnitude()).at_least(BOUNDS.0), None);
    let (one, [first, second]) = (x.of(1.0), split.powers());
    let e = split.with(one);
    let (high, low) = (e.high * first * second, e.low * first * second);
    let sum = pair(one, high);
    let is_negative = x.is_below(x.of(0.0));
    let above = Pair { high: is_negative.select(high, one), low: is_negative.select(low, x.of(0.0)) };
    quotient(above, Pair { high: sum.high, low: sum.low + low })
}

/// The quotient of two pairs, rounded. The parts of `above` may overlap.
fn quotient<N: Number>(above: Pair<N>, below: Pair<N>) -> N {
    let inverse = above.high.of(1.0) / below.high;
    let near = above.high * inverse;
    let rest = (-near).fma(below.high, above.high);
    let rest = rest + (-near).fma(below.low, above.low);
    rest.fma(inverse, near)
}

/// Functions for results in single precision: plain doubles are precise enough, so there are no pairs.
pub(super) mod short {
    use super::{BIAS, EXP_SHORT, LN2, LOG2_E, Number, ROUNDING_SHIFT, Truth, Word};

    /// Bounds of `x`: in single precision, `e^x` is 0 below and infinity above.
    const BOUNDS: (f64, f64) = (-150.0, 100.0);

    /// The factors of `e^x`: `2^k`, and `e^r - 1` in place of `e^r`.
    fn power_and_rest<N: Number>(x: N) -> (N, N) {
        let shifted = x.fma(x.of(LOG2_E), x.of(ROUNDING_SHIFT));
        let r = (shifted - x.of(ROUNDING_SHIFT)).fma(x.of(-LN2), x);
        let word = shifted.word();
        let power = word.plus(word.of(BIAS)).shift_left(52).bitcast();
        (power, (r * r).fma(r.polynomial(&EXP_SHORT), r))
    }

    /// `e^x`.
    pub(in super::super) fn exp<N: Number>(x: N) -> N {
        let (power, rest) = power_and_rest(x.clamped(BOUNDS.0, BOUNDS.1));
        power.fma(rest, power)
    }

    /// `e^x - 1`.
    pub(in super::super) fn exp_minus_one<N: Number>(x: N) -> N {
        let (power, rest) = power_and_rest(x.clamped(BOUNDS.0, BOUNDS.1));
        super::or_zero_itself(x, power.fma(rest, power - x.of(1.0)))
    }

    /// The hyperbolic tangent.
    pub(in super::super) fn tanh<N: Number>(x: N) -> N {
        let size = x.magnitude().at_most(22.0);
        let (power, rest) = power_and_rest(size + size);
        let e = power.fma(rest, power - x.of(1.0));
        (e / (e + x.of(2.0))).signed_as(x)
    }

    /// `1 / (1 + e^-x)`.
    pub(in super::super) fn logistic<N: Number>(x: N) -> N {
        let (power, rest) = power_and_rest((-x.magnitude()).at_least(BOUNDS.0));
        let (one, e) = (x.of(1.0), power.fma(rest, power));
        x.is_below(x.of(0.0)).select(e, one) / (one + e)
    }
}
