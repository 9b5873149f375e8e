//! Expressions over the margins of a row.

use crate::MAX_MARGINS;
use crate::codes;
use crate::error::ModelError;
use crate::types::Float;
use sched_columns::{ColumnId, ColumnType, ColumnValue, Columns, Expr};
use std::sync::Arc;

/// The largest number of a class that expressions compute: all integers up to it are exact in single
/// precision, in which code stores classes.
pub const LARGEST_CLASS: i64 = 1 << 24;

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
        self.evaluate(values).map(ColumnValue::to_f64).collect()
    }

    /// The results for the margins of a row, as class numbers. Numbers are limited to the range from 0 to
    /// [`LARGEST_CLASS`].
    pub(super) fn classes(&self, margins: &[f64]) -> Vec<u32> {
        self.evaluate(margins).map(|value| value.to_i64().clamp(0, LARGEST_CLASS) as u32).collect()
    }

    fn evaluate(&self, values: &[f64]) -> impl Iterator<Item = ColumnValue> {
        self.columns.evaluate(&self.results, values).into_iter()
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
