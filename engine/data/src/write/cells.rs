//! The values of columns that are kept, as text.

use std::borrow::Cow;
use std::io;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTemporalType, Date32Type, Date64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};

use crate::codes;
use crate::error::{DataError, shorten};
use crate::read::KeptColumns;

/// Refuses columns whose values have no text.
pub(super) fn check(kept: &KeptColumns, name: &str) -> Result<(), DataError> {
    match kept.0.iter().find(|field| !has_text(field.data_type())) {
        None => Ok(()),
        Some(field) => {
            let message =
                format!("CSV cannot hold the values of the kept column \"{}\"", shorten(field.name()));
            Err(DataError::new(codes::KEEP, name, message)
                .help("write to a .parquet or .arrow file, which hold every type"))
        }
    }
}

fn has_text(data_type: &DataType) -> bool {
    data_type.is_integer()
        || data_type.is_floating()
        || matches!(
            data_type,
            DataType::Null
                | DataType::Boolean
                | DataType::Utf8
                | DataType::LargeUtf8
                | DataType::Utf8View
                | DataType::Date32
                | DataType::Date64
                | DataType::Time32(_)
                | DataType::Time64(_)
                | DataType::Timestamp(..)
                | DataType::Decimal128(..)
                | DataType::Decimal256(..)
        )
}

/// The cells of one column.
pub(super) struct ColumnCells<'a> {
    column: &'a ArrayRef,
    text: Box<dyn Fn(usize) -> Option<Cow<'a, str>> + 'a>,
}

impl<'a> ColumnCells<'a> {
    pub(super) fn of(column: &'a ArrayRef) -> io::Result<Self> {
        use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
        macro_rules! with {
            ($kind:ty, $text:expr) => {{
                let values: &'a PrimitiveArray<$kind> = column.as_primitive::<$kind>();
                let text = $text;
                Box::new(move |row| text(values, row).map(Cow::Owned))
            }};
        }
        macro_rules! shown {
            ($kind:ty) => {
                with!($kind, |values: &PrimitiveArray<$kind>, row| Some(values.value(row).to_string()))
            };
        }
        macro_rules! float {
            ($kind:ty) => {
                with!($kind, |values: &PrimitiveArray<$kind>, row| Some(format!("{:?}", values.value(row))))
            };
        }
        macro_rules! decimal {
            ($kind:ty) => {
                with!($kind, |values: &PrimitiveArray<$kind>, row| Some(values.value_as_string(row)))
            };
        }
        let text: Box<dyn Fn(usize) -> Option<Cow<'a, str>> + 'a> = match column.data_type() {
            DataType::Null => Box::new(|_| Some(Cow::Borrowed(""))),
            DataType::Boolean => {
                let values = column.as_boolean();
                Box::new(|row| Some(Cow::Borrowed(if values.value(row) { "true" } else { "false" })))
            }
            DataType::Utf8 => {
                let values = column.as_string::<i32>();
                Box::new(|row| Some(Cow::Borrowed(values.value(row))))
            }
            DataType::LargeUtf8 => {
                let values = column.as_string::<i64>();
                Box::new(|row| Some(Cow::Borrowed(values.value(row))))
            }
            DataType::Utf8View => {
                let values = column.as_string_view();
                Box::new(|row| Some(Cow::Borrowed(values.value(row))))
            }
            DataType::Int8 => shown!(Int8Type),
            DataType::Int16 => shown!(Int16Type),
            DataType::Int32 => shown!(Int32Type),
            DataType::Int64 => shown!(Int64Type),
            DataType::UInt8 => shown!(UInt8Type),
            DataType::UInt16 => shown!(UInt16Type),
            DataType::UInt32 => shown!(UInt32Type),
            DataType::UInt64 => shown!(UInt64Type),
            DataType::Float16 => shown!(Float16Type),
            DataType::Float32 => float!(Float32Type),
            DataType::Float64 => float!(Float64Type),
            DataType::Decimal128(..) => decimal!(Decimal128Type),
            DataType::Decimal256(..) => decimal!(Decimal256Type),
            DataType::Date32 => with!(Date32Type, date::<Date32Type>),
            DataType::Date64 => with!(Date64Type, date::<Date64Type>),
            DataType::Time32(Second) => with!(Time32SecondType, time::<Time32SecondType>),
            DataType::Time32(_) => with!(Time32MillisecondType, time::<Time32MillisecondType>),
            DataType::Time64(Microsecond) => with!(Time64MicrosecondType, time::<Time64MicrosecondType>),
            DataType::Time64(_) => with!(Time64NanosecondType, time::<Time64NanosecondType>),
            DataType::Timestamp(unit, zone) => {
                // Times with a zone are kept in UTC.
                let zone = zone.is_some();
                match unit {
                    Second => with!(TimestampSecondType, move |values: &_, row| instant(values, row, zone)),
                    Millisecond => {
                        with!(TimestampMillisecondType, move |values: &_, row| instant(values, row, zone))
                    }
                    Microsecond => {
                        with!(TimestampMicrosecondType, move |values: &_, row| instant(values, row, zone))
                    }
                    Nanosecond => {
                        with!(TimestampNanosecondType, move |values: &_, row| instant(values, row, zone))
                    }
                }
            }
            other => return Err(io::Error::other(format!("values of type {other} have no text"))),
        };
        Ok(ColumnCells { column, text })
    }

    /// The text of a cell; `None` if its value is missing.
    pub(super) fn text(&self, row: usize) -> io::Result<Option<Cow<'a, str>>> {
        if self.column.is_null(row) {
            return Ok(None);
        }
        let text = (self.text)(row);
        text.map(Some).ok_or_else(|| io::Error::other("a date or time is out of range"))
    }
}

fn date<T: ArrowTemporalType>(values: &PrimitiveArray<T>, row: usize) -> Option<String>
where
    i64: From<T::Native>,
{
    values.value_as_date(row).map(|date| date.to_string())
}

fn time<T: ArrowTemporalType>(values: &PrimitiveArray<T>, row: usize) -> Option<String>
where
    i64: From<T::Native>,
{
    values.value_as_time(row).map(|time| time.to_string())
}

fn instant<T: ArrowTemporalType>(values: &PrimitiveArray<T>, row: usize, zone: bool) -> Option<String>
where
    i64: From<T::Native>,
{
    values.value_as_datetime(row).map(|time| format!("{time}{}", if zone { "Z" } else { "" }))
}
