//! Opening one file: which format it has.

use std::fs::File;
use std::io::{self, Cursor, Seek};

use bytes::Bytes;

use super::input::Input;
use super::{Expect, Reader, Reading, Source, arrow, csv, npy, npz, unreadable};
use crate::codes;
use crate::error::DataError;

/// Bytes looked at to tell the format: enough for the first line of a wide table.
const HEAD: u64 = 1 << 16;

/// A format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Npy,
    Npz,
    Parquet,
    Arrow,
    ArrowStream,
    Csv,
}

impl Format {
    /// The format of a file that begins with these bytes; `None` if it is none that is read.
    pub(super) fn of(head: &[u8]) -> Option<Format> {
        let known = [
            (npy::MAGIC, Format::Npy),
            (npz::MAGIC, Format::Npz),
            (npz::MAGIC_OF_NONE, Format::Npz),
            (arrow::PARQUET_MAGIC, Format::Parquet),
            (arrow::ARROW_MAGIC, Format::Arrow),
            (arrow::ARROW_STREAM, Format::ArrowStream),
        ];
        match known.iter().find(|(magic, _)| head.starts_with(magic)) {
            Some((_, format)) => Some(*format),
            None => foreign(head).is_none().then_some(Format::Csv),
        }
    }

    /// What messages call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Format::Npy => "a .npy array",
            Format::Npz => "a zip archive",
            Format::Parquet => "a Parquet file",
            Format::Arrow => "an Arrow file",
            Format::ArrowStream => "an Arrow stream",
            Format::Csv => "text",
        }
    }

    /// Whether reading starts with what stands at the end.
    fn needs_file(self) -> bool {
        matches!(self, Format::Npz | Format::Parquet | Format::Arrow)
    }
}

/// Opens what is no folder.
pub(super) fn input(source: &Source) -> Result<Input, DataError> {
    let name = source.name();
    let failed = |error: io::Error| unreadable(&name, &error);
    match source {
        Source::Path(path) => of_file(File::open(path).map_err(failed)?).map_err(failed),
        Source::StandardInput => standard_input().map_err(failed),
        Source::Bytes { bytes, .. } => Ok(Input::Memory(Cursor::new(Bytes::from(bytes.clone())))),
    }
}

/// A file, which may be a pipe or a device.
fn of_file(mut file: File) -> io::Result<Input> {
    let metadata = file.metadata()?;
    // Files of /proc and the like are regular and report no length; of standard input a part may have been read.
    if metadata.is_file() && metadata.len() > 0 && file.stream_position()? == 0 {
        return Ok(Input::File(file));
    }
    Ok(Input::Pipe(Box::new(file)))
}

/// Standard input, which may be a file.
#[cfg(unix)]
fn standard_input() -> io::Result<Input> {
    use std::os::fd::AsFd;
    of_file(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Standard input.
#[cfg(not(unix))]
fn standard_input() -> io::Result<Input> {
    Ok(Input::Pipe(Box::new(io::stdin())))
}

/// The first bytes of a file, enough to tell its format.
pub(super) fn head(input: &mut Input, name: &str) -> Result<Vec<u8>, DataError> {
    input.head(HEAD).map_err(|error| unreadable(name, &error))
}

/// A reader of the rows in `input`.
pub(super) fn reader<'a>(
    mut input: Input,
    name: &str,
    expect: Expect<'a>,
    reading: &Reading<'a>,
) -> Result<Box<dyn Reader + 'a>, DataError> {
    let head = head(&mut input, name)?;
    if head.is_empty() {
        return Err(DataError::new(codes::EMPTY, name, "there is no data")
            .help("give CSV text, a NumPy array or a Parquet or Arrow file with one column per feature of the model"));
    }
    let Some(format) = Format::of(&head) else {
        let kind = foreign(&head).unwrap_or("of an unknown format");
        return Err(DataError::new(codes::UNKNOWN_FORMAT, name, format!("this is {kind}")).help(
            "schedc reads CSV text in UTF-8, .npy, .npz, Parquet and Arrow: convert the data, e.g. with pandas' to_csv or \
             numpy.save",
        ));
    };
    if format.needs_file() && !input.is_seekable() {
        let message =
            format!("this is {}, which is read from its end, and cannot come from a pipe", format.name());
        return Err(DataError::new(codes::NEEDS_FILE, name, message)
            .help("name the file, for example with --input, or send CSV, .npy or an Arrow stream"));
    }
    if matches!(format, Format::Npy | Format::Npz) && !reading.keep.is_empty() {
        return Err(DataError::new(
            codes::KEEP,
            name,
            "NumPy arrays have no named columns that could be kept",
        )
        .help("leave out --keep, name a .npy file after --base-margin, or save the rows as Parquet, Arrow or CSV"));
    }
    if reading.array.is_some() && format != Format::Npz {
        let message = format!("an array of an archive is asked for, and this is {}", format.name());
        return Err(
            DataError::new(codes::WHICH_ARRAY, name, message).help("leave out --array, or name a .npz file")
        );
    }
    Ok(match format {
        Format::Npy => Box::new(npy::Npy::new(input, name, expect.columns, reading.by_column)?),
        Format::Npz => Box::new(npz::open(input, name, expect.columns, reading)?),
        Format::Parquet => Box::new(arrow::open_parquet(input, name, expect, reading)?),
        Format::Arrow => Box::new(arrow::open_arrow(input, name, expect, reading)?),
        Format::ArrowStream => Box::new(arrow::open_stream(input, name, expect, reading)?),
        Format::Csv => Box::new(csv::Csv::new(&head, input, name, expect, reading)?),
    })
}

/// What a file is that is of no format that is read.
fn foreign(head: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&[u8], &str); 5] = [
        (b"\x1f\x8b", "gzip-compressed"),
        (b"\x28\xb5\x2f\xfd", "zstd-compressed"),
        (b"\xff\xfe", "text in UTF-16"),
        (b"\xfe\xff", "text in UTF-16"),
        (b"PARE", "an encrypted Parquet file"),
    ];
    let known = KNOWN.iter().find(|(magic, _)| head.starts_with(magic)).map(|&(_, kind)| kind);
    known.or_else(|| head.contains(&0).then_some("neither text nor an array nor a table"))
}
