//! Natural logarithms.
//!
//! `x = 2^k (1 + f)` with a whole `k` and `1 + f` between `sqrt(1/2)` and `sqrt(2)`. With `s = f / (2 + f)`,
//! `log(1 + f) = 2 atanh(s) = s (2 + z p(z))`, where `z = s^2` and `p` is a polynomial. In double precision,
//! the sum begins with `f`, which has no error: `log(1 + f) = f - f^2/2 + s (f^2/2 + z p(z))`.

use super::coefficients::{LN2, LN2_HIGH, LN2_LOW, LOG, LOG_LONG, LOG_SHORT, TWO_THIRDS_LOW};
use super::exponential::{Pair, or_zero_itself, pair};
use super::number::{Number, Truth, Word};

/// The bits of 1.
const ONE_BITS: i64 = 0x3ff0_0000_0000_0000;

/// The bits of `sqrt(1/2)`.
const ROOT_BITS: i64 = 0x3fe6_a09e_667f_3bcd;

/// Mask of the exponent bits.
const EXPONENT_MASK: i64 = 0x7ff0_0000_0000_0000;

/// `2^52`: the low bits of a number of this exponent hold a whole number.
pub(super) const WHOLE_NUMBERS_START: f64 = 4_503_599_627_370_496.0;

/// The exponent of 1, as read from the bits of a normal number.
pub(super) const EXPONENT_OFFSET: f64 = WHOLE_NUMBERS_START + 1023.0;

/// A number above 0 as `2^k (1 + f)`.
pub(super) struct ReducedNumber<N: Number> {
    /// `k`.
    pub(super) exponent: N,
    /// The bits of `2^k`, if `k` belongs to a normal number.
    power: N::Word,
    /// `f`.
    pub(super) f: N,
}

impl<N: Number> ReducedNumber<N> {
    /// Splits a normal number. `offset` is subtracted from the exponent as read from the bits: `2^52`, the
    /// bias and any scaling.
    fn new(x: N, offset: N) -> ReducedNumber<N> {
        ReducedNumber::from_low(x, offset, ROOT_BITS)
    }

    /// Splits a normal number. `low_bits` are the bits of the least `1 + f`.
    pub(super) fn from_low(x: N, offset: N, low_bits: i64) -> ReducedNumber<N> {
        let word = x.word();
        let moved = word.plus(word.of(ONE_BITS - low_bits));
        let whole = moved.shift_right(52).or(word.of(WHOLE_NUMBERS_START.to_bits().cast_signed())).bitcast();
        let power = moved.and(EXPONENT_MASK);
        let fraction = word.minus(power).plus(word.of(ONE_BITS)).bitcast();
        ReducedNumber { exponent: whole - offset, power, f: fraction - x.of(1.0) }
    }

    /// Splits any finite number above 0.
    fn of_any(x: N) -> ReducedNumber<N> {
        let is_small = x.is_below(x.of(f64::MIN_POSITIVE));
        let normal = is_small.select(x * x.of(2.0_f64.powi(54)), x);
        let [scaled, usual] = [1023.0 + 54.0, 1023.0].map(|bias| x.of(WHOLE_NUMBERS_START + bias));
        ReducedNumber::new(normal, is_small.select(scaled, usual))
    }

    /// Splits a normal number.
    fn of_normal(x: N) -> ReducedNumber<N> {
        ReducedNumber::new(x, x.of(EXPONENT_OFFSET))
    }

    /// The logarithm, where `f_error` is the rounding error of `f`.
    fn log(&self, f_error: Option<N>) -> N {
        let ReducedNumber { exponent, f, .. } = *self;
        let s = f / (f + f.of(2.0));
        let z = s * s;
        let half = f * f * f.of(0.5);
        let low = s.fma(z.fma(z.polynomial(&LOG), half), f_error.map_or(-half, |f_error| f_error - half));
        let high = exponent.fma(f.of(LN2_HIGH), f);
        let error = exponent.fma(f.of(LN2_HIGH), -high) + f;
        high + (error + exponent.fma(f.of(LN2_LOW), low))
    }

