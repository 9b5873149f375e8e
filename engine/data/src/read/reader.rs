//! Readers of files, and the parts that they read.

use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_schema::FieldRef;

use super::expect::Precision;
use super::shard::Shard;
use crate::error::DataError;

/// The parts of a file to read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading<'a> {
    /// Names of columns to return in addition to the features.
    pub keep: &'a [String],
    /// The number of these columns, counted from the end, whose numbers go to
    /// [`Batch::beside`](super::Batch::beside) instead of the results.
    pub beside: usize,
    /// The part of the rows to read; `None` for all.
    pub shard: Option<Shard>,
    /// The name of the array to read from an archive.
    pub array: Option<&'a str>,
    /// Whether a file that is stored by columns fills [`Batch::columns`](super::Batch::columns) instead of
    /// [`Batch::values`](super::Batch::values).
    pub by_column: bool,
    /// The precision of the values; `None` for that of the file.
    pub precision: Option<Precision>,
}

impl<'a> Reading<'a> {
    /// The names of the columns to copy to the results.
    pub(super) fn kept_names(&self) -> &'a [String] {
        self.keep.get(..self.keep.len().saturating_sub(self.beside)).unwrap_or_default()
    }
}

/// Reads a file of one format as rows.
pub(super) trait RowReader {
    /// Returns the next rows, at least one and at most `most`, or `None` at the end. The features come first,
    /// in the model's order or as one column of lists, and then the columns that are kept.
    fn next(&mut self, most: usize) -> Result<Option<RecordBatch>, DataError>;
    /// Checks that the file ends after its last row, if the next batch would begin there.
    fn end(&mut self) -> Result<(), DataError> {
        Ok(())
    }
    /// The number of remaining rows, if the file records it.
    fn rows(&self) -> Option<u64> {
        None
    }
    /// The number of parts of the file that can be read separately, if it has such parts.
    fn parts(&self) -> Option<u64> {
        None
    }
    /// Restricts the reader to a range of parts. Call it before the first read.
    fn select(&mut self, _: Range<u64>) -> Result<(), DataError> {
        Ok(())
    }
    /// Whether rows are an array of numbers, without types or names of columns.
    fn is_array(&self) -> bool {
        false
    }
    /// The features' names in the file, once they have been read.
    fn names(&self) -> Option<Vec<String>> {
        None
    }
    /// The columns to copy to the results.
    fn kept(&self) -> Vec<FieldRef> {
        Vec::new()
    }
    /// A remark on columns that were matched by name, after the last read.
    fn remark(&self) -> Option<String> {
        None
    }
    /// Notes on doubtful interpretations since the last call.
    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// Clips a range to the numbers of `n_parts` parts.
pub(super) fn within(parts: Range<u64>, n_parts: usize) -> Range<usize> {
    let part = |part: u64| usize::try_from(part).unwrap_or(n_parts).min(n_parts);
    part(parts.start)..part(parts.end)
}
