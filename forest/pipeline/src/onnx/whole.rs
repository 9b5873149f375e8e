//! Whole numbers divided by constants and raised to constant powers, and remainders of singles by constants.
//!
//! Columns can divide only floating-point numbers. So whole numbers are divided as doubles. The remainder
//! after the first quotient is small, so that a second division makes the result exact.

use super::builder::GraphColumns;
use super::formula::Formula;
use super::node::GraphNode;
use super::tensor::{ColumnResult, Outputs, TensorElement};
use sched_columns::{Binary, ColumnId, ColumnValue, Expr, Unary};
use sched_forest::ModelError;

/// Bound of divisors of whole numbers. Doubles represent remainders of up to twice this bound exactly, so
/// that their quotients, rounded down, are exact too.
const LARGEST_DIVISOR: u64 = 1 << 50;

/// Largest exponent of a whole number. Larger exponents make numbers of more than 64 bits.
const LARGEST_EXPONENT: i64 = 62;

/// Number of bits of the quotient in one step of a remainder of singles. The product of such a quotient with
/// a single is exact in double precision.
const QUOTIENT_BITS: i32 = 29;

/// Applies an operation to each whole number of a tensor and a constant.
fn by_constant(
    node: &GraphNode,
    builder: &mut GraphColumns,
    mut operation: impl FnMut(&mut GraphColumns, ColumnId, i64) -> Result<Option<ColumnId>, ModelError>,
) -> Outputs {
    let (of, by) = (node.input(0)?, node.input(1)?);
    if by.element.is_float() || !matches!(of.element, TensorElement::I32 | TensorElement::I64) {
        return Err(node.refuse("mixes whole numbers with other types"));
    }
    let computed = node.elementwise(builder, &[of, by], of.element, |builder, cells| {
        let Some(ColumnValue::I64(by)) = builder.constant(cells[1]) else {
            return Err(node.refuse("divides by a whole number of the row, or has one as exponent"));
        };
        operation(builder, cells[0], by)?
            .ok_or_else(|| node.refuse(&format!("has the divisor or exponent {by}, which is not supported")))
    });
    Ok(vec![computed?])
}

/// Quotient and remainder of a whole number.
struct QuotientAndRest {
    quotient: ColumnId,
    rest: ColumnId,
}

/// The quotient, rounded down, and the remainder, which has the sign of the divisor. `None` if the divisor is
/// 0 or too large.
fn divided(builder: &mut GraphColumns, x: ColumnId, by: i64) -> Result<Option<QuotientAndRest>, ModelError> {
    if by == 0 || by.unsigned_abs() >= LARGEST_DIVISOR {
        return Ok(None);
    }
    let divisor = builder.columns.constant(ColumnValue::I64(by));
    let wide = builder.columns.constant(ColumnValue::F64(by as f64));
    let mut step = |x: ColumnId| {
        let number = builder.cast(&[x], TensorElement::F64)?[0];
        let quotient = builder.add(Expr::Binary(Binary::Divide, number, wide))?;
        let quotient = builder.add(Expr::Unary(Unary::Floor, quotient))?;
        let quotient = builder.cast(&[quotient], TensorElement::I64)?[0];
        let product = builder.add(Expr::Binary(Binary::Multiply, quotient, divisor))?;
        let rest = builder.add(Expr::Binary(Binary::Subtract, x, product))?;
        Ok::<_, ModelError>(QuotientAndRest { quotient, rest })
    };
    let first = step(x)?;
    let second = step(first.rest)?;
    let quotient = builder.add(Expr::Binary(Binary::Add, first.quotient, second.quotient))?;
    Ok(Some(QuotientAndRest { quotient, rest: second.rest }))
}

