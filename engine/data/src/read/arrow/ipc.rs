//! Arrow's own format, as files with an index and as streams.

use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, StreamDecoder, read_footer_length};
use arrow_ipc::{Block, RecordBatch as Header, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;

use super::errors::{damaged, unusable};
use super::{ArrowTable, PieceReader, ReadColumns, guarded, index};
use crate::codes;
use crate::error::DataError;
use crate::read::expect::Expect;
use crate::read::input::OpenedSource;
use crate::read::reader::within;
use crate::read::source::unreadable;

/// First and last bytes of a file.
pub(in crate::read) const MAGIC: &[u8] = b"ARROW1";
/// First bytes of a stream.
pub(in crate::read) const STREAM: &[u8] = b"\xff\xff\xff\xff";

/// Opens a file.
pub(in crate::read) fn open_file<'a>(
    mut input: OpenedSource,
    name: &str,
    expect: Expect<'a>,
    keep: &[String],
) -> Result<ArrowTable<'a>, DataError> {
    guarded(name, || {
        let (index, at) = index(&mut input, name, |tail| read_footer_length(tail).ok())?;
        let footer = root_as_footer(&index).map_err(|error| unusable(name, &error))?;
        let schema = footer.schema().ok_or_else(|| damaged(name, "it has no schema"))?;
        if !schema.endianness().equals_to_target_endianness() {
            return Err(unusable(name, &"numbers in big-endian order are not supported"));
        }
        let schema = Arc::new(try_fb_to_schema(schema).map_err(|error| unusable(name, &error))?);
        let chosen = ReadColumns::new(&schema, name, expect, keep)?;
        let decoder = FileDecoder::new(schema, footer.version()).with_projection(chosen.read.clone());
        let blocks: Vec<Block> = footer.recordBatches().into_iter().flatten().copied().collect();
        let mut file =
            Batches { input, end: at, decoder, name: name.to_owned(), left: 0..blocks.len(), blocks };
        for block in footer.dictionaries().into_iter().flatten() {
            let bytes = file.read(block)?;
            file.decoder.read_dictionary(block, &bytes).map_err(|error| unusable(name, &error))?;
        }
        Ok(ArrowTable::new(Box::new(file), chosen, name))
    })
}

/// Maximum expansion of compressed data: a zstd block of 4 bytes can stand for 128 KiB.
const MOST_EXPANDED: u64 = 1 << 15;

/// Checks the expanded lengths that the file claims for compressed columns, since the reader allocates them
/// in advance.
fn check_lengths(header: &[u8], body: &[u8], name: &str) -> Result<(), DataError> {
    let message = root_as_message(header).map_err(|error| unusable(name, &error))?;
    let dictionary = message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
    let batch: Option<Header<'_>> = message.header_as_record_batch().or(dictionary);
    let Some(batch) = batch.filter(|batch| batch.compression().is_some()) else { return Ok(()) };
    let mut sum = 0_u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let held = u64::try_from(buffer.length()).unwrap_or(0);
        let first = usize::try_from(buffer.offset()).ok().and_then(|at| body.get(at..)?.first_chunk());
        // A negative length marks a column that is not compressed.
        let announced = first
            .filter(|_| held > 0)
            .map_or(0, |length| u64::try_from(i64::from_le_bytes(*length)).unwrap_or(0));
        if announced > held.saturating_mul(MOST_EXPANDED) {
            return Err(damaged(name, "a compressed column states a length that it cannot have"));
        }
        sum = sum.saturating_add(announced);
    }
    let mut room: Vec<u8> = Vec::new();
    let sum = usize::try_from(sum).unwrap_or(usize::MAX);
    room.try_reserve_exact(sum).map_err(|_| {
        DataError::new(codes::TOO_LARGE, name, "a record batch does not fit into memory")
            .help("save the rows in record batches of fewer rows")
    })
}

/// The record batches of a file.
struct Batches {
    input: OpenedSource,
    /// The largest position at which the last block may end, in bytes.
    end: u64,
    decoder: FileDecoder,
    name: String,
    blocks: Vec<Block>,
    left: Range<usize>,
}

impl Batches {
    /// Reads the bytes of a block. Fails if the index puts it outside of the file.
    fn read(&mut self, block: &Block) -> Result<Buffer, DataError> {
        let outside = || damaged(&self.name, "its index has positions outside of the file");
        let number = |number: i64| u64::try_from(number).map_err(|_| outside());
        let (at, head, body) =
            (number(block.offset())?, number(block.metaDataLength().into())?, number(block.bodyLength())?);
        let size = head.checked_add(body).ok_or_else(outside)?;
        let end = at.checked_add(size).ok_or_else(outside)?;
        if end > self.end {
            return Err(outside());
        }
        let mut bytes = vec![0; usize::try_from(size).map_err(|_| outside())?];
        self.input.read_at(at, &mut bytes).map_err(|error| unreadable(&self.name, &error))?;
        let (head, body) = bytes.split_at_checked(usize::try_from(head).unwrap_or(0)).ok_or_else(outside)?;
        // The length of the header precedes it. In newer files, a mark precedes the length.
        let header = head.get(if head.starts_with(STREAM) { 8 } else { 4 }..).ok_or_else(outside)?;
        check_lengths(header, body, &self.name)?;
        Ok(Buffer::from_vec(bytes))
    }
}

