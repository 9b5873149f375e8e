//! Quotients by a constant, without a division.
//!
//! Divisions of vectors take several times as long as products, and occupy a unit that processors have once.

use super::number::Number;

/// Dividends and divisors of which no step underflows or overflows are between this power of two and its
/// reciprocal.
const LEAST: f64 = f64::from_bits((1023 - 400) << 52);

/// The reciprocal of a divisor as the sum of two doubles, of which the first is the nearest double. `None` if
/// [`quotient`] does not take this divisor: if it is negative, zero, tiny, huge or NaN.
pub fn reciprocal(by: f64) -> Option<[f64; 2]> {
    let is_taken = (LEAST..=1.0 / LEAST).contains(&by);
    let high = 1.0 / by;
    // The fused product is exact.
    is_taken.then(|| [high, (-high).mul_add(by, 1.0) / by])
}

/// `x / by`, rounded to nearest, for the [`reciprocal`] of `by`.
///
/// `near` is one of the two doubles around the quotient (N. Brisebarre, J.-M. Muller and S. K. Raina,
/// "Accelerating Correctly Rounded Floating-Point Division when the Divisor Is Known in Advance", IEEE
/// Transactions on Computers, 2004). So `rest` is exact, and the last step rounds the exact quotient
/// (P. W. Markstein, "Computation of Elementary Functions on the IBM RISC System/6000 Processor", IBM Journal
/// of Research and Development, 1990).
pub fn quotient<N: Number>(x: N, by: N, [high, low]: [N; 2]) -> N {
    let near = x.fma(high, x * low);
    let rest = (-near).fma(by, x);
    let corrected = rest.fma(high, near);
    // The quotient has the sign of `x`; the corrected quotient of -0 is 0.
    let usual = corrected.signed_as(x);
    let (size, zero) = (x.magnitude(), x.of(0.0));
    let is_tiny = zero.is_below(size) & size.is_below(x.of(LEAST));
    let is_rare = is_tiny | x.of(1.0 / LEAST).is_below(size);
    let [quotient] = N::unless(is_rare, [usual], || [x / by]);
    quotient
}
