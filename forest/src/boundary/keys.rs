//! Keys: whole numbers in the order of the values that they represent. Neighbouring values have consecutive
//! keys.

use crate::category::is_nearly_zero;
use crate::forest::Float;

/// A value as its position in the order of its type. -0 comes directly before +0.
pub(super) type OrderKey = i64;

/// The key of NaN.
pub(super) const NAN_KEY: OrderKey = OrderKey::MAX;

/// The key of a value, after rounding to the type `float`.
pub(super) fn key(float: Float, value: f64) -> OrderKey {
    if value.is_nan() {
        return NAN_KEY;
    }
    match float {
        Float::F32 => {
            let bits = (value as f32).to_bits() as i32;
            i64::from(if bits < 0 { bits ^ i32::MAX } else { bits })
        }
        Float::F64 => {
            let bits = value.to_bits() as i64;
            if bits < 0 { bits ^ i64::MAX } else { bits }
        }
    }
}

/// The value of a key.
pub(super) fn value(float: Float, key: OrderKey) -> f64 {
    if key == NAN_KEY {
        return f64::NAN;
    }
    match float {
        Float::F32 => {
            let key = key as i32;
            f64::from(f32::from_bits(if key < 0 { key ^ i32::MAX } else { key } as u32))
        }
        Float::F64 => f64::from_bits(if key < 0 { key ^ i64::MAX } else { key } as u64),
    }
}

/// An interval of keys, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct KeyRange {
    /// The smallest key.
    pub first: OrderKey,
    /// The largest key; below `first` if the interval is empty.
    pub last: OrderKey,
}

impl KeyRange {
    /// The empty interval.
    pub const NONE: KeyRange = KeyRange { first: 0, last: -1 };

    /// All values of a type, or all but the infinities.
    pub fn all(float: Float, finite: bool) -> KeyRange {
        let most = match (float, finite) {
            (_, false) => f64::INFINITY,
            (Float::F32, true) => f64::from(f32::MAX),
            (Float::F64, true) => f64::MAX,
        };
        KeyRange { first: key(float, -most), last: key(float, most) }
    }

    /// The values that `rounded` maps to nearly zero.
    pub fn nearly_zero(float: Float, rounded: impl Fn(f64) -> f64) -> KeyRange {
        let positive = KeyRange { first: 0, last: key(float, 1.0) };
        let last = positive.last_where(|key| is_nearly_zero(rounded(value(float, key)))).unwrap_or(0);
        KeyRange { first: -last - 1, last }
    }

    /// Whether the interval is empty.
    pub fn is_empty(self) -> bool {
        self.first > self.last
    }

    /// Whether the interval contains a key.
    pub fn contains(self, key: OrderKey) -> bool {
        self.first <= key && key <= self.last
    }

    /// Whether two intervals overlap.
    pub fn overlaps(self, other: KeyRange) -> bool {
        self.first.max(other.first) <= self.last.min(other.last)
    }

    /// The last key that passes a monotone test: keys up to it pass, and later ones fail. `None` if the first
    /// key fails.
    pub fn last_where(self, passes: impl Fn(OrderKey) -> bool) -> Option<OrderKey> {
        // Keys of doubles are far from the ends of their type, so nothing overflows.
        let (mut below, mut above) = (self.first - 1, self.last + 1);
        while below + 1 < above {
            let middle = below.midpoint(above);
            if passes(middle) {
                below = middle;
            } else {
                above = middle;
            }
        }
        (below >= self.first).then_some(below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_as_values_are() {
        let values = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-35, 1.0, 3.0, f64::INFINITY];
        for float in [Float::F32, Float::F64] {
            assert!(values.is_sorted_by_key(|x| key(float, *x)));
            for x in values {
                let rounded = if float == Float::F32 { f64::from(x as f32) } else { x };
                assert_eq!(value(float, key(float, x)).to_bits(), rounded.to_bits());
            }
            assert_eq!(key(float, -0.0) + 1, key(float, 0.0));
            assert!(value(float, key(float, f64::NAN)).is_nan());
        }
        assert_eq!(value(Float::F32, key(Float::F32, 2.5) + 1), f64::from(2.5f32.next_up()));
        assert_eq!(value(Float::F64, key(Float::F64, -2.5) + 1), (-2.5f64).next_up());
    }

    #[test]
    fn the_last_key_that_passes_is_found() {
        let keys = KeyRange { first: -5, last: 7 };
        assert_eq!(keys.last_where(|key| key <= 3), Some(3));
        assert_eq!(keys.last_where(|_| true), Some(7));
        assert_eq!(keys.last_where(|_| false), None);
        let zeros = KeyRange::nearly_zero(Float::F64, |x| f64::from(x as f32));
        let edge = value(Float::F64, zeros.last);
        assert!(edge > f64::from(1e-35f32) && is_nearly_zero(f64::from(edge as f32)));
        assert!(!is_nearly_zero(f64::from(edge.next_up() as f32)));
    }
}
