//! Formulas over columns, from which operators are built.

use super::builder::GraphColumns;
use super::tensor::ColumnResult;
use super::tensor::TensorElement;
use sched_columns::{Binary, ColumnId, ColumnType, ColumnValue, Expr, Unary};
use sched_forest::ModelError;

/// A builder of formulas over columns of one type. Constants in a formula are rounded to that type.
pub(super) struct Formula<'b> {
    pub builder: &'b mut GraphColumns,
    pub element: TensorElement,
}

impl Formula<'_> {
    /// A constant.
    pub fn number(&mut self, x: f64) -> ColumnResult {
        let column_type = self.element.column_type().unwrap_or(ColumnType::F64);
        Ok(self.builder.columns.constant(ColumnValue::F64(x).cast(column_type)))
    }

    /// An operation on one column.
    pub fn unary(&mut self, op: Unary, x: ColumnId) -> ColumnResult {
        self.builder.add(Expr::Unary(op, x))
    }

    /// An operation on two columns.
    pub fn binary(&mut self, op: Binary, x: ColumnId, y: ColumnId) -> ColumnResult {
        self.builder.add(Expr::Binary(op, x, y))
    }

    /// The sum of cells, from left to right.
    pub fn sum(&mut self, cells: &[ColumnId]) -> ColumnResult {
        self.sum_of(cells, |_, cell| Ok(cell))
    }

    /// The sum of a term for each cell, from left to right.
    pub fn sum_of(
        &mut self,
        cells: &[ColumnId],
        mut term: impl FnMut(&mut Self, ColumnId) -> ColumnResult,
    ) -> ColumnResult {
        let mut sum = None;
        for &cell in cells {
            let term = term(self, cell)?;
            sum = Some(match sum {
                None => term,
                Some(sum) => self.binary(Binary::Add, sum, term)?,
            });
        }
        sum.map_or_else(|| self.number(0.0), Ok)
    }

    /// The sum of the squares of cells, from left to right.
    pub fn sum_of_squares(&mut self, cells: &[ColumnId]) -> ColumnResult {
        self.sum_of(cells, |formula, cell| formula.binary(Binary::Multiply, cell, cell))
    }

    /// The largest of some cells.
    pub fn largest(&mut self, cells: &[ColumnId]) -> ColumnResult {
        let least = self.number(f64::NEG_INFINITY)?;
        let (first, rest) = cells.split_first().unwrap_or((&least, &[]));
        rest.iter().try_fold(*first, |largest, cell| self.binary(Binary::Max, largest, *cell))
    }

    /// The largest of some cells, or 0 if that is infinite, so that no later difference is infinity minus
    /// infinity.
    pub fn largest_finite(&mut self, cells: &[ColumnId]) -> ColumnResult {
        let largest = self.largest(cells)?;
        let size = self.unary(Unary::Abs, largest)?;
        let zero = self.number(0.0)?;
        let condition = self.with(Binary::Equal, size, f64::INFINITY)?;
        self.builder.add(Expr::Select { condition, then: zero, otherwise: largest })
    }

    /// `exp(x - from)` of each cell.
    pub fn powers_from(&mut self, cells: &[ColumnId], from: ColumnId) -> Result<Vec<ColumnId>, ModelError> {
        let power = |cell: &ColumnId| {
            let moved = self.binary(Binary::Subtract, *cell, from)?;
            self.unary(Unary::Exp, moved)
        };
        cells.iter().map(power).collect()
    }

    /// An operation with a constant as the right operand.
    pub fn with(&mut self, op: Binary, x: ColumnId, number: f64) -> ColumnResult {
        let number = self.number(number)?;
        self.binary(op, x, number)
    }

    /// `then` where `x` is below a bound, else `otherwise`.
    pub fn below(&mut self, x: ColumnId, bound: f64, then: ColumnId, otherwise: ColumnId) -> ColumnResult {
        let condition = self.with(Binary::Less, x, bound)?;
        self.builder.add(Expr::Select { condition, then, otherwise })
    }

    /// The number between two bounds that is nearest to `x`.
    pub fn between(&mut self, x: ColumnId, low: f64, high: f64) -> ColumnResult {
        let bounded = self.with(Binary::Min, x, high)?;
        self.with(Binary::Max, bounded, low)
    }

    /// `log(1 + exp(x))` without overflow.
    pub fn softplus(&mut self, x: ColumnId) -> ColumnResult {
        let size = self.unary(Unary::Abs, x)?;
        let negative = self.unary(Unary::Negate, size)?;
        let power = self.unary(Unary::Exp, negative)?;
        let log = self.unary(Unary::LogOnePlus, power)?;
        let above = self.with(Binary::Max, x, 0.0)?;
        self.binary(Binary::Add, above, log)
    }
}
