//! Tests that files larger than the memory are read and written piece by piece.
#![allow(clippy::unwrap_used)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use schedc_data::{
    DataSource, Destination, Expect, NumberType, Reading, ResultNumbers, RowStream, TableLayout as Columns,
    TableWriter,
};

/// Bytes of memory in use, and the largest number since the last reset.
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counted;

// SAFETY: all calls are forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: as the caller promises, here and below.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTED: Counted = Counted;

const COLUMNS: usize = 8;
/// Rows of a part of a file: 256 KiB.
const PART: usize = 1 << 12;
const PARTS: usize = 512;
/// The rows take 128 MiB; this is the memory that reading and writing them may take.
const ALLOWED: usize = PART * PARTS * COLUMNS * 8 / 10;

/// One part: numbers that no encoding makes shorter.
fn part(number: usize) -> RecordBatch {
    let value = |at: usize| ((number * PART + at) as f64).sin();
    let column =
        |at: usize| Arc::new(Float64Array::from_iter_values((0..PART).map(|row| value(row * COLUMNS + at))));
    let columns = (0..COLUMNS).map(|at| (format!("x{at}"), column(at) as ArrayRef));
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Writes a result for each row of a file to another file.
fn run(file: &Path, result: &Path, by_column: bool) {
    let names: Vec<String> = (0..COLUMNS).map(|at| format!("x{at}")).collect();
    let keep = vec!["x3".to_owned()];
    let reading = Reading { keep: &keep, by_column, ..Reading::default() };
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let mut stream =
        RowStream::open(&DataSource::Path(file.to_path_buf()), Expect::named(&names), reading).unwrap();
    let layout = Columns::of("prediction", 1, NumberType::F64, stream.kept());
    let mut writer = TableWriter::create(&Destination::from_argument(result), &layout).unwrap();
    let mut rows = 0;
    while let Some(batch) = stream.next(PART).unwrap() {
        let results: Vec<f64> = (0..batch.rows).map(|row| (rows + row) as f64).collect();
        rows += batch.rows;
        assert!(writer.write(ResultNumbers::F64(&results), &batch).unwrap());
    }
    writer.finish().unwrap();
    assert_eq!(rows, PART * PARTS);
    let most = MOST.load(Ordering::Relaxed) - before;
    assert!(most <= ALLOWED, "{most} bytes of {ALLOWED} for {} to {}", file.display(), result.display());
}

/// Writes a file part by part, and checks the memory of [`run`] on it.
fn check<W>(
    folder: &Path,
    (name, results): (&str, &[&str]),
    create: impl FnOnce(File, &SchemaRef) -> W,
    mut write: impl FnMut(&mut W, &RecordBatch),
    finish: impl FnOnce(W),
) {
    let file = folder.join(name);
    let mut writer = create(File::create(&file).unwrap(), &part(0).schema());
    (0..PARTS).for_each(|number| write(&mut writer, &part(number)));
    finish(writer);
    assert!(std::fs::metadata(&file).unwrap().len() >= (PART * PARTS * COLUMNS * 8) as u64);
    let ways = results.iter().zip([true, false].into_iter().cycle());
    ways.for_each(|(result, by_column)| run(&file, &folder.join(result), by_column));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn files_ten_times_as_large_as_memory_are_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // The first file is a single row group, whose pages are read one by one.
    for (name, group) in [("whole.parquet", PART * PARTS), ("groups.parquet", 4 * PART)] {
        check(
            folder,
            (name, &["result.parquet", "result.csv"]),
            |file, schema| {
                let properties = WriterProperties::builder()
                    .set_max_row_group_row_count(Some(group))
                    .set_dictionary_enabled(false);
                ArrowWriter::try_new(file, Arc::clone(schema), Some(properties.build())).unwrap()
            },
            |writer, part| writer.write(part).unwrap(),
            |writer| drop(writer.close().unwrap()),
        );
    }
    check(
        folder,
        ("rows.arrow", &["result.parquet", "result.arrow"]),
        |file, schema| FileWriter::try_new(file, schema).unwrap(),
        |writer, part| writer.write(part).unwrap(),
        |mut writer| writer.finish().unwrap(),
    );
    check(
        folder,
        ("rows.stream", &["result.arrow"]),
        |file, schema| StreamWriter::try_new(file, schema).unwrap(),
        |writer, part| writer.write(part).unwrap(),
        |mut writer| writer.finish().unwrap(),
    );
}
