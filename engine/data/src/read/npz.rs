//! NumPy's `.npz`: a zip archive of `.npy` arrays, of which one is read.

use std::borrow::Cow;
use std::io::{self, Read, Seek, SeekFrom};

use flate2::CrcReader;
use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use super::expect::Expect;
use super::input::OpenedSource;
use super::npy::Npy;
use super::reader::Reading;
use crate::codes;
use crate::error::{DataError, shorten};

/// First bytes of an archive with files.
pub(super) const MAGIC: &[u8] = b"PK\x03\x04";
/// First bytes of an archive without files.
pub(super) const MAGIC_OF_NONE: &[u8] = b"PK\x05\x06";
/// Endings of tables that users may pack into a zip archive by mistake.
const TABLES: [&str; 4] = [".csv", ".tsv", ".txt", ".parquet"];
/// Most names of arrays that a message lists.
const MOST_NAMED: usize = 8;

/// Reads an array of an archive: the one of that name, or the only one.
pub(super) fn open(
    input: OpenedSource,
    name: &str,
    expect: Expect<'_>,
    reading: &Reading<'_>,
) -> Result<Npy, DataError> {
    let mut archive = ZipArchive::new(input).map_err(|error| damaged(name, &error.to_string()))?;
    let at = choose(&archive, name, reading.array)?;
    let file = archive.by_index_raw(at).map_err(|error| damaged(name, &error.to_string()))?;
    let (method, start, length) = (file.compression(), file.data_start(), file.compressed_size());
    let (crc, size, encrypted) = (file.crc32(), file.size(), file.encrypted());
    drop(file);
    let start =
        start.ok_or_else(|| damaged(name, "the position of the array in the archive is not known"))?;
    if encrypted {
        return Err(DataError::new(codes::WHICH_ARRAY, name, "the archive is encrypted")
            .help("save it again with numpy.savez"));
    }
    let mut input = archive.into_inner();
    input.seek(SeekFrom::Start(start)).map_err(|error| super::source::unreadable(name, &error))?;
    let stored = input.take(length);
    let content: Box<dyn Read> = match method {
        CompressionMethod::Stored => Box::new(stored),
        CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(stored)),
        other => {
            let message = format!("the archive is compressed by a method other than deflate ({other})");
            return Err(DataError::new(codes::WHICH_ARRAY, name, message)
                .help("save it again with numpy.savez or numpy.savez_compressed"));
        }
    };
    let member = Member { content: CrcReader::new(content), crc, size, read: 0 };
    Npy::new(OpenedSource::Pipe(Box::new(member)), name, expect, reading.by_column)
}

/// The number of the array to read.
fn choose(archive: &ZipArchive<OpenedSource>, name: &str, array: Option<&str>) -> Result<usize, DataError> {
    let mut arrays = Vec::new();
    for at in 0..archive.len() {
        let file = archive.name_for_index(at).and_then(Result::ok);
        if let Some(found) = file.as_deref().and_then(|file| file.strip_suffix(".npy")) {
            arrays.push((at, found.to_owned()));
        }
    }
    let listed: Vec<String> =
        arrays.iter().take(MOST_NAMED).map(|(_, array)| format!("\"{}\"", shorten(array))).collect();
    let listed = listed.join(", ");
    let refused =
        |message: String, help: &str| Err(DataError::new(codes::WHICH_ARRAY, name, message).help(help));
    match (array, arrays.as_slice()) {
        (_, []) => {
            let (message, help) = without_arrays(archive);
            refused(message, help)
        }
        (None, &[(at, _)]) => Ok(at),
        (None, several) => refused(
            format!("the archive holds {} arrays: {listed}", several.len()),
            "say which one holds the rows, for example with --array X",
        ),
        (Some(wanted), arrays) => match arrays.iter().find(|(_, array)| array == wanted) {
            Some(&(at, _)) => Ok(at),
            None => refused(
                format!("the archive holds no array \"{}\", but {listed}", shorten(wanted)),
                "name one of its arrays after --array",
            ),
        },
    }
}

/// The message and the help for an archive without arrays.
fn without_arrays(archive: &ZipArchive<OpenedSource>) -> (String, &'static str) {
    let files: Vec<_> = archive.file_names().flatten().take(MOST_NAMED).collect();
    if files.iter().any(|file| file.starts_with("xl/")) {
        return ("this is a workbook of Excel".to_owned(), "save the sheet as CSV in UTF-8");
    }
    let is_table = |file: &&Cow<'_, str>| TABLES.iter().any(|ending| file.ends_with(ending));
    match files.iter().find(is_table) {
        Some(file) => (
            format!(
                "this is a zip archive with \"{}\", and only arrays are read from archives",
                shorten(file)
            ),
            "unpack it first, for example in a pipe: unzip -p FILE | schedc predict MODEL",
        ),
        None => (
            "the zip archive holds no .npy array".to_owned(),
            "name an archive that numpy.savez has written, or a file of another format",
        ),
    }
}

fn damaged(name: &str, error: &str) -> DataError {
    DataError::new(codes::DAMAGED, name, format!("the archive cannot be read: {error}"))
        .help("the file is damaged or cut off: save or copy it again")
}

/// The content of a file in an archive, which is compared with its checksum at the end.
struct Member {
    content: CrcReader<Box<dyn Read>>,
    crc: u32,
    size: u64,
    read: u64,
}

impl Read for Member {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(buffer)?;
        self.read += read as u64;
        if read == 0 && !buffer.is_empty() && (self.content.crc().sum() != self.crc || self.read != self.size)
        {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the checksum in the archive does not match the data",
            ));
        }
        Ok(read)
    }
}
