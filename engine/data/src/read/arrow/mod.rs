//! Readers of files that store tables by columns: Parquet and Arrow.

mod guard;
mod ipc;
mod named;
mod nesting;
mod parquet;
mod values;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use arrow_select::take::take;

use self::named::NamedColumn;
use super::columns::matching::{
    Named, by_position, check_order, find_columns, find_kept, remark, without_names_of_the_model,
};
use super::{Batch, Expect, Names, Precision, Reader, Values};
use crate::codes;
use crate::error::{DataError, count, shorten};

pub use guard::panics_are_errors;
pub(super) use ipc::{MAGIC as ARROW_MAGIC, STREAM as ARROW_STREAM, open_file as open_arrow, open_stream};
pub(super) use parquet::{MAGIC as PARQUET_MAGIC, open as open_parquet};
pub(super) use values::{is_number, is_text, put};

/// Reads a file in pieces of rows, with the requested columns.
trait Pieces {
    /// The next piece, or `None` at the end. It has at most `most` rows if the format does not fix the size.
    fn next(&mut self, most: usize) -> Result<Option<RecordBatch>, DataError>;
    /// The number of rows of the chosen parts, if the file records it.
    fn rows(&self) -> Option<u64>;
    /// The number of parts of the file that can be read separately.
    fn parts(&self) -> Option<u64>;
    /// Restricts the reader to a range of parts.
    fn select(&mut self, parts: Range<u64>);
}

/// The columns that become features, and those to copy to the results.
struct Plan<'a> {
    /// Indices of the columns to read, in the file's order.
    read: Vec<usize>,
    /// For each feature, the index of its column in `read`.
    features: Vec<usize>,
    /// For each column to copy, its index in `read`.
    kept: Vec<usize>,
    /// The fields of the features' columns. A column of names has the type of its codes.
    fields: Vec<FieldRef>,
    /// For each feature whose column holds names, the look-up of their codes.
    named: Vec<Option<NamedColumn<'a>>>,
    /// The fields of the columns to copy.
    kept_fields: Vec<FieldRef>,
    /// A remark for the user on columns that were matched by name.
    remark: Option<String>,
    /// Whether some values are in double precision.
    wide: bool,
    /// Whether values are in double precision, by feature.
    widths: Vec<bool>,
    /// The precision to which whole numbers are rounded.
    whole: Precision,
}

impl<'a> Plan<'a> {
    fn new(schema: &Schema, name: &str, expect: Expect<'a>, keep: &[String]) -> Result<Self, DataError> {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let error = |code, message| DataError::new(code, name, message);
        let named = Named { what: "file", error: &error };
        let kept = find_kept(&names, keep, named)?;
        let features = choose(&names, expect, &kept, named)?;
        let remark = expect.names_to_match().and_then(|_| remark(&names, &features, &kept));
        let mut read: Vec<usize> = features.iter().chain(&kept).copied().collect();
        read.sort_unstable();
        read.dedup();
        let fields = |columns: &[usize]| -> Vec<FieldRef> {
            columns.iter().filter_map(|&column| schema.fields().get(column)).cloned().collect()
        };
        let places = |columns: &[usize]| -> Vec<usize> {
            columns.iter().filter_map(|column| read.binary_search(column).ok()).collect()
        };
        let mut feature_fields = fields(&features);
        let kept_fields = fields(&kept).iter().map(|field| unpacked_field(field)).collect();
        let (mut widths, mut all_named) = (Vec::new(), Vec::with_capacity(features.len()));
        for (feature, (field, &column)) in feature_fields.iter_mut().zip(&features).enumerate() {
            let of_names = named::column_of_names(field, column, expect.lookup(feature));
            if let Some(named) = &of_names {
                let codes = if named.is_wide() { DataType::Float64 } else { DataType::Float32 };
                *field = Arc::new(Field::new(field.name().clone(), codes, true));
            }
            widths.push(values::is_wide(field, column, expect.whole.of_tables, name)?);
            all_named.push(of_names);
        }
        let (features, kept) = (places(&features), places(&kept));
        let (wide, fields) = (widths.contains(&true), feature_fields);
        Ok(Plan {
            read,
            features,
            kept,
            fields,
            named: all_named,
            kept_fields,
            remark,
            wide,
            widths,
            whole: expect.whole.of_tables,
        })
    }
}

