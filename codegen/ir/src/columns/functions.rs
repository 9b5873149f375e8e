//! Functions of columns as code: the algorithms of [`sched_columns::functions`] on values of LIR, for one
//! number or for each lane of a vector.

use crate::fault::{Fault, seeded};
use crate::lir::{Bin, Builder, Cast, Cmp, Rounding, Scalar, Ty, Value};
use sched_columns::functions::{self, Number, Truth, Word};
use sched_columns::{Float, Unary};
use std::array;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Sub};

/// The value of a function of a float, in the float's type; 0 if `op` is none of
/// [`sched_columns::functions`].
pub fn unary(b: &mut Builder, op: Unary, x: Value) -> Value {
    in_doubles(b, [x], |float, [x]| functions::unary(op, float, x).unwrap_or_else(|| x.of(0.0)))
}

/// The natural logarithm of a single, as the C library rounds it.
pub fn log_of_single(b: &mut Builder, x: Value) -> Value {
    in_doubles(b, [x], |_, [x]| functions::log_of_single(x))
}

/// The natural logarithm of `1 + x`, computed in double precision and rounded once to the type of `x`. For
/// singles it has more digits than [`Unary::LogOnePlus`].
pub fn log_one_plus(b: &mut Builder, x: Value) -> Value {
    in_doubles(b, [x], |_, [x]| functions::log_one_plus(x))
}

/// `x` to the power of `y`; both are floats of one type.
pub fn power(b: &mut Builder, x: Value, y: Value) -> Value {
    in_doubles(b, [x, y], |float, [x, y]| functions::power(float, x, y))
}

/// `x / by`, rounded to nearest, for the two parts of the reciprocal of `by`. All are doubles, or vectors of
/// doubles of one length.
pub fn quotient(b: &mut Builder, x: Value, by: Value, [high, low]: [Value; 2]) -> Value {
    in_doubles(b, [x, by, high, low], |_, [x, by, high, low]| functions::quotient(x, by, [high, low]))
}

/// Computes with floats as doubles, and rounds the result to their type.
fn in_doubles<const N: usize>(
    b: &mut Builder,
    operands: [Value; N],
    compute: impl for<'n, 'b> FnOnce(Float, [Double<'n, 'b>; N]) -> Double<'n, 'b>,
) -> Value {
    let own = operands.first().map_or(Ty::of(Scalar::F64), |x| b.ty(*x));
    let float = if own.scalar == Scalar::F32 { Float::F32 } else { Float::F64 };
    let ty = own.with(Scalar::F64);
    let operands = operands.map(|x| b.cast(Cast::Float, x, ty));
    let code = FunctionCode { builder: RefCell::new(b), ty, constants: RefCell::default() };
    let result = compute(float, operands.map(|value| code.double(value))).value;
    b.cast(Cast::Float, result, own)
}

/// The LIR function to which operations are appended.
struct FunctionCode<'b> {
    builder: RefCell<&'b mut Builder>,
    /// Type of numbers: doubles, or vectors of doubles.
    ty: Ty,
    /// Constants by their bits.
    constants: RefCell<HashMap<u64, Value>>,
}

impl<'b> FunctionCode<'b> {
    fn double(&self, value: Value) -> Double<'_, 'b> {
        Double { code: self, value }
    }

    fn bits(&self, value: Value) -> NumberBits<'_, 'b> {
        NumberBits { code: self, value }
    }

    fn constant(&self, x: f64) -> Value {
        let constant = || self.builder.borrow_mut().float(self.ty, x);
        *self.constants.borrow_mut().entry(x.to_bits()).or_insert_with(constant)
    }

    fn integer(&self, n: i64) -> Value {
        self.builder.borrow_mut().int_of(self.ty.with(Scalar::I64), n)
    }

    fn bin(&self, op: Bin, a: Value, b: Value) -> Value {
        self.builder.borrow_mut().bin(op, a, b)
    }

    /// Whether a comparison holds for no number.
    fn is_nowhere(&self, comparison: Value) -> Value {
        let mut builder = self.builder.borrow_mut();
        let (any, never) = (builder.any(comparison), builder.int_of(Ty::I1, 0));
        builder.cmp(Cmp::Eq, any, never)
    }

    fn cast_bits(&self, value: Value, to: Scalar) -> Value {
        self.builder.borrow_mut().cast(Cast::Bits, value, self.ty.with(to))
    }
}

/// A number that code computes.
#[derive(Clone, Copy)]
struct Double<'n, 'b> {
    code: &'n FunctionCode<'b>,
    value: Value,
}

/// The bits of a number.
#[derive(Clone, Copy)]
struct NumberBits<'n, 'b> {
    code: &'n FunctionCode<'b>,
    value: Value,
}

/// The result of a comparison.
#[derive(Clone, Copy)]
struct ComparisonBits<'n, 'b> {
    code: &'n FunctionCode<'b>,
    value: Value,
}

