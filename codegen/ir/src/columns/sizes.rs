//! Bounds of the magnitudes of columns that depend on sums.

use super::exponentials::ColumnReaders;
use super::ranges::range;
use sched_columns::{Binary, ColumnId, ColumnType, Columns, Expr, Unary};
use std::collections::HashMap;

/// Largest size of a column of each type: sums that are larger by the same factor do not overflow either.
const LARGEST_SINGLE: f64 = (1_u64 << 60) as f64;
const LARGEST_DOUBLE: f64 = LARGEST_SINGLE * LARGEST_SINGLE * LARGEST_SINGLE * LARGEST_SINGLE;

/// The magnitude of sums of features for which sizes are computed. Steps whose slopes have constant bounds
/// enlarge larger sums no more than in proportion.
pub(super) const MAGNITUDE: f64 = 1.0;

/// A column depends on a sum if it is one, or reads such a column. These are bounds of the magnitudes of such
/// columns, if the sums of features, apart from their constants, are near 1.
pub(super) struct ColumnSizes<'a> {
    readers: ColumnReaders<'a>,
    columns: &'a Columns,
    of: HashMap<ColumnId, f64>,
}

impl<'a> ColumnSizes<'a> {
    /// The sizes of `needed` columns, of which each comes after the columns that it reads. Others read
    /// `results`. `source` is the magnitude of a column that depends on sums by itself.
    pub fn new(
        columns: &'a Columns,
        (needed, results): (&[ColumnId], &[ColumnId]),
        source: impl Fn(ColumnId) -> Option<f64>,
    ) -> ColumnSizes<'a> {
        let readers = ColumnReaders::new(columns, needed, results);
        let mut sizes = ColumnSizes { readers, columns, of: HashMap::new() };
        for column in needed {
            let own = source(*column);
            let depends = columns.expr(*column).operands().any(|operand| sizes.depends(operand));
            if own.is_none() && !depends {
                continue;
            }
            let computed = if depends { sizes.computed(*column) } else { 0.0 };
            let size = larger(computed, own.unwrap_or(0.0)).min(range(columns, *column).largest_size());
            let size = size.min(sizes.largest_exponential(*column));
            sizes.of.insert(*column, if may_overflow(columns, *column, size) { f64::INFINITY } else { size });
        }
        sizes
    }

    /// The sizes of `needed` columns over features. Others read `results`.
    pub fn of_sums(columns: &'a Columns, needed: (&[ColumnId], &[ColumnId])) -> ColumnSizes<'a> {
        ColumnSizes::new(columns, needed, |column| match columns.expr(column) {
            Expr::Dot { start, .. } => Some(MAGNITUDE + start.to_f64().abs()),
            expr => expr.is_sum().then_some(MAGNITUDE),
        })
    }

    /// The largest magnitude of an exponential, or of one minus 1, that matters.
    fn largest_exponential(&self, column: ColumnId) -> f64 {
        let power = self.small_power(column);
        match self.columns.expr(column) {
            Expr::Unary(Unary::ExpMinusOne, _) => larger(power, 1.0),
            _ => power,
        }
    }

    /// The largest value of an exponential that matters; infinite if it has no small bound.
    pub fn small_power(&self, column: ColumnId) -> f64 {
        self.readers.small_power(column)
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
                Unary::Logistic | Unary::Cos => 1.0,
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

/// Whether a column of this size may become infinite in rows with sums that are larger than 1.
fn may_overflow(columns: &Columns, column: ColumnId, size: f64) -> bool {
    match columns.column_type(column) {
        ColumnType::F32 => size.is_nan() || size > LARGEST_SINGLE,
        _ => size.is_nan() || size > LARGEST_DOUBLE,
    }
}

/// The product of two numbers that are not negative. It is 0 only if a factor is, since a product that
/// becomes 0 by rounding would make an infinite factor harmless.
pub(super) fn times(x: f64, y: f64) -> f64 {
    if x == 0.0 || y == 0.0 { 0.0 } else { larger(x * y, f64::MIN_POSITIVE) }
}

/// The larger number. Not a number is larger than all others.
pub(super) fn larger(x: f64, y: f64) -> f64 {
    if x.is_nan() || x > y { x } else { y }
}