/// The quotient, rounded towards 0, and the remainder, which has the sign of the number. `None` if the
/// divisor is 0 or too large.
fn truncated(
    builder: &mut GraphColumns,
    x: ColumnId,
    by: i64,
) -> Result<Option<QuotientAndRest>, ModelError> {
    let Some(QuotientAndRest { quotient, rest }) = divided(builder, x, by)? else { return Ok(None) };
    let [zero, one, divisor] = [0, 1, by].map(|number| builder.columns.constant(ColumnValue::I64(number)));
    let (low, high) = if by > 0 { (x, zero) } else { (zero, x) };
    let has_other_sign = builder.add(Expr::Binary(Binary::Less, low, high))?;
    let is_whole = builder.add(Expr::Binary(Binary::Equal, rest, zero))?;
    let has_rest = builder.add(Expr::Unary(Unary::Not, is_whole))?;
    let condition = builder.add(Expr::Binary(Binary::And, has_other_sign, has_rest))?;
    let next = builder.add(Expr::Binary(Binary::Add, quotient, one))?;
    let less = builder.add(Expr::Binary(Binary::Subtract, rest, divisor))?;
    let quotient = builder.add(Expr::Select { condition, then: next, otherwise: quotient })?;
    let rest = builder.add(Expr::Select { condition, then: less, otherwise: rest })?;
    Ok(Some(QuotientAndRest { quotient, rest }))
}

/// `Div` of whole numbers, rounded towards 0.
pub(super) fn div(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    by_constant(node, builder, |builder, x, by| {
        Ok(truncated(builder, x, by)?.map(|division| division.quotient))
    })
}

/// `Mod`: the remainder has the sign of the divisor or, with the attribute `fmod`, that of the number.
pub(super) fn modulo(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let follows_number = node.attributes.int("fmod")?.unwrap_or(0) != 0;
    match node.input(0)?.element {
        TensorElement::F32 if follows_number => remainders(node, builder),
        TensorElement::F32 | TensorElement::F64 => {
            Err(node.refuse("computes remainders of floats, which is supported only for float with `fmod`"))
        }
        _ => by_constant(node, builder, |builder, x, by| {
            let division = if follows_number { truncated(builder, x, by) } else { divided(builder, x, by) };
            Ok(division?.map(|division| division.rest))
        }),
    }
}

/// `Pow` of whole numbers, as products.
pub(super) fn pow(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    if node.input(0)?.element == TensorElement::I32 {
        return Err(node.refuse("computes powers of int32, which is not supported; for int64 it is"));
    }
    by_constant(node, builder, |builder, x, exponent| {
        if !(0..=LARGEST_EXPONENT).contains(&exponent) {
            return Ok(None);
        }
        let mut power = builder.columns.constant(ColumnValue::I64(1));
        for _ in 0..exponent {
            power = builder.add(Expr::Binary(Binary::Multiply, power, x))?;
        }
        Ok(Some(power))
    })
}

/// Remainders of singles by constants.
fn remainders(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let (of, by) = (node.input(0)?, node.input(1)?);
    let computed =
        node.elementwise(builder, &[of, by], of.element, |builder, cells| match builder.constant(cells[1]) {
            Some(ColumnValue::F32(by)) if !by.is_infinite() => remainder(builder, cells[0], by),
            _ => Err(node.refuse("divides by a value of the row, or by infinity")),
        });
    Ok(vec![computed?])
}

/// The exact remainder of a single, with its sign. Subtracts multiples of the divisor, the largest first.
/// Every difference is exact in double precision.
fn remainder(builder: &mut GraphColumns, x: ColumnId, by: f32) -> ColumnResult {
    let wide = builder.cast(&[x], TensorElement::F64)?[0];
    let mut formula = Formula { builder, element: TensorElement::F64 };
    let divisor = f64::from(by.abs());
    let is_divisible = divisor > 0.0;
    let mut rest = formula.unary(Unary::Abs, wide)?;
    if is_divisible {
        let mut multiple = divisor;
        while multiple * f64::from(QUOTIENT_BITS).exp2() <= f64::from(f32::MAX) {
            multiple *= f64::from(QUOTIENT_BITS).exp2();
        }
        while multiple >= divisor {
            let quotient = formula.with(Binary::Divide, rest, multiple)?;
            let quotient = formula.unary(Unary::Floor, quotient)?;
            let product = formula.with(Binary::Multiply, quotient, multiple)?;
            rest = formula.binary(Binary::Subtract, rest, product)?;
            multiple /= f64::from(QUOTIENT_BITS).exp2();
        }
    } else {
        rest = formula.number(f64::NAN)?;
    }
    let negative = formula.unary(Unary::Negate, rest)?;
    let signed = formula.below(wide, 0.0, negative, rest)?;
    // A remainder of 0 has the sign of the number, too.
    let zero = formula.with(Binary::Multiply, wide, 0.0)?;
    let condition = formula.with(Binary::Equal, rest, 0.0)?;
    let result = formula.builder.add(Expr::Select { condition, then: zero, otherwise: signed })?;
    Ok(formula.builder.cast(&[result], TensorElement::F32)?[0])
}

