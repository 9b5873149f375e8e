//! Columns whose rounding errors can change a result by any amount.
//!
//! Most operations keep a small difference of their operand small. A comparison does not: a value on the
//! other side of a threshold leads a row to another leaf. Sums that no comparison reads, directly or through
//! other columns, may add their terms in any order.

use sched_columns::{Binary, ColumnId, ColumnType, Columns, Expr, Unary};
use std::collections::HashSet;

/// The columns among `needed` that a step compares, or whose differences a step can enlarge by any factor,
/// directly or through other columns. Each of `needed` comes after the columns that it reads. `tested` are the
/// columns that the last trees test.
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

/// Whether a small difference of the operands, relative to the terms of the sums that they come from, leads
/// to a small difference of the column.
fn keeps_differences_small(columns: &Columns, column: ColumnId) -> bool {
    let own = columns.column_type(column);
    let is_constant = |other: &ColumnId| matches!(columns.expr(*other), Expr::Const(_));
    let is_distance = |other: &ColumnId| matches!(columns.expr(*other), Expr::SquaredDistance { .. });
    match columns.expr(column) {
        Expr::Input { .. } | Expr::Const(_) | Expr::Dot { .. } | Expr::SquaredDistance { .. } => true,
        Expr::Unary(op, of) => match op {
            Unary::Cast(to) => to.is_float(),
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
        Expr::Select { .. }
        | Expr::Step { .. }
        | Expr::Table { .. }
        | Expr::Pick { .. }
        | Expr::Trees { .. }
        | Expr::Bit { .. } => false,
    }
}
