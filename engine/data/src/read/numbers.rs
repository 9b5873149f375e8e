//! The numbers of record batches. Readers of all formats return [`RecordBatch`]es, and this module turns
//! their cells into the values that models test.
//!
//! The first columns of a batch are features, and the last ones are kept. Readers of rows (CSV text, arrays
//! in C order) return all features as one column of lists, whose values become those of a [`Batch`] without a
//! copy. `docs/decisions/10-rows-as-record-batches.md` has the reasons.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, FixedSizeListArray, Float32Array, Float64Array, RecordBatch,
    RecordBatchOptions,
};
use arrow_schema::{DataType, Field, FieldRef, Schema};

use super::arrow::{append, damaged, guarded, precision};
use super::batch::{Batch, FeatureValues};
use super::expect::{Expect, Precision};
use super::reader::RowReader;
use crate::error::DataError;

impl FeatureValues {
    /// An empty list of values of a precision.
    pub(super) fn empty(precision: Precision) -> FeatureValues {
        match precision {
            Precision::Single => FeatureValues::F32(Vec::new()),
            Precision::Double => FeatureValues::F64(Vec::new()),
        }
    }

    /// Replaces every `step`th value from `first` on. `replace` takes the index of a value among the replaced
    /// ones.
    pub(super) fn replace<E>(
        &mut self,
        (first, step): (usize, usize),
        replace: impl Fn(usize, f64) -> Result<f64, E>,
    ) -> Result<(), E> {
        match self {
            FeatureValues::F32(values) => {
                let mut each = values.iter_mut().skip(first).step_by(step).enumerate();
                each.try_for_each(|(at, x)| replace(at, f64::from(*x)).map(|value| *x = value as f32))
            }
            FeatureValues::F64(values) => {
                let mut each = values.iter_mut().skip(first).step_by(step).enumerate();
                each.try_for_each(|(at, x)| replace(at, *x).map(|value| *x = value))
            }
        }
    }

    /// The values as a column.
    pub(super) fn into_column(self) -> ArrayRef {
        match self {
            FeatureValues::F32(values) => Arc::new(Float32Array::from(values)),
            FeatureValues::F64(values) => Arc::new(Float64Array::from(values)),
        }
    }

    /// The values of a column of floats without missing ones. Copies them if the column shares its memory.
    fn of_column(column: ArrayRef) -> Option<FeatureValues> {
        fn taken<T: ArrowPrimitiveType>(column: ArrayRef) -> Option<Vec<T::Native>> {
            let array = column.as_primitive_opt::<T>()?.clone();
            drop(column);
            Some(array.into_parts().1.into())
        }
        match column.data_type() {
            DataType::Float32 => taken::<Float32Type>(column).map(FeatureValues::F32),
            _ => taken::<Float64Type>(column).map(FeatureValues::F64),
        }
    }
}

/// A batch of `n_rows` rows of `features` values each, in row-major order, with the columns that are kept.
///
/// # Errors
/// `D0021` if the values do not fill the rows, or a column has another length.
pub(super) fn batch_of_rows(
    (values, features, n_rows): (FeatureValues, usize, usize),
    kept: impl IntoIterator<Item = (FieldRef, ArrayRef)>,
    name: &str,
) -> Result<RecordBatch, DataError> {
    let values = values.into_column();
    let item = Arc::new(Field::new_list_field(values.data_type().clone(), false));
    let size = i32::try_from(features).unwrap_or(-1);
    let lists = FixedSizeListArray::try_new_with_length(item, size, values, None, n_rows);
    let lists = lists.map_err(|error| damaged(name, &error.to_string()))?;
    let field = Arc::new(Field::new("features", lists.data_type().clone(), false));
    let columns = [(field, Arc::new(lists) as ArrayRef)];
    batch_of_columns(columns.into_iter().chain(kept), n_rows, name)
}

/// A batch of `n_rows` rows of columns.
///
/// # Errors
/// `D0021` if a column has another length or type.
pub(super) fn batch_of_columns(
    columns: impl IntoIterator<Item = (FieldRef, ArrayRef)>,
    n_rows: usize,
    name: &str,
) -> Result<RecordBatch, DataError> {
    let (fields, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let options = RecordBatchOptions::new().with_row_count(Some(n_rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
        .map_err(|error| damaged(name, &error.to_string()))
}

/// Collects the next rows of a file, at most `most`; `None` at its end.
///
/// # Errors
/// Errors of the reader, `D0011` if the rows do not fit into memory, `D0021` if columns contradict their
/// types.
pub(super) fn collect(
    reader: &mut dyn RowReader,
    most: usize,
    (expect, by_column): (Expect<'_>, bool),
    name: &str,
) -> Result<Option<Batch>, DataError> {
    let kept = reader.kept().len();
    let values = FeatureValues::empty(Precision::Double);
    let mut batch = Batch { values, columns: Vec::new(), rows: 0, beside: Vec::new(), kept: Vec::new() };
    while batch.rows < most {
        let Some(piece) = reader.next(most - batch.rows)? else { break };
        let (schema, mut columns, n_rows) = piece.into_parts();
        batch.rows += n_rows;
        batch.kept = columns.split_off(columns.len().saturating_sub(kept));
        let lists = columns.first().and_then(|column| column.as_fixed_size_list_opt());
        if let Some(values) = lists.map(|lists| Arc::clone(lists.values())) {
            drop(columns);
            batch.values = FeatureValues::of_column(values).unwrap_or(batch.values);
            break;
        }
        if reader.is_array() {
            batch.columns = columns.into_iter().filter_map(FeatureValues::of_column).collect();
            break;
        }
        let columns = (columns.as_slice(), schema.fields().get(..columns.len()).unwrap_or_default());
        add_columns(&mut batch, columns, (n_rows, expect.whole.of_tables, by_column), name)?;
        // Pieces with kept columns stay alone: these columns need not be put together then.
        if kept > 0 {
            break;
        }
    }
    if batch.rows > 0 { Ok(Some(batch)) } else { reader.end().map(|()| None) }
}

/// Adds the last `n_rows` rows of a batch: to each column, or to the rows.
fn add_columns(
    batch: &mut Batch,
    (columns, fields): (&[ArrayRef], &[FieldRef]),
    (n_rows, whole, by_column): (usize, Precision, bool),
    name: &str,
) -> Result<(), DataError> {
    let add = |columns: &[ArrayRef], fields: &[FieldRef], values: &mut FeatureValues| {
        guarded(name, || match values {
            FeatureValues::F32(values) => append(columns, fields, (n_rows, whole), values, name),
            FeatureValues::F64(values) => append(columns, fields, (n_rows, whole), values, name),
        })
    };
    if batch.rows == n_rows {
        let precisions = fields.iter().map(|field| precision(field, 0, whole, name));
        let precisions = precisions.collect::<Result<Vec<_>, _>>()?;
        batch.values = FeatureValues::empty(precisions.iter().copied().max().unwrap_or(Precision::Single));
        batch.columns = precisions.into_iter().map(FeatureValues::empty).filter(|_| by_column).collect();
    }
    if !by_column {
        return add(columns, fields, &mut batch.values);
    }
    let mut each = columns.chunks(1).zip(fields.chunks(1)).zip(&mut batch.columns);
    each.try_for_each(|((column, field), values)| add(column, field, values))
}
