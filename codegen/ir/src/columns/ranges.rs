//! Ranges of values of columns, as far as their expressions show them.

use sched_columns::{Binary, ColumnId, ColumnType, ColumnValue, Columns, Expr, Unary};
use std::collections::HashSet;

/// Most operations that a range follows down to its operands.
const MOST_DEPTH: u32 = 8;

/// The least and the greatest value that a column can have, apart from NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ColumnRange {
    pub least: f64,
    pub greatest: f64,
}

impl ColumnRange {
    /// The largest magnitude of a value.
    pub fn largest_size(self) -> f64 {
        self.least.abs().max(self.greatest.abs())
    }

    /// The smallest magnitude of a value.
    pub fn smallest_size(self) -> f64 {
        if self.least <= 0.0 && self.greatest >= 0.0 {
            0.0
        } else {
            self.least.abs().min(self.greatest.abs())
        }
    }

    /// The range of the products with a number.
    fn times(self, factor: f64) -> ColumnRange {
        let ends = [self.least * factor, self.greatest * factor];
        // 0 times infinity.
        if ends.iter().any(|end| end.is_nan()) {
            return ANY;
        }
        ColumnRange { least: ends[0].min(ends[1]), greatest: ends[0].max(ends[1]) }
    }
}

const ANY: ColumnRange = ColumnRange { least: f64::NEG_INFINITY, greatest: f64::INFINITY };
const NOT_NEGATIVE: ColumnRange = ColumnRange { least: 0.0, greatest: f64::INFINITY };
const NOT_POSITIVE: ColumnRange = ColumnRange { least: f64::NEG_INFINITY, greatest: 0.0 };
const AT_LEAST_ONE: ColumnRange = ColumnRange { least: 1.0, greatest: f64::INFINITY };
const OF_SINE: ColumnRange = ColumnRange { least: -1.0, greatest: 1.0 };
const OF_LOGISTIC: ColumnRange = ColumnRange { least: 0.0, greatest: 1.0 };

/// The sum of two probabilities that are complements, apart from rounding.
const NEAR_ONE: ColumnRange = ColumnRange { least: 0.99, greatest: 1.01 };

/// The range of a column.
pub(super) fn range(columns: &Columns, column: ColumnId) -> ColumnRange {
    range_within(columns, column, MOST_DEPTH)
}

/// The range of a column by at most `depth` operations. Singles are rounded as their values are.
fn range_within(columns: &Columns, column: ColumnId, depth: u32) -> ColumnRange {
    let Some(depth) = depth.checked_sub(1) else { return ANY };
    let exact = range_of_exact(columns, column, depth);
    match columns.column_type(column) {
        ColumnType::F32 => {
            ColumnRange { least: f64::from(exact.least as f32), greatest: f64::from(exact.greatest as f32) }
        }
        _ => exact,
    }
}

/// The range of a column without the rounding of its last operation to single precision.
fn range_of_exact(columns: &Columns, column: ColumnId, depth: u32) -> ColumnRange {
    let of = |operand: &ColumnId| range_within(columns, *operand, depth);
    match columns.expr(column) {
        Expr::Const(value) if !value.to_f64().is_nan() => {
            ColumnRange { least: value.to_f64(), greatest: value.to_f64() }
        }
        Expr::SquaredDistance { .. } => NOT_NEGATIVE,
        Expr::Unary(op, x) => match op {
            Unary::Cast(to) if to.is_float() && columns.column_type(*x).is_float() => of(x),
            Unary::Abs if of(x).least >= 0.0 => of(x),
            Unary::Abs | Unary::SquareRoot => NOT_NEGATIVE,
            Unary::Negate => ColumnRange { least: -of(x).greatest, greatest: -of(x).least },
            Unary::Exp if of(x).greatest <= 0.0 => OF_LOGISTIC,
            Unary::Exp => NOT_NEGATIVE,
            Unary::LogOnePlus if of(x).least >= 0.0 => NOT_NEGATIVE,
            Unary::Tanh | Unary::Erf | Unary::Sin | Unary::Cos => OF_SINE,
            Unary::Logistic => OF_LOGISTIC,
            _ => ANY,
        },
        Expr::Binary(op, x, y) => match op {
            Binary::Add if are_complements(columns, *x, *y) => NEAR_ONE,
            Binary::Add if adds_all_powers(columns, column) => AT_LEAST_ONE,
            Binary::Subtract if maximum_terms(columns, *y).contains(x) => NOT_POSITIVE,
            Binary::Add => {
                let (x, y) = (of(x), of(y));
                ColumnRange { least: x.least + y.least, greatest: x.greatest + y.greatest }
            }
            Binary::Multiply if x == y => NOT_NEGATIVE,
            Binary::Multiply => match (columns.expr(*x), columns.expr(*y)) {
                (_, Expr::Const(factor)) => of(x).times(factor.to_f64()),
                (Expr::Const(factor), _) => of(y).times(factor.to_f64()),
                _ => ANY,
            },
            Binary::Min => {
                let (x, y) = (of(x), of(y));
                ColumnRange { least: x.least.min(y.least), greatest: x.greatest.min(y.greatest) }
            }
            Binary::Max => {
                let (x, y) = (of(x), of(y));
                ColumnRange { least: x.least.max(y.least), greatest: x.greatest.max(y.greatest) }
            }
            _ => ANY,
        },
        Expr::Select { condition, then, otherwise } => {
            let (mut one, mut other) = (of(then), of(otherwise));
            if let Expr::Binary(Binary::Less | Binary::LessOrEqual, x, y) = columns.expr(*condition) {
                // The side that a bound is compared with has the bound.
                match (columns.expr(*x), columns.expr(*y)) {
                    (_, Expr::Const(bound)) if x == otherwise => {
                        other.least = other.least.max(bound.to_f64())
                    }
                    (Expr::Const(bound), _) if y == then => one.least = one.least.max(bound.to_f64()),
                    _ => {}
                }
            }
            ColumnRange { least: one.least.min(other.least), greatest: one.greatest.max(other.greatest) }
        }
        _ => ANY,
    }
}

