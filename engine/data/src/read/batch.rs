//! Rows in memory.

use arrow_array::ArrayRef;

use super::expect::{MissingNumber, Precision};

/// Feature values, in the precision in which the file has them.
#[derive(Clone, Debug, PartialEq)]
pub enum FeatureValues {
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
}

impl FeatureValues {
    /// The values in a precision: doubles are rounded to the nearest float, and floats are widened.
    pub fn in_precision(self, precision: Precision) -> FeatureValues {
        match (precision, self) {
            (Precision::Single, FeatureValues::F64(values)) => {
                FeatureValues::F32(values.into_iter().map(|value| value as f32).collect())
            }
            (Precision::Double, values) => FeatureValues::F64(values.into_f64()),
            (Precision::Single, values) => values,
        }
    }

    /// The values in double precision; floats are widened.
    pub fn into_f64(self) -> Vec<f64> {
        match self {
            FeatureValues::F32(values) => values.into_iter().map(f64::from).collect(),
            FeatureValues::F64(values) => values,
        }
    }
}

/// Rows of features. A missing value is NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The values in row-major order, `rows * columns` of them.
    pub values: FeatureValues,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns, which is that of the model's features.
    pub columns: usize,
    /// The columns' names, if the file has names.
    pub names: Option<Vec<String>>,
    /// Warnings for the user if it is unclear whether the first CSV line is a header.
    pub notes: Vec<String>,
}

impl Rows {
    /// The values in single precision; doubles are rounded to the nearest float, as trainers that compare in
    /// single precision do.
    pub fn into_f32(self) -> Vec<f32> {
        match self.values {
            FeatureValues::F32(values) => values,
            FeatureValues::F64(values) => values.into_iter().map(|value| value as f32).collect(),
        }
    }

    /// The values in double precision; floats are widened.
    pub fn into_f64(self) -> Vec<f64> {
        self.values.into_f64()
    }
}

/// Consecutive rows of a file.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The values in row-major order; empty if `columns` has them.
    pub values: FeatureValues,
    /// The values of each feature, one per row, if [`Reading::by_column`](super::Reading::by_column) is set
    /// and the file is stored by columns.
    pub columns: Vec<FeatureValues>,
    /// The number of rows, at least one.
    pub rows: usize,
    /// The base margin, row by row: the numbers of the columns that
    /// [`Reading::beside`](super::Reading::beside) counts.
    pub beside: Vec<f64>,
    /// The columns to copy to the results, each with `rows` elements.
    pub(crate) kept: Vec<ArrayRef>,
}

impl Batch {
    /// Converts all values to a precision.
    pub(super) fn convert(&mut self, precision: Precision) {
        for values in self.columns.iter_mut().chain([&mut self.values]) {
            let of_file = std::mem::replace(values, FeatureValues::F64(Vec::new()));
            *values = of_file.in_precision(precision);
        }
    }

    /// Whether all values are in single precision.
    pub fn is_narrow(&self) -> bool {
        let narrow = |values: &FeatureValues| matches!(values, FeatureValues::F32(_));
        if self.columns.is_empty() { narrow(&self.values) } else { self.columns.iter().all(narrow) }
    }

    /// Whether the batch has one array for each feature.
    pub fn has_columns(&self) -> bool {
        !self.columns.is_empty()
    }
}

impl MissingNumber {
    /// Replaces values of a batch that equal the number by NaN.
    pub(super) fn mark(self, batch: &mut Batch) {
        let is_it = |x: f64| match self.single {
            true => x as f32 == self.value as f32,
            false => x == self.value,
        };
        for values in std::iter::once(&mut batch.values).chain(&mut batch.columns) {
            match values {
                FeatureValues::F32(values) => {
                    values.iter_mut().filter(|x| is_it(f64::from(**x))).for_each(|x| *x = f32::NAN);
                }
                FeatureValues::F64(values) => {
                    values.iter_mut().filter(|x| is_it(**x)).for_each(|x| *x = f64::NAN)
                }
            }
        }
    }
}
