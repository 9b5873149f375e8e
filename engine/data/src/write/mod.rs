//! Writing predictions.

mod cells;
mod encode;
mod layout;
mod numpy;
mod tables;
mod text;

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use arrow_array::ArrayRef;
use arrow_schema::FieldRef;

use self::encode::{Encode, TableOut};
use crate::codes;
use crate::error::{DataError, count, shorten};
use crate::files::{Unfinished, unwritable};
use crate::read::{Batch, KeptColumns};

pub use layout::{NumberType, ResultNumbers, TableLayout};

/// A table of results.
#[derive(Clone, Copy, Debug)]
pub struct ResultTable<'a> {
    /// The values, `columns` per row.
    pub values: ResultNumbers<'a>,
    /// The number of columns, at least one.
    pub columns: usize,
    /// The heading of a single column, such as `prediction`. Several columns have the headings
    /// `prediction_0`, `prediction_1` and so on.
    pub heading: &'a str,
}

/// The destination of a table.
#[derive(Clone, Debug)]
pub enum Destination {
    /// A file; its extension gives the format: `.csv`, `.npy`, `.npz`, `.parquet` or `.arrow`.
    Path(PathBuf),
    /// Standard output, as CSV.
    StandardOutput,
}

/// The formats of tables, by file name ending.
const FORMATS: [(&str, TableFormat); 5] = [
    ("csv", TableFormat::Csv),
    ("npy", TableFormat::Npy),
    ("npz", TableFormat::Npz),
    ("parquet", TableFormat::Parquet),
    ("arrow", TableFormat::Arrow),
];

impl Destination {
    /// The destination that a command-line argument names: `-` is standard output.
    pub fn from_argument(argument: impl Into<PathBuf>) -> Self {
        let path = argument.into();
        if path.as_os_str() == "-" { Destination::StandardOutput } else { Destination::Path(path) }
    }

    /// Checks, before any work is done, that the format is known, and that it can hold these columns of the
    /// input.
    ///
    /// # Errors
    ///
    /// `D0013` for a file with another extension, `D0024` if the file is a NumPy array and `keep` names
    /// columns.
    pub fn check(&self, keep: &[String]) -> Result<(), DataError> {
        match self.format()? {
            TableFormat::Npy | TableFormat::Npz if !keep.is_empty() => {
                let message =
                    "an array of NumPy has numbers of one type, and cannot hold columns that are kept";
                Err(DataError::new(codes::KEEP, &self.name(), message)
                    .help("let the file end in .parquet, .arrow or .csv, or leave out --keep"))
            }
            _ => Ok(()),
        }
    }

    fn name(&self) -> String {
        match self {
            Destination::Path(path) => path.display().to_string(),
            Destination::StandardOutput => "standard output".to_owned(),
        }
    }

    fn format(&self) -> Result<TableFormat, DataError> {
        let Destination::Path(path) = self else { return Ok(TableFormat::Csv) };
        let extension = path.extension().unwrap_or_default();
        match FORMATS.iter().find(|(known, _)| extension.eq_ignore_ascii_case(known)) {
            Some((_, format)) => Ok(*format),
            None if is_stream(path) => Ok(TableFormat::Csv),
            None => Err(DataError::new(
                codes::UNKNOWN_EXTENSION,
                &self.name(),
                "the extension of the file names no format",
            )
            .help("let it end in .csv, .npy, .npz, .parquet or .arrow")),
        }
    }
}

/// A format of tables.
#[derive(Clone, Copy)]
enum TableFormat {
    Npy,
    Npz,
    Csv,
    Parquet,
    Arrow,
}

/// A table that is written piece by piece. A file appears in its place when the table is finished, whole or
/// not at all.
///
/// Standard output that is closed early, as by `head`, is no error.
pub struct TableWriter {
    encoder: Box<dyn Encode>,
    file: Option<Unfinished>,
    name: String,
    columns: usize,
    number: NumberType,
    /// Whether the reader of the pipe has closed it.
    closed: bool,
}

