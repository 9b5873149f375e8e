//! Opens a file and detects its format.

use std::fs::File;
use std::io::{self, Cursor, Seek};

use bytes::Bytes;

use super::expect::Expect;
use super::input::OpenedSource;
use super::reader::{Reading, RowReader};
use super::source::{DataSource, unreadable};
use super::{arrow, csv, npy, npz};
use crate::codes;
use crate::error::DataError;

/// Bytes looked at to tell the format: enough for the first line of a wide table.
const HEAD: u64 = 1 << 16;

/// A format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowFormat {
    Npy,
    Npz,
    Parquet,
    Arrow,
    ArrowStream,
    Csv,
}

impl RowFormat {
    /// The format of a file that begins with these bytes; `None` if schedc does not read it.
    pub(super) fn of(head: &[u8]) -> Option<RowFormat> {
        let known = [
            (npy::MAGIC, RowFormat::Npy),
            (npz::MAGIC, RowFormat::Npz),
            (npz::MAGIC_OF_NONE, RowFormat::Npz),
            (arrow::PARQUET_MAGIC, RowFormat::Parquet),
            (arrow::ARROW_MAGIC, RowFormat::Arrow),
            (arrow::ARROW_STREAM, RowFormat::ArrowStream),
        ];
        match known.iter().find(|(magic, _)| head.starts_with(magic)) {
            Some((_, format)) => Some(*format),
            None => foreign(head).is_none().then_some(RowFormat::Csv),
        }
    }

    /// Its name in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            RowFormat::Npy => "a .npy array",
            RowFormat::Npz => "a zip archive",
            RowFormat::Parquet => "a Parquet file",
            RowFormat::Arrow => "an Arrow file",
            RowFormat::ArrowStream => "an Arrow stream",
            RowFormat::Csv => "text",
        }
    }

    /// Whether the format's index is at the end of the file, so that a pipe cannot be read.
    fn needs_file(self) -> bool {
        matches!(self, RowFormat::Npz | RowFormat::Parquet | RowFormat::Arrow)
    }
}

/// Opens a source that is not a folder.
pub(super) fn input(source: &DataSource) -> Result<OpenedSource, DataError> {
    let name = source.name();
    let failed = |error: io::Error| unreadable(&name, &error);
    match source {
        DataSource::Path(path) => of_file(File::open(path).map_err(failed)?).map_err(failed),
        DataSource::StandardInput => standard_input().map_err(failed),
        DataSource::Bytes { bytes, .. } => Ok(OpenedSource::Memory(Cursor::new(Bytes::from(bytes.clone())))),
    }
}

/// A file, which may be a pipe or a device.
fn of_file(mut file: File) -> io::Result<OpenedSource> {
    let metadata = file.metadata()?;
    // Files of /proc and the like are regular, but report a length of 0. Of a file that is standard input, a
    // part may have been read already.
    if metadata.is_file() && metadata.len() > 0 && file.stream_position()? == 0 {
        return Ok(OpenedSource::File(file));
    }
    Ok(OpenedSource::Pipe(Box::new(file)))
}

/// Standard input, which may be a file.
#[cfg(unix)]
fn standard_input() -> io::Result<OpenedSource> {
    use std::os::fd::AsFd;
    of_file(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Standard input.
#[cfg(not(unix))]
fn standard_input() -> io::Result<OpenedSource> {
    Ok(OpenedSource::Pipe(Box::new(io::stdin())))
}

/// The first bytes of a file, enough to tell its format.
pub(super) fn head(input: &mut OpenedSource, name: &str) -> Result<Vec<u8>, DataError> {
    input.head(HEAD).map_err(|error| unreadable(name, &error))
}

/// A reader of the rows in `input`.
pub(super) fn reader<'a>(
    mut input: OpenedSource,
    name: &str,
    expect: Expect<'a>,
    reading: &Reading<'a>,
) -> Result<Box<dyn RowReader + 'a>, DataError> {
    let head = head(&mut input, name)?;
    if head.is_empty() {
        return Err(DataError::new(codes::EMPTY, name, "there is no data").help(
            "give CSV text, a NumPy array or a Parquet or Arrow file with one column per feature of \
                   the model",
        ));
    }
    let Some(format) = RowFormat::of(&head) else {
        let (kind, help) = foreign(&head).unwrap_or(("of an unknown format", CONVERT));
        return Err(DataError::new(codes::UNKNOWN_FORMAT, name, format!("this is {kind}")).help(help));
    };
    if format.needs_file() && !input.is_seekable() {
        let message =
            format!("this is {}, which is read from its end, and cannot come from a pipe", format.name());
        return Err(DataError::new(codes::NEEDS_FILE, name, message)
            .help("name the file, for example with --input, or send CSV, .npy or an Arrow stream"));
    }
    if matches!(format, RowFormat::Npy | RowFormat::Npz) && !reading.keep.is_empty() {
        return Err(DataError::new(
            codes::KEEP,
            name,
            "NumPy arrays have no named columns that could be kept",
        )
        .help(
            "leave out --keep, name a .npy file after --base-margin, or save the rows as Parquet, Arrow \
               or CSV",
        ));
    }
    if reading.array.is_some() && format != RowFormat::Npz {
        let message = format!("the name of an array is for archives, and this is {}", format.name());
        return Err(
            DataError::new(codes::WHICH_ARRAY, name, message).help("leave out --array, or name a .npz file")
        );
    }
    Ok(match format {
        RowFormat::Npy => Box::new(npy::Npy::new(input, name, expect, reading.by_column)?),
        RowFormat::Npz => Box::new(npz::open(input, name, expect, reading)?),
        RowFormat::Parquet => Box::new(arrow::open_parquet(input, name, expect, reading.keep)?),
        RowFormat::Arrow => Box::new(arrow::open_arrow(input, name, expect, reading.keep)?),
        RowFormat::ArrowStream => Box::new(arrow::open_stream(input, name, expect, reading.keep)?),
        RowFormat::Csv => Box::new(csv::Csv::new(&head, input, name, expect, reading)?),
    })
}

