//! Errors of tables, and texts of files in them.

use crate::codes;
use crate::error::{DataError, shorten};

/// The error for a damaged file, whose parts contradict each other. `why` is a sentence about them.
pub(in crate::read) fn damaged(name: &str, why: &str) -> DataError {
    DataError::new(codes::DAMAGED, name, format!("the file is damaged: {why}"))
        .help("save or copy it again; if another program can read it, convert it to CSV")
}

/// The error for a file that the Arrow or Parquet crate cannot read.
pub(super) fn unusable(name: &str, error: &dyn std::fmt::Display) -> DataError {
    let text = error.to_string();
    if text.contains("feature") || text.contains("not supported") || text.contains("NYI") {
        return DataError::new(
            codes::UNKNOWN_FORMAT,
            name,
            format!("the file uses a feature that schedc does not support: {}", shorten_error(&text)),
        )
        .help("save it again uncompressed, or compressed with snappy, gzip, zstd or lz4, and not encrypted");
    }
    damaged(name, &shorten_error(&text))
}

/// A crate's error message, shortened, since it may quote parts of the file.
pub(super) fn shorten_error(text: &str) -> String {
    const MOST: usize = 160;
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST).collect();
    if text.chars().nth(MOST).is_some() { plain + "…" } else { plain }
}

/// A name from the file, for a message.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", shorten(name))
}
