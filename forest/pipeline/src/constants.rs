//! The pass *constants*: a column whose operands are constants becomes a constant, and columns that become
//! equal become one column.

use crate::fault::{PassFault, seeded};
use crate::pipeline::{Pipeline, Stage};
use sched_columns::{ColumnId, Columns, Expr, TypeMismatch};
use std::collections::HashMap;

/// Replaces columns that have the same value in every row by constants, and keeps one of equal columns.
///
/// # Errors
/// Never, if columns have types that their readers accept, as [`Columns::add`] ensures.
pub fn fold_constants(pipeline: Pipeline) -> Result<Pipeline, TypeMismatch> {
    let mut columns = Columns::default();
    let mut numbers: HashMap<ColumnId, ColumnId> = HashMap::new();
    for old in pipeline.columns.all() {
        let expr = pipeline.columns.expr(old).clone().with_operands(|operand| numbers[&operand]);
        let first = expr.operands().next();
        let confused =
            seeded(PassFault::EqualColumnsConfused).then(|| column_like(&columns, &expr)).flatten();
        let mut column = confused.map_or_else(|| columns.add_folded(expr), Ok)?;
        if let (true, Some(first), Expr::Const(value)) =
            (seeded(PassFault::ConstantsSkipOperation), first, columns.expr(column).clone())
        {
            column = columns.cast(first, value.column_type())?;
        }
        numbers.insert(old, column);
    }
    let stages = pipeline.stages.into_iter().map(|stage| stage.with_tested(|column| numbers[&column]));
    Ok(Pipeline { stages: stages.collect(), columns, inputs: pipeline.inputs })
}

/// A column with an operation of two operands that differs from `expr` in one operand.
fn column_like(columns: &Columns, expr: &Expr) -> Option<ColumnId> {
    let is_like = |column: &ColumnId| match (columns.expr(*column), expr) {
        (Expr::Binary(op, x, y), Expr::Binary(other, of, to)) => op == other && (x == of) != (y == to),
        _ => false,
    };
    columns.all().find(is_like)
}

impl Stage {
    /// The stage with other columns in place of those that it reads.
    #[must_use]
    pub(crate) fn with_tested(self, map: impl Fn(ColumnId) -> ColumnId) -> Stage {
        let Stage::Forest { name, forest, tested } = self;
        Stage::Forest { name, forest, tested: tested.into_iter().map(map).collect() }
    }
}
