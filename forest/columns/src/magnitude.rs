//! Magnitudes of columns, which bound the effects of rounding.

use crate::columns::Columns;
use crate::expr::{Binary, ColumnId, Expr, Unary};
use crate::value::{ColumnType, ColumnValue};

impl Columns {
    /// Magnitudes of the `wanted` columns for a row. If each sum of a column adds its terms in another order,
    /// so that its rounding error is at most `e` times the sum of its terms' magnitudes, then the column
    /// changes by about `e` times its magnitude at most. That holds for columns whose operations keep small
    /// differences small. The magnitude of another column is that of its value.
    pub fn magnitudes(&self, wanted: &[ColumnId], row: &[f64]) -> Vec<f64> {
        let missing = (ColumnValue::F64(f64::NAN), f64::NAN);
        let mut known: Vec<(ColumnValue, f64)> = vec![missing; self.len()];
        for column in self.needed_for(wanted) {
            let expr = self.expr(column);
            let value = Columns::value(expr, row, |operand| known[operand.index()].0);
            let operand = |operand: ColumnId| {
                let (value, magnitude) = known[operand.index()];
                (value.to_f64().abs(), magnitude)
            };
            let magnitude = magnitude(expr, value.to_f64().abs(), operand);
            known[column.index()] = (value, magnitude);
        }
        wanted.iter().map(|column| known[column.index()].1).collect()
    }

    /// Whether some of the `wanted` columns depend on a sum in single precision.
    pub fn adds_singles(&self, wanted: &[ColumnId]) -> bool {
        let is_single = |column: &ColumnId| self.column_type(*column) == ColumnType::F32;
        self.needed_for(wanted).iter().any(|column| self.expr(*column).is_sum() && is_single(column))
    }
}

/// The magnitude of an expression with a value of this size, given the sizes and the magnitudes of its
/// operands.
fn magnitude(expr: &Expr, size: f64, operand: impl Fn(ColumnId) -> (f64, f64)) -> f64 {
    let of = |column: &ColumnId| operand(*column).1;
    match expr {
        Expr::Dot { start, terms } => {
            let terms = terms.iter().map(|term| of(&term.column) * term.weight.to_f64().abs());
            start.to_f64().abs() + terms.sum::<f64>()
        }
        Expr::SquaredDistance { of: columns, point } => {
            let differences = columns.iter().zip(point.iter()).map(|(x, at)| of(x) + at.to_f64().abs());
            differences.map(|difference| difference * difference).sum()
        }
        Expr::Unary(op, x) => match op {
            Unary::Cast(_) | Unary::Negate | Unary::Abs => of(x),
            // These functions rise by at most the difference of their operands.
            Unary::Tanh | Unary::Logistic | Unary::Sin | Unary::Cos | Unary::LogOnePlus => size.max(of(x)),
            // The slope is at most 2 / sqrt(pi).
            Unary::Erf => size.max(1.13 * of(x)),
            Unary::Exp => size * of(x).max(1.0),
            Unary::ExpMinusOne => (size + 1.0) * of(x).max(1.0),
            Unary::SquareRoot if size > 0.0 => size.max(of(x) / (2.0 * size)),
            Unary::SquareRoot => of(x).sqrt(),
            _ => size,
        },
        Expr::Binary(op, x, y) => match op {
            Binary::Add | Binary::Subtract => of(x) + of(y),
            Binary::Multiply => of(x) * of(y),
            // The divisor's own difference counts, too.
            Binary::Divide => of(x).max(size * of(y)) / operand(*y).0,
            Binary::Min | Binary::Max => of(x).max(of(y)),
            _ => size,
        },
        // Both sides of an activation's condition have the same value where it changes.
        Expr::Select { then, otherwise, .. } => of(then).max(of(otherwise)),
        _ => size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Term;
    use crate::float::Float;

    #[test]
    fn cancelled_terms_count_at_every_level() {
        let mut columns = Columns::default();
        let x = columns.input(0, Float::F64);
        let term = |column, weight| Term { column, weight: ColumnValue::F64(weight) };
        let start = ColumnValue::F64(0.0);
        let zero = columns.add(Expr::Dot { start, terms: [term(x, 3.0), term(x, -3.0)].into() }).unwrap();
        let tanh = columns.add(Expr::Unary(Unary::Tanh, zero)).unwrap();
        let sum = columns.add(Expr::Dot { start, terms: [term(tanh, -2.0)].into() }).unwrap();
        let exp = columns.add(Expr::Unary(Unary::Exp, sum)).unwrap();
        assert_eq!(columns.magnitudes(&[x, zero, tanh, sum, exp], &[5.0]), [5.0, 30.0, 30.0, 60.0, 60.0]);
        assert_eq!(columns.magnitudes(&[sum, x], &[-0.5]), [6.0, 0.5]);
    }

    #[test]
    fn distances_have_the_magnitudes_of_operands_and_points() {
        let mut columns = Columns::default();
        let of: Vec<ColumnId> = (0..2).map(|feature| columns.input(feature, Float::F64)).collect();
        let point = [4.0, -1.0].map(ColumnValue::F64);
        let distance = columns.add(Expr::SquaredDistance { of: of.into(), point: point.into() }).unwrap();
        let root = columns.add(Expr::Unary(Unary::SquareRoot, distance)).unwrap();
        assert_eq!(columns.magnitudes(&[distance, root], &[4.0, -1.0]), [68.0, 68.0_f64.sqrt()]);
    }
}
