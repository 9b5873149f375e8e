//! Reads any bytes after the magic string of a `.npy` array: the result is rows or an error.
//!
//! The first byte chooses the number of features, so that inputs can be rows of many widths.

#![no_main]

use libfuzzer_sys::fuzz_target;
use schedc_data::{DataSource, Expect, FeatureValues, read_rows};

fuzz_target!(|input: &[u8]| {
    let Some((&columns, content)) = input.split_first() else { return };
    let columns = usize::from(columns);
    let bytes = [b"\x93NUMPY", content].concat();
    let source = DataSource::Bytes { name: "input".to_owned(), bytes };
    match read_rows(&source, Expect::unnamed(columns)) {
        Ok(rows) => {
            let length = match &rows.values {
                FeatureValues::F32(values) => values.len(),
                FeatureValues::F64(values) => values.len(),
            };
            assert_eq!(rows.columns, columns);
            assert_eq!(length, rows.rows * columns);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
