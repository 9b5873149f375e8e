//! Reads rows: opens the source and detects its format.

mod arrow;
mod beside;
mod categories;
mod columns;
mod csv;
mod folder;
mod input;
mod npy;
mod npz;
mod numbers;
mod open;
mod shard;
mod stream;

use std::io;
use std::ops::Range;
use std::path::PathBuf;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::FieldRef;

use crate::codes;
use crate::error::DataError;
use sched_categories::{Categories, Lookup, Origin};

pub use arrow::panics_are_errors;
pub use shard::Shard;
pub use stream::{KeptColumns, RowStream};

/// The origin of rows.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file, or a folder of files of one format.
    Path(PathBuf),
    /// Standard input, read to its end.
    StandardInput,
    /// Bytes in memory.
    Bytes {
        /// The name of the source in messages.
        name: String,
        /// The content of the file.
        bytes: Vec<u8>,
    },
}

impl Source {
    /// The source that a command-line argument names: `-` is standard input.
    pub fn from_argument(argument: impl Into<PathBuf>) -> Self {
        let path = argument.into();
        if path.as_os_str() == "-" { Source::StandardInput } else { Source::Path(path) }
    }

    /// The name that messages use.
    pub fn name(&self) -> String {
        match self {
            Source::Path(path) => path.display().to_string(),
            Source::StandardInput => "standard input".to_owned(),
            Source::Bytes { name, .. } => name.clone(),
        }
    }
}

/// The knowledge of a model's feature names.
#[derive(Clone, Copy, Debug)]
pub enum Names<'a> {
    /// Each feature has a name. Columns with names are matched by name.
    Known(&'a [String]),
    /// The features have no names: columns count by position.
    None,
    /// The library does not record whether features have names.
    Unknown,
}

/// The rows that a model expects.
#[derive(Clone, Copy, Debug)]
pub struct Expect<'a> {
    /// Columns of a row: the model's number of features.
    pub columns: usize,
    /// The features' names.
    pub names: Names<'a>,
    /// Whether columns count by position whatever the names say.
    pub by_position: bool,
    /// The precisions to which whole numbers are rounded.
    pub whole: WholeNumbers,
    /// The categories of features, if some have names. Text in a column becomes the code of its category.
    pub categories: Option<&'a Categories>,
    /// A number that counts as missing, in addition to NaN.
    pub missing: Option<Missing>,
}

/// A precision of floating-point numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// 32 bits.
    Single,
    /// 64 bits.
    #[default]
    Double,
}

/// The precision to which whole numbers are rounded, once and from their own type, as the model's trainer
/// does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WholeNumbers {
    /// Precision of whole numbers in cells of tables.
    pub of_tables: Precision,
    /// Precision of whole numbers in elements of arrays.
    pub of_arrays: Precision,
}

impl WholeNumbers {
    /// Rounds whole numbers of tables and arrays to the same precision.
    pub fn all(precision: Precision) -> WholeNumbers {
        WholeNumbers { of_tables: precision, of_arrays: precision }
    }
}

/// A number that counts as a missing value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Missing {
    /// The number.
    pub value: f64,
    /// Whether values are rounded to single precision before the comparison. Set if the model reads such
    /// rows.
    pub single: bool,
}

impl Missing {
    /// Replaces values of a batch that equal the number by NaN.
    fn mark(self, batch: &mut Batch) {
        let is_it = |x: f64| match self.single {
            true => x as f32 == self.value as f32,
            false => x == self.value,
        };
        for values in std::iter::once(&mut batch.values).chain(&mut batch.columns) {
            match values {
                Values::F32(values) => {
                    values.iter_mut().filter(|x| is_it(f64::from(**x))).for_each(|x| *x = f32::NAN);
                }
                Values::F64(values) => values.iter_mut().filter(|x| is_it(**x)).for_each(|x| *x = f64::NAN),
            }
        }
    }
}

impl<'a> Expect<'a> {
    /// The expected rows of a model whose features have these names.
    pub fn named(names: &'a [String]) -> Self {
        Expect {
            columns: names.len(),
            names: Names::Known(names),
            by_position: false,
            whole: WholeNumbers::default(),
            categories: None,
            missing: None,
        }
    }

    /// The expected rows of a model whose features have no names.
    pub fn unnamed(columns: usize) -> Self {
        Expect { columns, names: Names::None, ..Expect::named(&[]) }
    }

