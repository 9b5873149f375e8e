//! Columns from Python: arrays of one dimension, each with an optional validity bitmap.

use numpy::{PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use sched_library::{ColumnType, RawColumn};
use std::ffi::c_void;

/// The values of a feature, from a Python tuple:
///
/// - numbers or truth values, or bytes of packed bits, or indices into a dictionary
/// - the validity bitmap, one bit for each row: 1 if the value is present
/// - the index of the bitmap's first bit
/// - the dictionary: the number for each index
/// - the index of the first bit, if values are packed bits
#[derive(FromPyObject)]
pub struct ColumnBuffers<'py>(
    Bound<'py, PyUntypedArray>,
    Option<Bound<'py, PyArray1<u8>>>,
    i64,
    Option<Bound<'py, PyArray1<f64>>>,
    Option<i32>,
);

/// Columns that stay valid as long as this value lives.
pub struct Columns<'py> {
    /// The columns in the form of the C interface.
    pub all: Vec<RawColumn>,
    _given: Vec<Option<ColumnBuffers<'py>>>,
}

impl<'py> Columns<'py> {
    /// The columns of `rows` rows; None is a feature that is missing in all of them.
    ///
    /// # Errors
    /// An array is too short, or its type is not supported for rows.
    pub fn of(given: Vec<Option<ColumnBuffers<'py>>>, rows: usize) -> PyResult<Columns<'py>> {
        let column = |given: &Option<ColumnBuffers<'py>>| match given {
            Some(given) => given.column(rows),
            None => Ok(RawColumn::ABSENT),
        };
        Ok(Columns { all: given.iter().map(column).collect::<PyResult<_>>()?, _given: given })
    }
}

impl ColumnBuffers<'_> {
    fn column(&self, rows: usize) -> PyResult<RawColumn> {
        let ColumnBuffers(values, validity, validity_offset, dictionary, first_bit) = self;
        if values.ndim() != 1 {
            return Err(PyValueError::new_err("a column is an array of one dimension"));
        }
        let bits = first_bit.map(|first| usize::try_from(first).unwrap_or(usize::MAX));
        let needed = bits.map_or(rows, |first| first.saturating_add(rows).div_ceil(8));
        let enough = |have: usize, need: usize| match have < need {
            true => Err(PyValueError::new_err(format!("a column has {have} elements, and needs {need}"))),
            false => Ok(()),
        };
        enough(values.len(), needed)?;
        let (start, kind) = match (start_of(values)?, bits) {
            ((start, ColumnType::U8), Some(_)) => (start, ColumnType::Bit),
            (_, Some(_)) => return Err(PyTypeError::new_err("packed bits are an array of bytes, uint8")),
            (found, None) => found,
        };
        let stride = if rows <= 1 { 0 } else { values.strides()[0] as i64 };
        if rows > 1 && stride == 0 {
            return Err(PyValueError::new_err("a column repeats one value; copy it first"));
        }
        if bits.is_some() && rows > 1 && stride != 1 {
            return Err(PyValueError::new_err("packed bits lie one byte after the other"));
        }
        let mut column = RawColumn::of(start, kind, if bits.is_some() { 0 } else { stride });
        column.values_offset = first_bit.unwrap_or(0);
        if let Some(validity) = validity {
            let first = usize::try_from(*validity_offset).unwrap_or(usize::MAX);
            enough(validity.len(), first.saturating_add(rows).div_ceil(8))?;
            packed(validity)?;
            column.validity = validity.data();
            column.validity_offset = *validity_offset;
        }
        if let Some(dictionary) = dictionary {
            packed(dictionary)?;
            column.dictionary = dictionary.data();
            column.dictionary_size = dictionary.len() as i64;
        }
        Ok(column)
    }
}

fn packed<T: numpy::Element>(array: &Bound<'_, PyArray1<T>>) -> PyResult<()> {
    match array.is_c_contiguous() {
        true => Ok(()),
        false => Err(PyValueError::new_err("bitmaps and dictionaries are packed")),
    }
}

/// The address of an array's first element, and the type of its elements.
fn start_of(values: &Bound<'_, PyUntypedArray>) -> PyResult<(*const c_void, ColumnType)> {
    fn start<T: numpy::Element>(values: &Bound<'_, PyUntypedArray>) -> Option<*const c_void> {
        values.cast::<PyArray1<T>>().ok().map(|array| array.data().cast_const().cast())
    }
    let found = None
        .or_else(|| Some((start::<f32>(values)?, ColumnType::F32)))
        .or_else(|| Some((start::<f64>(values)?, ColumnType::F64)))
        .or_else(|| Some((start::<i8>(values)?, ColumnType::I8)))
        .or_else(|| Some((start::<i16>(values)?, ColumnType::I16)))
        .or_else(|| Some((start::<i32>(values)?, ColumnType::I32)))
        .or_else(|| Some((start::<i64>(values)?, ColumnType::I64)))
        .or_else(|| Some((start::<u8>(values)?, ColumnType::U8)))
        .or_else(|| Some((start::<u16>(values)?, ColumnType::U16)))
        .or_else(|| Some((start::<u32>(values)?, ColumnType::U32)))
        .or_else(|| Some((start::<u64>(values)?, ColumnType::U64)))
        .or_else(|| Some((start::<bool>(values)?, ColumnType::Bool)));
    found.ok_or_else(|| {
        let element = values.dtype();
        PyTypeError::new_err(format!("columns hold values of type {element}; pass numbers or booleans"))
    })
}
