//! Arithmetic on one lane.
//!
//! A lane is 64 bits. Integers are sign-extended; truth values are integers of one bit, so true is all ones;
//! floats are their bits. No function fails; combinations that the verifier rejects have an arbitrary result.

use crate::lir::{Bin, Cast, Cmp, Math, Rounding, Scalar, bit_width};

/// The low bits of an integer, as a lane of the type.
#[inline]
pub(super) fn wrap(scalar: Scalar, n: i64) -> u64 {
    let unused = match scalar {
        Scalar::I1 => 63,
        Scalar::I8 => 56,
        Scalar::I16 => 48,
        Scalar::I32 => 32,
        Scalar::I64 | Scalar::F32 | Scalar::F64 => 0,
    };
    ((n << unused) >> unused) as u64
}

/// The low bits of a lane, with zeros above.
fn zero_extended(scalar: Scalar, lane: u64) -> u64 {
    match scalar {
        Scalar::I1 => lane & 1,
        Scalar::I8 => lane & 0xff,
        Scalar::I16 => lane & 0xffff,
        Scalar::I32 | Scalar::F32 => lane & 0xffff_ffff,
        Scalar::I64 | Scalar::F64 => lane,
    }
}

#[inline]
fn truth(holds: bool) -> u64 {
    if holds { u64::MAX } else { 0 }
}

#[inline]
fn lane_as_f32(lane: u64) -> f32 {
    f32::from_bits(lane as u32)
}

#[inline]
fn lane_as_f64(lane: u64) -> f64 {
    f64::from_bits(lane)
}

/// A float as a lane of the type; rounds to nearest.
pub(super) fn float(scalar: Scalar, x: f64) -> u64 {
    match scalar {
        Scalar::F32 => u64::from((x as f32).to_bits()),
        _ => x.to_bits(),
    }
}

/// Two-operand arithmetic.
#[inline]
pub(super) fn bin(op: Bin, scalar: Scalar, a: u64, b: u64) -> u64 {
    macro_rules! floats {
        ($x:expr, $y:expr, $nan:expr) => {{
            let (x, y) = ($x, $y);
            match op {
                Bin::Add => x + y,
                Bin::Sub => x - y,
                Bin::Mul => x * y,
                Bin::Div => x / y,
                // Not the methods `min` and `max` of floats, which return the operand that is no NaN.
                Bin::Min => {
                    if x < y {
                        x
                    } else {
                        y
                    }
                }
                Bin::Max => {
                    if x > y {
                        x
                    } else {
                        y
                    }
                }
                Bin::IDiv | Bin::And | Bin::Or | Bin::Xor | Bin::Shr => $nan,
            }
            .to_bits()
        }};
    }
    match scalar {
        Scalar::F32 => u64::from(floats!(lane_as_f32(a), lane_as_f32(b), f32::NAN)),
        Scalar::F64 => floats!(lane_as_f64(a), lane_as_f64(b), f64::NAN),
        _ if op == Bin::Shr => {
            wrap(scalar, (zero_extended(scalar, a) >> (b & u64::from(bit_width(scalar) - 1))) as i64)
        }
        _ => wrap(scalar, integer_arithmetic(op, a as i64, b as i64)),
    }
}

fn integer_arithmetic(op: Bin, x: i64, y: i64) -> i64 {
    match op {
        Bin::Add => x.wrapping_add(y),
        Bin::Sub => x.wrapping_sub(y),
        Bin::Mul => x.wrapping_mul(y),
        Bin::Div | Bin::IDiv => x.checked_div(y).unwrap_or(0),
        Bin::Shr => ((x as u64) >> (y & 63)) as i64,
        Bin::And => x & y,
        Bin::Or => x | y,
        Bin::Xor => x ^ y,
        Bin::Min => x.min(y),
        Bin::Max => x.max(y),
    }
}

/// A comparison of two lanes of the type.
#[inline]
pub(super) fn cmp(op: Cmp, scalar: Scalar, a: u64, b: u64) -> u64 {
    truth(match scalar {
        // Widening is exact, so one comparison serves both float types.
        Scalar::F32 => compare_floats(op, f64::from(lane_as_f32(a)), f64::from(lane_as_f32(b))),
        Scalar::F64 => compare_floats(op, lane_as_f64(a), lane_as_f64(b)),
        _ => match op {
            Cmp::Eq => a == b,
            Cmp::Ne => a != b,
            Cmp::Lt | Cmp::OLt | Cmp::ULt => (a as i64) < (b as i64),
            Cmp::Le | Cmp::OLe | Cmp::ULe => (a as i64) <= (b as i64),
            // Integers are sign-extended, which also preserves their unsigned order.
            Cmp::UnsignedLt => a < b,
            Cmp::Uno => false,
        },
    })
}

