//! Rows of features in, predictions out: the files that the `schedc` command line reads and writes.
//!
//! - [`read_rows`] reads NumPy `.npy` arrays and CSV text, told apart by their content.
//! - [`write_table`] writes predictions as `.npy` or CSV, to a file or to standard output.
//! - [`write_atomically`], [`write_together`] and [`replace_atomically`] put files in place whole or not at all.
//!
//! Input is not trusted: nothing here panics on it, and no memory is taken on the word of a header alone. This is a
//! crate of its own so that its fuzz targets need not link LLVM.

#![forbid(unsafe_code)]

pub mod codes;
mod error;
mod files;
mod read;
mod write;

pub use error::DataError;
pub use files::{abandon_unfinished, leads_to, replace_atomically, write_atomically, write_together};
pub use read::{Expect, Names, Rows, Source, Values, read_rows};
pub use write::{Destination, Numbers, Table, write_table};
