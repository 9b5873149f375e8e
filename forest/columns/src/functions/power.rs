//! Powers: `|x|^y = e^(y log |x|)`, and the rules of IEEE 754 for signs, zeros and infinities.

use super::exponential;
use super::logarithm;
use super::number::{Number, Truth};

/// `x^y`.
pub(super) fn power<N: Number>(x: N, y: N) -> N {
    with_rules(x, y, |size| {
        let log = logarithm::log_pair(size);
        let product = y * bounded(size, log.high);
        let error = y.fma(log.low, y.fma(log.high, -product));
        // For larger products the result is 0 or infinity, and the error may be NaN.
        let counts = product.magnitude().is_below(product.of(800.0));
        exponential::exp_of_pair(product, counts.select(error, product.of(0.0)))
    })
}

/// `x^y` with the digits of single precision.
pub(super) fn power_short<N: Number>(x: N, y: N) -> N {
    with_rules(x, y, |size| exponential::short::exp(y * logarithm::log(size)))
}

/// The logarithm of any `size`, which is not negative: `log` if `size` is finite and above 0.
fn bounded<N: Number>(size: N, log: N) -> N {
    // Infinity and NaN are their own logarithms.
    let log = size.is_below(size.of(f64::INFINITY)).select(log, size);
    size.is_at_most(size.of(0.0)).select(size.of(f64::NEG_INFINITY), log)
}

/// `x^y`, where `of_size` computes `|x|^y`.
fn with_rules<N: Number>(x: N, y: N, of_size: impl FnOnce(N) -> N) -> N {
    let [zero, one, infinity] = [0.0, 1.0, f64::INFINITY].map(|constant| x.of(constant));
    let size = x.magnitude();
    let result = of_size(size);
    // A power of 1 or -1 has magnitude 1, even for an infinite exponent.
    let is_one = size.is_at_most(one) & one.is_at_most(size) & y.is_at_most(infinity);
    let result = is_one.select(one, result);
    let half = y * y.of(0.5);
    let is_whole = y.is_at_most(y.nearest_whole()) & y.nearest_whole().is_at_most(y);
    let half_is_whole = half.is_at_most(half.nearest_whole()) & half.nearest_whole().is_at_most(half);
    // The rule for odd exponents also holds for -0 and minus infinity.
    let is_negative = one.signed_as(x).is_below(zero);
    let flipped = is_whole.select(half_is_whole.select(result, -result), result);
    let result = is_negative.select(flipped, result);
    let is_finite = size.is_below(infinity);
    let without = is_finite.select(is_whole.select(result, x.of(f64::NAN)), result);
    let result = x.is_below(zero).select(without, result);
    let is_always_one = (y.is_at_most(zero) & zero.is_at_most(y)) | (x.is_at_most(one) & one.is_at_most(x));
    is_always_one.select(one, result)
}
