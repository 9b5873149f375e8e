//! Reads any text as CSV: the result is rows, or an error that points into the text.
//!
//! The first byte chooses the number of features, whether they have names (`a`, `b`, `c` ...), and whether
//! columns are assigned to features by position.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sched_diagnostics::Place;
use schedc_data::{DataSource, Expect, FeatureValues, read_rows};

fuzz_target!(|input: &[u8]| {
    let Some((&choice, text)) = input.split_first() else { return };
    let columns = usize::from(choice & 7);
    let named: Vec<String> = ('a'..).take(columns).map(String::from).collect();
    let expect = match (choice & 8 != 0, choice & 16 != 0) {
        (true, _) => Expect::named(&named),
        (false, true) => Expect::untold(columns),
        (false, false) => Expect::unnamed(columns),
    };
    let source = DataSource::Bytes { name: "input".to_owned(), bytes: text.to_vec() };
    match read_rows(&source, expect.by_position(choice & 32 != 0)) {
        Ok(rows) => {
            let FeatureValues::F64(values) = &rows.values else {
                assert!(text.starts_with(b"\x93NUMPY"), "text is read in double precision");
                return;
            };
            assert_eq!(values.len(), rows.rows * columns);
            assert!(rows.names.is_none_or(|names| names.len() == columns));
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            let lines = text.iter().filter(|byte| matches!(byte, b'\r' | b'\n')).count() as u64 + 1;
            if let Place::Cell { line: Some(line), .. } = &error.place {
                assert!((1..=lines).contains(line));
            }
        }
    }
});
