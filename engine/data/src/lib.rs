//! Rows of features in, predictions out: the files that the `schedc` command line reads and writes.
//!
//! - [`RowStream`] reads NumPy arrays, Parquet, Arrow and CSV text in pieces, recognised by content;
//!   [`read_rows`] reads the whole input.
//! - [`TableWriter`] writes predictions in these formats, to a file or to standard output; [`write_table`]
//!   writes all of them.
//! - [`write_atomically`], [`write_together`], [`replace_atomically`] and [`replace_folder`] put files in
//!   place whole or not at all.
//!
//! Input is not trusted: nothing here panics on it, and memory grows with the bytes that were read, not with
//! the sizes that a header claims.
//! This is a separate crate so that its fuzz targets need not link LLVM.

#![forbid(unsafe_code)]

pub mod codes;
mod error;
mod files;
mod folders;
mod read;
mod write;

pub use error::DataError;
pub use files::{
    abandon_unfinished, expect_writable, leads_to, replace_atomically, unwritable, write_atomically,
    write_together,
};
pub use folders::replace_folder;
pub use read::{
    Batch, DataSource, Expect, ExpectedNames, FeatureValues, KeptColumns, MissingNumber, Precision, Reading,
    RowStream, Rows, Shard, WholePrecision, panics_are_errors, read_rows,
};
pub use write::{Destination, NumberType, ResultNumbers, ResultTable, TableLayout, TableWriter, write_table};
