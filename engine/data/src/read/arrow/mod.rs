//! Readers of files that store tables by columns: Parquet and Arrow.

mod errors;
mod guard;
mod ipc;
mod named;
mod nesting;
mod parquet;
mod values;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, NullArray, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use arrow_select::take::take;

use self::errors::{quoted, unusable};
use self::named::NamedColumn;
use super::columns::matching::{Named, choose, find_kept, remark};
use super::expect::Expect;
use super::input::OpenedSource;
use super::numbers::batch_of_columns;
use super::reader::RowReader;
use super::source::unreadable;
use crate::codes;
use crate::error::{DataError, count};

pub(super) use errors::damaged;
pub(super) use guard::guarded;
pub use guard::panics_are_errors;
pub(super) use ipc::{MAGIC as ARROW_MAGIC, STREAM as ARROW_STREAM, open_file as open_arrow, open_stream};
pub(super) use parquet::{MAGIC as PARQUET_MAGIC, open as open_parquet};
pub(super) use values::{RowFloat, append, is_number, is_text, precision, put};

/// Reads a file in pieces of rows, with the requested columns.
trait PieceReader {
    /// The next piece, or `None` at the end. It has at most `most` rows if the format does not fix the size.
    fn next(&mut self, most: usize) -> Result<Option<RecordBatch>, DataError>;
    /// The number of rows of the chosen parts, if the file records it.
    fn rows(&self) -> Option<u64> {
        None
    }
    /// The number of parts of the file that can be read separately.
    fn parts(&self) -> Option<u64> {
        None
    }
    /// Restricts the reader to a range of parts.
    fn select(&mut self, _: Range<u64>) {}
}

/// The columns that become features, and those to copy to the results.
struct ReadColumns<'a> {
    /// Indices of the columns to read, in the file's order.
    read: Vec<usize>,
    /// For each feature, the index of its column in `read`; `None` if the model does not read the feature.
    features: Vec<Option<usize>>,
    /// For each column to copy, its index in `read`.
    kept: Vec<usize>,
    /// The fields of the features' columns. A column of names has the type of its codes. Any cell may be
    /// missing.
    fields: Vec<FieldRef>,
    /// For each feature whose column holds names, the look-up of their codes.
    named: Vec<Option<NamedColumn<'a>>>,
    /// The fields of the columns to copy.
    kept_fields: Vec<FieldRef>,
    /// A remark for the user on columns that were matched by name.
    remark: Option<String>,
}

impl<'a> ReadColumns<'a> {
    fn new(schema: &Schema, name: &str, expect: Expect<'a>, keep: &[String]) -> Result<Self, DataError> {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let error = |code, message| DataError::new(code, name, message);
        let named = Named { what: "file", error: &error };
        let kept = find_kept(&names, keep, named)?;
        let features = choose(&names, expect, &kept, named, || wrong_width(&names, expect, named))?;
        let remark = remark(&names, &features, &kept, expect);
        let mut read: Vec<usize> = features.iter().flatten().chain(&kept).copied().collect();
        read.sort_unstable();
        read.dedup();
        let field = |column: usize| schema.fields().get(column).cloned();
        let place = |column: &usize| read.binary_search(column).ok();
        let kept_fields = kept.iter().filter_map(|&column| field(column));
        let kept_fields = kept_fields.map(|field| unpacked_field(&field)).collect();
        let mut fields = Vec::with_capacity(features.len());
        let mut all_named = Vec::with_capacity(features.len());
        for (feature, column) in features.iter().enumerate() {
            let Some((column, field)) = column.and_then(|column| Some((column, field(column)?))) else {
                fields.push(Arc::new(Field::new("", DataType::Null, true)));
                all_named.push(None);
                continue;
            };
            let of_names = named::column_of_names(&field, column, expect.lookup(feature));
            let data_type = match &of_names {
                Some(named) if named.is_wide() => DataType::Float64,
                Some(_) => DataType::Float32,
                None => field.data_type().clone(),
            };
            let field = Arc::new(Field::new(field.name().clone(), data_type, true));
            precision(&field, column, expect.whole.of_tables, name)?;
            fields.push(field);
            all_named.push(of_names);
        }
        let features = features.iter().map(|column| column.as_ref().and_then(place)).collect();
        let kept = kept.iter().filter_map(place).collect();
        Ok(ReadColumns { read, features, kept, fields, named: all_named, kept_fields, remark })
    }
}

