//! The rows that a model or a library expects: columns, types of whole numbers, categories, and the number
//! that stands for missing values.

use crate::args::ColumnOptions;
use sched_categories::{Categories, Choices, from_json};
use sched_forest::Float;
use schedc_data::{DataSource, Expect, MissingNumber, Precision, Rows, WholePrecision, read_rows};
use schedc_driver::categories::{WholeNumbers as Rule, categories_of};
use schedc_driver::{Failure, Model};
use serde_json::Value;
use std::path::Path;

/// Reads all rows of a file for a model.
pub fn rows_of_file(input: &Path, columns: ColumnOptions, model: &Model) -> Result<Rows, Failure> {
    let categories = categories_of(model, columns.categories.choices());
    let expect = expected_of(model).by_position(columns.by_position).with_categories(categories.as_ref());
    Ok(read_rows(&DataSource::from_argument(input), expect)?)
}

/// The rows that a model expects.
pub fn expected_of(model: &Model) -> Expect<'_> {
    let expect = match model.forest().feature_names.as_slice() {
        [] => Expect::unnamed(model.forest().num_features),
        names => Expect::named(names).with_blanks_renamed(renames_blanks(model.source.trainer)),
    };
    expect.with_whole_numbers(whole_numbers(Rule::of(model)))
}

/// Whether a trainer writes `_` for each blank in the name of a feature.
pub fn renames_blanks(trainer: &str) -> bool {
    trainer == "LightGBM"
}

/// The types of whole numbers in a library's rows. `about` is the library's description of its model.
pub fn whole_numbers_of_library(about: &Value) -> WholePrecision {
    whole_numbers(Rule::from_about(&about["model"]["whole_numbers"]))
}

fn whole_numbers(rule: Rule) -> WholePrecision {
    WholePrecision { of_tables: precision_of(rule.of_tables), of_arrays: precision_of(rule.of_arrays) }
}

/// The precision of a floating-point type.
pub fn precision_of(float: Float) -> Precision {
    match float {
        Float::F32 => Precision::Single,
        Float::F64 => Precision::Double,
    }
}

/// The number `value` as a missing value of a model's rows.
pub fn missing_in(model: &Model, value: f64) -> MissingNumber {
    MissingNumber { value, single: model.forest().types.input == Float::F32 }
}

/// The categories of a library. `about` is the library's description of its model.
pub fn categories_of_library(about: &Value, choices: Choices) -> Option<Categories> {
    let (names, unseen) = from_json(&about["model"]["categories"])?;
    Some(Categories::new(names, choices, unseen))
}