impl TableWriter {
    /// Begins a table.
    ///
    /// # Errors
    ///
    /// `D0012` if nothing can be written there, `D0013` for an unknown format. `D0024` if a column that
    /// `--keep` names has the name of a result, or a type that CSV cannot hold.
    pub fn create(destination: &Destination, layout: &TableLayout) -> Result<Self, DataError> {
        let (name, format) = (destination.name(), destination.format()?);
        check_kept(&name, layout)?;
        let failed = |error: io::Error| unwritable(Path::new(&name), &error);
        let file = match destination {
            Destination::Path(path) => Some(Unfinished::create(path)?),
            Destination::StandardOutput => None,
        };
        let out = || -> Result<TableOut, DataError> {
            Ok(BufWriter::with_capacity(
                1 << 16,
                match &file {
                    Some(file) => Box::new(file.file()?),
                    None => Box::new(io::stdout()),
                },
            ))
        };
        let mut closed = false;
        let encoder: Box<dyn Encode> = match format {
            TableFormat::Npy | TableFormat::Npz => {
                let place = match &file {
                    Some(file) if file.is_regular() => numpy::Sink::File(file.file()?),
                    _ => numpy::Sink::Pipe(out()?),
                };
                let array = numpy::ArrayEncoder::create(place, matches!(format, TableFormat::Npz), layout);
                Box::new(array.map_err(failed)?)
            }
            TableFormat::Csv => {
                cells::check(&layout.kept, &name)?;
                let mut text = text::TextEncoder::new(out()?, layout);
                closed = ended(text.header(layout), &name)?;
                Box::new(text)
            }
            TableFormat::Parquet => Box::new(tables::Parquet::create(out()?, layout).map_err(failed)?),
            TableFormat::Arrow => Box::new(tables::Arrow::create(out()?, layout).map_err(failed)?),
        };
        Ok(TableWriter { encoder, file, name, columns: layout.headings.len(), number: layout.number, closed })
    }

    /// Adds the results of a batch of rows. Returns whether the reader of a pipe still wants more.
    ///
    /// # Errors
    ///
    /// `D0012` if they cannot be written, `D0014` if their number or type does not fit this table.
    pub fn write(&mut self, results: ResultNumbers<'_>, batch: &Batch) -> Result<bool, DataError> {
        if results.len() != batch.rows.saturating_mul(self.columns) {
            return Err(shape(results.len(), self.columns));
        }
        self.add(results, &batch.kept)
    }

    fn add(&mut self, results: ResultNumbers<'_>, kept: &[ArrayRef]) -> Result<bool, DataError> {
        if results.number() != self.number {
            return Err(DataError::new(codes::SHAPE, "the result", "its numbers are of several types"));
        }
        if !self.closed {
            self.closed = ended(self.encoder.write(results, kept), &self.name)?;
        }
        Ok(!self.closed)
    }

    /// Puts the table in its place.
    ///
    /// # Errors
    ///
    /// `D0012` if it cannot be written.
    pub fn finish(self) -> Result<(), DataError> {
        let result = self.encoder.finish();
        if !self.closed {
            ended(result, &self.name)?;
        }
        self.file.map_or(Ok(()), Unfinished::finish)
    }
}

/// Returns whether writing failed because the reader of a pipe has closed it, which is no error.
fn ended(written: io::Result<()>, name: &str) -> Result<bool, DataError> {
    match written {
        Ok(()) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(true),
        Err(error) => Err(unwritable(Path::new(name), &error)),
    }
}

/// Refuses columns of the input whose names are those of results.
fn check_kept(name: &str, layout: &TableLayout) -> Result<(), DataError> {
    let is_heading = |field: &&FieldRef| layout.headings.iter().any(|heading| heading == field.name());
    match layout.kept.0.iter().find(is_heading) {
        None => Ok(()),
        Some(field) => {
            let message = format!("kept column \"{}\" has the name of a result", shorten(field.name()));
            Err(DataError::new(codes::KEEP, name, message)
                .help("rename the column of the input, or do not keep it"))
        }
    }
}

/// Writes a table: a NumPy array, one-dimensional if there is one column, CSV with a header and one line per
/// row, or a Parquet or Arrow file.
///
/// CSV has the fewest digits that read back as the same float, `NaN`, `inf` and `-inf`. A file appears whole
/// or not at all. Standard output that is closed early, as by `head`, is no error.
///
/// # Errors
///
/// A [`DataError`] with a code from `D0012` to `D0014`.
pub fn write_table(table: &ResultTable<'_>, destination: &Destination) -> Result<(), DataError> {
    if table.columns == 0 || !table.values.len().is_multiple_of(table.columns) {
        return Err(shape(table.values.len(), table.columns));
    }
    let layout = TableLayout::of(table.heading, table.columns, table.values.number(), KeptColumns::default());
    let mut writer = TableWriter::create(destination, &layout)?;
    writer.add(table.values, &[])?;
    writer.finish()
}

/// The error for values whose number is no multiple of the columns.
fn shape(values: usize, columns: usize) -> DataError {
    let message = format!("{} do not fill rows of {}", count(values, "value"), count(columns, "column"));
    DataError::new(codes::SHAPE, "the result", message)
}

/// Whether the path names a device or a pipe, such as `/dev/null`: it has no content that could be
/// half-written, and a file must not replace it.
fn is_stream(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}
