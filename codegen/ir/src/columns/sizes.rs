//! Bounds of the magnitudes of columns that depend on sums.

use super::ranges::range;
use sched_columns::{Binary, ColumnId, Columns, Expr, Unary};
use std::collections::HashMap;

/// Most readers that are followed from an exponential to the step that bounds it.
const MOST_DEPTH: u32 = 4;

/// A column depends on a sum if it is one, or reads such a column. These are bounds of the magnitudes of such
/// columns, if the sums of features are near a given magnitude.
pub(super) struct ColumnSizes<'a> {
    columns: &'a Columns,
    of: HashMap<ColumnId, f64>,
}

impl<'a> ColumnSizes<'a> {
    /// The sizes of `needed` columns, of which each comes after the columns that it reads. `source` is the
    /// magnitude of a column that depends on sums by itself.
    pub fn new(
        columns: &'a Columns,
        needed: &[ColumnId],
        source: impl Fn(ColumnId) -> Option<f64>,
    ) -> ColumnSizes<'a> {
        let mut readers: HashMap<ColumnId, Vec<ColumnId>> = HashMap::new();
        for column in needed {
            columns.expr(*column).operands().for_each(|of| readers.entry(of).or_default().push(*column));
        }
        let mut sizes = ColumnSizes { columns, of: HashMap::new() };
        for column in needed {
            let own = source(*column);
            let depends = columns.expr(*column).operands().any(|operand| sizes.depends(operand));
            if own.is_none() && !depends {
                continue;
            }
            let computed = if depends { sizes.computed(*column) } else { 0.0 };
            let size = larger(computed, own.unwrap_or(0.0)).min(range(columns, *column).largest_size());
            let is_bounded = is_exponential(columns.expr(*column)) && is_cut(columns, *column, &readers, 0);
            sizes.of.insert(*column, if is_bounded { 1.0 } else { size });
        }
        sizes
    }

    /// Whether a column depends on a sum.
    pub fn depends(&self, column: ColumnId) -> bool {
        self.of.contains_key(&column)
    }

    /// The largest magnitude of a column.
    pub fn size(&self, column: ColumnId) -> f64 {
        self.of.get(&column).copied().unwrap_or_else(|| range(self.columns, column).largest_size())
    }

    /// The magnitude of a column that its operands cause.
    fn computed(&self, column: ColumnId) -> f64 {
        let size = |operand: &ColumnId| self.size(*operand);
        match self.columns.expr(column) {
            Expr::Dot { start, terms } => {
                let differs = terms.iter().filter(|term| self.depends(term.column));
                let sizes = differs.map(|term| times(term.weight.to_f64().abs(), size(&term.column)));
                sizes.sum::<f64>() + start.to_f64().abs()
            }
            Expr::SquaredDistance { of, point } => {
                let differs = of.iter().zip(point.iter()).filter(|(of, _)| self.depends(**of));
                differs.map(|(of, at)| (size(of) + at.to_f64().abs()).powi(2)).sum()
            }
            Expr::Unary(op, x) => match op {
                Unary::Exp | Unary::ExpMinusOne => size(x).exp(),
                Unary::SquareRoot => size(x).sqrt(),
                _ => size(x),
            },
            Expr::Binary(op, x, y) => match op {
                Binary::Add | Binary::Subtract => size(x) + size(y),
                Binary::Multiply => times(size(x), size(y)),
                Binary::Divide => times(size(x), range(self.columns, *y).smallest_size().recip()),
                Binary::Power => f64::INFINITY,
                _ => larger(size(x), size(y)),
            },
            Expr::Select { then, otherwise, .. } => larger(size(then), size(otherwise)),
            expr => expr.operands().map(|operand| size(&operand)).fold(1.0, larger),
        }
    }
}

/// The product, which is 0 if a factor is.
pub(super) fn times(x: f64, y: f64) -> f64 {
    if x == 0.0 || y == 0.0 { 0.0 } else { x * y }
}

/// The larger number. Not a number is larger than all others.
pub(super) fn larger(x: f64, y: f64) -> f64 {
    if x.is_nan() || x > y { x } else { y }
}

fn is_exponential(expr: &Expr) -> bool {
    matches!(expr, Expr::Unary(Unary::Exp | Unary::ExpMinusOne, _))
}

/// Whether all readers of an exponential, or of a column that grows with it, ignore values above 1: a minimum
/// with a number up to 0, or a condition that chooses the column only where the exponential's operand is
/// below such a number, as in ELU and CELU.
fn is_cut(
    columns: &Columns,
    column: ColumnId,
    readers: &HashMap<ColumnId, Vec<ColumnId>>,
    depth: u32,
) -> bool {
    let readers_of = readers.get(&column).map_or(&[][..], Vec::as_slice);
    let is_least = |of: ColumnId| number(columns, of).is_some_and(|most| most <= 0.0);
    let cuts = |reader: &ColumnId| match columns.expr(*reader) {
        Expr::Binary(Binary::Min, x, y) => is_least(*x) || is_least(*y),
        Expr::Select { condition, then, otherwise } if then != otherwise => {
            let Expr::Binary(Binary::Less | Binary::LessOrEqual, x, y) = columns.expr(*condition) else {
                return false;
            };
            let (of, least) = if *then == column { (x, y) } else { (y, x) };
            is_least(*least) && grows_with(columns, column, *of)
        }
        expr => growth_base(columns, expr) == Some(column) && is_cut(columns, *reader, readers, depth + 1),
    };
    depth < MOST_DEPTH && !readers_of.is_empty() && readers_of.iter().all(cuts)
}

/// Whether a column grows with `x`, by an exponential and steps of [`growth_base`].
fn grows_with(columns: &Columns, mut column: ColumnId, x: ColumnId) -> bool {
    for _ in 0..2 * MOST_DEPTH {
        if column == x {
            return true;
        }
        let next = match columns.expr(column) {
            Expr::Unary(Unary::Exp | Unary::ExpMinusOne, of) => Some(*of),
            expr => growth_base(columns, expr),
        };
        let Some(next) = next else { return false };
        column = next;
    }
    false
}

/// The column of which an expression is a positive multiple, or from which it differs by at most 1.
fn growth_base(columns: &Columns, expr: &Expr) -> Option<ColumnId> {
    let Expr::Binary(op, x, y) = expr else { return None };
    let is_factor = |of: ColumnId| number(columns, of).is_some_and(|factor| factor > 0.0);
    let is_shift = |of: ColumnId| number(columns, of).is_some_and(|shift| shift.abs() <= 1.0);
    match op {
        Binary::Multiply if is_factor(*x) => Some(*y),
        Binary::Multiply | Binary::Divide if is_factor(*y) => Some(*x),
        Binary::Add if is_shift(*x) => Some(*y),
        Binary::Add | Binary::Subtract if is_shift(*y) => Some(*x),
        _ => None,
    }
}

fn number(columns: &Columns, of: ColumnId) -> Option<f64> {
    match columns.expr(of) {
        Expr::Const(number) => Some(number.to_f64()),
        _ => None,
    }
}
