//! Columns of the input that hold a base margin instead of a feature.

use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::FieldRef;

use super::expect::Precision;
use super::{arrow, csv};
use crate::codes;
use crate::error::{DataError, shorten};

/// Checks, before any row is read, that columns can hold numbers.
pub(super) fn check(fields: &[FieldRef], name: &str) -> Result<(), DataError> {
    let is_number = |field: &&FieldRef| arrow::is_number(field) || arrow::is_text(field);
    match fields.iter().find(|field| !is_number(field)) {
        None => Ok(()),
        Some(field) => Err(refused(name, &format!("column \"{}\" holds no numbers", shorten(field.name())))),
    }
}

/// The numbers of the columns, row by row.
pub(super) fn numbers(
    columns: &[ArrayRef],
    fields: &[FieldRef],
    rows: usize,
    before: u64,
    name: &str,
) -> Result<Vec<f64>, DataError> {
    let mut values = vec![f64::NAN; rows.saturating_mul(columns.len())];
    for (at, (column, field)) in columns.iter().zip(fields).enumerate() {
        let places = values.iter_mut().skip(at).step_by(columns.len());
        let done = match column.as_any().downcast_ref::<StringArray>() {
            Some(texts) => {
                let value = |text: Option<&str>| text.and_then(|text| csv::parse(text.as_bytes()));
                places.zip(texts).for_each(|(place, text)| *place = value(text).unwrap_or(f64::NAN));
                Some(())
            }
            None => arrow::put(column, Precision::Double, places),
        };
        let of_column =
            |row: usize| values.get(row * columns.len() + at).is_none_or(|value| !value.is_finite());
        if done.is_none() || column.len() != rows {
            return Err(refused(name, &format!("column \"{}\" holds no numbers", shorten(field.name()))));
        }
        if let Some(row) = (0..rows).find(|&row| of_column(row)) {
            let message = format!(
                "column \"{}\" holds no number in row {} of the rows that are read",
                shorten(field.name()),
                before + row as u64 + 1
            );
            return Err(refused(name, &message));
        }
    }
    Ok(values)
}

fn refused(name: &str, message: &str) -> DataError {
    DataError::new(codes::BASE_MARGIN, name, message)
        .help("give every row a finite number, in the columns that --base-margin names")
}
