//! Bounds of the differences that another order of the terms of sums causes in columns.

use super::ranges::range;
use sched_columns::{Binary, ColumnId, ColumnType, ColumnValue, Columns, Expr};
use std::collections::HashMap;

/// Rounding errors of doubles in a rounding error of single precision.
const SINGLE_ROUNDING: f64 = (1_u64 << 29) as f64;

/// Largest size of a [`Loss`] in double precision: a difference of 1e-7.
const MOST_OF_DOUBLES: f64 = (1_u64 << 30) as f64;

/// Largest size of a [`Loss`] that single precision causes: a difference of 1e-5.
const MOST_OF_SINGLES: f64 = 128.0 * SINGLE_ROUNDING;

/// A bound of a column's difference, if the columns that depend on sums are near 1: factors and weights
/// enlarge it, and an added number rounds the column to a multiple of its own rounding error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Loss {
    /// The bound, in rounding errors of a double near 1.
    size: f64,
    /// Whether a column in single precision causes it.
    of_singles: bool,
}

impl Loss {
    /// The rounding error of a value of this type.
    pub fn rounding(of: ColumnType) -> Loss {
        match of {
            ColumnType::F32 => Loss { size: SINGLE_ROUNDING, of_singles: true },
            _ => Loss { size: 1.0, of_singles: false },
        }
    }

    /// The loss behind a factor.
    pub fn enlarged(self, factor: f64) -> Loss {
        Loss { size: self.size * factor, ..self }
    }

    /// The loss of a sum of columns with these losses; `None` without any.
    pub fn sum(losses: impl Iterator<Item = Loss>) -> Option<Loss> {
        losses.reduce(|one, other| one.with(other, one.size + other.size))
    }

    /// The largest of some losses; `None` without any. Not a number is larger than all others.
    pub fn largest(losses: impl Iterator<Item = Loss>) -> Option<Loss> {
        let larger = |one: f64, other: f64| if one.is_nan() || one > other { one } else { other };
        losses.reduce(|one, other| one.with(other, larger(one.size, other.size)))
    }

    /// Whether the difference is small enough for results.
    pub fn is_small(self) -> bool {
        self.size <= if self.of_singles { MOST_OF_SINGLES } else { MOST_OF_DOUBLES }
    }

    fn with(self, other: Loss, size: f64) -> Loss {
        Loss { size, of_singles: self.of_singles || other.of_singles }
    }
}

/// The differences of columns that rounding errors of sums cause.
pub(super) struct Differences<'a> {
    pub columns: &'a Columns,
    /// The loss of each column that depends on a sum.
    losses: HashMap<ColumnId, Loss>,
}

impl<'a> Differences<'a> {
    /// The differences of `needed` columns, of which each comes after the columns that it reads. The results
    /// of sums differ by rounding.
    pub fn of_sums(columns: &'a Columns, needed: &[ColumnId]) -> Differences<'a> {
        let rounding = |column| Loss::rounding(columns.column_type(column));
        Differences::of(columns, needed, |column| columns.expr(column).is_sum().then(|| rounding(column)))
    }

    /// The differences of `needed` columns, where some have a loss of their `own`.
    pub fn of(
        columns: &'a Columns,
        needed: &[ColumnId],
        own: impl Fn(ColumnId) -> Option<Loss>,
    ) -> Differences<'a> {
        let mut all = Differences { columns, losses: HashMap::new() };
        for column in needed {
            let rounding = Loss::rounding(columns.column_type(*column));
            let inherited = all.inherited(*column).map(|loss| [loss, rounding]);
            let losses = inherited.into_iter().flatten().chain(own(*column));
            all.losses.extend(Loss::largest(losses).map(|loss| (*column, loss)));
        }
        all
    }

    /// The loss of a column; `None` if it depends on no sum.
    pub fn loss(&self, column: ColumnId) -> Option<Loss> {
        self.losses.get(&column).copied()
    }

    /// The loss of a column that its operands cause; `None` if none of them depends on a sum.
    fn inherited(&self, column: ColumnId) -> Option<Loss> {
        let expr = self.columns.expr(column);
        if !expr.operands().any(|operand| self.loss(operand).is_some()) {
            return None;
        }
        let rounding = Loss::rounding(self.columns.column_type(column));
        let loss = |operand: &ColumnId| self.loss(*operand);
        let size = |operand: &ColumnId| range(self.columns, *operand).largest_size();
        // Of an operand, the loss, or the rounding error of its size if it does not depend on a sum.
        let added = |operand: &ColumnId| loss(operand).unwrap_or_else(|| rounding.enlarged(size(operand)));
        let both = |x: Loss, y: Loss| Loss::sum([x, y].into_iter());
        match expr {
            Expr::Dot { start, terms } => {
                let enlarged = |weight: f64, of: &ColumnId| loss(of).map(|loss| loss.enlarged(weight.abs()));
                let terms = terms.iter().filter_map(|term| enlarged(term.weight.to_f64(), &term.column));
                Loss::sum(terms.chain([rounding.enlarged(start.to_f64().abs())]))
            }
            Expr::SquaredDistance { of, point } => {
                let slope = |at: &ColumnValue| 2.0 * (1.0 + at.to_f64().abs());
                let differ = of.iter().zip(point.iter());
                Loss::sum(differ.filter_map(|(of, at)| Some(loss(of)?.enlarged(slope(at)))))
            }
            Expr::Binary(Binary::Add | Binary::Subtract, x, y) => both(added(x), added(y)),
            Expr::Binary(Binary::Multiply, x, y) => match (loss(x), loss(y)) {
                (Some(x), Some(y)) => both(x, y),
                (Some(loss), None) => Some(loss.enlarged(size(y))),
                (None, other) => other.map(|loss| loss.enlarged(size(x))),
            },
            Expr::Binary(Binary::Divide, x, y) => match (loss(x), loss(y)) {
                (Some(loss), None) => Some(loss.enlarged(1.0 / range(self.columns, *y).smallest_size())),
                (_, other) => other.and_then(|other| both(added(x), other)),
            },
            _ => Loss::largest(expr.operands().filter_map(|operand| loss(&operand))),
        }
    }
}
