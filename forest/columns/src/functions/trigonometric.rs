//! Sine and cosine.
//!
//! A number is whole steps of a quarter or a half turn, and a rest `r`. Results in double precision have
//! quarter turns: the rest is a pair, and a polynomial of its sine or cosine is the result. Results in single
//! precision have half turns, so that a polynomial of the sine is enough.
//!
//! Up to [`LARGEST_WITHOUT_DIGITS`], `r` is the number minus the steps times the parts of `pi / 2`. For
//! larger numbers `r` depends on digits of `pi` that the exponent selects (Payne and Hanek).

use super::coefficients::{
    COSINE, HALF_PI_HIGH, HALF_PI_LOW, HALF_PI_MIDDLE, SINE, SINE_SHORT, TWO_BY_PI, TWO_BY_PI_DIGITS,
};
use super::exponential::{Pair, ROUNDING_SHIFT};
use super::logarithm::WHOLE_NUMBERS_START;
use super::number::{Number, Truth, Word};

/// Largest number that is divided into steps without the selection of digits: `2^23` quarter turns.
const LARGEST_WITHOUT_DIGITS: f64 = 13_176_794.0;

/// The steps into which numbers are divided: an offset plus whole steps.
#[derive(Clone, Copy)]
struct TurnSteps {
    /// Quarter turns in a step.
    quarters: f64,
    /// The offset in steps.
    offset: f64,
}

impl TurnSteps {
    /// Quarter turns.
    const QUARTERS: TurnSteps = TurnSteps { quarters: 1.0, offset: 0.0 };
    /// Half turns, at whose ends the sine is 0.
    const OF_SINE: TurnSteps = TurnSteps { quarters: 2.0, offset: 0.0 };
    /// Half turns, at whose ends the cosine is 0.
    const OF_COSINE: TurnSteps = TurnSteps { quarters: 2.0, offset: 0.5 };

    /// The number of whole steps nearest to a number of quarter turns times `turns`, plus [`ROUNDING_SHIFT`].
    fn shifted<N: Number>(self, x: N, turns: f64) -> N {
        let factor = x.of(turns / self.quarters);
        if self.offset == 0.0 {
            x.fma(factor, x.of(ROUNDING_SHIFT))
        } else {
            x.fma(factor, x.of(-self.offset)) + x.of(ROUNDING_SHIFT)
        }
    }

    /// The number of steps in quarter turns.
    fn in_quarters<N: Number>(self, shifted: N) -> N {
        let whole = shifted - shifted.of(ROUNDING_SHIFT);
        if self.offset == 0.0 && self.quarters == 1.0 {
            whole
        } else {
            whole.fma(whole.of(self.quarters), whole.of(self.offset * self.quarters))
        }
    }
}

/// A number that is divided into steps and a rest.
struct Divided<N> {
    /// [`ROUNDING_SHIFT`] plus the whole steps, whose low bits the low bits of the word are.
    shifted: N,
    /// The rest.
    rest: Pair<N>,
}

/// Divides a number that is not negative.
fn divided<N: Number>(size: N, steps: TurnSteps) -> Divided<N> {
    let shifted = steps.shifted(size, TWO_BY_PI);
    let quarters = steps.in_quarters(shifted);
    // The first difference has no error. Nor has the second one together with `error`.
    let first = quarters.fma(size.of(-HALF_PI_HIGH), size);
    let second = quarters.fma(size.of(-HALF_PI_MIDDLE), first);
    let error = quarters.fma(size.of(-HALF_PI_MIDDLE), first - second);
    let low = quarters.fma(size.of(-HALF_PI_LOW), error);
    let is_large = size.of(LARGEST_WITHOUT_DIGITS).is_below(size);
    let [shifted, high, low] = N::unless(is_large, [shifted, second, low], || divided_by_digits(size, steps));
    Divided { shifted, rest: Pair { high, low } }
}

/// As [`divided`], with a rest that is precise enough for results in single precision.
fn divided_short<N: Number>(size: N, steps: TurnSteps) -> (N, N) {
    let shifted = steps.shifted(size, TWO_BY_PI);
    let quarters = steps.in_quarters(shifted);
    let first = quarters.fma(size.of(-HALF_PI_HIGH), size);
    let rest = quarters.fma(size.of(-HALF_PI_MIDDLE), first);
    let is_large = size.of(LARGEST_WITHOUT_DIGITS).is_below(size);
    let [shifted, rest] = N::unless(is_large, [shifted, rest], || {
        let [shifted, high, _] = divided_by_digits(size, steps);
        [shifted, high]
    });
    (shifted, rest)
}

/// As [`divided`], for numbers above [`LARGEST_WITHOUT_DIGITS`]: the shifted steps, and both parts of the
/// rest. NaN for infinity.
fn divided_by_digits<N: Number>(size: N, steps: TurnSteps) -> [N; 3] {
    let (large, small, tiny) = products(size);
    let (mut sum, mut errors) = (large[0], [tiny; 4]);
    for (term, error) in large.iter().skip(1).zip(&mut errors) {
        let exact = exact_sum(sum, *term);
        (sum, *error) = (exact.high, exact.low);
    }
    let shifted = steps.shifted(sum, 1.0);
    let mut sum = sum - steps.in_quarters(shifted);
    let mut low = tiny;
    for term in errors.iter().chain(&small) {
        let exact = exact_sum(sum, *term);
        (sum, low) = (exact.high, low + exact.low);
    }
    let [high, middle] = [HALF_PI_HIGH, HALF_PI_MIDDLE].map(|part| size.of(part));
    let rest = sum * high;
    let error = sum.fma(high, -rest);
    // The product is NaN for infinity, else 0.
    let finite = size * size.of(0.0);
    [shifted, rest + finite, sum.fma(middle, low.fma(high, error))]
}

