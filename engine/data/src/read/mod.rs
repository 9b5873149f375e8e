//! Reads rows: opens the source and detects its format.

mod arrow;
mod batch;
mod beside;
mod categories;
mod columns;
mod csv;
mod expect;
mod folder;
mod input;
mod npy;
mod npz;
mod numbers;
mod open;
mod reader;
mod shard;
mod source;
mod stream;

use crate::error::DataError;

pub use arrow::panics_are_errors;
pub use batch::{Batch, FeatureValues, Rows};
pub use expect::{Expect, ExpectedNames, MissingNumber, Precision, WholePrecision};
pub use reader::Reading;
pub use shard::Shard;
pub use source::DataSource;
pub use stream::{KeptColumns, RowStream};

/// Reads all rows of `expect.columns` features from a NumPy array, a Parquet or Arrow file or CSV text. The
/// content decides the format. [`RowStream`] reads rows in pieces.
///
/// # NumPy
///
/// A `.npy` array, or a `.npz` archive of one array. [`Reading::array`] names the array of a larger archive.
///
/// Format versions 1 to 3; floats of 2, 4 and 8 bytes, integers of 1 to 8 bytes and booleans, in either byte
/// order; C or Fortran order. Floats up to 4 bytes and integers up to 2 become [`FeatureValues::F32`], which
/// holds them exactly; wider floats [`FeatureValues::F64`], and wider integers what [`Expect::whole`] says. A
/// one-dimensional array is one row if its length is the number of features, and a column if the model has
/// one feature.
///
/// # Parquet and Arrow
///
/// Columns are floats, integers or booleans. Features whose categories have names may also be text or
/// dictionaries (see [`Expect::categories`]). Null and NaN are missing. Columns are matched by name as in
/// CSV. Types are converted as those of NumPy's elements.
///
/// # CSV
///
/// UTF-8 text, one row per line (LF, CRLF or CR), cells separated by commas - or by tabs or semicolons if
/// the first line has no comma - and quoted with `"` or not. Blank lines are skipped. Values become
/// [`FeatureValues::F64`].
///
/// A cell is a decimal number, `inf` or `infinity` with an optional sign, `true` (1) or `false` (0), or
/// missing: nothing, `NA`, `N/A`, `<NA>`, `NaN`, `null`, `none` or `?`. Case and blanks around it do not
/// matter. Missing cells become NaN. Text is the name of a category if the feature has such names; they go
/// first, so that `NA` may be one.
///
/// The first line is a header if
///
/// - one of its cells is text and one of the model's feature names, or
/// - it has all of the model's feature names, even if all of them are numbers, or
/// - it has one cell for each feature, and these are exactly `0`, `1`, `2` and so on, or
/// - more of its cells are text than numbers.
///
/// If all cells of the line are numbers, [`Rows::notes`] says how the line was read.
///
/// If the model's features have names, columns are matched by name, in any order. Other columns (a label, an
/// index) are left out. A header that lacks a feature is an error, and so are two columns of one name. If the
/// features have no names, or [`Expect::by_position`] is set, columns count by position. For a model without
/// names, a header that contradicts this order is an error: `f0`, `f1` ... in another order, or an unnamed
/// first column.
///
/// # Errors
///
/// A [`DataError`] with codes `D0001` to `D0011` and `D0015` to `D0028`.
pub fn read_rows(source: &DataSource, expect: Expect<'_>) -> Result<Rows, DataError> {
    let mut stream = RowStream::open(source, expect, Reading::default())?;
    let (mut values, mut rows, mut notes) = (None, 0, Vec::new());
    while let Some(batch) = stream.next(usize::MAX)? {
        rows += batch.rows;
        values = Some(match values {
            None => batch.values,
            Some(before) => concatenated(before, batch.values),
        });
        notes.extend(stream.notes());
    }
    notes.extend(stream.notes());
    let values = values.unwrap_or(FeatureValues::empty(Precision::Double));
    Ok(Rows { values, rows, columns: expect.columns, names: stream.names(), notes })
}

/// Concatenates values. The result is in single precision if both parts are, else in double precision.
fn concatenated(before: FeatureValues, after: FeatureValues) -> FeatureValues {
    match (before, after) {
        (FeatureValues::F32(mut values), FeatureValues::F32(more)) => {
            values.extend(more);
            FeatureValues::F32(values)
        }
        (before, after) => {
            let mut values = before.into_f64();
            values.extend(after.into_f64());
            FeatureValues::F64(values)
        }
    }
}
