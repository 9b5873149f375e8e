//! Bounds of exponentials whose readers ignore large values, as in ELU and CELU.

use super::ranges::range;
use sched_columns::{Binary, ColumnId, Columns, Expr, Unary};
use std::collections::HashMap;

/// Largest power of e that counts as bounded: that of 1.
const MOST_POWER: f64 = std::f64::consts::E;

/// Most readers that are followed from an exponential to the step that bounds it.
const MOST_DEPTH: u32 = 4;

/// The columns that read each column.
pub(super) struct ColumnReaders<'a> {
    columns: &'a Columns,
    of: HashMap<ColumnId, Vec<ColumnId>>,
    results: Vec<ColumnId>,
}

/// A column `factor * p + shift`, where `p` is a power of e. The factor is positive.
#[derive(Clone, Copy)]
struct OfPower {
    factor: f64,
    shift: f64,
}

impl<'a> ColumnReaders<'a> {
    /// The readers among some columns, of which others read `results`.
    pub fn new(columns: &'a Columns, needed: &[ColumnId], results: &[ColumnId]) -> ColumnReaders<'a> {
        let mut of: HashMap<ColumnId, Vec<ColumnId>> = HashMap::new();
        for column in needed {
            columns.expr(*column).operands().for_each(|operand| of.entry(operand).or_default().push(*column));
        }
        ColumnReaders { columns, of, results: results.to_vec() }
    }

    /// The largest value of an exponential that matters to its readers; infinite if it has no small bound, or
    /// for other columns.
    pub fn small_power(&self, column: ColumnId) -> f64 {
        let most = self.largest_power(column);
        if most <= MOST_POWER { most } else { f64::INFINITY }
    }

    /// The largest power of e that the readers of an exponential, or of one minus 1, do not ignore. They
    /// ignore larger powers by a minimum with a number, or by a condition that chooses the exponential only
    /// where its operand is small.
    fn largest_power(&self, exponential: ColumnId) -> f64 {
        let (operand, shift) = match self.columns.expr(exponential) {
            Expr::Unary(Unary::Exp, of) => (*of, 0.0),
            Expr::Unary(Unary::ExpMinusOne, of) => (*of, -1.0),
            _ => return f64::INFINITY,
        };
        let of_operand = range(self.columns, operand).greatest.exp();
        of_operand.min(self.read(exponential, OfPower { factor: 1.0, shift }, operand, MOST_DEPTH))
    }

    /// The largest power that the readers of a column do not ignore.
    fn read(&self, column: ColumnId, value: OfPower, operand: ColumnId, depth: u32) -> f64 {
        let readers = self.of.get(&column).map_or(&[][..], Vec::as_slice);
        let is_followed = !readers.is_empty() && !self.results.contains(&column);
        let Some(depth) = depth.checked_sub(1).filter(|_| is_followed) else { return f64::INFINITY };
        let each = readers.iter().map(|reader| match self.columns.expr(*reader) {
            Expr::Binary(Binary::Min, x, y) => {
                let least = self.number(*x).or_else(|| self.number(*y));
                least.map_or(f64::INFINITY, |least| (least - value.shift) / value.factor)
            }
            Expr::Select { condition, then, otherwise } if then != otherwise => {
                self.where_chosen(*condition, *then == column, operand)
            }
            expr => match self.moved(expr, column, value) {
                Some(value) => self.read(*reader, value, operand, depth),
                None => f64::INFINITY,
            },
        });
        each.fold(0.0, f64::max)
    }

    /// The largest power where a condition with this truth value holds.
    fn where_chosen(&self, condition: ColumnId, is_true: bool, operand: ColumnId) -> f64 {
        let Expr::Binary(Binary::Less | Binary::LessOrEqual, x, y) = self.columns.expr(condition) else {
            return f64::INFINITY;
        };
        let (compared, most) = if is_true { (*x, *y) } else { (*y, *x) };
        match (self.multiple(operand, compared), self.number(most)) {
            (Some(factor), Some(most)) => (factor * most).exp(),
            _ => f64::INFINITY,
        }
    }

    /// The positive number whose product with `of` is a column.
    fn multiple(&self, column: ColumnId, of: ColumnId) -> Option<f64> {
        if column == of {
            return Some(1.0);
        }
        let factor = match self.columns.expr(column) {
            Expr::Binary(Binary::Multiply, x, y) if *x == of => self.number(*y)?,
            Expr::Binary(Binary::Multiply, x, y) if *y == of => self.number(*x)?,
            Expr::Binary(Binary::Divide, x, y) if *x == of => self.number(*y)?.recip(),
            _ => return None,
        };
        (factor > 0.0).then_some(factor)
    }

    /// The value of a column that reads another one with a given value; `None` if the step is neither an
    /// addition of a number nor a product with a positive one.
    fn moved(&self, reader: &Expr, column: ColumnId, OfPower { factor, shift }: OfPower) -> Option<OfPower> {
        let Expr::Binary(op, x, y) = reader else { return None };
        let number = self.number(if *x == column { *y } else { *x })?;
        let by = |scale: f64| {
            let value = OfPower { factor: factor * scale, shift: shift * scale };
            (scale > 0.0).then_some(value)
        };
        match op {
            Binary::Multiply => by(number),
            Binary::Divide if *x == column => by(number.recip()),
            Binary::Add => Some(OfPower { factor, shift: shift + number }),
            Binary::Subtract if *x == column => Some(OfPower { factor, shift: shift - number }),
            _ => None,
        }
    }

    fn number(&self, of: ColumnId) -> Option<f64> {
        match self.columns.expr(of) {
            Expr::Const(number) => Some(number.to_f64()).filter(|number| number.is_finite()),
            _ => None,
        }
    }
}