/// The error for a file with another number of columns than the model has features.
fn wrong_width(names: &[String], expect: Expect<'_>, named: Named<'_>) -> DataError {
    let message = format!(
        "the file has {}, and the model wants {}",
        count(names.len(), "column"),
        count(expect.columns, "feature")
    );
    let index = names.iter().any(|name| name.starts_with("__index_level_"));
    named.error(codes::COLUMNS, message).help(match index {
        true => "leave out the index that pandas writes, with to_parquet(..., index=False)",
        false => "leave out columns that are not features; those that --keep names may stay",
    })
}

/// A Parquet or Arrow file, read as rows.
pub(super) struct ArrowTable<'a> {
    pieces: Box<dyn PieceReader>,
    chosen: ReadColumns<'a>,
    name: String,
    /// Rows that were read but not yet returned.
    pending: Option<RecordBatch>,
    /// Rows that are still to be returned, according to the file.
    left: Option<u64>,
    /// Rows returned so far.
    given: u64,
}

impl<'a> ArrowTable<'a> {
    fn new(pieces: Box<dyn PieceReader>, chosen: ReadColumns<'a>, name: &str) -> Self {
        let left = pieces.rows();
        ArrowTable { pieces, chosen, name: name.to_owned(), pending: None, left, given: 0 }
    }

    /// Returns the next rows, at most `most`. Keeps the other rows of a longer piece for the next call.
    fn piece(&mut self, most: usize) -> Result<Option<RecordBatch>, DataError> {
        loop {
            let (pieces, name) = (&mut self.pieces, &self.name);
            let piece = match self.pending.take() {
                None => guarded(name, || pieces.next(most))?,
                pending => pending,
            };
            match piece {
                Some(piece) if piece.num_rows() == 0 => {}
                Some(piece) if piece.num_rows() > most => {
                    self.pending = Some(piece.slice(most, piece.num_rows() - most));
                    return Ok(Some(piece.slice(0, most)));
                }
                piece => return Ok(piece),
            }
        }
    }

    /// The features of a piece, with the codes of categories in place of their names. All values of a feature
    /// that the model does not read are missing.
    fn features(&self, piece: &RecordBatch) -> Result<Vec<ArrayRef>, DataError> {
        let column = |at: &Option<usize>| match at {
            Some(at) => piece.columns().get(*at).cloned(),
            None => Some(Arc::new(NullArray::new(piece.num_rows())) as ArrayRef),
        };
        let columns: Option<Vec<ArrayRef>> = self.chosen.features.iter().map(column).collect();
        let columns = columns.ok_or_else(|| damaged(&self.name, "a part lacks columns"))?;
        let code = |(column, named): (&ArrayRef, &Option<NamedColumn<'_>>)| match named {
            Some(named) => named.codes(column, self.given, &self.name),
            None => Ok(Arc::clone(column)),
        };
        let columns = guarded(&self.name, || {
            columns.iter().zip(&self.chosen.named).map(code).collect::<Result<Vec<_>, _>>()
        })?;
        let differs = |(column, field): &(&ArrayRef, &FieldRef)| column.data_type() != field.data_type();
        match columns.iter().zip(&self.chosen.fields).find(differs) {
            None => Ok(columns),
            Some((_, field)) => Err(damaged(
                &self.name,
                &format!("a part of column {} is of another kind", quoted(field.name())),
            )),
        }
    }