fn compare_floats(op: Cmp, x: f64, y: f64) -> bool {
    let unordered = x.is_nan() || y.is_nan();
    match op {
        Cmp::Eq => x == y,
        Cmp::Ne => x != y,
        Cmp::Lt | Cmp::UnsignedLt | Cmp::OLt => x < y,
        Cmp::Le | Cmp::OLe => x <= y,
        Cmp::ULt => unordered || x < y,
        Cmp::ULe => unordered || x <= y,
        Cmp::Uno => unordered,
    }
}

/// Converts one lane, held in 64 bits.
#[inline]
pub(super) fn cast(cast: Cast, from: Scalar, to: Scalar, lane: u64) -> u64 {
    match cast {
        Cast::ZExt => wrap(to, zero_extended(from, lane) as i64),
        Cast::SExt => lane,
        Cast::Trunc => wrap(to, lane as i64),
        Cast::Float => match from {
            Scalar::F32 => float(to, f64::from(lane_as_f32(lane))),
            _ => float(to, lane_as_f64(lane)),
        },
        Cast::IntToFloat => match to {
            // Converts directly, since a conversion through `f64` would round twice.
            Scalar::F32 => u64::from((lane as i64 as f32).to_bits()),
            _ => (lane as i64 as f64).to_bits(),
        },
        Cast::FloatToInt => {
            let x = if from == Scalar::F32 { f64::from(lane_as_f32(lane)) } else { lane_as_f64(lane) };
            match to {
                Scalar::I32 => wrap(to, i64::from(x as i32)),
                _ => x as i64 as u64,
            }
        }
        Cast::Bits if to.is_float() => zero_extended(to, lane),
        Cast::Bits => wrap(to, lane as i64),
    }
}

/// An element of a table as a lane of a look-up's result: integers are zero-extended.
#[inline]
pub(super) fn widen(from: Scalar, to: Scalar, lane: u64) -> u64 {
    if from == to { lane } else { cast(Cast::ZExt, from, to, lane) }
}

/// A function of the C library, by the standard library's methods, which call it.
pub(super) fn math(math: Math, scalar: Scalar, lane: u64) -> u64 {
    type Of<T> = fn(T) -> T;
    let (single_function, double_function): (Of<f32>, Of<f64>) = match math {
        Math::Exp => (f32::exp, f64::exp),
        Math::PowerOfTwo => (f32::exp2, f64::exp2),
    };
    match scalar {
        Scalar::F32 => u64::from(single_function(lane_as_f32(lane)).to_bits()),
        _ => double_function(lane_as_f64(lane)).to_bits(),
    }
}

/// `a * b + c`, rounded once.
pub(super) fn fma(scalar: Scalar, [a, b, c]: [u64; 3]) -> u64 {
    match scalar {
        Scalar::F32 => u64::from(lane_as_f32(a).mul_add(lane_as_f32(b), lane_as_f32(c)).to_bits()),
        _ => lane_as_f64(a).mul_add(lane_as_f64(b), lane_as_f64(c)).to_bits(),
    }
}

/// The square root of a float.
pub(super) fn square_root(scalar: Scalar, lane: u64) -> u64 {
    match scalar {
        Scalar::F32 => u64::from(lane_as_f32(lane).sqrt().to_bits()),
        _ => lane_as_f64(lane).sqrt().to_bits(),
    }
}

/// A float as a whole number of its type.
pub(super) fn round(rounding: Rounding, scalar: Scalar, lane: u64) -> u64 {
    let x = if scalar == Scalar::F32 { f64::from(lane_as_f32(lane)) } else { lane_as_f64(lane) };
    // A single-precision number rounds to a whole number that single precision represents.
    float(
        scalar,
        match rounding {
            Rounding::Down => x.floor(),
            Rounding::Up => x.ceil(),
            Rounding::Nearest => x.round_ties_even(),
        },
    )
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(bytes);
    array
}

/// A lane from memory; `bytes` has the size of the type.
#[inline]
pub(super) fn decode(scalar: Scalar, bytes: &[u8]) -> u64 {
    match scalar {
        Scalar::I1 | Scalar::I8 => i64::from(i8::from_le_bytes(array(bytes))) as u64,
        Scalar::I16 => i64::from(i16::from_le_bytes(array(bytes))) as u64,
        Scalar::I32 => i64::from(i32::from_le_bytes(array(bytes))) as u64,
        Scalar::F32 => u64::from(u32::from_le_bytes(array(bytes))),
        Scalar::I64 | Scalar::F64 => u64::from_le_bytes(array(bytes)),
    }
}

/// Writes a lane to memory; `bytes` has the size of the type.
#[inline]
pub(super) fn encode(scalar: Scalar, lane: u64, bytes: &mut [u8]) {
    match scalar {
        Scalar::I1 | Scalar::I8 => bytes.copy_from_slice(&(lane as u8).to_le_bytes()),
        Scalar::I16 => bytes.copy_from_slice(&(lane as u16).to_le_bytes()),
        Scalar::I32 | Scalar::F32 => bytes.copy_from_slice(&(lane as u32).to_le_bytes()),
        Scalar::I64 | Scalar::F64 => bytes.copy_from_slice(&lane.to_le_bytes()),
    }
}
