//! Expressions over the margins of a row.

use sched_columns::{ColumnId, Columns, Expr, Float};
use std::sync::Arc;

/// Results of a row, computed from its margins: [`Expr::Input`](sched_columns::Expr::Input) number `k` is
/// margin `k`.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputColumns {
    /// The expressions.
    pub columns: Arc<Columns>,
    /// The results among them, in order.
    pub results: Vec<ColumnId>,
}

impl OutputColumns {
    /// Checks that results exist, and read margins that exist in the type of sums.
    ///
    /// # Errors
    /// A message about what does not.
    pub(crate) fn check(&self, num_margins: usize, sums: Float) -> Result<(), String> {
        if self.results.is_empty() {
            return Err("there are no expressions".into());
        }
        if let Some(result) = self.results.iter().find(|result| result.index() >= self.columns.len()) {
            return Err(format!("there is no expression {}", result.index()));
        }
        for column in self.columns.all() {
            let Expr::Input { feature, float } = self.columns.expr(column) else { continue };
            if *feature as usize >= num_margins {
                return Err(format!("an expression reads margin {feature} of {num_margins}"));
            }
            if *float != sums {
                return Err(format!("an expression reads {} of sums in {}", float.word(), sums.word()));
            }
        }
        Ok(())
    }

    /// The results for margins, widened.
    pub fn of(&self, margins: &[f64]) -> Vec<f64> {
        let values = self.columns.evaluate(&self.results, margins);
        values.into_iter().map(|value| value.to_f64()).collect()
    }
}
