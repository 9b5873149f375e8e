//! Rows of both types.

use sched_forest::Float;
use schedc_data::FeatureValues;

/// The word for a type.
pub fn type_name(float: Float) -> &'static str {
    match float {
        Float::F32 => "f32",
        Float::F64 => "f64",
    }
}

/// The number of rows.
pub fn count(rows: &FeatureValues, features: usize) -> usize {
    match rows {
        FeatureValues::F32(values) => values.len() / features.max(1),
        FeatureValues::F64(values) => values.len() / features.max(1),
    }
}

/// A row, widened.
pub fn row_of(rows: &FeatureValues, features: usize, row: usize) -> Vec<f64> {
    match rows {
        FeatureValues::F32(values) => {
            values.iter().skip(row * features).take(features).map(|x| f64::from(*x)).collect()
        }
        FeatureValues::F64(values) => values.iter().skip(row * features).take(features).copied().collect(),
    }
}