/// Implements an operator for two operands as an operation of LIR.
macro_rules! arithmetic {
    ($($of:ident: $trait:ident::$method:ident is $op:ident;)*) => { $(
        impl $trait for $of<'_, '_> {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                Self { value: self.code.bin(Bin::$op, self.value, other.value), ..self }
            }
        }
    )* };
}

arithmetic! {
    Double: Add::add is Add;
    Double: Sub::sub is Sub;
    Double: Mul::mul is Mul;
    Double: Div::div is Div;
    ComparisonBits: BitAnd::bitand is And;
    ComparisonBits: BitOr::bitor is Or;
}

impl Neg for Double<'_, '_> {
    type Output = Self;

    fn neg(self) -> Self {
        let (bits, sign) = (self.word(), self.code.integer(i64::MIN));
        NumberBits { value: self.code.bin(Bin::Xor, bits.value, sign), ..bits }.bitcast()
    }
}

impl<'n, 'b> Double<'n, 'b> {
    fn compared(self, op: Cmp, other: Self) -> ComparisonBits<'n, 'b> {
        let value = self.code.builder.borrow_mut().cmp(op, self.value, other.value);
        ComparisonBits { code: self.code, value }
    }
}

impl<'n, 'b> Number for Double<'n, 'b> {
    type Word = NumberBits<'n, 'b>;
    type Truth = ComparisonBits<'n, 'b>;

    fn of(self, x: f64) -> Self {
        self.code.double(self.code.constant(x))
    }

    fn fma(self, by: Self, plus: Self) -> Self {
        if seeded(Fault::FunctionsRoundTwice) {
            return self * by + plus;
        }
        let value = self.code.builder.borrow_mut().fma(self.value, by.value, plus.value);
        self.code.double(value)
    }

    fn square_root(self) -> Self {
        let value = self.code.builder.borrow_mut().square_root(self.value);
        self.code.double(value)
    }

    fn nearest_whole(self) -> Self {
        let value = self.code.builder.borrow_mut().round(Rounding::Nearest, self.value);
        self.code.double(value)
    }

    fn is_below(self, other: Self) -> Self::Truth {
        self.compared(Cmp::OLt, other)
    }

    fn is_at_most(self, other: Self) -> Self::Truth {
        self.compared(Cmp::OLe, other)
    }

    fn word(self) -> Self::Word {
        self.code.bits(self.code.cast_bits(self.value, Scalar::I64))
    }

    fn unless<const COUNT: usize>(
        is_rare: Self::Truth,
        usual: [Self; COUNT],
        rare: impl FnOnce() -> [Self; COUNT],
    ) -> [Self; COUNT] {
        if seeded(Fault::RareNumbersAreUsual) {
            return usual;
        }
        let code = is_rare.code;
        let is_usual = code.is_nowhere(is_rare.value);
        code.builder.borrow_mut().open_block();
        let of_rare = rare();
        let joined: [Value; COUNT] =
            array::from_fn(|number| is_rare.select(of_rare[number], usual[number]).value);
        let mut builder = code.builder.borrow_mut();
        let rare = builder.close_block();
        let values = usual.map(|number| number.value);
        let after = builder.branch(is_usual, (Vec::new(), &values), (rare, &joined));
        array::from_fn(|number| code.double(after[number]))
    }
}

impl<'n, 'b> Word<Double<'n, 'b>> for NumberBits<'n, 'b> {
    fn plus(self, other: Self) -> Self {
        self.code.bits(self.code.bin(Bin::Add, self.value, other.value))
    }

    fn minus(self, other: Self) -> Self {
        self.code.bits(self.code.bin(Bin::Sub, self.value, other.value))
    }

    fn of(self, n: i64) -> Self {
        self.code.bits(self.code.integer(n))
    }

    fn and(self, mask: i64) -> Self {
        self.code.bits(self.code.bin(Bin::And, self.value, self.code.integer(mask)))
    }

    fn or(self, other: Self) -> Self {
        self.code.bits(self.code.bin(Bin::Or, self.value, other.value))
    }

    fn shift_right(self, places: u32) -> Self {
        self.code.bits(self.code.bin(Bin::Shr, self.value, self.code.integer(places.into())))
    }

    fn shift_left(self, places: u32) -> Self {
        // LLVM turns this product into a shift.
        self.code.bits(self.code.bin(Bin::Mul, self.value, self.code.integer(1_i64 << places)))
    }

    fn bitcast(self) -> Double<'n, 'b> {
        self.code.double(self.code.cast_bits(self.value, Scalar::F64))
    }
}

impl<'n, 'b> Truth<Double<'n, 'b>> for ComparisonBits<'n, 'b> {
    fn select(self, then: Double<'n, 'b>, otherwise: Double<'n, 'b>) -> Double<'n, 'b> {
        let value = self.code.builder.borrow_mut().select(self.value, then.value, otherwise.value);
        self.code.double(value)
    }
}
