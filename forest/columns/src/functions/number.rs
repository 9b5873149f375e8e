//! The arithmetic in which functions are written: on doubles, or on code that computes doubles.

use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Sub};

/// A number in double precision. Each operation rounds once, to nearest.
pub trait Number:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
where
    Self: Neg<Output = Self>,
{
    /// The bits of a number.
    type Word: Word<Self>;
    /// The result of a comparison.
    type Truth: Truth<Self>;

    /// The constant `x`. Takes `self` since the code generator adds constants to the code of an existing
    /// value.
    #[must_use]
    fn of(self, x: f64) -> Self;
    /// `self * by + plus`, rounded once.
    #[must_use]
    fn fma(self, by: Self, plus: Self) -> Self;
    /// The square root.
    #[must_use]
    fn square_root(self) -> Self;
    /// The nearest whole number, ties to even.
    #[must_use]
    fn nearest_whole(self) -> Self;
    /// Whether the number is below another one. False if one is NaN.
    fn is_below(self, other: Self) -> Self::Truth;
    /// Whether the number is at most another one. False if one is NaN.
    fn is_at_most(self, other: Self) -> Self::Truth;
    /// The bits.
    fn word(self) -> Self::Word;
    /// The numbers `usual`, or those of `rare` if the comparison holds. `rare` may be slow: code of a vector
    /// computes it only if the comparison holds for some number of the vector.
    fn unless<const COUNT: usize>(
        is_rare: Self::Truth,
        usual: [Self; COUNT],
        rare: impl FnOnce() -> [Self; COUNT],
    ) -> [Self; COUNT];

    /// The number without its sign.
    #[must_use]
    fn magnitude(self) -> Self {
        self.word().and(i64::MAX).bitcast()
    }

    /// Returns this number with the sign of another one. This number must have that sign already, or be
    /// positive.
    #[must_use]
    fn signed_as(self, other: Self) -> Self {
        self.word().or(other.word().and(i64::MIN)).bitcast()
    }

    /// The number, limited to the interval from `low` to `high`. NaN remains NaN.
    #[must_use]
    fn clamped(self, low: f64, high: f64) -> Self {
        self.at_most(high).at_least(low)
    }

    /// The smaller of the number and `high`. NaN remains NaN.
    #[must_use]
    fn at_most(self, high: f64) -> Self {
        let high = self.of(high);
        high.is_below(self).select(high, self)
    }

    /// The larger of the number and `low`. NaN remains NaN.
    #[must_use]
    fn at_least(self, low: f64) -> Self {
        let low = self.of(low);
        self.is_below(low).select(low, self)
    }

    /// The value of a polynomial at this number. `coefficients` begin with the constant.
    #[must_use]
    fn polynomial(self, coefficients: &[f64]) -> Self {
        let mut highest_first = coefficients.iter().rev();
        let first = self.of(highest_first.next().copied().unwrap_or(0.0));
        highest_first.fold(first, |sum, coefficient| sum.fma(self, self.of(*coefficient)))
    }
}

/// The 64 bits of a number as an integer. Arithmetic wraps around.
pub trait Word<N>: Copy {
    /// The sum.
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// The difference.
    #[must_use]
    fn minus(self, other: Self) -> Self;
    /// The constant `n`.
    #[must_use]
    fn of(self, n: i64) -> Self;
    /// The bits that a mask selects.
    #[must_use]
    fn and(self, mask: i64) -> Self;
    /// The bits that are set in at least one of both words.
    #[must_use]
    fn or(self, other: Self) -> Self;
    /// The bits, shifted right.
    #[must_use]
    fn shift_right(self, places: u32) -> Self;
    /// The bits, shifted left.
    #[must_use]
    fn shift_left(self, places: u32) -> Self;
    /// Returns the number with these bits: the inverse of [`Number::word`].
    fn bitcast(self) -> N;
}

/// The result of a comparison.
pub trait Truth<N>: Copy + BitAnd<Output = Self> + BitOr<Output = Self> {
    /// One number if the comparison holds, else the other one.
    fn select(self, then: N, otherwise: N) -> N;
}

impl Number for f64 {
    type Word = i64;
    type Truth = bool;

    fn of(self, x: f64) -> f64 {
        x
    }

    fn fma(self, by: f64, plus: f64) -> f64 {
        self.mul_add(by, plus)
    }

    fn square_root(self) -> f64 {
        self.sqrt()
    }

    fn nearest_whole(self) -> f64 {
        self.round_ties_even()
    }

    fn is_below(self, other: f64) -> bool {
        self < other
    }

    fn is_at_most(self, other: f64) -> bool {
        self <= other
    }

    fn word(self) -> i64 {
        self.to_bits().cast_signed()
    }

    fn unless<const COUNT: usize>(
        is_rare: bool,
        usual: [f64; COUNT],
        rare: impl FnOnce() -> [f64; COUNT],
    ) -> [f64; COUNT] {
        if is_rare { rare() } else { usual }
    }
}

impl Word<f64> for i64 {
    fn plus(self, other: i64) -> i64 {
        self.wrapping_add(other)
    }

    fn minus(self, other: i64) -> i64 {
        self.wrapping_sub(other)
    }

    fn of(self, n: i64) -> i64 {
        n
    }

    fn and(self, mask: i64) -> i64 {
        self & mask
    }

    fn or(self, other: i64) -> i64 {
        self | other
    }

    fn shift_right(self, places: u32) -> i64 {
        (self.cast_unsigned() >> places).cast_signed()
    }

    fn shift_left(self, places: u32) -> i64 {
        self << places
    }

    fn bitcast(self) -> f64 {
        f64::from_bits(self.cast_unsigned())
    }
}

impl Truth<f64> for bool {
    fn select(self, then: f64, otherwise: f64) -> f64 {
        if self { then } else { otherwise }
    }
}