    /// The expected rows of a library that does not record whether features have names.
    pub fn untold(columns: usize) -> Self {
        Expect { columns, names: Names::Unknown, ..Expect::named(&[]) }
    }

    /// Matches columns by position if `insist` is true.
    pub fn by_position(self, insist: bool) -> Self {
        Expect { by_position: insist, ..self }
    }

    /// Sets the precisions to which whole numbers are rounded.
    pub fn with_whole_numbers(self, whole: WholeNumbers) -> Self {
        Expect { whole, ..self }
    }

    /// Adds the categories of a model that has names for them.
    pub fn with_categories(self, categories: Option<&'a Categories>) -> Self {
        Expect { categories, ..self }
    }

    /// Adds a number that stands for missing values, if there is one.
    pub fn with_missing(self, missing: Option<Missing>) -> Self {
        Expect { missing, ..self }
    }

    /// The look-up of category names in a feature's column, if its categories have names.
    fn lookup(&self, feature: usize) -> Option<Lookup<'a>> {
        self.categories.and_then(|categories| categories.lookup(feature, Origin::Table))
    }

    /// The names by which columns are matched; `None` if columns count by position.
    pub(crate) fn names_to_match(&self) -> Option<&'a [String]> {
        match self.names {
            Names::Known(names) if !self.by_position => Some(names),
            _ => None,
        }
    }
}

/// Feature values, in the precision in which the file has them.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
}

impl Values {
    /// The values in double precision; floats are widened.
    pub fn into_f64(self) -> Vec<f64> {
        match self {
            Values::F32(values) => values.into_iter().map(f64::from).collect(),
            Values::F64(values) => values,
        }
    }
}

/// Rows of features. A missing value is NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The values in row-major order, `rows * columns` of them.
    pub values: Values,
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
            Values::F32(values) => values,
            Values::F64(values) => values.into_iter().map(|value| value as f32).collect(),
        }
    }

    /// The values in double precision; floats are widened.
    pub fn into_f64(self) -> Vec<f64> {
        self.values.into_f64()
    }
}

/// The parts of a file to read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading<'a> {
    /// Names of columns to return beside the rows.
    pub keep: &'a [String],
    /// The number of these columns, counted from the end, whose numbers go to [`Batch::beside`] instead of
    /// the results.
    pub beside: usize,
    /// The part of the rows to read; `None` for all.
    pub shard: Option<Shard>,
    /// The name of the array to read from an archive.
    pub array: Option<&'a str>,
    /// Whether a file that is stored by columns fills [`Batch::columns`] instead of [`Batch::values`].
    pub by_column: bool,
}

impl Batch {
    /// Whether all values are in single precision.
    pub fn is_narrow(&self) -> bool {
        let narrow = |values: &Values| matches!(values, Values::F32(_));
        if self.columns.is_empty() { narrow(&self.values) } else { self.columns.iter().all(narrow) }
    }

    /// Whether the batch has one array for each feature.
    pub fn has_columns(&self) -> bool {
        !self.columns.is_empty()
    }
}

impl<'a> Reading<'a> {
    /// The names of the columns to copy to the results.
    fn handed_on(&self) -> &'a [String] {
        self.keep.get(..self.keep.len().saturating_sub(self.beside)).unwrap_or_default()
    }
}

/// Consecutive rows of a file.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The values in row-major order; empty if `columns` has them.
    pub values: Values,
    /// The values of each feature, one per row, if [`Reading::by_column`] is set and the file is stored by
    /// columns.
    pub columns: Vec<Values>,
    /// The number of rows, at least one.
    pub rows: usize,
    /// The numbers of the columns that [`Reading::beside`] counts, row by row.
    pub beside: Vec<f64>,
    /// The columns to copy to the results, each with `rows` elements.
    pub(crate) kept: Vec<ArrayRef>,
}

