//! The numbers in columns.

use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray};
use arrow_schema::{DataType, Field, FieldRef};

use super::errors::{damaged, quoted};
use crate::codes;
use crate::error::DataError;
use crate::read::expect::Precision;

/// Rows of a block in the transposition of columns: both forms of a block stay in the L1 cache.
const BLOCK: usize = 1024;

/// A floating-point type of the values of rows: `f32` or `f64`.
pub(in crate::read) trait RowFloat: Copy {
    /// A missing value.
    const MISSING: Self;
    /// Converts a value, rounded if this type is narrower.
    fn of(value: f64) -> Self;
    /// Converts a value of single precision.
    fn of_single(value: f32) -> Self;
}

impl RowFloat for f32 {
    const MISSING: f32 = f32::NAN;
    fn of(value: f64) -> f32 {
        value as f32
    }
    fn of_single(value: f32) -> f32 {
        value
    }
}

impl RowFloat for f64 {
    const MISSING: f64 = f64::NAN;
    fn of(value: f64) -> f64 {
        value
    }
    fn of_single(value: f32) -> f64 {
        f64::from(value)
    }
}

/// The precision of a column's values. Whole numbers of 4 and 8 bytes are rounded to `whole`.
///
/// # Errors
///
/// `D0020` for types that are no numbers.
pub(in crate::read) fn precision(
    field: &Field,
    column: usize,
    whole: Precision,
    name: &str,
) -> Result<Precision, DataError> {
    match field.data_type() {
        DataType::Null
        | DataType::Boolean
        | DataType::Int8
        | DataType::UInt8
        | DataType::Int16
        | DataType::UInt16
        | DataType::Float16
        | DataType::Float32 => Ok(Precision::Single),
        DataType::Int32 | DataType::UInt32 | DataType::Int64 | DataType::UInt64 => Ok(whole),
        DataType::Float64 => Ok(Precision::Double),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..) => {
            refuse_text(field, column, name)
        }
        other => {
            let (kind, help) = describe(other);
            let message = format!("a feature's column holds {kind}, not numbers");
            Err(refused(message, field, column, name).help(help))
        }
    }
}

/// Whether a column holds numbers.
pub(in crate::read) fn is_number(field: &Field) -> bool {
    precision(field, 0, Precision::Double, "").is_ok()
}

/// Whether a column holds text as CSV has it.
pub(in crate::read) fn is_text(field: &Field) -> bool {
    *field.data_type() == DataType::Utf8
}

/// Refuses text of a feature whose categories have no names in the model.
///
/// # Errors
///
/// `D0020`.
fn refuse_text(field: &Field, column: usize, name: &str) -> Result<Precision, DataError> {
    let kind = match field.data_type() {
        DataType::Dictionary(..) => "a dictionary (pandas: a category)",
        _ => "text",
    };
    let message =
        format!("a feature's column holds {kind}, and the model does not say which numbers stand for it");
    Err(refused(message, field, column, name).help(
        "write the numbers that stood for it in training into the column, for example pandas' .cat.codes \
         if its categories \
         are the same",
    ))
}

fn refused(message: String, field: &Field, column: usize, name: &str) -> DataError {
    DataError::new(codes::COLUMN_TYPE, name, message).column(column + 1, Some(field.name().clone()))
}

/// The content of a column that is neither numbers nor text, and help for the user.
fn describe(data_type: &DataType) -> (String, &'static str) {
    let kind = match data_type {
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => {
            return (
                "decimals".to_owned(),
                "cast the column to double, the numbers that the model was trained on",
            );
        }
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => "dates or times",
        DataType::Time32(_) | DataType::Time64(_) | DataType::Duration(_) | DataType::Interval(_) => "times",
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            "bytes"
        }
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::FixedSizeList(..) => "lists",
        DataType::Struct(_) | DataType::Map(..) | DataType::Union(..) => "records",
        _ => "values of another type",
    };
    (kind.to_owned(), "write the numbers that the model was trained on into the column")
}

