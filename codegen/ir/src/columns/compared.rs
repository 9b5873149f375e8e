//! Columns whose rounding errors can change a result by any amount.
//!
//! Most operations keep a small difference of their operand small. A comparison does not: a value on the
//! other side of a threshold leads a row to another leaf. Sums that no comparison reads, directly or through
//! other columns, may add their terms in any order. The condition of an activation such as ReLU does not
//! count: both of its sides have the same value at the threshold.

use sched_columns::{Binary, ColumnId, ColumnType, ColumnValue, Columns, Expr, Unary};
use sched_forest::{Output, Transform};
use std::collections::HashSet;

/// Largest difference of the sides of a condition at its threshold, relative to the larger side: rounding.
const MOST_JUMP: f64 = 1e-7;

/// Most operations of the sides of a condition that are evaluated at the threshold.
const MOST_OPERATIONS: usize = 32;

/// The columns among `needed` that a step compares, or whose differences a step can enlarge by any factor,
/// directly or through other columns. Each of `needed` comes after the columns that it reads. `tested` are
/// the columns that the last trees test.
pub(super) fn compared_columns(
    columns: &Columns,
    needed: &[ColumnId],
    tested: impl Iterator<Item = ColumnId>,
) -> HashSet<ColumnId> {
    let mut compared: HashSet<ColumnId> = tested.collect();
    for column in needed.iter().rev() {
        if compared.contains(column) || !keeps_differences_small(columns, *column) {
            compared.extend(columns.expr(*column).operands());
        }
    }
    compared
}

/// Whether a step from margins to predictions can turn a small difference of margins into another one. Labels
/// do not count: they may change where the best scores are nearly equal.
pub(super) fn predictions_jump(output: &Output) -> bool {
    output.value.iter().any(|step| match step {
        Transform::Columns(of) => {
            let needed = of.columns.needed_for(&of.results);
            let compared = compared_columns(&of.columns, &needed, std::iter::empty());
            compared.into_iter().any(|column| matches!(of.columns.expr(column), Expr::Input { .. }))
        }
        _ => false,
    })
}

/// Whether a small difference of the operands, relative to the terms of the sums that they come from, leads
/// to a small difference of the column.
fn keeps_differences_small(columns: &Columns, column: ColumnId) -> bool {
    let own = columns.column_type(column);
    if own == ColumnType::Bool {
        // The readers of a truth value decide whether it matters.
        return true;
    }
    let is_constant = |other: &ColumnId| matches!(columns.expr(*other), Expr::Const(_));
    let is_distance = |other: &ColumnId| matches!(columns.expr(*other), Expr::SquaredDistance { .. });
    match columns.expr(column) {
        Expr::Input { .. } | Expr::Const(_) | Expr::Dot { .. } | Expr::SquaredDistance { .. } => true,
        Expr::Unary(op, of) => match op {
            Unary::Cast(to) => to.is_float() && columns.column_type(*of).is_float(),
            Unary::Negate | Unary::Abs | Unary::Tanh | Unary::Logistic | Unary::Erf => true,
            Unary::Sin | Unary::Cos => true,
            // Sums of squares do not cancel, and the root of one has half of its relative error.
            Unary::SquareRoot => is_distance(of),
            // An exponential's relative error is the error of its operand, which can be large.
            Unary::Exp | Unary::ExpMinusOne => own == ColumnType::F64,
            Unary::Log | Unary::LogOnePlus => false,
            Unary::Floor | Unary::Ceil | Unary::Round | Unary::IsNan | Unary::Not => false,
        },
        Expr::Binary(op, _, by) => match op {
            Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Min | Binary::Max => true,
            Binary::Divide => is_constant(by),
            Binary::Power | Binary::Less | Binary::LessOrEqual | Binary::Equal | Binary::And | Binary::Or => {
                false
            }
        },
        Expr::Select { condition, then, otherwise } => {
            is_continuous(columns, *condition, [*then, *otherwise])
        }
        Expr::Step { .. }
        | Expr::Table { .. }
        | Expr::Pick { .. }
        | Expr::Trees { .. }
        | Expr::Bit { .. } => false,
    }
}

