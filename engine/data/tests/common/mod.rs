//! Functions that the tests share.
#![allow(dead_code, clippy::unwrap_used)]

use std::io::Write;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use schedc_data::{DataError, DataSource, Expect, FeatureValues, Rows, read_rows};

/// Reads `bytes` as a file named `rows`.
pub fn read(bytes: &[u8], expect: Expect<'_>) -> Result<Rows, DataError> {
    read_rows(&DataSource::Bytes { name: "rows".to_owned(), bytes: bytes.to_vec() }, expect)
}

/// Values as text: `1 2.5 nan | 3 4 5`, a bar between rows.
pub fn show(rows: &Rows) -> String {
    let values = rows.clone().into_f64();
    let cell = |value: &f64| if value.is_nan() { "nan".to_owned() } else { value.to_string() };
    let lines = values.chunks(rows.columns).map(|row| row.iter().map(cell).collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join(" | ")
}

/// Whether values are consistent with the sizes.
pub fn is_consistent(rows: &Rows) -> bool {
    let length = match &rows.values {
        FeatureValues::F32(values) => values.len(),
        FeatureValues::F64(values) => values.len(),
    };
    length == rows.rows * rows.columns && rows.names.as_ref().is_none_or(|names| names.len() == rows.columns)
}

/// A `.npy` file of version 1 with this header text.
pub fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

/// A table with numbers of several types, some of them missing, and with text: `rows` rows.
pub fn table(rows: usize) -> RecordBatch {
    let is_there = |row: usize| row % 5 != 3;
    let floats = (0..rows).map(|row| is_there(row).then_some(row as f32 / 4.0));
    let doubles = (0..rows).map(|row| if row % 7 == 2 { f64::NAN } else { row as f64 / 3.0 });
    let integers = (0..rows).map(|row| is_there(row + 1).then_some(row as i64 - 2));
    let truths = (0..rows).map(|row| is_there(row + 2).then_some(row.is_multiple_of(2)));
    let text = (0..rows).map(|row| is_there(row).then(|| format!("user {}", row % 4)));
    let codes: DictionaryArray<Int32Type> = (0..rows).map(|row| ["red", "blue"][row % 2]).collect();
    let columns: [(&str, ArrayRef); 6] = [
        ("float", Arc::new(floats.collect::<Float32Array>())),
        ("user", Arc::new(text.collect::<StringArray>())),
        ("double", Arc::new(doubles.map(Some).collect::<Float64Array>())),
        ("integer", Arc::new(integers.collect::<Int64Array>())),
        ("colour", Arc::new(codes)),
        ("truth", Arc::new(truths.collect::<BooleanArray>())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

/// The names of the columns of [`table`] that hold numbers, in another order.
pub fn features() -> Vec<String> {
    ["truth", "double", "float", "integer"].map(str::to_owned).to_vec()
}

/// The columns of [`features`] in some rows of [`table`], as [`show`] prints them.
pub fn shown(rows: std::ops::Range<usize>) -> String {
    let cell = |value: Option<f64>| value.filter(|x| !x.is_nan()).map_or("nan".to_owned(), |x| x.to_string());
    let line = |row: usize| {
        let is_there = |row: usize| row % 5 != 3;
        let truth = is_there(row + 2).then_some(f64::from(u8::from(row.is_multiple_of(2))));
        let double = if row % 7 == 2 { f64::NAN } else { row as f64 / 3.0 };
        let float = is_there(row).then_some(f64::from(row as f32 / 4.0));
        let integer = is_there(row + 1).then_some(row as f64 - 2.0);
        [truth, Some(double), float, integer].map(cell).join(" ")
    };
    rows.map(line).collect::<Vec<_>>().join(" | ")
}

/// A Parquet file with row groups of `group` rows.
pub fn parquet(table: &RecordBatch, group: usize, compression: Compression) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group))
        .set_compression(compression)
        .build();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, table.schema(), Some(properties)).unwrap();
    writer.write(table).unwrap();
    writer.close().unwrap();
    file
}

/// The table in batches of `batch` rows.
fn batches(table: &RecordBatch, batch: usize) -> impl Iterator<Item = RecordBatch> {
    let rows = table.num_rows();
    (0..rows).step_by(batch).map(move |first| table.slice(first, batch.min(rows - first)))
}

/// An Arrow file with record batches of `batch` rows.
pub fn arrow(table: &RecordBatch, batch: usize, compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut file = Vec::new();
    let mut writer = FileWriter::try_new_with_options(&mut file, &table.schema(), options).unwrap();
    batches(table, batch).for_each(|batch| writer.write(&batch).unwrap());
    writer.finish().unwrap();
    drop(writer);
    file
}

/// An Arrow stream with record batches of `batch` rows.
pub fn arrow_stream(table: &RecordBatch, batch: usize) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = StreamWriter::try_new(&mut file, &table.schema()).unwrap();
    batches(table, batch).for_each(|batch| writer.write(&batch).unwrap());
    writer.finish().unwrap();
    drop(writer);
    file
}

/// A zip archive of files, compressed by deflate or not at all.
pub fn archive(files: &[(&str, &[u8])], deflated: bool) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut index = Vec::new();
    for (name, content) in files {
        let mut packed = content.to_vec();
        if deflated {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(content).unwrap();
            packed = encoder.finish().unwrap();
        }
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let mut common = Vec::new();
        for field in [20, 0, if deflated { 8 } else { 0 }, 0, 0x21_u16] {
            common.extend(field.to_le_bytes());
        }
        for field in [crc.sum(), packed.len() as u32, content.len() as u32] {
            common.extend(field.to_le_bytes());
        }
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        let at = archive.len() as u32;
        archive.extend([b"PK\x03\x04", common.as_slice(), name.as_bytes(), &packed].concat());
        index.extend(
            [b"PK\x01\x02", [20, 0].as_slice(), &common, &[0; 10], &at.to_le_bytes(), name.as_bytes()]
                .concat(),
        );
    }
    let (at, number) = (archive.len() as u32, (files.len() as u16).to_le_bytes());
    archive.extend(&index);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([number, number].concat());
    archive.extend([(index.len() as u32).to_le_bytes(), at.to_le_bytes()].concat());
    archive.extend([0, 0]);
    archive
}