/// Whether two columns are the logistic functions of a number and of its negative, as the probabilities of
/// two classes often are.
fn are_complements(columns: &Columns, x: ColumnId, y: ColumnId) -> bool {
    let logistic_of = |mut column: ColumnId| {
        // The magnitude of a probability is the probability.
        while let Expr::Unary(Unary::Abs, of) = columns.expr(column) {
            column = *of;
        }
        match columns.expr(column) {
            Expr::Unary(Unary::Logistic, of) => Some(*of),
            _ => None,
        }
    };
    match (logistic_of(x), logistic_of(y)) {
        (Some(x), Some(y)) => is_negative(columns, x, y) || is_negative(columns, y, x),
        _ => false,
    }
}

/// Whether `negative` is the negative of `x` by its expression: weights and constants have the other sign.
fn is_negative(columns: &Columns, negative: ColumnId, x: ColumnId) -> bool {
    let opposite = |one: ColumnValue, other: ColumnValue| one.to_f64() == -other.to_f64();
    match (columns.expr(negative), columns.expr(x)) {
        (Expr::Unary(Unary::Negate, of), _) => *of == x,
        (Expr::Dot { start, terms }, Expr::Dot { start: of_start, terms: of_terms }) => {
            let mut pairs = terms.iter().zip(of_terms.iter());
            opposite(*start, *of_start)
                && terms.len() == of_terms.len()
                && pairs.all(|(one, of)| one.column == of.column && opposite(one.weight, of.weight))
        }
        (Expr::Binary(Binary::Add, one, shift), Expr::Binary(Binary::Add, of, of_shift)) => {
            let number = |of: ColumnId| match columns.expr(of) {
                Expr::Const(number) => Some(*number),
                _ => None,
            };
            let are_opposite = number(*shift).zip(number(*of_shift)).is_some_and(|(a, b)| opposite(a, b));
            are_opposite && is_negative(columns, *one, *of)
        }
        _ => false,
    }
}

/// Whether a sum has `exp(x - m)` for each `x` of which `m` is the maximum, as the divisor of a softmax has.
/// One of these terms is 1.
fn adds_all_powers(columns: &Columns, sum: ColumnId) -> bool {
    let mut maximum = None;
    let mut powers = HashSet::new();
    for mut term in chain_terms(columns, sum, Binary::Add) {
        while let Expr::Unary(Unary::Cast(_), of) = columns.expr(term) {
            term = *of;
        }
        let Expr::Unary(Unary::Exp, of) = columns.expr(term) else { return false };
        let Expr::Binary(Binary::Subtract, x, most) = columns.expr(*of) else { return false };
        if *maximum.get_or_insert(*most) != *most {
            return false;
        }
        powers.insert(*x);
    }
    maximum.is_some_and(|maximum| maximum_terms(columns, maximum).iter().all(|x| powers.contains(x)))
}

/// The columns of which a column is the maximum; itself if it is not a maximum.
fn maximum_terms(columns: &Columns, maximum: ColumnId) -> Vec<ColumnId> {
    chain_terms(columns, maximum, Binary::Max)
}

/// The operands of a chain of one operation, the last ones first.
fn chain_terms(columns: &Columns, mut column: ColumnId, chain: Binary) -> Vec<ColumnId> {
    let mut terms = Vec::new();
    while let Expr::Binary(op, before, term) = columns.expr(column)
        && *op == chain
    {
        terms.push(*term);
        column = *before;
    }
    terms.push(column);
    terms
}