/// Whether the sides of a condition have the same value where the condition changes. The condition compares a
/// column with a constant, and the sides depend on that column alone.
fn is_continuous(columns: &Columns, condition: ColumnId, sides: [ColumnId; 2]) -> bool {
    let Expr::Binary(Binary::Less | Binary::LessOrEqual, x, y) = columns.expr(condition) else {
        return false;
    };
    let (compared, threshold) = match (columns.expr(*x), columns.expr(*y)) {
        (_, Expr::Const(threshold)) => (*x, *threshold),
        (Expr::Const(threshold), _) => (*y, *threshold),
        _ => return false,
    };
    let mut budget = MOST_OPERATIONS;
    let mut at_threshold = |side| value_at(columns, side, (compared, threshold), &mut budget);
    match sides.map(&mut at_threshold) {
        [Some(one), Some(other)] => {
            let (one, other) = (one.to_f64(), other.to_f64());
            (one - other).abs() <= MOST_JUMP * one.abs().max(other.abs())
        }
        _ => false,
    }
}

/// The value of a column where another one has a given value. `None` if the column depends on more than that,
/// or on more operations than the budget allows.
fn value_at(
    columns: &Columns,
    column: ColumnId,
    given: (ColumnId, ColumnValue),
    budget: &mut usize,
) -> Option<ColumnValue> {
    if column == given.0 {
        return Some(given.1);
    }
    *budget = budget.checked_sub(1)?;
    let expr = columns.expr(column);
    if matches!(expr, Expr::Input { .. }) {
        return None;
    }
    let operands: Vec<ColumnId> = expr.operands().collect();
    let values: Option<Vec<ColumnValue>> =
        operands.iter().map(|operand| value_at(columns, *operand, given, budget)).collect();
    let values = values?;
    let of = |operand: ColumnId| {
        let at = operands.iter().position(|other| *other == operand);
        at.map_or(ColumnValue::F64(f64::NAN), |at| values[at])
    };
    Some(Columns::value(expr, &[], of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_columns::{Float, Term};

    /// A sum of two features, the columns that `read` makes of it, and whether the sum counts as compared.
    fn is_compared(read: impl FnOnce(&mut Columns, ColumnId) -> ColumnId) -> bool {
        let mut columns = Columns::default();
        let term = |column| Term { column, weight: ColumnValue::F64(2.0) };
        let terms = [0, 1].map(|feature| term(columns.input(feature, Float::F64)));
        let sum = columns.add(Expr::Dot { start: ColumnValue::F64(1.0), terms: terms.into() }).unwrap();
        let read = read(&mut columns, sum);
        let needed = columns.needed_for(&[read]);
        compared_columns(&columns, &needed, std::iter::empty()).contains(&sum)
    }

    fn number(columns: &mut Columns, x: f64) -> ColumnId {
        columns.constant(ColumnValue::F64(x))
    }

    /// `low` times the sum below the threshold, else the sum.
    fn leaky(columns: &mut Columns, sum: ColumnId, (low, threshold): (f64, f64)) -> ColumnId {
        let [low, threshold] = [low, threshold].map(|x| number(columns, x));
        let then = columns.add(Expr::Binary(Binary::Multiply, sum, low)).unwrap();
        let condition = columns.add(Expr::Binary(Binary::Less, sum, threshold)).unwrap();
        columns.add(Expr::Select { condition, then, otherwise: sum }).unwrap()
    }

    #[test]
    fn activations_compare_nothing() {
        assert!(!is_compared(|_, sum| sum));
        assert!(!is_compared(|columns, sum| columns.add(Expr::Unary(Unary::Tanh, sum)).unwrap()));
        assert!(!is_compared(|columns, sum| leaky(columns, sum, (0.0, 0.0))));
        assert!(!is_compared(|columns, sum| leaky(columns, sum, (0.01, 0.0))));
    }

    #[test]
    fn jumps_are_comparisons() {
        assert!(is_compared(|columns, sum| leaky(columns, sum, (0.0, 1.0))));
        assert!(is_compared(|columns, sum| columns.add(Expr::Unary(Unary::Floor, sum)).unwrap()));
        assert!(is_compared(|columns, sum| {
            let zero = number(columns, 0.0);
            let is_below = columns.add(Expr::Binary(Binary::Less, sum, zero)).unwrap();
            columns.cast(is_below, ColumnType::F64).unwrap()
        }));
        assert!(is_compared(|columns, sum| {
            let one = number(columns, 1.0);
            columns.add(Expr::Binary(Binary::Divide, one, sum)).unwrap()
        }));
    }

    #[test]
    fn sides_that_depend_on_more_than_the_sum_may_jump() {
        assert!(is_compared(|columns, sum| {
            let (zero, other) = (number(columns, 0.0), columns.input(2, Float::F64));
            let condition = columns.add(Expr::Binary(Binary::LessOrEqual, sum, zero)).unwrap();
            columns.add(Expr::Select { condition, then: other, otherwise: sum }).unwrap()
        }));
    }
}
