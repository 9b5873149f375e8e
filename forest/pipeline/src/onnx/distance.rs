//! Recognises squared distances of rows from points, as graphs of kernels and of nearest centroids compute
//! them.

use super::builder::GraphColumns;
use sched_columns::{Binary, ColumnId, ColumnValue, Expr};

/// Smallest number of differences of a distance. A single difference stays a square.
const LEAST_DIFFERENCES: usize = 2;

/// The squared distance that equals the sum of some cells, if each is the square of a value minus a constant.
pub(super) fn of_squares(builder: &GraphColumns, cells: &[ColumnId]) -> Option<Expr> {
    let difference = |cell: &ColumnId| match builder.columns.expr(*cell) {
        Expr::Binary(Binary::Multiply, x, y) if x == y => Some(*x),
        _ => None,
    };
    let differences: Vec<ColumnId> = cells.iter().map(difference).collect::<Option<_>>()?;
    of_differences(builder, &differences)
}

/// The squared distance that equals the sum of the squares of some cells, if each is a value minus a
/// constant.
pub(super) fn of_differences(builder: &GraphColumns, cells: &[ColumnId]) -> Option<Expr> {
    let terms = |cell: &ColumnId| match builder.columns.expr(*cell) {
        Expr::Binary(Binary::Subtract, x, y) => Some((*x, builder.constant(*y)?)),
        _ => None,
    };
    let terms: Vec<(ColumnId, ColumnValue)> = cells.iter().map(terms).collect::<Option<_>>()?;
    let is_float = |column: &ColumnId| builder.columns.column_type(*column).is_float();
    let fits = terms.len() >= LEAST_DIFFERENCES && terms.iter().all(|(column, _)| is_float(column));
    let (of, point): (Vec<ColumnId>, Vec<ColumnValue>) = terms.into_iter().unzip();
    fits.then(|| Expr::SquaredDistance { of: of.into(), point: point.into() })
}
