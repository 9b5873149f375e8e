//! Writing predictions.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::codes;
use crate::error::{DataError, count};
use crate::files::{unwritable, write_atomically};

/// Numbers to write, in row-major order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Numbers<'a> {
    /// Single precision: predictions, and margins of most models.
    F32(&'a [f32]),
    /// Double precision: margins of models that add in double precision.
    F64(&'a [f64]),
    /// Integers: leaf indices.
    I32(&'a [i32]),
}

impl Numbers<'_> {
    fn len(self) -> usize {
        match self {
            Numbers::F32(values) => values.len(),
            Numbers::F64(values) => values.len(),
            Numbers::I32(values) => values.len(),
        }
    }
}

/// A table of results.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// The values, `columns` per row.
    pub values: Numbers<'a>,
    /// The number of columns, at least one.
    pub columns: usize,
    /// What the values are, in one word, e.g. `prediction`. The heading of a single column; several columns are
    /// headed `prediction_0`, `prediction_1` and so on.
    pub heading: &'a str,
}

/// Where a table goes.
#[derive(Clone, Debug)]
pub enum Destination {
    /// A file; its extension, `.npy` or `.csv`, tells the format.
    Path(PathBuf),
    /// Standard output, as CSV.
    StandardOutput,
}

impl Destination {
    /// The destination that a command-line argument names: `-` is standard output.
    pub fn from_argument(argument: impl Into<PathBuf>) -> Self {
        let path = argument.into();
        if path.as_os_str() == "-" { Destination::StandardOutput } else { Destination::Path(path) }
    }

    /// Checks, before any work is done, that the format is known.
    ///
    /// # Errors
    ///
    /// `D0013` for a file with another extension.
    pub fn check(&self) -> Result<(), DataError> {
        self.format().map(drop)
    }

    fn format(&self) -> Result<Format, DataError> {
        let Destination::Path(path) = self else { return Ok(Format::Csv) };
        match path.extension() {
            Some(extension) if extension.eq_ignore_ascii_case("npy") => Ok(Format::Npy),
            Some(extension) if extension.eq_ignore_ascii_case("csv") => Ok(Format::Csv),
            _ if is_stream(path) => Ok(Format::Csv),
            _ => {
                let name = path.display().to_string();
                Err(DataError::new(codes::UNKNOWN_EXTENSION, &name, "the file name does not tell the format")
                    .help("let it end in .csv or .npy"))
            }
        }
    }
}

/// A format of tables.
#[derive(Clone, Copy)]
enum Format {
    Npy,
    Csv,
}

/// Writes a table: a `.npy` array, one-dimensional if there is one column, or CSV with a header and one line per row.
///
/// CSV has the fewest digits that read back as the same float, `NaN`, `inf` and `-inf`. A file appears whole or not at
/// all. Standard output that is closed early, as by `head`, is no error.
///
/// # Errors
///
/// A [`DataError`] with a code from `D0012` to `D0014`.
pub fn write_table(table: &Table<'_>, destination: &Destination) -> Result<(), DataError> {
    let rows = table.values.len().checked_div(table.columns).unwrap_or(0);
    if table.values.len() != rows * table.columns || table.columns == 0 {
        let message = format!(
            "{} do not make rows of {}",
            count(table.values.len(), "value"),
            count(table.columns, "column")
        );
        return Err(DataError::new(codes::SHAPE, "the result", message));
    }
    let format = destination.format()?;
    let write = |writer: &mut dyn Write| match format {
        Format::Npy => write_npy(table, rows, writer),
        Format::Csv => write_csv(table, writer),
    };
    match destination {
        Destination::Path(path) if is_stream(path) => {
            let open = || std::fs::OpenOptions::new().write(true).open(path);
            stream(&path.display().to_string(), || open().map(|file| Box::new(file) as Box<dyn Write>), write)
        }
        Destination::Path(path) => write_atomically(path, write),
        Destination::StandardOutput => stream("standard output", || Ok(Box::new(io::stdout().lock())), write),
    }
}

/// Whether the path names something that takes bytes and is no file, such as `/dev/null` or a named pipe: it has no
/// content that could be left half-written, and must not be replaced by a file.
fn is_stream(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Writes to what is no file. A reader that has gone is no error.
fn stream(
    name: &str,
    open: impl FnOnce() -> io::Result<Box<dyn Write>>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), DataError> {
    let all = || {
        let mut writer = BufWriter::with_capacity(1 << 16, open()?);
        write(&mut writer).and_then(|()| writer.flush())
    };
    match all() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(unwritable(Path::new(name), &error)),
        _ => Ok(()),
    }
}

fn write_npy(table: &Table<'_>, rows: usize, writer: &mut dyn Write) -> io::Result<()> {
    let element = match table.values {
        Numbers::F32(_) => "<f4",
        Numbers::F64(_) => "<f8",
        Numbers::I32(_) => "<i4",
    };
    let shape = match table.columns {
        1 => format!("({rows},)"),
        columns => format!("({rows}, {columns})"),
    };
    let mut header = format!("{{'descr': '{element}', 'fortran_order': False, 'shape': {shape}, }}");
    // Elements start at a multiple of 64 bytes, so that the file can be mapped into memory.
    let before = 10;
    let padded = (before + header.len() + 1).next_multiple_of(64) - before;
    let blanks = padded - header.len() - 1;
    header.extend(std::iter::repeat_n(' ', blanks));
    header.push('\n');
    writer.write_all(b"\x93NUMPY\x01\x00")?;
    // The header has some hundred bytes at most.
    writer.write_all(&(padded as u16).to_le_bytes())?;
    writer.write_all(header.as_bytes())?;
    match table.values {
        Numbers::F32(values) => values.iter().try_for_each(|value| writer.write_all(&value.to_le_bytes())),
        Numbers::F64(values) => values.iter().try_for_each(|value| writer.write_all(&value.to_le_bytes())),
        Numbers::I32(values) => values.iter().try_for_each(|value| writer.write_all(&value.to_le_bytes())),
    }
}

fn write_csv(table: &Table<'_>, writer: &mut dyn Write) -> io::Result<()> {
    let Table { columns, heading, .. } = *table;
    match columns {
        1 => writeln!(writer, "{heading}")?,
        _ => write_line(writer, 0..columns, |writer, column| write!(writer, "{heading}_{column}"))?,
    }
    // `Debug` of floats is the shortest text that reads back, with an exponent where that is shorter.
    match table.values {
        Numbers::F32(values) => {
            write_rows(writer, values, columns, |writer, value| write!(writer, "{value:?}"))
        }
        Numbers::F64(values) => {
            write_rows(writer, values, columns, |writer, value| write!(writer, "{value:?}"))
        }
        Numbers::I32(values) => {
            write_rows(writer, values, columns, |writer, value| write!(writer, "{value}"))
        }
    }
}

fn write_rows<T>(
    writer: &mut dyn Write,
    values: &[T],
    columns: usize,
    write: impl Fn(&mut dyn Write, &T) -> io::Result<()>,
) -> io::Result<()> {
    values.chunks_exact(columns).try_for_each(|row| write_line(writer, row, &write))
}

/// Writes cells with commas between them, and a line end.
fn write_line<T>(
    writer: &mut dyn Write,
    cells: impl IntoIterator<Item = T>,
    write: impl Fn(&mut dyn Write, T) -> io::Result<()>,
) -> io::Result<()> {
    for (number, cell) in cells.into_iter().enumerate() {
        if number > 0 {
            writer.write_all(b",")?;
        }
        write(writer, cell)?;
    }
    writer.write_all(b"\n")
}
