//! What the tests share.
#![allow(dead_code)]

use schedc_data::{DataError, Expect, Rows, Source, Values, read_rows};

/// Reads `bytes` as a file named `rows`.
pub fn read(bytes: &[u8], expect: Expect<'_>) -> Result<Rows, DataError> {
    read_rows(&Source::Bytes { name: "rows".to_owned(), bytes: bytes.to_vec() }, expect)
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
        Values::F32(values) => values.len(),
        Values::F64(values) => values.len(),
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