impl PieceReader for Batches {
    fn next(&mut self, _: usize) -> Result<Option<RecordBatch>, DataError> {
        while let Some(block) = self.left.next().and_then(|at| self.blocks.get(at).copied()) {
            let bytes = self.read(&block)?;
            let batch = self.decoder.read_record_batch(&block, &bytes);
            if let Some(batch) = batch.map_err(|error| unusable(&self.name, &error))? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn parts(&self) -> Option<u64> {
        Some(self.blocks.len() as u64)
    }

    fn select(&mut self, parts: Range<u64>) {
        self.left = within(parts, self.blocks.len());
    }
}

/// Opens a stream.
pub(in crate::read) fn open_stream<'a>(
    input: OpenedSource,
    name: &str,
    expect: Expect<'a>,
    keep: &[String],
) -> Result<ArrowTable<'a>, DataError> {
    guarded(name, || {
        let mut stream = IpcStream {
            input,
            decoder: StreamDecoder::new(),
            name: name.to_owned(),
            ended: false,
            first: None,
            columns: Vec::new(),
        };
        let schema = stream.schema()?;
        let chosen = ReadColumns::new(&schema, name, expect, keep)?;
        stream.columns.clone_from(&chosen.read);
        Ok(ArrowTable::new(Box::new(stream), chosen, name))
    })
}

/// The record batches of a stream.
struct IpcStream {
    input: OpenedSource,
    decoder: StreamDecoder,
    name: String,
    /// Whether the end has been seen.
    ended: bool,
    /// The first batch, which is read when the stream is opened, for its schema.
    first: Option<RecordBatch>,
    /// Indices of the columns to return.
    columns: Vec<usize>,
}

impl IpcStream {
    /// Appends `number` bytes of the input. Memory grows with the bytes read, not with the claimed number.
    fn take(&mut self, number: u64, bytes: &mut Vec<u8>) -> Result<(), DataError> {
        let read = self.input.by_ref().take(number).read_to_end(bytes);
        match read.map_err(|error| unreadable(&self.name, &error))? as u64 == number {
            true => Ok(()),
            false => Err(damaged(&self.name, "it is cut off, or its writer was not closed")),
        }
    }

    /// The bytes of the next message, or `None` at the end of the stream.
    fn message(&mut self) -> Result<Option<Buffer>, DataError> {
        let mut bytes = Vec::new();
        self.take(4, &mut bytes)?;
        if bytes == STREAM {
            self.take(4, &mut bytes)?;
        }
        let start = bytes.len();
        let length = bytes.last_chunk().map_or(0, |length| u32::from_le_bytes(*length));
        if length == 0 {
            let mut rest = [0];
            return match self.input.read(&mut rest).map_err(|error| unreadable(&self.name, &error))? {
                0 => Ok(None),
                _ => Err(damaged(&self.name, "more bytes follow its end, as in several streams")),
            };
        }
        self.take(length.into(), &mut bytes)?;
        let header = bytes.get(start..).unwrap_or_default();
        let message = root_as_message(header).map_err(|error| unusable(&self.name, &error))?;
        let body = u64::try_from(message.bodyLength());
        let (end, body) =
            (bytes.len(), body.map_err(|_| damaged(&self.name, "a part has a negative length"))?);
        self.take(body, &mut bytes)?;
        let (header, body) = bytes.split_at(end);
        check_lengths(header.get(start..).unwrap_or_default(), body, &self.name)?;
        Ok(Some(Buffer::from_vec(bytes)))
    }

    /// The next batch with all its columns.
    fn decode(&mut self) -> Result<Option<RecordBatch>, DataError> {
        while let Some(mut message) = self.message()? {
            let batch = self.decoder.decode(&mut message).map_err(|error| unusable(&self.name, &error))?;
            if batch.is_some() {
                return Ok(batch);
            }
        }
        self.ended = true;
        Ok(None)
    }

    /// The columns of the table.
    fn schema(&mut self) -> Result<SchemaRef, DataError> {
        self.first = self.decode()?;
        self.decoder.schema().ok_or_else(|| damaged(&self.name, "it has no schema"))
    }
}

impl PieceReader for IpcStream {
    fn next(&mut self, _: usize) -> Result<Option<RecordBatch>, DataError> {
        let batch = match (self.first.take(), self.ended) {
            (None, false) => self.decode()?,
            (first, _) => first,
        };
        let project = |batch: RecordBatch| batch.project(&self.columns);
        batch.map(project).transpose().map_err(|error| unusable(&self.name, &error))
    }
}