    /// The logarithm with the digits of single precision.
    fn log_short(&self) -> N {
        let ReducedNumber { exponent, f, .. } = *self;
        let s = f / (f + f.of(2.0));
        let z = s * s;
        let of_fraction = s * z.fma(z.polynomial(&LOG_SHORT), f.of(2.0));
        exponent.fma(f.of(LN2), of_fraction)
    }

    /// The logarithm as a pair, to about 65 bits.
    fn log_pair(&self) -> Pair<N> {
        let ReducedNumber { exponent, f, .. } = *self;
        let below = pair(f.of(2.0), f);
        let inverse = f.of(1.0) / below.high;
        let s = f * inverse;
        let s_error = (-s).fma(below.high, f);
        let s_error = (-s).fma(below.low, s_error) * inverse;
        // The series is 2 s + s^3 (2/3 + z p(z)).
        let z = s * s;
        let twice = s + s;
        let z_error = twice.fma(s_error, s.fma(s, -z));
        let factor = pair(f.of(2.0 / 3.0), z * z.polynomial(&LOG_LONG));
        let factor_error = factor.low + f.of(TWO_THIRDS_LOW);
        let cube = s * z;
        let cube_error = s_error.fma(z, s.fma(z_error, s.fma(z, -cube)));
        let term = cube * factor.high;
        let term_error = cube.fma(factor_error, cube_error.fma(factor.high, cube.fma(factor.high, -term)));
        let first = pair(exponent * f.of(LN2_HIGH), twice);
        let second = pair(first.high, term);
        let rest = exponent.fma(f.of(LN2_LOW), s_error + s_error + term_error);
        pair(second.high, first.low + second.low + rest)
    }
}

/// The logarithm of any `x`: `result` if `x` is finite and above 0.
pub(super) fn at_ends<N: Number>(x: N, result: N) -> N {
    // Infinity and NaN are their own logarithms.
    let result = x.is_below(x.of(f64::INFINITY)).select(result, x);
    let zero = x.of(0.0);
    let result = x.is_at_most(zero).select(x.of(f64::NEG_INFINITY), result);
    x.is_below(zero).select(x.of(f64::NAN), result)
}

/// The logarithm.
pub(super) fn log<N: Number>(x: N) -> N {
    at_ends(x, ReducedNumber::of_any(x).log(None))
}

/// The logarithm of a single, with the digits of single precision.
pub(super) fn log_short<N: Number>(x: N) -> N {
    at_ends(x, ReducedNumber::of_normal(x).log_short())
}

/// The logarithm of a finite number above 0, as a pair.
pub(super) fn log_pair<N: Number>(x: N) -> Pair<N> {
    ReducedNumber::of_any(x).log_pair()
}

/// `1 + x` as a split, and the rounding error of its `f`.
fn split_one_plus<N: Number>(x: N) -> (ReducedNumber<N>, N) {
    let one = x.of(1.0);
    let sum = x + one;
    let part = sum - x;
    let error = (x - (sum - part)) + (one - part);
    let split = ReducedNumber::of_normal(sum);
    // 2^-k, but 0 for a large k, where the error is negligible.
    let inverse = split.power.of(2 * ONE_BITS).minus(split.power).bitcast();
    let is_large = x.of(100.0).is_below(split.exponent);
    let error = error * is_large.select(x.of(0.0), inverse);
    let f = pair(split.f, error);
    (ReducedNumber { f: f.high, ..split }, f.low)
}

/// The natural logarithm of `1 + x`, in double precision.
pub fn log_one_plus<N: Number>(x: N) -> N {
    let (split, error) = split_one_plus(x);
    let more = (-split.f).fma(error, error);
    or_zero_itself(x, at_ends(x + x.of(1.0), split.log(Some(more))))
}

/// The logarithm of `1 + x` with the digits of single precision.
pub(super) fn log_one_plus_short<N: Number>(x: N) -> N {
    let (split, _) = split_one_plus(x);
    or_zero_itself(x, at_ends(x + x.of(1.0), split.log_short()))
}
