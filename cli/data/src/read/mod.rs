//! Reading rows: opening the source and telling its format.

mod csv;
mod npy;

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::PathBuf;

use crate::codes;
use crate::error::DataError;

/// Where rows come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file.
    Path(PathBuf),
    /// Standard input, read to its end.
    StandardInput,
    /// Bytes in memory.
    Bytes {
        /// What messages call them.
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

/// What is known of the names of a model's features.
#[derive(Clone, Copy, Debug)]
pub enum Names<'a> {
    /// Each feature has a name; CSV columns are found by them.
    Known(&'a [String]),
    /// The features have no names: CSV columns count by position.
    None,
    /// The features may have names, but nobody can tell: a library that does not hold them.
    Unknown,
}

/// What the model wants of its rows.
#[derive(Clone, Copy, Debug)]
pub struct Expect<'a> {
    /// Columns of a row: the model's number of features.
    pub columns: usize,
    /// The features' names.
    pub names: Names<'a>,
    /// Whether columns count by position whatever the names say.
    pub by_position: bool,
}

impl<'a> Expect<'a> {
    /// Rows of a model whose features have these names.
    pub fn named(names: &'a [String]) -> Self {
        Expect { columns: names.len(), names: Names::Known(names), by_position: false }
    }

    /// Rows of a model whose features have no names.
    pub fn unnamed(columns: usize) -> Self {
        Expect { columns, names: Names::None, by_position: false }
    }

    /// Rows of a model of which nobody knows whether its features have names.
    pub fn untold(columns: usize) -> Self {
        Expect { columns, names: Names::Unknown, by_position: false }
    }

    /// The same rows, with columns that count by position if `insist` says so.
    pub fn by_position(self, insist: bool) -> Self {
        Expect { by_position: insist, ..self }
    }

    /// The names to find columns by.
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

/// Rows of features. A missing value is NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The values in row-major order, `rows * columns` of them.
    pub values: Values,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns: the one expected.
    pub columns: usize,
    /// The columns' names, where a CSV file has a header.
    pub names: Option<Vec<String>>,
    /// How the first line of CSV text was read, where that is in doubt. Each is a sentence for the user.
    pub notes: Vec<String>,
}

impl Rows {
    /// The values in single precision; doubles are rounded to the nearest float, as trainers that compare in single
    /// precision do.
    pub fn into_f32(self) -> Vec<f32> {
        match self.values {
            Values::F32(values) => values,
            Values::F64(values) => values.into_iter().map(|value| value as f32).collect(),
        }
    }

    /// The values in double precision; floats are widened.
    pub fn into_f64(self) -> Vec<f64> {
        match self.values {
            Values::F32(values) => values.into_iter().map(f64::from).collect(),
            Values::F64(values) => values,
        }
    }
}

