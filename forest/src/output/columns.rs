//! Expressions over the margins of a row.

use crate::MAX_MARGINS;
use crate::codes;
use crate::error::ModelError;
use crate::types::Float;
use sched_columns::{Binary, ColumnId, ColumnType, ColumnValue, Columns, Expr};
use std::sync::Arc;

/// The largest number of a class that expressions compute: all integers up to it are exact in single
/// precision, in which code stores classes.
pub(super) const LARGEST_CLASS: i64 = 1 << 24;

/// Results of a row as expressions over the values before the step: margins, or the results of other steps.
/// [`Expr::Input`] with `feature: k` is value `k`, of the accumulator's type.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputColumns {
    /// The expressions. Several steps of an output may share them.
    pub columns: Arc<Columns>,
    /// The expressions that are results, in order; at least one.
    pub results: Vec<ColumnId>,
}

impl OutputColumns {
    /// The results for the values of a row. Values of single precision are widened to `f64`.
    pub(super) fn values(&self, values: &[f64]) -> Vec<f64> {
        self.columns.evaluate(&self.results, values).into_iter().map(ColumnValue::to_f64).collect()
    }

    /// The results as class numbers in single precision, limited to 0 and [`LARGEST_CLASS`].
    pub(crate) fn class_numbers(&self) -> OutputColumns {
        let mut columns = Columns::clone(&self.columns);
        let least = columns.constant(ColumnValue::I64(0));
        let largest = columns.constant(ColumnValue::I64(LARGEST_CLASS));
        let results = self.results.iter().map(|class| {
            let class = columns.insert(Expr::Binary(Binary::Max, *class, least), ColumnType::I64);
            let class = columns.insert(Expr::Binary(Binary::Min, class, largest), ColumnType::I64);
            columns.cast(class, ColumnType::F32).unwrap_or(class)
        });
        let results = results.collect();
        OutputColumns { columns: Arc::new(columns), results }
    }

    /// Whether all results have this type.
    pub(super) fn are_all(&self, column_type: ColumnType) -> bool {
        self.results.iter().all(|result| self.columns.column_type(*result) == column_type)
    }

    /// Checks that results exist, and that they read only the `n_values` values, in the accumulator's type.
    pub(super) fn check(&self, n_values: usize, accumulator: Float) -> Result<(), ModelError> {
        let bad = |message: String| Err(ModelError::new(codes::BAD_PARAMETER, message).at("output"));
        let count = self.results.len();
        if count == 0 {
            return bad("there are no expressions".into());
        }
        if count > MAX_MARGINS {
            return bad(format!("a row has {count} results; at most {MAX_MARGINS} are supported"));
        }
        if let Some(result) = self.results.iter().find(|result| result.index() >= self.columns.len()) {
            return bad(format!("there is no expression {}", result.index()));
        }
        for column in self.columns.needed_for(&self.results) {
            let Expr::Input { feature, float } = self.columns.expr(column) else { continue };
            if *feature as usize >= n_values {
                return bad(format!("an expression reads value {feature} of {n_values}"));
            }
            if *float != accumulator {
                return bad(format!(
                    "an expression reads {} of sums in {}",
                    float.word(),
                    accumulator.word()
                ));
            }
        }
        Ok(())
    }
}