/// For each feature, the index of its column.
fn choose(
    names: &[String],
    expect: Expect<'_>,
    kept: &[usize],
    named: Named<'_>,
) -> Result<Vec<usize>, DataError> {
    if let Some(features) = expect.names_to_match() {
        return find_columns(names, features, named);
    }
    let Some(columns) = by_position(names.len(), expect.columns, kept) else {
        let message = format!(
            "the file has {}, and the model wants {}",
            count(names.len(), "column"),
            count(expect.columns, "feature")
        );
        let index = names.iter().any(|name| name.starts_with("__index_level_"));
        let help = match index {
            true => "leave out the index that pandas writes, with to_parquet(..., index=False)",
            false => "leave out columns that are not features; those that --keep names may stay",
        };
        return Err(named.error(codes::COLUMNS, message).help(help));
    };
    if !expect.by_position {
        match expect.names {
            Names::Unknown => return Err(without_names_of_the_model(named)),
            _ => {
                let chosen: Vec<String> =
                    columns.iter().filter_map(|&column| names.get(column)).cloned().collect();
                check_order(&chosen, named)?;
            }
        }
    }
    Ok(columns)
}

/// A table, read as rows.
pub(super) struct Table<'a> {
    pieces: Box<dyn Pieces>,
    plan: Plan<'a>,
    /// Whether batches have columns instead of rows.
    by_column: bool,
    name: String,
    /// Rows that were read but not yet returned.
    pending: VecDeque<RecordBatch>,
    /// Rows that are still to be returned, according to the file.
    left: Option<u64>,
    /// Rows returned so far.
    given: u64,
}

impl<'a> Table<'a> {
    fn new(pieces: Box<dyn Pieces>, plan: Plan<'a>, name: &str, by_column: bool) -> Self {
        let left = pieces.rows();
        Table { pieces, plan, by_column, name: name.to_owned(), pending: VecDeque::new(), left, given: 0 }
    }

    /// The next rows of a piece, at most `most`.
    fn piece(&mut self, most: usize) -> Result<Option<RecordBatch>, DataError> {
        loop {
            if let Some(piece) = self.pending.pop_front() {
                if piece.num_rows() > most {
                    self.pending.push_front(piece.slice(most, piece.num_rows() - most));
                    return Ok(Some(piece.slice(0, most)));
                }
                return Ok(Some(piece));
            }
            let (pieces, name) = (&mut self.pieces, &self.name);
            match guard::guarded(name, || pieces.next(most))? {
                Some(piece) if piece.num_rows() == 0 => {}
                Some(piece) => self.pending.push_back(piece),
                None => return Ok(None),
            }
        }
    }

    /// The features of a piece, with the codes of categories in place of their names.
    fn features(&self, piece: &RecordBatch) -> Result<Vec<ArrayRef>, DataError> {
        let columns: Vec<&ArrayRef> =
            self.plan.features.iter().filter_map(|&at| piece.columns().get(at)).collect();
        if columns.len() != self.plan.features.len() {
            return Err(damaged(&self.name, "a part lacks columns"));
        }
        let code = |(column, named): (&'_ &ArrayRef, &Option<NamedColumn<'_>>)| match named {
            Some(named) => named.codes(column, self.given, &self.name),
            None => Ok(Arc::clone(*column)),
        };
        guard::guarded(&self.name, || {
            columns.iter().zip(&self.plan.named).map(code).collect::<Result<Vec<_>, _>>()
        })
    }

