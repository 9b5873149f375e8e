//! Reads Parquet files, by row group and page.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use ::parquet::file::reader::ChunkReader;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, FieldRef, Schema};
use bytes::Bytes;

use super::errors::{damaged, unusable};
use super::{ArrowTable, PieceReader, ReadColumns, guarded, index, nesting};
use crate::error::DataError;
use crate::read::expect::Expect;
use crate::read::input::OpenedSource;
use crate::read::reader::within;
use crate::read::source::unreadable;

/// First and last bytes of a file.
pub(in crate::read) const MAGIC: &[u8] = b"PAR1";

/// Most rows to decode at a time. Their columns and the rows made of them are in memory together.
const MOST_ROWS: usize = 1 << 16;

/// Opens a file.
pub(in crate::read) fn open<'a>(
    mut input: OpenedSource,
    name: &str,
    expect: Expect<'a>,
    keep: &[String],
) -> Result<ArrowTable<'a>, DataError> {
    guarded(name, || {
        match nesting::is_shallow(&index(&mut input, name, index_length)?.0) {
            Some(true) => {}
            Some(false) => return Err(damaged(name, "its columns are nested too deep")),
            None => return Err(damaged(name, "its index breaks the rules of the format")),
        }
        let source = match input {
            OpenedSource::File(file) => ParquetSource::File(file),
            OpenedSource::Memory(cursor) => ParquetSource::Memory(cursor.into_inner()),
            OpenedSource::Pipe(_) => return Err(damaged(name, "it ends before its index")),
        };
        let metadata = source.metadata(name)?;
        let chosen = ReadColumns::new(metadata.schema(), name, expect, keep)?;
        let mut rows = Vec::new();
        for group in metadata.metadata().row_groups() {
            rows.push(
                u64::try_from(group.num_rows())
                    .map_err(|_| damaged(name, "it has a negative number of rows"))?,
            );
        }
        let mask = ProjectionMask::roots(metadata.parquet_schema(), chosen.read.iter().copied());
        let pieces = RowGroups {
            source,
            metadata,
            mask,
            name: name.to_owned(),
            groups: 0..rows.len(),
            rows,
            open: None,
        };
        Ok(ArrowTable::new(Box::new(pieces), chosen, name))
    })
}

/// The length of the index. A file ends with this length and the magic string.
fn index_length([a, b, c, d, magic @ ..]: [u8; 8]) -> Option<usize> {
    (magic == MAGIC).then(|| u32::from_le_bytes([a, b, c, d]) as usize)
}

/// A file with random access.
enum ParquetSource {
    File(File),
    Memory(Bytes),
}

impl ParquetSource {
    fn metadata(&self, name: &str) -> Result<ArrowReaderMetadata, DataError> {
        let loaded = match self {
            ParquetSource::File(file) => ArrowReaderMetadata::load(file, ArrowReaderOptions::new()),
            ParquetSource::Memory(bytes) => ArrowReaderMetadata::load(bytes, ArrowReaderOptions::new()),
        };
        let loaded = loaded.map_err(|error| unusable(name, &error))?;
        let Some(schema) = without_odd_dictionaries(loaded.schema()) else { return Ok(loaded) };
        let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
        ArrowReaderMetadata::try_new(Arc::clone(loaded.metadata()), options)
            .map_err(|error| unusable(name, &error))
    }
}

/// The schema with plain columns in place of dictionaries that the Parquet crate cannot build, such as
/// dictionaries of truth values, which pandas writes for categories. `None` if there are no such columns.
fn without_odd_dictionaries(schema: &Schema) -> Option<Schema> {
    let plain = |field: &FieldRef| match field.data_type() {
        DataType::Dictionary(_, values) if !is_built(values) => {
            Some(Arc::new(field.as_ref().clone().with_data_type(values.as_ref().clone())))
        }
        _ => None,
    };
    let fields: Vec<FieldRef> =
        schema.fields().iter().map(|field| plain(field).unwrap_or_else(|| Arc::clone(field))).collect();
    let differs = fields.iter().zip(schema.fields()).any(|(one, other)| !Arc::ptr_eq(one, other));
    differs.then(|| Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Whether the Parquet crate can build dictionaries of these values.
fn is_built(values: &DataType) -> bool {
    matches!(values, DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary)
        || values.is_integer()
        || values.is_floating()
}

/// The row groups of a file.
struct RowGroups {
    source: ParquetSource,
    metadata: ArrowReaderMetadata,
    mask: ProjectionMask,
    name: String,
    /// The groups still to be read.
    groups: Range<usize>,
    /// The rows of each group.
    rows: Vec<u64>,
    /// The reader of the current group.
    open: Option<ParquetRecordBatchReader>,
}

impl RowGroups {
    /// Opens a group. Only one is open at a time, so that memory holds the page index of one group.
    fn open(&self, group: usize, most: usize) -> Result<ParquetRecordBatchReader, DataError> {
        match &self.source {
            ParquetSource::File(file) => {
                let file = file.try_clone().map_err(|error| unreadable(&self.name, &error))?;
                self.build(file, group, most)
            }
            ParquetSource::Memory(bytes) => self.build(bytes.clone(), group, most),
        }
    }

    fn build<T: ChunkReader + 'static>(
        &self,
        source: T,
        group: usize,
        most: usize,
    ) -> Result<ParquetRecordBatchReader, DataError> {
        ParquetRecordBatchReaderBuilder::new_with_metadata(source, self.metadata.clone())
            .with_row_groups(vec![group])
            .with_projection(self.mask.clone())
            .with_batch_size(most.clamp(1, MOST_ROWS))
            .build()
            .map_err(|error| unusable(&self.name, &error))
    }
}

impl PieceReader for RowGroups {
    fn next(&mut self, most: usize) -> Result<Option<RecordBatch>, DataError> {
        loop {
            if let Some(piece) = self.open.as_mut().and_then(Iterator::next) {
                return piece.map(Some).map_err(|error| unusable(&self.name, &error));
            }
            let Some(group) = self.groups.next() else { return Ok(None) };
            self.open = Some(self.open(group, most)?);
        }
    }

    fn rows(&self) -> Option<u64> {
        let chosen = self.rows.get(self.groups.clone()).unwrap_or_default();
        chosen.iter().try_fold(0_u64, |sum, rows| sum.checked_add(*rows))
    }

    fn parts(&self) -> Option<u64> {
        Some(self.rows.len() as u64)
    }

    fn select(&mut self, parts: Range<u64>) {
        self.groups = within(parts, self.rows.len());
    }
}