/// Reads a file of one format as rows.
trait Reader {
    /// Returns the next rows, at least one and at most `most`, or `None` at the end. The features come first,
    /// in the model's order or as one column of lists, and then the columns that are kept.
    fn next(&mut self, most: usize) -> Result<Option<RecordBatch>, DataError>;
    /// Checks that the file ends after its last row, once a batch would begin there.
    fn end(&mut self) -> Result<(), DataError> {
        Ok(())
    }
    /// The number of remaining rows, if the file records it.
    fn rows(&self) -> Option<u64> {
        None
    }
    /// The number of parts of the file that can be read separately, if it has such parts.
    fn parts(&self) -> Option<u64> {
        None
    }
    /// Restricts the reader to a range of parts. Call it before the first read.
    fn select(&mut self, _: Range<u64>) -> Result<(), DataError> {
        Ok(())
    }
    /// Whether rows are an array of numbers, without types or names of columns.
    fn is_array(&self) -> bool {
        false
    }
    /// The features' names in the file, once they have been read.
    fn names(&self) -> Option<Vec<String>> {
        None
    }
    /// The columns to copy to the results.
    fn kept(&self) -> Vec<FieldRef> {
        Vec::new()
    }
    /// A remark on columns that were matched by name, after the last read.
    fn remark(&self) -> Option<String> {
        None
    }
    /// Notes on doubtful interpretations since the last call.
    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// Reads all rows of `expect.columns` features from a NumPy array, a Parquet or Arrow file or CSV text. The
/// content decides the format. [`RowStream`] reads rows in pieces.
///
/// # NumPy
///
/// A `.npy` array, or a `.npz` archive of one array. [`Reading::array`] names the array of a larger archive.
///
/// Format versions 1 to 3; floats of 2, 4 and 8 bytes, integers of 1 to 8 bytes and booleans, in either byte
/// order; C or Fortran order. Floats up to 4 bytes and integers up to 2 become [`Values::F32`], which holds
/// them exactly; wider floats [`Values::F64`], and wider integers what [`Expect::whole`] says. A
/// one-dimensional array is one row where its length is the number of features, and a column where the model
/// has one feature.
///
/// # Parquet and Arrow
///
/// Columns are floats, integers or booleans. Features whose categories have names may also be text or
/// dictionaries (see [`Expect::categories`]). Null and NaN are missing. Columns are matched by name as in
/// CSV. Types are converted as those of NumPy's elements.
///
/// # CSV
///
/// UTF-8 text, one row per line (LF, CRLF or CR), cells separated by commas - or by tabs or semicolons where
/// the first line has no comma - and quoted with `"` or not. Blank lines are skipped. Values become
/// [`Values::F64`].
///
/// A cell is a decimal number, `inf` or `infinity` with an optional sign, `true` (1) or `false` (0), or
/// missing: nothing, `NA`, `N/A`, `<NA>`, `NaN`, `null`, `none` or `?`. Case and blanks around it do not
/// matter. Missing cells become NaN. Text is the name of a category where the feature has such; names go
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
pub fn read_rows(source: &Source, expect: Expect<'_>) -> Result<Rows, DataError> {
    let mut stream = RowStream::open(source, expect, Reading::default())?;
    let (mut values, mut rows, mut notes) = (None, 0, Vec::new());
    while let Some(batch) = stream.next(usize::MAX)? {
        rows += batch.rows;
        values = Some(match values {
            None => batch.values,
            Some(before) => together(before, batch.values),
        });
        notes.extend(stream.notes());
    }
    notes.extend(stream.notes());
    let values = values.unwrap_or(Values::empty(Precision::Double));
    Ok(Rows { values, rows, columns: expect.columns, names: stream.names(), notes })
}

/// Concatenates values. The result is in single precision if both parts are, else in double precision.
fn together(before: Values, after: Values) -> Values {
    match (before, after) {
        (Values::F32(mut values), Values::F32(more)) => {
            values.extend(more);
            Values::F32(values)
        }
        (before, after) => {
            let mut values = before.into_f64();
            values.extend(after.into_f64());
            Values::F64(values)
        }
    }
}

/// The parts of a range that are among `n_parts` parts.
fn within(parts: Range<u64>, n_parts: usize) -> Range<usize> {
    let part = |part: u64| usize::try_from(part).unwrap_or(n_parts).min(n_parts);
    part(parts.start)..part(parts.end)
}

/// The error for an input that cannot be read.
fn unreadable(name: &str, error: &io::Error) -> DataError {
    let (message, help) = match error.kind() {
        io::ErrorKind::NotFound => ("there is no such file".to_owned(), "check the path"),
        io::ErrorKind::PermissionDenied => {
            ("there is no permission to read it".to_owned(), "check who owns the file and its mode")
        }
        io::ErrorKind::IsADirectory => ("this is a directory".to_owned(), "name a file in it"),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            return DataError::new(codes::DAMAGED, name, format!("the file is damaged: {error}"))
                .help("save or copy it again");
        }
        _ => (format!("it cannot be read: {error}"), "check that the file is whole and its disk well"),
    };
    DataError::new(codes::UNREADABLE, name, message).help(help)
}
