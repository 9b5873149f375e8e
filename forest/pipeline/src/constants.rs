//! The pass *constants*: a column whose operands are constants becomes a constant.

use crate::fault::{PassFault, seeded};
use crate::pipeline::{Pipeline, Stage};
use sched_columns::{ColumnId, Columns, Expr, TypeMismatch};
use std::collections::HashMap;

/// Replaces columns that have the same value in every row by constants.
///
/// # Errors
/// Never, if columns have types that their readers accept, as [`Columns::add`] ensures.
pub fn fold_constants(pipeline: Pipeline) -> Result<Pipeline, TypeMismatch> {
    let mut columns = Columns::default();
    let mut numbers: HashMap<ColumnId, ColumnId> = HashMap::new();
    for old in pipeline.columns.all() {
        let expr = pipeline.columns.expr(old).clone().with_operands(|operand| numbers[&operand]);
        let first = expr.operands().next();
        let mut column = columns.add_folded(expr)?;
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

impl Stage {
    /// The stage with other columns in place of those that it reads.
    #[must_use]
    pub(crate) fn with_tested(self, map: impl Fn(ColumnId) -> ColumnId) -> Stage {
        let Stage::Forest { name, forest, tested } = self;
        Stage::Forest { name, forest, tested: tested.into_iter().map(map).collect() }
    }
}