/// Appends `rows` rows from one column for each feature.
pub(in crate::read) fn append<T: RowFloat>(
    columns: &[ArrayRef],
    fields: &[FieldRef],
    (rows, whole): (usize, Precision),
    values: &mut Vec<T>,
    name: &str,
) -> Result<(), DataError> {
    let width = columns.len();
    values.try_reserve(rows.saturating_mul(width)).map_err(|_| too_large(name))?;
    for first in (0..rows).step_by(BLOCK) {
        let number = BLOCK.min(rows - first);
        let start = values.len();
        values.resize(start + number * width, T::MISSING);
        let block = values.get_mut(start..).unwrap_or_default();
        for (at, (column, field)) in columns.iter().zip(fields).enumerate() {
            let places = block.iter_mut().skip(at).step_by(width);
            put(&column.slice(first, number), whole, places).ok_or_else(|| {
                damaged(name, &format!("column {} has a type that contradicts itself", quoted(field.name())))
            })?;
        }
    }
    Ok(())
}

/// Writes the values of a column to `places`, which hold missing values before. Rounds whole numbers to
/// `whole`, once. Returns `None` if the column contradicts its type.
pub(in crate::read) fn put<'v, T: RowFloat + 'v>(
    column: &ArrayRef,
    whole: Precision,
    places: impl Iterator<Item = &'v mut T>,
) -> Option<()> {
    macro_rules! whole_numbers {
        ($type:ty) => {
            match whole {
                Precision::Single => numbers::<$type, T>(column, places, |value| T::of_single(value as f32)),
                Precision::Double => numbers::<$type, T>(column, places, |value| T::of(value as f64)),
            }
        };
    }
    match column.data_type() {
        DataType::Null => Some(()),
        DataType::Boolean => {
            let column = column.as_any().downcast_ref::<BooleanArray>()?;
            for (place, value) in places.zip(column.iter()) {
                *place = value.map_or(T::MISSING, |value| T::of(f64::from(u8::from(value))));
            }
            Some(())
        }
        DataType::Int8 => numbers::<Int8Type, T>(column, places, |value| T::of(f64::from(value))),
        DataType::UInt8 => numbers::<UInt8Type, T>(column, places, |value| T::of(f64::from(value))),
        DataType::Int16 => numbers::<Int16Type, T>(column, places, |value| T::of(f64::from(value))),
        DataType::UInt16 => numbers::<UInt16Type, T>(column, places, |value| T::of(f64::from(value))),
        DataType::Int32 => whole_numbers!(Int32Type),
        DataType::UInt32 => whole_numbers!(UInt32Type),
        DataType::Int64 => whole_numbers!(Int64Type),
        DataType::UInt64 => whole_numbers!(UInt64Type),
        DataType::Float16 => numbers::<Float16Type, T>(column, places, |value| T::of(value.to_f64())),
        DataType::Float32 => numbers::<Float32Type, T>(column, places, |value| T::of(f64::from(value))),
        DataType::Float64 => numbers::<Float64Type, T>(column, places, T::of),
        _ => None,
    }
}

fn numbers<'v, A: ArrowPrimitiveType, T: RowFloat + 'v>(
    column: &ArrayRef,
    places: impl Iterator<Item = &'v mut T>,
    value: impl Fn(A::Native) -> T,
) -> Option<()> {
    let column = column.as_any().downcast_ref::<PrimitiveArray<A>>()?;
    match column.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => {
            for (place, &number) in places.zip(column.values()) {
                *place = value(number);
            }
        }
        Some(nulls) => {
            for (place, (&number, is_there)) in places.zip(column.values().iter().zip(nulls.iter())) {
                *place = if is_there { value(number) } else { T::MISSING };
            }
        }
    }
    Some(())
}

fn too_large(name: &str) -> DataError {
    DataError::new(codes::TOO_LARGE, name, "the rows do not fit into memory")
        .help("split them into files of fewer rows")
}