    /// The columns of a piece to copy to the results.
    fn kept_of(&self, piece: &RecordBatch) -> Result<Vec<ArrayRef>, DataError> {
        let columns = self.chosen.kept.iter().filter_map(|&at| piece.columns().get(at));
        let unpack = |column: &ArrayRef| unpacked(column).map_err(|error| unusable(&self.name, &error));
        let kept = guarded(&self.name, || columns.map(unpack).collect::<Result<Vec<_>, _>>())?;
        let fits = |(column, field): (&ArrayRef, &FieldRef)| column.data_type() == field.data_type();
        if kept.len() == self.chosen.kept_fields.len() && kept.iter().zip(&self.chosen.kept_fields).all(fits)
        {
            return Ok(kept);
        }
        Err(damaged(&self.name, "a part has columns of other types"))
    }

    /// Compares the number of rows read with the number in the file's metadata.
    fn account(&mut self, rows: usize, ended: bool) -> Result<(), DataError> {
        let Some(left) = self.left else { return Ok(()) };
        match left.checked_sub(rows as u64) {
            Some(left) if !ended || left == 0 => {
                self.left = Some(left);
                Ok(())
            }
            _ => Err(DataError::new(
                codes::LENGTH,
                &self.name,
                "the file has fewer or more rows than it states",
            )
            .help("the file is damaged: save or copy it again")),
        }
    }
}

impl RowReader for ArrowTable<'_> {
    fn next(&mut self, most: usize) -> Result<Option<RecordBatch>, DataError> {
        let Some(piece) = self.piece(most)? else { return Ok(None) };
        self.account(piece.num_rows(), false)?;
        let (features, kept) = (self.features(&piece)?, self.kept_of(&piece)?);
        self.given += piece.num_rows() as u64;
        let fields = self.chosen.fields.iter().chain(&self.chosen.kept_fields).cloned();
        let columns = fields.zip(features.into_iter().chain(kept));
        batch_of_columns(columns, piece.num_rows(), &self.name).map(Some)
    }

    fn end(&mut self) -> Result<(), DataError> {
        self.account(0, true)
    }

    fn rows(&self) -> Option<u64> {
        self.left
    }

    fn parts(&self) -> Option<u64> {
        self.pieces.parts()
    }

    fn select(&mut self, parts: Range<u64>) -> Result<(), DataError> {
        self.pieces.select(parts);
        self.left = self.pieces.rows();
        Ok(())
    }

    fn names(&self) -> Option<Vec<String>> {
        Some(self.chosen.fields.iter().map(|field| field.name().clone()).collect())
    }

    fn remark(&self) -> Option<String> {
        self.chosen.remark.clone()
    }

    fn kept(&self) -> Vec<FieldRef> {
        self.chosen.kept_fields.clone()
    }
}

/// The index at the end of a file, and its offset. `size` reads its length from the last `N` bytes.
fn index<const N: usize>(
    input: &mut OpenedSource,
    name: &str,
    size: impl FnOnce([u8; N]) -> Option<usize>,
) -> Result<(Vec<u8>, u64), DataError> {
    let cut_off = || damaged(name, "it is cut off, or its writer was stopped before the end");
    let failed = |error| unreadable(name, &error);
    let start = input.length().unwrap_or(0).checked_sub(N as u64).ok_or_else(cut_off)?;
    let mut tail = [0; N];
    input.read_at(start, &mut tail).map_err(failed)?;
    let size = size(tail).ok_or_else(cut_off)?;
    let at = start.checked_sub(size as u64).ok_or_else(cut_off)?;
    let mut index = vec![0; size];
    input.read_at(at, &mut index).map_err(failed)?;
    Ok((index, at))
}

/// The field of a kept column after unpacking its dictionary. Dictionaries may differ between pieces.
fn unpacked_field(field: &Field) -> FieldRef {
    let field = field.clone().with_nullable(true);
    Arc::new(match field.data_type() {
        DataType::Dictionary(_, values) => {
            let values = values.as_ref().clone();
            field.with_data_type(values)
        }
        _ => field,
    })
}

/// The column with its dictionary, if it has one, replaced by the values.
fn unpacked(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match column.as_any_dictionary_opt() {
        Some(dictionary) => take(dictionary.values(), dictionary.keys(), None),
        None => Ok(Arc::clone(column)),
    }
}