#[cfg(test)]
mod tests {
    use super::super::builder::Constants;
    use super::*;

    /// The value of a column of constants.
    fn value(builder: &GraphColumns, column: ColumnId) -> ColumnValue {
        builder.constant(column).expect("operations on constants are constants")
    }

    #[test]
    fn divisions_of_all_whole_numbers_are_exact() {
        let mut builder = GraphColumns::new(21, Constants::Evaluated);
        let small = -20..20;
        let large = (0..62).flat_map(|bit| [-1, 0, 1].map(|near| (1_i64 << bit) + near));
        let ends =
            [i64::MIN, i64::MIN + 1, i64::MAX, i64::MAX - 1, 3_037_000_499, -6_148_914_691_236_517_205];
        let numbers: Vec<i64> = small.chain(large.clone()).chain(large.map(|x| -x)).chain(ends).collect();
        let is_divisor = |by: &&i64| **by != 0 && by.unsigned_abs() < LARGEST_DIVISOR;
        for &by in numbers.iter().filter(is_divisor) {
            for &number in &numbers {
                let x = builder.columns.constant(ColumnValue::I64(number));
                let down = divided(&mut builder, x, by).expect("integers").expect("a small divisor");
                let to_zero = truncated(&mut builder, x, by).expect("integers").expect("a small divisor");
                let rest = number.wrapping_rem(by);
                let has_other_sign = rest != 0 && (rest < 0) != (by < 0);
                let expected = [
                    number.wrapping_div(by) - i64::from(has_other_sign),
                    if has_other_sign { rest + by } else { rest },
                    number.wrapping_div(by),
                    rest,
                ];
                let found = [down.quotient, down.rest, to_zero.quotient, to_zero.rest];
                let found = found.map(|column| value(&builder, column));
                assert_eq!(found, expected.map(ColumnValue::I64), "{number} by {by}");
            }
        }
        let x = builder.columns.constant(ColumnValue::I64(5));
        assert!(divided(&mut builder, x, 0).expect("integers").is_none());
        assert!(divided(&mut builder, x, 1 << 50).expect("integers").is_none());
    }

    #[test]
    fn remainders_of_singles_are_exact() {
        let mut builder = GraphColumns::new(21, Constants::Evaluated);
        let mut numbers =
            vec![0.0, 1.0, 5.3, 0.1, f32::MAX, f32::MIN_POSITIVE, 1e-45, 16_777_215.0, f32::INFINITY];
        let mut bits = 0x1234_5678_u32;
        numbers.extend((0..60).map(|_| {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from_bits(bits >> 1)
        }));
        let numbers: Vec<f32> = numbers.into_iter().flat_map(|x| [x, -x]).collect();
        for &by in numbers.iter().filter(|by| !by.is_infinite()) {
            for &number in &numbers {
                let x = builder.columns.constant(ColumnValue::F32(number));
                let found = remainder(&mut builder, x, by).expect("singles");
                let ColumnValue::F32(found) = value(&builder, found) else { panic!("a single") };
                let expected = number % by;
                let is_equal = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
                assert!(is_equal, "{number:e} % {by:e} is {expected:e}, not {found:e}");
            }
        }
    }
}
