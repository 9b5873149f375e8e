//! Parquet and Arrow files.

use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use super::encode::{Encode, TableOut};
use super::layout::{NumberType, ResultNumbers, TableLayout};

/// Most numbers in a row group, which stays in memory until it is written.
const MOST_NUMBERS: usize = 1 << 22;
/// Fewest and most rows of a row group, however many columns there are.
const LEAST_ROWS: usize = 1 << 10;
const MOST_ROWS: usize = 1 << 17;

/// The columns of a table.
struct TableColumns {
    schema: SchemaRef,
    /// The number of columns that are results.
    results: usize,
    labels: Vec<String>,
}

impl TableColumns {
    fn of(layout: &TableLayout) -> Self {
        let number = match layout.number {
            NumberType::F32 => DataType::Float32,
            NumberType::F64 => DataType::Float64,
            NumberType::I32 => DataType::Int32,
            NumberType::I64 => DataType::Int64,
            NumberType::Label => DataType::Utf8,
        };
        let result = |name: &String| Arc::new(Field::new(name, number.clone(), false));
        let fields: Vec<_> =
            layout.kept.0.iter().cloned().chain(layout.headings.iter().map(result)).collect();
        let (results, labels) = (layout.headings.len(), layout.labels.clone());
        TableColumns { schema: Arc::new(Schema::new(fields)), results, labels }
    }

    /// The record batch of some rows: the copied columns of the input, then the results.
    fn batch(&self, numbers: ResultNumbers<'_>, kept: &[ArrayRef]) -> io::Result<RecordBatch> {
        let (results, mut columns) = (self.results, kept.to_vec());
        for at in 0..results {
            columns.push(match numbers {
                ResultNumbers::F32(values) => {
                    Arc::new(Float32Array::from(column(values, at, results))) as ArrayRef
                }
                ResultNumbers::F64(values) => Arc::new(Float64Array::from(column(values, at, results))),
                ResultNumbers::I32(values) => Arc::new(Int32Array::from(column(values, at, results))),
                ResultNumbers::I64(values) => Arc::new(Int64Array::from(column(values, at, results))),
                ResultNumbers::Label(values) => {
                    let texts = values.iter().skip(at).step_by(results.max(1));
                    Arc::new(StringArray::from_iter_values(
                        texts.map(|number| super::layout::label(&self.labels, *number)),
                    ))
                }
            });
        }
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(io::Error::other)
    }
}

/// The column `at` of a row-major table of `columns` columns.
fn column<T: Copy>(values: &[T], at: usize, columns: usize) -> Vec<T> {
    values.iter().skip(at).step_by(columns.max(1)).copied().collect()
}

/// Converts an error of a crate to an I/O error: the I/O error that it wraps, if there is one.
fn plain(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    let mut cause = Some(&error as &dyn std::error::Error);
    while let Some(inner) = cause {
        if let Some(found) = inner.downcast_ref::<io::Error>() {
            return found.kind().into();
        }
        cause = inner.source();
    }
    io::Error::other(error)
}

/// A Parquet file that is written row group by row group.
pub(super) struct Parquet {
    columns: TableColumns,
    writer: ArrowWriter<TableOut>,
}

impl Parquet {
    pub(super) fn create(out: TableOut, layout: &TableLayout) -> io::Result<Self> {
        let columns = TableColumns::of(layout);
        let rows = (MOST_NUMBERS / columns.schema.fields().len().max(1)).clamp(LEAST_ROWS, MOST_ROWS);
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(rows))
            .set_created_by(concat!("schedc version ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let writer =
            ArrowWriter::try_new(out, Arc::clone(&columns.schema), Some(properties)).map_err(plain)?;
        Ok(Parquet { columns, writer })
    }
}

impl Encode for Parquet {
    fn write(&mut self, numbers: ResultNumbers<'_>, kept: &[ArrayRef]) -> io::Result<()> {
        self.writer.write(&self.columns.batch(numbers, kept)?).map_err(plain)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        io::Write::flush(&mut self.writer.into_inner().map_err(plain)?)
    }
}

/// An Arrow file that is written batch by batch.
pub(super) struct Arrow {
    columns: TableColumns,
    writer: FileWriter<TableOut>,
}

impl Arrow {
    pub(super) fn create(out: TableOut, layout: &TableLayout) -> io::Result<Self> {
        let columns = TableColumns::of(layout);
        let writer = FileWriter::try_new(out, &columns.schema).map_err(plain)?;
        Ok(Arrow { columns, writer })
    }
}

impl Encode for Arrow {
    fn write(&mut self, numbers: ResultNumbers<'_>, kept: &[ArrayRef]) -> io::Result<()> {
        self.writer.write(&self.columns.batch(numbers, kept)?).map_err(plain)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.writer.finish().map_err(plain)
    }
}
