//! Tests that damaged Parquet and Arrow files and archives give an error or rows, never a panic, and that the
//! sizes that they claim allocate no memory.
#![allow(clippy::unwrap_used)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_ipc::CompressionType;
use common::{archive, arrow, arrow_stream, features, npy, parquet, table};
use parquet::basic::{Compression, ZstdLevel};
use schedc_data::{DataSource, Expect, FeatureValues, Reading, RowStream, panics_are_errors};

/// Bytes of the largest allocation.
static LARGEST: AtomicUsize = AtomicUsize::new(0);

struct Watched;

// SAFETY: all calls are forwarded to the system's allocator.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises, here and below.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static WATCHED: Watched = Watched;

/// Reads a file piece by piece, as `schedc predict` does. Returns the number of rows; `None` if it is
/// refused.
fn rows(bytes: &[u8], keep: &[String]) -> Option<usize> {
    let names = features();
    let source = DataSource::Bytes { name: "rows".to_owned(), bytes: bytes.to_vec() };
    let mut rows = 0;
    let read = || -> Result<usize, schedc_data::DataError> {
        let mut stream =
            RowStream::open(&source, Expect::named(&names), Reading { keep, ..Reading::default() })?;
        while let Some(batch) = stream.next(4)? {
            let length = match &batch.values {
                FeatureValues::F32(values) => values.len(),
                FeatureValues::F64(values) => values.len(),
            };
            assert_eq!(length, batch.rows * names.len());
            rows += batch.rows;
        }
        Ok(rows)
    };
    let read = { read }();
    read.inspect_err(|error| assert!(error.help.is_some(), "{error}")).ok()
}

/// Largest allowed allocation for a file of a few KiB, in bytes.
const MOST_AT_ONCE: usize = 64 << 20;

/// Reads every prefix of a file, and the file with bits of each byte flipped.
fn damage(file: &[u8], keep: &[String]) {
    // Panics that become errors are not reported.
    std::panic::set_hook(Box::new(|info| {
        if !panics_are_errors() {
            eprintln!("{info}");
        }
    }));
    assert!(rows(file, keep).is_some());
    for length in 0..file.len() {
        assert_eq!(rows(&file[..length], keep), None, "{length} bytes of {}", file.len());
    }
    for at in 0..file.len() {
        for flip in [1, 0x80, 0xff] {
            let mut damaged = file.to_vec();
            damaged[at] ^= flip;
            LARGEST.store(0, Ordering::Relaxed);
            rows(&damaged, keep);
            let largest = LARGEST.load(Ordering::Relaxed);
            assert!(largest <= MOST_AT_ONCE, "byte {at} ^ {flip:#x}: {largest} bytes at once");
        }
    }
}

fn kept() -> Vec<String> {
    ["user", "colour"].map(str::to_owned).to_vec()
}

fn damaged_parquet(compression: Compression) {
    damage(&parquet(&table(11), 6, compression), &kept());
}

fn damaged_arrow(compression: Option<CompressionType>) {
    damage(&arrow(&table(11), 6, compression), &kept());
}

#[test]
fn damaged_parquet_plain() {
    damaged_parquet(Compression::UNCOMPRESSED);
}

#[test]
fn damaged_parquet_snappy() {
    damaged_parquet(Compression::SNAPPY);
}

#[test]
fn damaged_parquet_zstd() {
    damaged_parquet(Compression::ZSTD(ZstdLevel::default()));
}

#[test]
fn damaged_parquet_lz4_and_gzip() {
    damaged_parquet(Compression::LZ4_RAW);
    damaged_parquet(Compression::GZIP(Default::default()));
}

#[test]
fn damaged_arrow_files() {
    [None, Some(CompressionType::ZSTD), Some(CompressionType::LZ4_FRAME)].into_iter().for_each(damaged_arrow);
}

#[test]
fn damaged_arrow_streams() {
    damage(&arrow_stream(&table(11), 6), &kept());
}

#[test]
fn damaged_archives() {
    let array = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 4), }", &[7; 64]);
    for deflated in [false, true] {
        damage(&archive(&[("X.npy", &array)], deflated), &[]);
    }
}

#[test]
fn concatenated_streams_are_refused() {
    let stream = arrow_stream(&table(3), 3);
    assert_eq!(rows(&stream, &[]), Some(3));
    assert_eq!(rows(&[stream.clone(), stream].concat(), &[]), None);
}

/// Groups nested so deep that a recursive call for each would overflow every stack.
#[test]
fn parquet_of_deep_groups() {
    let depth = 300_000;
    // Thrift's compact protocol has a byte for each field: the distance from the previous field, and the
    // type.
    let mut footer = vec![0x15, 2, 0x19, 0xfc];
    let mut elements = depth + 2;
    while elements >= 0x80 {
        footer.push(elements as u8 | 0x80);
        elements >>= 7;
    }
    footer.push(elements as u8);
    footer.extend([0x48, 1, b'r', 0x15, 2, 0]);
    for _ in 0..depth {
        footer.extend([0x35, 2, 0x18, 1, b'g', 0x15, 2, 0]);
    }
    footer.extend([0x15, 2, 0x25, 2, 0x18, 1, b'x', 0]);
    footer.extend([0x16, 0, 0x19, 0x0c, 0]);
    let length = (footer.len() as u32).to_le_bytes();
    let file = [b"PAR1", footer.as_slice(), &length, b"PAR1"].concat();
    assert_eq!(rows(&file, &[]), None);
}
