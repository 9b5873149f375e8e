//! Hyperbolic functions and their inverse functions, as formulas of exponentials and logarithms in double
//! precision. Results for doubles are exact to a few units in the last place.

use super::builder::GraphColumns;
use super::formula::Formula;
use super::node::GraphNode;
use super::tensor::{ColumnResult, Outputs, TensorElement};
use sched_columns::{Binary, ColumnId, Expr, Unary};
use std::f64::consts::LN_2;

/// Below this magnitude, an odd function returns its argument.
const SMALL_ARGUMENT: f64 = 1e-9;

/// Above this number, `exp(-x)` is negligible beside `exp(x)`.
const LARGE_ARGUMENT: f64 = 20.0;

/// Above this number, `x^2 + 1` is rounded to `x^2`.
const LARGE_ROOT_ARGUMENT: f64 = 1e9;

/// Applies a formula in double precision to each cell, and rounds the result to the type of the cells.
fn wide(
    node: &GraphNode,
    builder: &mut GraphColumns,
    formula: impl Fn(&mut Formula, ColumnId) -> ColumnResult,
) -> Outputs {
    let of = node.input(0)?;
    if !of.element.is_float() {
        return Err(node.refuse(&format!("computes with values of the type {}", of.element.name())));
    }
    let computed = node.elementwise(builder, &[of], of.element, |builder, cells| {
        let x = builder.cast(cells, TensorElement::F64)?[0];
        let result = formula(&mut Formula { builder, element: TensorElement::F64 }, x)?;
        Ok(builder.cast(&[result], of.element)?[0])
    });
    Ok(vec![computed?])
}

/// An odd function, computed by `above` for the magnitude of `x`.
fn odd(
    formula: &mut Formula,
    x: ColumnId,
    above: impl Fn(&mut Formula, ColumnId) -> ColumnResult,
) -> ColumnResult {
    let size = formula.unary(Unary::Abs, x)?;
    let result = above(formula, size)?;
    let negative = formula.unary(Unary::Negate, result)?;
    let signed = formula.below(x, 0.0, negative, result)?;
    formula.below(size, SMALL_ARGUMENT, x, signed)
}

/// `exp(x) / 2` for a large number, without overflow of intermediate results.
fn half_power(formula: &mut Formula, x: ColumnId) -> ColumnResult {
    let half = formula.with(Binary::Multiply, x, 0.5)?;
    let root = formula.unary(Unary::Exp, half)?;
    let part = formula.with(Binary::Multiply, root, 0.5)?;
    formula.binary(Binary::Multiply, part, root)
}

/// `above` where `x` is above a bound, else `below`.
fn beyond(formula: &mut Formula, x: ColumnId, bound: f64, above: ColumnId, below: ColumnId) -> ColumnResult {
    let bound = formula.number(bound)?;
    let condition = formula.binary(Binary::Less, bound, x)?;
    formula.builder.add(Expr::Select { condition, then: above, otherwise: below })
}

/// `(exp(x) - exp(-x)) / 2`
pub(super) fn sinh(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    wide(node, builder, |formula, x| {
        odd(formula, x, |formula, x| {
            let power = formula.unary(Unary::ExpMinusOne, x)?;
            let more = formula.with(Binary::Add, power, 1.0)?;
            let quotient = formula.binary(Binary::Divide, power, more)?;
            let sum = formula.binary(Binary::Add, power, quotient)?;
            let usual = formula.with(Binary::Multiply, sum, 0.5)?;
            let large = half_power(formula, x)?;
            beyond(formula, x, LARGE_ARGUMENT, large, usual)
        })
    })
}

/// `(exp(x) + exp(-x)) / 2`
pub(super) fn cosh(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    wide(node, builder, |formula, x| {
        let size = formula.unary(Unary::Abs, x)?;
        let power = formula.unary(Unary::Exp, size)?;
        let one = formula.number(1.0)?;
        let quotient = formula.binary(Binary::Divide, one, power)?;
        let sum = formula.binary(Binary::Add, power, quotient)?;
        let usual = formula.with(Binary::Multiply, sum, 0.5)?;
        let large = half_power(formula, size)?;
        beyond(formula, size, LARGE_ARGUMENT, large, usual)
    })
}

/// `log(2 x)` for a large number.
fn log_of_double(formula: &mut Formula, x: ColumnId) -> ColumnResult {
    let log = formula.unary(Unary::Log, x)?;
    formula.with(Binary::Add, log, LN_2)
}

/// `log(x + sqrt(x^2 + 1))`
pub(super) fn asinh(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    wide(node, builder, |formula, x| {
        odd(formula, x, |formula, x| {
            let square = formula.binary(Binary::Multiply, x, x)?;
            let more = formula.with(Binary::Add, square, 1.0)?;
            let root = formula.unary(Unary::SquareRoot, more)?;
            let divisor = formula.with(Binary::Add, root, 1.0)?;
            let quotient = formula.binary(Binary::Divide, square, divisor)?;
            let sum = formula.binary(Binary::Add, x, quotient)?;
            let usual = formula.unary(Unary::LogOnePlus, sum)?;
            let large = log_of_double(formula, x)?;
            beyond(formula, x, LARGE_ROOT_ARGUMENT, large, usual)
        })
    })
}

/// `log(x + sqrt(x^2 - 1))`, and NaN below 1.
pub(super) fn acosh(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    wide(node, builder, |formula, x| {
        let moved = formula.with(Binary::Subtract, x, 1.0)?;
        let more = formula.with(Binary::Add, x, 1.0)?;
        let product = formula.binary(Binary::Multiply, moved, more)?;
        let root = formula.unary(Unary::SquareRoot, product)?;
        let sum = formula.binary(Binary::Add, moved, root)?;
        let usual = formula.unary(Unary::LogOnePlus, sum)?;
        let large = log_of_double(formula, x)?;
        let result = beyond(formula, x, LARGE_ROOT_ARGUMENT, large, usual)?;
        let none = formula.number(f64::NAN)?;
        formula.below(x, 1.0, none, result)
    })
}

/// `log((1 + x) / (1 - x)) / 2`
pub(super) fn atanh(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    wide(node, builder, |formula, x| {
        odd(formula, x, |formula, x| {
            let (double, one) = (formula.with(Binary::Multiply, x, 2.0)?, formula.number(1.0)?);
            let less = formula.binary(Binary::Subtract, one, x)?;
            let quotient = formula.binary(Binary::Divide, double, less)?;
            let log = formula.unary(Unary::LogOnePlus, quotient)?;
            formula.with(Binary::Multiply, log, 0.5)
        })
    })
}
