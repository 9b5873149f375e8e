//! The values of rows that a forest reads: features and computed columns.

use crate::forest::Forest;
use crate::real::{Real, rounded};
use sched_columns::Float;
use std::borrow::Cow;

/// The values that a forest reads of a row: its features, and the columns computed from them.
#[derive(Clone, Debug)]
pub struct RowValues<'a, X> {
    features: &'a [X],
    num_features: usize,
    computed: Vec<f64>,
    float: Float,
}

impl<X: Real> RowValues<'_, X> {
    /// The value of a feature or of a computed column, by its number, in the type of the forest's rows.
    /// Features beyond the end of a row that is too short are missing.
    pub fn of(&self, number: u32) -> f64 {
        let number = number as usize;
        match number.checked_sub(self.num_features) {
            None => self.features.get(number).map_or(f64::NAN, |value| rounded(value.widen(), self.float)),
            Some(column) => self.computed.get(column).copied().unwrap_or(f64::NAN),
        }
    }
}

impl Forest {
    /// The number of values that trees can read of a row: features and computed columns.
    pub fn num_values(&self) -> usize {
        self.num_features + self.computed.read_by_trees.len()
    }

    /// The name of a feature, if it has one, or `computed N` for a computed column.
    pub fn value_name(&self, number: u32) -> Option<String> {
        match (number as usize).checked_sub(self.num_features) {
            None => self.feature_names.get(number as usize).cloned(),
            Some(column) => Some(format!("computed {column}")),
        }
    }

    /// The values of a row that the forest reads.
    pub fn row_values<'a, X: Real>(&self, row: &'a [X]) -> RowValues<'a, X> {
        let computed = match self.computed.read_by_trees.is_empty() {
            true => Vec::new(),
            false => self.computed_of(row),
        };
        RowValues { features: row, num_features: self.num_features, computed, float: self.types.input }
    }

    /// The values of a row in which the computed columns already follow the features, as in
    /// [`Forest::rows_with_columns`].
    pub fn row_with_columns<'a, X: Real>(&self, row: &'a [X]) -> RowValues<'a, X> {
        let (num_features, computed) = (self.num_values(), Vec::new());
        RowValues { features: row, num_features, computed, float: self.types.input }
    }

    /// The rows with their computed columns appended: the features of a row, then its computed columns,
    /// [`Forest::num_values`] values in all.
    pub fn rows_with_columns<'a, X: Real>(&self, rows: &'a [X]) -> Cow<'a, [X]> {
        if self.computed.read_by_trees.is_empty() {
            return Cow::Borrowed(rows);
        }
        let wide = |row: &'a [X]| row.iter().copied().chain(self.computed_of(row).into_iter().map(X::narrow));
        Cow::Owned(rows.chunks_exact(self.num_features).flat_map(wide).collect())
    }

    fn computed_of<X: Real>(&self, row: &[X]) -> Vec<f64> {
        let row: Vec<f64> = row.iter().map(|value| value.widen()).collect();
        let values = self.computed.columns.evaluate(&self.computed.read_by_trees, &row);
        values.into_iter().map(|value| value.to_f64()).collect()
    }
}
