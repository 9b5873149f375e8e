//! The pass *constants*: a column whose operands are constants becomes a constant, and columns that become
//! equal become one column.

use crate::fault::{PassFault, seeded};
use crate::pipeline::{Pipeline, PipelineStage};
use sched_columns::{ColumnId, Columns, Expr, OperandTypeError};
use std::collections::HashMap;

/// Replaces columns that have the same value in every row by constants, and keeps one of equal columns.
///
/// # Errors
/// Never, if columns have types that their readers accept, as [`Columns::add`] ensures.
pub fn fold_constants(pipeline: Pipeline) -> Result<Pipeline, OperandTypeError> {
    let mut columns = Columns::default();
    let mut numbers: HashMap<ColumnId, ColumnId> = HashMap::new();
    for old in pipeline.columns.all() {
        let expr = pipeline.columns.expr(old).clone().with_operands(|operand| numbers[&operand]);
        let confused =
            seeded(PassFault::EqualColumnsConfused).then(|| column_like(&columns, &expr)).flatten();
        let column = confused.map_or_else(|| add_evaluated(&mut columns, expr), Ok)?;
        columns.copy_step(column, (&pipeline.columns, old));
        numbers.insert(old, column);
    }
    let stages = pipeline.stages.into_iter().map(|stage| stage.with_tested(|column| numbers[&column]));
    Ok(Pipeline { stages: stages.collect(), columns, inputs: pipeline.inputs })
}

/// Adds a column. An operation on constants becomes its value.
///
/// # Errors
/// If the operation does not take the types of its columns.
pub(crate) fn add_evaluated(columns: &mut Columns, expr: Expr) -> Result<ColumnId, OperandTypeError> {
    let first = expr.operands().next();
    let column = columns.add_folded(expr)?;
    match (columns.expr(column).clone(), first) {
        (Expr::Const(value), Some(first)) if seeded(PassFault::ConstantsSkipOperation) => {
            columns.cast(first, value.column_type())
        }
        _ => Ok(column),
    }
}

/// A column with an operation of two operands that differs from `expr` in one operand.
fn column_like(columns: &Columns, expr: &Expr) -> Option<ColumnId> {
    let is_like = |column: &ColumnId| match (columns.expr(*column), expr) {
        (Expr::Binary(op, x, y), Expr::Binary(other, of, to)) => op == other && (x == of) != (y == to),
        _ => false,
    };
    columns.all().find(is_like)
}

impl PipelineStage {
    /// The stage with other columns in place of those that it reads.
    #[must_use]
    pub(crate) fn with_tested(self, map: impl Fn(ColumnId) -> ColumnId) -> PipelineStage {
        let PipelineStage::Forest { name, forest, tested } = self;
        PipelineStage::Forest { name, forest, tested: tested.into_iter().map(map).collect() }
    }
}
