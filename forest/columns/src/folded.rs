//! Constant folding of columns while they are added.

use crate::columns::{Columns, OperandTypeError};
use crate::expr::{Binary, ColumnId, Expr, Unary};
use crate::value::{ColumnType, ColumnValue};

impl Columns {
    /// Adds a column as [`Columns::add`] does. Operations on constants become constants, and operations
    /// without an effect become their operand.
    ///
    /// # Errors
    /// If the operation does not take the types of its columns.
    pub fn add_folded(&mut self, expr: Expr) -> Result<ColumnId, OperandTypeError> {
        let constant = |column: ColumnId| match self.expr(column) {
            Expr::Const(value) => Some(*value),
            _ => None,
        };
        self.check(&expr)?;
        match &expr {
            Expr::Unary(Unary::Cast(to), x) if self.column_type(*x) == *to => return Ok(*x),
            Expr::Select { then, otherwise, .. } if then == otherwise => return Ok(*then),
            Expr::Select { condition, then, otherwise } => {
                if let Some(value) = constant(*condition) {
                    return Ok(if value.is_true() { *then } else { *otherwise });
                }
            }
            Expr::Binary(op @ (Binary::And | Binary::Or), x, y) => {
                let decided = ColumnValue::Bool(*op == Binary::Or);
                for (one, other) in [(*x, *y), (*y, *x)] {
                    match constant(one) {
                        Some(value) if value == decided => return Ok(one),
                        Some(_) => return Ok(other),
                        None => {}
                    }
                }
            }
            _ => {}
        }
        let is_computed = !matches!(expr, Expr::Input { .. } | Expr::Const(_));
        if is_computed && expr.operands().all(|operand| constant(operand).is_some()) {
            let of = |operand| constant(operand).unwrap_or(ColumnValue::F64(f64::NAN));
            let value = Columns::value(&expr, &[], of);
            return Ok(self.constant(value));
        }
        self.add(expr)
    }

    /// The column converted to a type: the column itself if it already has the type, else a new cast.
    ///
    /// # Errors
    /// If there is no such cast.
    pub fn cast(&mut self, column: ColumnId, to: ColumnType) -> Result<ColumnId, OperandTypeError> {
        self.add_folded(Expr::Unary(Unary::Cast(to), column))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::float::Float;

    fn number(value: f64) -> ColumnValue {
        ColumnValue::F64(value)
    }

    #[test]
    fn operations_on_constants_are_constants() {
        let mut columns = Columns::default();
        let (one, three) = (columns.constant(number(1.0)), columns.constant(number(3.0)));
        let third = columns.add_folded(Expr::Binary(Binary::Divide, one, three)).expect("two doubles");
        assert_eq!(*columns.expr(third), Expr::Const(number(1.0 / 3.0)));
        let x = columns.input(0, Float::F64);
        let product = columns.add_folded(Expr::Binary(Binary::Multiply, x, third)).expect("two doubles");
        assert!(matches!(columns.expr(product), Expr::Binary(..)));
        assert!(columns.add_folded(Expr::Binary(Binary::And, x, third)).is_err());
    }

    #[test]
    fn decided_choices_go() {
        let mut columns = Columns::default();
        let x = columns.input(0, Float::F64);
        let [yes, no] = [true, false].map(|value| columns.constant(ColumnValue::Bool(value)));
        let zero = columns.constant(number(0.0));
        let select = |condition| Expr::Select { condition, then: x, otherwise: zero };
        assert_eq!(columns.add_folded(select(yes)), Ok(x));
        assert_eq!(columns.add_folded(select(no)), Ok(zero));
        let is_nan = columns.add(Expr::Unary(Unary::IsNan, x)).expect("a double");
        assert_eq!(columns.add_folded(Expr::Binary(Binary::And, is_nan, yes)), Ok(is_nan));
        assert_eq!(columns.add_folded(Expr::Binary(Binary::Or, yes, is_nan)), Ok(yes));
        assert_eq!(columns.cast(x, ColumnType::F64), Ok(x));
    }
}
