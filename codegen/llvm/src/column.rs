//! Columns of a call, as slices.

use std::ffi::c_void;
use std::ptr;

pub use sched_library::{RawColumn, RawColumnType};

/// Packed values of a feature.
#[derive(Debug, Clone, Copy)]
pub enum ColumnValues<'a> {
    /// The feature is missing in all rows.
    Absent,
    /// 32-bit floats.
    F32(&'a [f32]),
    /// 64-bit floats.
    F64(&'a [f64]),
    /// Whole numbers, or indices into a dictionary.
    I64(&'a [i64]),
    /// Whole numbers, or indices into a dictionary.
    I32(&'a [i32]),
    /// Truth values: 0 is false, all other bytes are true.
    Bool(&'a [u8]),
}

/// The values of one feature in all rows of a call.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    /// A value for each row.
    pub values: ColumnValues<'a>,
    /// Bits of the rows that have a value, the least significant bit first; none: all rows have one.
    pub validity: Option<&'a [u8]>,
    /// Numbers to which values of [`ColumnValues::I32`] and [`ColumnValues::I64`] are indices.
    pub dictionary: Option<&'a [f64]>,
}

impl<'a> Column<'a> {
    /// A column without missing values.
    pub fn of(values: ColumnValues<'a>) -> Column<'a> {
        Column { values, validity: None, dictionary: None }
    }

    /// Whether values have a type whose numbers 32-bit floats do not all represent exactly.
    pub fn needs_doubles(&self) -> bool {
        match (self.values, self.dictionary) {
            (ColumnValues::Absent | ColumnValues::F32(_) | ColumnValues::Bool(_), _) => false,
            (ColumnValues::I32(_) | ColumnValues::I64(_), Some(numbers)) => {
                numbers.iter().any(|x| !x.is_nan() && f64::from(*x as f32) != *x)
            }
            (ColumnValues::F64(_) | ColumnValues::I32(_) | ColumnValues::I64(_), _) => true,
        }
    }

    /// Returns the value of a row; NaN if it is missing.
    pub fn value(&self, row: usize) -> f64 {
        let is_there = |bits: &[u8]| bits.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1);
        if !self.validity.is_none_or(is_there) {
            return f64::NAN;
        }
        let place = match self.values {
            ColumnValues::Absent => None,
            ColumnValues::F32(values) => return values.get(row).copied().map_or(f64::NAN, f64::from),
            ColumnValues::F64(values) => return values.get(row).copied().unwrap_or(f64::NAN),
            ColumnValues::Bool(values) => values.get(row).map(|x| i64::from(*x != 0)),
            ColumnValues::I32(values) => values.get(row).copied().map(i64::from),
            ColumnValues::I64(values) => values.get(row).copied(),
        };
        match self.dictionary {
            None => place.map_or(f64::NAN, |number| number as f64),
            Some(numbers) => {
                let place = place.and_then(|place| usize::try_from(place).ok());
                place.and_then(|place| numbers.get(place)).copied().unwrap_or(f64::NAN)
            }
        }
    }

    /// Returns the column in the form of the C interface; none if it lacks a value or a bit for some of
    /// `n_rows` rows.
    pub(crate) fn raw(&self, n_rows: usize) -> Option<RawColumn> {
        let (values, have, kind): (*const c_void, _, _) = match self.values {
            ColumnValues::Absent => return Some(RawColumn::ABSENT),
            ColumnValues::F32(values) => (values.as_ptr().cast(), values.len(), RawColumnType::F32),
            ColumnValues::F64(values) => (values.as_ptr().cast(), values.len(), RawColumnType::F64),
            ColumnValues::I64(values) => (values.as_ptr().cast(), values.len(), RawColumnType::I64),
            ColumnValues::I32(values) => (values.as_ptr().cast(), values.len(), RawColumnType::I32),
            ColumnValues::Bool(values) => (values.as_ptr().cast(), values.len(), RawColumnType::Bool),
        };
        let bits = self.validity.is_none_or(|bits| bits.len() >= n_rows.div_ceil(8));
        let column = RawColumn {
            values,
            validity: self.validity.map_or(ptr::null(), <[u8]>::as_ptr),
            dictionary: self.dictionary.map_or(ptr::null(), <[f64]>::as_ptr),
            dictionary_size: self.dictionary.map_or(Some(0), |numbers| i64::try_from(numbers.len()).ok())?,
            kind: kind as i32,
            ..RawColumn::ABSENT
        };
        (have >= n_rows && bits).then_some(column)
    }
}