    /// Appends the rows of a piece to the batch, by column or by row.
    fn append(&self, piece: &RecordBatch, batch: &mut Batch) -> Result<(), DataError> {
        let (rows, columns) = ((piece.num_rows(), self.plan.whole), self.features(piece)?);
        if self.by_column {
            for ((column, field), to) in columns.iter().zip(&self.plan.fields).zip(&mut batch.columns) {
                let (column, field) = (std::slice::from_ref(column), std::slice::from_ref(field));
                guard::guarded(&self.name, || match to {
                    Values::F32(values) => values::append(column, field, rows, values, &self.name),
                    Values::F64(values) => values::append(column, field, rows, values, &self.name),
                })?;
            }
            return Ok(());
        }
        let values = &mut batch.values;
        guard::guarded(&self.name, || match values {
            Values::F32(values) => values::append(&columns, &self.plan.fields, rows, values, &self.name),
            Values::F64(values) => values::append(&columns, &self.plan.fields, rows, values, &self.name),
        })
    }

    /// The columns of a piece to copy to the results.
    fn kept_of(&self, piece: &RecordBatch) -> Result<Vec<ArrayRef>, DataError> {
        let columns = self.plan.kept.iter().filter_map(|&at| piece.columns().get(at));
        let unpack = |column: &ArrayRef| unpacked(column).map_err(|error| unusable(&self.name, &error));
        let kept = guard::guarded(&self.name, || columns.map(unpack).collect::<Result<Vec<_>, _>>())?;
        let fits = |(column, field): (&ArrayRef, &FieldRef)| column.data_type() == field.data_type();
        if kept.len() == self.plan.kept_fields.len() && kept.iter().zip(&self.plan.kept_fields).all(fits) {
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

impl Reader for Table<'_> {
    fn next(&mut self, most: usize) -> Result<Option<Batch>, DataError> {
        let empty = |wide: bool| if wide { Values::F64(Vec::new()) } else { Values::F32(Vec::new()) };
        let mut batch = Batch::of(empty(self.plan.wide), 0);
        if self.by_column {
            batch.columns = self.plan.widths.iter().map(|wide| empty(*wide)).collect();
        }
        while batch.rows < most {
            let Some(piece) = self.piece(most - batch.rows)? else {
                self.account(0, batch.rows == 0)?;
                break;
            };
            self.account(piece.num_rows(), false)?;
            self.append(&piece, &mut batch)?;
            batch.rows += piece.num_rows();
            self.given += piece.num_rows() as u64;
            if !self.plan.kept.is_empty() {
                // A batch comes from one piece, so kept columns need no concatenation.
                batch.kept = self.kept_of(&piece)?;
                break;
            }
        }
        Ok((batch.rows > 0).then_some(batch))
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
        Some(self.plan.fields.iter().map(|field| field.name().clone()).collect())
    }

    fn remark(&self) -> Option<String> {
        self.plan.remark.clone()
    }

    fn kept(&self) -> Vec<FieldRef> {
        self.plan.kept_fields.clone()
    }
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

/// The error for a file whose parts contradict each other.
fn damaged(name: &str, why: &str) -> DataError {
    DataError::new(codes::DAMAGED, name, format!("the file is damaged: {why}"))
        .help("save or copy it again; if another program can read it, convert it to CSV")
}

/// The error for a file that the Arrow or Parquet crate cannot read.
fn unusable(name: &str, error: &dyn std::fmt::Display) -> DataError {
    let text = error.to_string();
    if text.contains("feature") || text.contains("not supported") || text.contains("NYI") {
        return DataError::new(
            codes::UNKNOWN_FORMAT,
            name,
            format!("the file uses what schedc does not read: {}", shorten_error(&text)),
        )
        .help("save it again uncompressed, or compressed with snappy, gzip, zstd or lz4, and not encrypted");
    }
    damaged(name, &shorten_error(&text))
}

/// A crate's error message, shortened, since it may quote parts of the file.
fn shorten_error(text: &str) -> String {
    const MOST: usize = 160;
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST).collect();
    if text.chars().nth(MOST).is_some() { plain + "…" } else { plain }
}

/// A name from the file, for a message.
fn quoted(name: &str) -> String {
    format!("\"{}\"", shorten(name))
}
