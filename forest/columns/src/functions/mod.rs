//! Functions of columns, with the same bits on every machine.
//!
//! The functions of a C library differ between libraries and processors, and GPUs have none. So each function
//! is written here once, over the trait [`Number`]. The evaluator calls it with doubles. The code generator
//! calls it with operands of LIR, so that each operation emits code that computes the same bits. The code
//! works on vectors too, since no table is in memory, and there is only [one branch](Number::unless).
//!
//! Results in double precision are within 1 unit in the last place of the exact ones. Functions of singles
//! are computed in doubles, with shorter polynomials, and then rounded. A few results are not the nearest
//! single, but its neighbour. Outputs of forests use [`log_of_single`] and [`log_one_plus`].

mod coefficients;
mod error_function;
mod exponential;
mod library_logarithm;
mod logarithm;
mod number;
mod power;
mod quotient;
#[cfg(test)]
mod tests;
mod trigonometric;

use crate::expr::Unary;
use crate::float::Float;
pub use library_logarithm::log_of_single;
pub use logarithm::log_one_plus;
pub use number::{Number, Truth, Word};
pub use quotient::{quotient, reciprocal};

/// The value of a function for a number, or `None` if `op` is no function. For `Float::F32` the caller rounds
/// the result to single precision.
pub fn unary<N: Number>(op: Unary, float: Float, x: N) -> Option<N> {
    use exponential::short;
    Some(match (op, float) {
        (Unary::Exp, Float::F64) => exponential::exp(x),
        (Unary::Exp, Float::F32) => short::exp(x),
        (Unary::ExpMinusOne, Float::F64) => exponential::exp_minus_one(x),
        (Unary::ExpMinusOne, Float::F32) => short::exp_minus_one(x),
        (Unary::Log, Float::F64) => logarithm::log(x),
        (Unary::Log, Float::F32) => logarithm::log_short(x),
        (Unary::LogOnePlus, Float::F64) => logarithm::log_one_plus(x),
        (Unary::LogOnePlus, Float::F32) => logarithm::log_one_plus_short(x),
        (Unary::Tanh, Float::F64) => exponential::tanh(x),
        (Unary::Tanh, Float::F32) => short::tanh(x),
        (Unary::Logistic, Float::F64) => exponential::logistic(x),
        (Unary::Logistic, Float::F32) => short::logistic(x),
        (Unary::Sin, Float::F64) => trigonometric::sin(x),
        (Unary::Sin, Float::F32) => trigonometric::sin_short(x),
        (Unary::Cos, Float::F64) => trigonometric::cos(x),
        (Unary::Cos, Float::F32) => trigonometric::cos_short(x),
        (Unary::Erf, _) => error_function::erf(x),
        (Unary::SquareRoot, _) => x.square_root(),
        _ => return None,
    })
}

/// `x^y`. For `Float::F32` the caller rounds the result to single precision.
pub fn power<N: Number>(float: Float, x: N, y: N) -> N {
    match float {
        Float::F64 => power::power(x, y),
        Float::F32 => power::power_short(x, y),
    }
}