const CONVERT: &str = "schedc reads CSV text in UTF-8, .npy, .npz, Parquet and Arrow: convert the data, \
                       for example with \
                       pandas' to_csv or numpy.save";
const UNPACK: &str =
    "unpack it first, for example in a pipe: zcat, bzcat, xzcat or zstdcat FILE | schedc predict MODEL";
const FROM_UTF32: &str = "convert it to UTF-8: iconv -f UTF-32 -t UTF-8 FILE > NEW";
const TO_UTF8: &str = "convert it to UTF-8: iconv -f UTF-16 -t UTF-8 FILE > NEW";

/// Formats that schedc does not read: the first bytes of a file, the format's name, and help.
const FOREIGN: [(&[u8], &str, &str); 17] = [
    (b"\x1f\x8b", "gzip-compressed", UNPACK),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed", UNPACK),
    (b"BZh", "bzip2-compressed", UNPACK),
    (b"\xfd7zXZ\0", "xz-compressed", UNPACK),
    (b"\xff\xfe\0\0", "text in UTF-32", FROM_UTF32),
    (b"\0\0\xfe\xff", "text in UTF-32", FROM_UTF32),
    (b"\xff\xfe", "text in UTF-16", TO_UTF8),
    (b"\xfe\xff", "text in UTF-16", TO_UTF8),
    (b"PARE", "an encrypted Parquet file", "save it again without encryption"),
    (
        b"FEA1",
        "a Feather file of version 1",
        "save it as version 2: pyarrow.feather.write_feather(table, FILE, version=2)",
    ),
    (
        b"ORC",
        "an ORC file",
        "save it as Parquet, for example with pyarrow.orc.read_table and pyarrow.parquet.write_table",
    ),
    (b"\x89HDF", "an HDF5 file", CONVERT),
    (b"SQLite format 3\0", "an SQLite database", "export the table as CSV or Parquet"),
    (b"\xd0\xcf\x11\xe0", "a workbook of Excel 97", "save the sheet as CSV in UTF-8"),
    (b"RDX", "data of R", CONVERT),
    (b"\x80\x04", "a pickle of Python", CONVERT),
    (b"\x80\x05", "a pickle of Python", CONVERT),
];

/// The name of a format that schedc does not read, and help.
fn foreign(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let known = FOREIGN.iter().find(|(magic, ..)| head.starts_with(magic));
    known.map(|&(_, kind, help)| (kind, help)).or_else(|| zeros(head))
}

/// The kind of data that has zero bytes: in text in UTF-16 without a byte order mark, every second byte is 0.
fn zeros(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let zeros = head.iter().filter(|byte| **byte == 0).count();
    if zeros == 0 {
        return None;
    }
    let printable = head.iter().filter(|byte| **byte >= b' ' || byte.is_ascii_whitespace()).count();
    let is_text = printable + zeros == head.len() && zeros <= printable;
    let in_places = |first: usize| head.iter().skip(first).step_by(2).all(|byte| *byte == 0);
    let kind = "text in UTF-16 without a byte order mark";
    if is_text && in_places(1) {
        return Some((kind, "convert it to UTF-8: iconv -f UTF-16LE -t UTF-8 FILE > NEW"));
    }
    if is_text && in_places(0) {
        return Some((kind, "convert it to UTF-8: iconv -f UTF-16BE -t UTF-8 FILE > NEW"));
    }
    Some(match is_text && zeros * 4 < head.len() {
        true => ("text with NUL bytes", "remove them: tr -d '\\000' < FILE > NEW"),
        false => ("neither text nor an array nor a table", CONVERT),
    })
}
