//! The interface of the formats of tables.

use std::io::{self, BufWriter, Write};

use arrow_array::ArrayRef;

use super::layout::ResultNumbers;

/// The buffered writer of a table's bytes.
pub(super) type TableOut = BufWriter<Box<dyn Write + Send>>;

/// The bytes of a table in one of the formats.
pub(super) trait Encode {
    /// Writes rows: their results, and the columns of the input that `--keep` names.
    fn write(&mut self, numbers: ResultNumbers<'_>, kept: &[ArrayRef]) -> io::Result<()>;
    /// Writes the end of the file, such as the footer of Parquet, and flushes the buffer.
    fn finish(self: Box<Self>) -> io::Result<()>;
}
