//! LIR of single operations of columns.

use super::functions;
use crate::fault::{Fault, seeded};
use crate::lir::{Bin, Builder, Cast, Cmp, Rounding, Scalar, Ty, Value};
use sched_columns::{Binary, ColumnType, Unary};

/// The result of an operation on one value; `ty` is its type.
pub(super) fn unary(b: &mut Builder, op: Unary, x: Value, ty: Ty) -> Value {
    let from = b.ty(x);
    match op {
        Unary::Cast(to) => cast(b, x, to, ty),
        Unary::Negate if from.scalar.is_float() => with_bits(b, x, Bin::Xor, i64::MIN),
        Unary::Negate => {
            let (zero, x) = (b.int_of(ty, 0), widened(b, x, ty.scalar));
            b.sub(zero, x)
        }
        Unary::Abs if from.scalar.is_float() => with_bits(b, x, Bin::And, i64::MAX),
        Unary::Abs => {
            let (zero, x) = (b.int_of(ty, 0), widened(b, x, ty.scalar));
            let negative = b.sub(zero, x);
            b.max(x, negative)
        }
        Unary::SquareRoot => b.square_root(x),
        Unary::Exp
        | Unary::ExpMinusOne
        | Unary::Log
        | Unary::LogOnePlus
        | Unary::Tanh
        | Unary::Logistic
        | Unary::Erf
        | Unary::Sin
        | Unary::Cos => functions::unary(b, op, x),
        Unary::Floor => b.round(Rounding::Down, x),
        Unary::Ceil => b.round(Rounding::Up, x),
        Unary::Round => b.round(Rounding::Nearest, x),
        Unary::IsNan => b.cmp(Cmp::Uno, x, x),
        Unary::Not => {
            let none = b.int_of(from, 0);
            b.cmp(Cmp::Eq, x, none)
        }
    }
}

/// A value in another type, as [`ColumnValue::cast`] defines it.
fn cast(b: &mut Builder, x: Value, to: ColumnType, ty: Ty) -> Value {
    let from = b.ty(x);
    match to {
        ColumnType::Bool if from.scalar.is_float() => {
            let zero = b.float(from, 0.0);
            let (below, above) = (b.cmp(Cmp::ULt, x, zero), b.cmp(Cmp::ULt, zero, x));
            b.bin(Bin::Or, below, above)
        }
        ColumnType::Bool => is_set(b, x),
        ColumnType::I64 if from.scalar.is_float() => b.cast(Cast::FloatToInt, x, ty),
        ColumnType::I64 => widened(b, x, ty.scalar),
        ColumnType::F32 | ColumnType::F64 if from.scalar.is_float() => b.cast(Cast::Float, x, ty),
        ColumnType::F32 | ColumnType::F64 if from.scalar == Scalar::I1 => {
            let [one, zero] = [1.0, 0.0].map(|x| b.float(ty, x));
            b.select(x, one, zero)
        }
        ColumnType::F32 | ColumnType::F64 => b.cast(Cast::IntToFloat, x, ty),
    }
}

/// The result of an operation on two values.
pub(super) fn binary(b: &mut Builder, op: Binary, x: Value, y: Value) -> Value {
    let scalar = b.ty(x).scalar;
    let is_float = scalar.is_float();
    let (x, y) = match (op, is_float || scalar == Scalar::I1) {
        (_, true) => (x, y),
        (Binary::Less | Binary::LessOrEqual | Binary::Equal, _) if b.ty(x) == b.ty(y) => (x, y),
        _ => (widened(b, x, Scalar::I64), widened(b, y, Scalar::I64)),
    };
    match op {
        Binary::Add => b.add(x, y),
        Binary::Subtract => b.sub(x, y),
        Binary::Multiply => b.mul(x, y),
        Binary::Divide => b.bin(Bin::Div, x, y),
        Binary::Power => functions::power(b, x, y),
        Binary::Min if is_float => unless_nan(b, Cmp::OLt, (x, y), (x, y)),
        Binary::Max if is_float => unless_nan(b, Cmp::OLt, (y, x), (x, y)),
        Binary::Min => b.min(x, y),
        Binary::Max => b.max(x, y),
        Binary::Less => b.cmp(if is_float { Cmp::OLt } else { Cmp::Lt }, x, y),
        Binary::LessOrEqual => b.cmp(if is_float { at_most_cmp() } else { Cmp::Le }, x, y),
        Binary::Equal if is_float => {
            let (below, above) = (b.cmp(Cmp::OLe, x, y), b.cmp(Cmp::OLe, y, x));
            b.bin(Bin::And, below, above)
        }
        Binary::Equal => b.cmp(Cmp::Eq, x, y),
        Binary::And => b.bin(Bin::And, x, y),
        Binary::Or => b.bin(Bin::Or, x, y),
    }
}

/// The comparison `<=` of floats.
pub(super) fn at_most_cmp() -> Cmp {
    if seeded(Fault::EdgeNotReached) { Cmp::OLt } else { Cmp::OLe }
}

/// `x` if it is NaN or the comparison of `first` with `second` holds, else `y`.
fn unless_nan(b: &mut Builder, cmp: Cmp, (first, second): (Value, Value), (x, y): (Value, Value)) -> Value {
    let (is_nan, holds) = (b.cmp(Cmp::Uno, x, x), b.cmp(cmp, first, second));
    let takes_x = b.bin(Bin::Or, is_nan, holds);
    b.select(takes_x, x, y)
}

/// A bitwise operation on a float. `bits` are 64 bits, of which narrower types take the highest.
fn with_bits(b: &mut Builder, x: Value, op: Bin, bits: i64) -> Value {
    let ty = b.ty(x);
    let (integer, bits) = match ty.scalar {
        Scalar::F32 => (ty.with(Scalar::I32), i64::from((bits >> 32) as i32)),
        _ => (ty.with(Scalar::I64), bits),
    };
    let (as_integer, bits) = (b.cast(Cast::Bits, x, integer), b.int_of(integer, bits));
    let changed = b.bin(op, as_integer, bits);
    b.cast(Cast::Bits, changed, ty)
}

/// Whether an integer is not 0.
pub(super) fn is_set(b: &mut Builder, value: Value) -> Value {
    let zero = b.int_of(b.ty(value), 0);
    b.cmp(Cmp::Ne, value, zero)
}

/// An integer or truth value, widened to the type. Floats stay as they are.
pub(super) fn widened(b: &mut Builder, value: Value, scalar: Scalar) -> Value {
    let from = b.ty(value);
    match from.scalar {
        Scalar::F32 | Scalar::F64 => value,
        Scalar::I1 => b.cast(Cast::ZExt, value, from.with(scalar)),
        _ => b.cast(Cast::SExt, value, from.with(scalar)),
    }
}