/// Reads rows of `expect.columns` features from a NumPy `.npy` array or from CSV text; the content tells which.
///
/// # `.npy`
///
/// Format versions 1 to 3; floats of 2, 4 and 8 bytes, integers of 1 to 8 bytes and booleans, in either byte order; C
/// or Fortran order. Floats up to 4 bytes and integers up to 2 become [`Values::F32`], which holds them exactly; wider
/// ones [`Values::F64`], in which 8-byte integers beyond 2^53 are rounded. A one-dimensional array is one row where its
/// length is the number of features, and a column where the model has one feature.
///
/// # CSV
///
/// UTF-8 text, one row per line (LF, CRLF or CR), cells separated by commas - or by tabs or semicolons where the first
/// line has no comma - and quoted with `"` or not. Blank lines are skipped. Values become [`Values::F64`].
///
/// A cell is a decimal number, `inf` or `infinity` with an optional sign, `true` (1) or `false` (0), or missing:
/// nothing, `NA`, `N/A`, `<NA>`, `NaN`, `null`, `none` or `?`. Case and blanks around it do not matter. Missing cells
/// become NaN.
///
/// The first line is a header where
///
/// - one of its cells is text and one of the model's feature names, or
/// - it has all of the model's feature names, even if all of them are numbers, or
/// - it is exactly `0`, `1`, `2` and so on, as many as the model has features, or
/// - more of its cells are text than numbers.
///
/// Where only numbers decide, [`Rows::notes`] says how the line was read.
///
/// If the model's features have names, a header must have all of them: columns are found by name, in any order, and other
/// columns (a label, an index) are left out. A header that lacks one is an error, and so are two columns of one name. If
/// the features have no names, or [`Expect::by_position`] is set, columns count by position. Of a model without names,
/// headers are refused that speak against it: `f0`, `f1` ... in another order, or an unnamed first column.
///
/// # Errors
///
/// A [`DataError`] with codes `D0001` to `D0011` and `D0015` to `D0017`.
pub fn read_rows(source: &Source, expect: Expect<'_>) -> Result<Rows, DataError> {
    let name = source.name();
    let unreadable = |error: io::Error| unreadable(&name, &error);
    match source {
        Source::Path(path) => {
            let file = File::open(path).map_err(unreadable)?;
            let metadata = file.metadata().map_err(unreadable)?;
            // Files of /proc and the like are regular and report no length.
            let length = Some(metadata.len()).filter(|&length| metadata.is_file() && length > 0);
            read_stream(file, length, &name, expect)
        }
        Source::StandardInput => read_stream(io::stdin().lock(), None, &name, expect),
        Source::Bytes { bytes, .. } => read_stream(bytes.as_slice(), Some(bytes.len() as u64), &name, expect),
    }
}

/// Reads rows from `stream`, whose length in bytes is `length` where it is known.
fn read_stream(
    mut stream: impl Read,
    length: Option<u64>,
    name: &str,
    expect: Expect<'_>,
) -> Result<Rows, DataError> {
    let mut head = Vec::new();
    stream.by_ref().take(HEAD).read_to_end(&mut head).map_err(|error| unreadable(name, &error))?;
    if head.starts_with(npy::MAGIC) {
        return npy::read(Cursor::new(head).chain(stream), length, name, expect.columns);
    }
    if head.is_empty() {
        return Err(DataError::new(codes::EMPTY, name, "there is no data")
            .help("give CSV text or a .npy array with one column per feature of the model"));
    }
    if let Some(kind) = foreign(&head) {
        return Err(DataError::new(codes::UNKNOWN_FORMAT, name, format!("this is {kind}")).help(
            "schedc reads CSV text in UTF-8 and .npy arrays: convert the data, e.g. with pandas' to_csv or numpy.save",
        ));
    }
    csv::read(&head, stream, name, expect)
}

/// Bytes looked at to tell the format: enough for the first line of a wide table.
const HEAD: u64 = 1 << 16;

/// What a file is that is neither an array nor text.
fn foreign(head: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&[u8], &str); 7] = [
        (b"PK\x03\x04", "a zip archive (an .npz or spreadsheet file?)"),
        (b"PAR1", "a Parquet file"),
        (b"ARROW1", "an Arrow file"),
        (b"\x1f\x8b", "gzip-compressed"),
        (b"\x28\xb5\x2f\xfd", "zstd-compressed"),
        (b"\xff\xfe", "text in UTF-16"),
        (b"\xfe\xff", "text in UTF-16"),
    ];
    let known = KNOWN.iter().find(|(magic, _)| head.starts_with(magic)).map(|&(_, kind)| kind);
    known.or_else(|| head.contains(&0).then_some("neither text nor a .npy array"))
}

/// The error for an input that cannot be read.
fn unreadable(name: &str, error: &io::Error) -> DataError {
    let (message, help) = match error.kind() {
        io::ErrorKind::NotFound => ("there is no such file".to_owned(), "check the path"),
        io::ErrorKind::PermissionDenied => {
            ("there is no permission to read it".to_owned(), "check who owns the file and its mode")
        }
        io::ErrorKind::IsADirectory => ("this is a directory".to_owned(), "name a file in it"),
        _ => (format!("it cannot be read: {error}"), "check that the file is whole and its disk well"),
    };
    DataError::new(codes::UNREADABLE, name, message).help(help)
}