/// Bits of each of [`TWO_BY_PI_DIGITS`].
const DIGIT_BITS: i32 = 53;

/// The digits that a product needs.
const NEEDED_DIGITS: usize = 5;

/// `size * 2 / pi` without multiples of 4, as sums: terms below 4, terms below `2^-51`, and the remainder.
/// All but the remainder are exact.
fn products<N: Number>(size: N) -> ([N; 5], [N; 2], N) {
    // A product of the last bit of `size` with one of `skipped` digits is a multiple of 4.
    let word = size.word();
    let exponent = word.shift_right(52).or(word.of(WHOLE_NUMBERS_START.to_bits().cast_signed())).bitcast()
        - size.of(WHOLE_NUMBERS_START);
    let bits = f64::from(DIGIT_BITS);
    let skipped = ((exponent - size.of(1077.0 + 26.0)) * size.of(1.0 / bits)).nearest_whole().at_least(0.0);
    let places = skipped.fma(size.of(bits), size.of(ROUNDING_SHIFT)).word();
    let scaled = word.minus(places.shift_left(52)).bitcast();
    let digits = digits_from(skipped);
    let product = |at: usize| {
        let factor = scaled * size.of(2.0_f64.powi(-DIGIT_BITS * at as i32));
        let near = factor * digits[at];
        Pair { high: near, low: factor.fma(digits[at], -near) }
    };
    let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(product);
    let large = [without_turns(a.high), without_turns(a.low), without_turns(b.high), b.low, c.high];
    (large, [c.low, d.high], d.low + e.high)
}

/// The difference from the nearest multiple of 4.
fn without_turns<N: Number>(x: N) -> N {
    (x * x.of(0.25)).nearest_whole().fma(x.of(-4.0), x)
}

/// The digits of `2 / pi` behind the first `skipped` ones. A digit is selected by the bits of `skipped`, the
/// highest one first.
fn digits_from<N: Number>(skipped: N) -> [N; NEEDED_DIGITS] {
    let (mut digits, mut skipped) = (TWO_BY_PI_DIGITS.map(|digit| skipped.of(digit)), skipped);
    for step in [16, 8, 4, 2, 1] {
        let distance = skipped.of(step as f64);
        let is_far = distance.is_at_most(skipped);
        skipped = is_far.select(skipped - distance, skipped);
        // The following steps skip fewer than `step` digits.
        for at in 0..(step - 1 + NEEDED_DIGITS).min(digits.len() - step) {
            digits[at] = is_far.select(digits[at + step], digits[at]);
        }
    }
    [0, 1, 2, 3, 4].map(|at| digits[at])
}

/// The sum of two numbers as a pair.
fn exact_sum<N: Number>(x: N, y: N) -> Pair<N> {
    let sum = x + y;
    let part = sum - x;
    Pair { high: sum, low: (x - (sum - part)) + (y - part) }
}

/// The sine of a rest of a quarter turn.
fn sine<N: Number>(rest: &Pair<N>, square: N) -> N {
    let r = rest.high;
    let low = (square * r.of(-0.5)).fma(rest.low, rest.low);
    r + (r * square).fma(square.polynomial(&SINE), low)
}

/// The cosine of a rest of a quarter turn.
fn cosine<N: Number>(rest: &Pair<N>, square: N) -> N {
    let (one, half) = (square.of(1.0), square * square.of(0.5));
    let near = one - half;
    let error = (-rest.high).fma(rest.low, (one - near) - half);
    near + (square * square).fma(square.polynomial(&COSINE), error)
}

/// The sine of an angle that is not negative, after `more` quarter turns.
fn after_quarters<N: Number>(size: N, more: i64) -> N {
    let Divided { shifted, rest } = divided(size, TurnSteps::QUARTERS);
    let steps = shifted.word().plus(shifted.word().of(more));
    let square = rest.high * rest.high;
    let is_odd = size.of(0.0).is_below(steps.and(1).shift_left(62).bitcast());
    let value = is_odd.select(cosine(&rest, square), sine(&rest, square));
    value.word().plus(steps.and(2).shift_left(62)).bitcast()
}

/// The sine.
pub(super) fn sin<N: Number>(x: N) -> N {
    with_sign_of(x, after_quarters(x.magnitude(), 0))
}

/// The cosine.
pub(super) fn cos<N: Number>(x: N) -> N {
    after_quarters(x.magnitude(), 1)
}

/// The sine of a rest of half turns, negative if the sum of the whole steps and `more` is odd.
fn of_half_turns<N: Number>((shifted, rest): (N, N), more: i64) -> N {
    let square = rest * rest;
    let sine = (rest * square).fma(square.polynomial(&SINE_SHORT), rest);
    sine.word().plus(shifted.word().plus(shifted.word().of(more)).shift_left(63)).bitcast()
}

/// The sine with the digits of single precision.
pub(super) fn sin_short<N: Number>(x: N) -> N {
    with_sign_of(x, of_half_turns(divided_short(x.magnitude(), TurnSteps::OF_SINE), 0))
}

/// The cosine with the digits of single precision.
pub(super) fn cos_short<N: Number>(x: N) -> N {
    of_half_turns(divided_short(x.magnitude(), TurnSteps::OF_COSINE), 1)
}

/// `result`, with the other sign if `x` is negative.
fn with_sign_of<N: Number>(x: N, result: N) -> N {
    result.word().plus(x.word().and(i64::MIN)).bitcast()
}
