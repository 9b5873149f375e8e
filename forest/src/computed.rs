//! Computed columns of a forest.

use crate::codes;
use crate::error::ModelError;
use sched_columns::{ColumnId, ColumnType, Columns, Expr, Float};

/// Columns that trees read beside the features of a row. The forest numbers them after its features:
/// column 0 has the number [`num_features`](crate::ForestParts::num_features).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComputedColumns {
    /// All columns: those that trees read, and those on which these depend.
    pub columns: Columns,
    /// The columns that trees read, in the order of their numbers. Their type is that of the forest's rows.
    pub read_by_trees: Vec<ColumnId>,
}

impl ComputedColumns {
    /// Checks that columns exist, read features of the forest, and have the type of rows.
    ///
    /// # Errors
    /// [`codes::FEATURE_OUT_OF_RANGE`] or [`codes::BAD_VALUE`].
    pub(crate) fn check(&self, num_features: usize, rows: Float) -> Result<(), ModelError> {
        let bad = |message: String| Err(ModelError::new(codes::BAD_VALUE, message).at("computed"));
        for column in self.columns.all() {
            if let Expr::Input { feature, .. } = self.columns.expr(column)
                && *feature as usize >= num_features
            {
                let message =
                    format!("a column reads feature {feature}, and there are {num_features} features");
                return Err(ModelError::new(codes::FEATURE_OUT_OF_RANGE, message).at("computed"));
            }
        }
        for column in &self.read_by_trees {
            if column.index() >= self.columns.len() {
                return bad(format!("there is no column {}", column.index()));
            }
            let column_type = self.columns.column_type(*column);
            if column_type != ColumnType::from(rows) {
                return bad(format!(
                    "column {} is {}, and rows are {}",
                    column.index(),
                    column_type.word(),
                    rows.word()
                ));
            }
        }
        Ok(())
    }
}
