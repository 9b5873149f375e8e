//! Values of columns and their types.

use std::hash::{Hash, Hasher};

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ColumnType {
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// Signed integers of 64 bits.
    I64,
    /// Truth values.
    Bool,
}

impl ColumnType {
    /// The type in texts: `f32`, `f64`, `i64` or `bool`.
    pub fn word(self) -> &'static str {
        match self {
            ColumnType::F32 => "f32",
            ColumnType::F64 => "f64",
            ColumnType::I64 => "i64",
            ColumnType::Bool => "bool",
        }
    }

    /// Whether values are floating-point numbers, which can be missing (NaN).
    pub fn is_float(self) -> bool {
        matches!(self, ColumnType::F32 | ColumnType::F64)
    }
}

/// A value of a column. Two values are equal if their types and all their bits are equal: NaN equals itself,
/// and -0 differs from 0.
#[derive(Clone, Copy, Debug)]
pub enum ColumnValue {
    /// A number in single precision.
    F32(f32),
    /// A number in double precision.
    F64(f64),
    /// An integer.
    I64(i64),
    /// A truth value.
    Bool(bool),
}

impl ColumnValue {
    /// The type.
    pub fn column_type(self) -> ColumnType {
        match self {
            ColumnValue::F32(_) => ColumnType::F32,
            ColumnValue::F64(_) => ColumnType::F64,
            ColumnValue::I64(_) => ColumnType::I64,
            ColumnValue::Bool(_) => ColumnType::Bool,
        }
    }

    /// The value converted to another type. To floating-point types it is rounded to nearest, ties to even.
    /// To integers the fraction is dropped; numbers out of range become the nearest integer, and NaN becomes
    /// 0. Truth values become 0 or 1. All numbers but 0 become true, also NaN.
    #[must_use]
    pub fn cast(self, to: ColumnType) -> ColumnValue {
        match (self, to) {
            (ColumnValue::F32(x), ColumnType::I64) => ColumnValue::I64(x as i64),
            (ColumnValue::F64(x), ColumnType::I64) => ColumnValue::I64(x as i64),
            (ColumnValue::I64(x), ColumnType::F32) => ColumnValue::F32(x as f32),
            (ColumnValue::I64(_) | ColumnValue::Bool(_), ColumnType::I64) => ColumnValue::I64(self.to_i64()),
            (_, ColumnType::F32) => ColumnValue::F32(self.to_f64() as f32),
            (_, ColumnType::F64) => ColumnValue::F64(self.to_f64()),
            (_, ColumnType::Bool) => ColumnValue::Bool(self.is_true()),
        }
    }

    /// The value in double precision. Integers are rounded.
    pub fn to_f64(self) -> f64 {
        match self {
            ColumnValue::F32(x) => x.into(),
            ColumnValue::F64(x) => x,
            ColumnValue::I64(x) => x as f64,
            ColumnValue::Bool(x) => f64::from(u8::from(x)),
        }
    }

    /// Whether the value is `true`, or a number but 0.
    pub fn is_true(self) -> bool {
        match self {
            ColumnValue::F32(x) => x != 0.0,
            ColumnValue::F64(x) => x != 0.0,
            ColumnValue::I64(x) => x != 0,
            ColumnValue::Bool(x) => x,
        }
    }

    /// Whether the value is a floating-point number that is missing.
    pub fn is_nan(self) -> bool {
        match self {
            ColumnValue::F32(x) => x.is_nan(),
            ColumnValue::F64(x) => x.is_nan(),
            ColumnValue::I64(_) | ColumnValue::Bool(_) => false,
        }
    }

    /// The value as an integer, as [`ColumnValue::cast`] converts it.
    pub fn to_i64(self) -> i64 {
        match self {
            ColumnValue::F32(x) => x as i64,
            ColumnValue::F64(x) => x as i64,
            ColumnValue::I64(x) => x,
            ColumnValue::Bool(x) => x.into(),
        }
    }

    /// All bits, as an integer.
    fn bits(self) -> u64 {
        match self {
            ColumnValue::F32(x) => x.to_bits().into(),
            ColumnValue::F64(x) => x.to_bits(),
            ColumnValue::I64(x) => x as u64,
            ColumnValue::Bool(x) => x.into(),
        }
    }
}

impl PartialEq for ColumnValue {
    fn eq(&self, other: &ColumnValue) -> bool {
        (self.column_type(), self.bits()) == (other.column_type(), other.bits())
    }
}

impl Eq for ColumnValue {}

impl Hash for ColumnValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.column_type(), self.bits()).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts_round_once() {
        let large = (1_i64 << 60) + (1 << 36) + 1;
        assert_eq!(
            ColumnValue::I64(large).cast(ColumnType::F32),
            ColumnValue::F32(((1_i64 << 60) + (1 << 37)) as f32)
        );
        assert_eq!(ColumnValue::F64(0.1).cast(ColumnType::F32), ColumnValue::F32(0.1));
        assert_eq!(ColumnValue::F64(-2.7).cast(ColumnType::I64), ColumnValue::I64(-2));
        assert_eq!(ColumnValue::F64(f64::NAN).cast(ColumnType::I64), ColumnValue::I64(0));
        assert_eq!(ColumnValue::F32(1e30).cast(ColumnType::I64), ColumnValue::I64(i64::MAX));
        assert_eq!(ColumnValue::F32(f32::NAN).cast(ColumnType::Bool), ColumnValue::Bool(true));
        assert_eq!(ColumnValue::Bool(true).cast(ColumnType::F32), ColumnValue::F32(1.0));
    }

    #[test]
    fn values_are_equal_by_their_bits() {
        assert_ne!(ColumnValue::F64(0.0), ColumnValue::F64(-0.0));
        assert_eq!(ColumnValue::F64(f64::NAN), ColumnValue::F64(f64::NAN));
        assert_ne!(ColumnValue::F32(1.0), ColumnValue::F64(1.0));
    }
}
