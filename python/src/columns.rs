//! Columns from Python: arrays of one dimension, each with an optional validity bitmap.

use numpy::{PyArray1, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use sched_library::{RawColumn, RawColumnType};
use std::collections::HashMap;
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
pub struct BorrowedColumns<'py> {
    /// The columns in the form of the C interface.
    pub all: Vec<RawColumn>,
    _given: Vec<Option<ColumnBuffers<'py>>>,
}

impl<'py> BorrowedColumns<'py> {
    /// The columns of `rows` rows. `None` is a feature that is missing in all rows.
    ///
    /// # Errors
    /// An array is too short, or its type is not supported for rows.
    pub fn of(given: Vec<Option<ColumnBuffers<'py>>>, rows: usize) -> PyResult<BorrowedColumns<'py>> {
        let column = |given: &Option<ColumnBuffers<'py>>| match given {
            Some(given) => given.column(rows),
            None => Ok(RawColumn::ABSENT),
        };
        Ok(BorrowedColumns { all: given.iter().map(column).collect::<PyResult<_>>()?, _given: given })
    }
}

/// Replaces the columns of some features by the given ones.
///
/// # Errors
/// As for [`ColumnBuffers::column`].
pub fn replace(
    columns: &mut [RawColumn],
    given: &HashMap<usize, ColumnBuffers<'_>>,
    rows: usize,
) -> PyResult<()> {
    for (feature, column) in given {
        if let Some(place) = columns.get_mut(*feature) {
            *place = column.column(rows)?;
        }
    }
    Ok(())
}

impl ColumnBuffers<'_> {
    /// The column in the form of the C interface.
    ///
    /// # Errors
    /// An array has fewer than `rows` values, or its type is not supported for rows.
    pub fn column(&self, rows: usize) -> PyResult<RawColumn> {
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
            ((start, RawColumnType::U8), Some(_)) => (start, RawColumnType::Bit),
            (_, Some(_)) => return Err(PyTypeError::new_err("packed bits are an array of bytes, uint8")),
            (found, None) => found,
        };
        let stride = if rows <= 1 { 0 } else { values.strides()[0] as i64 };
        if rows > 1 && stride == 0 {
            return Err(PyValueError::new_err("a column repeats one value; copy it first"));
        }
        if bits.is_some() && rows > 1 && stride != 1 {
            return Err(PyValueError::new_err("packed bits must be a contiguous array"));
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
        false => Err(PyValueError::new_err("bitmaps and dictionaries must be contiguous arrays")),
    }
}

/// The address of an array's first element, and the type of its elements.
fn start_of(values: &Bound<'_, PyUntypedArray>) -> PyResult<(*const c_void, RawColumnType)> {
    let Some(kind) = kind_of_elements(values) else {
        let element = values.dtype();
        return Err(PyTypeError::new_err(format!(
            "columns hold values of type {element}; pass numbers or booleans"
        )));
    };
    Ok((start(values), kind))
}

/// The address of an array's first element.
pub fn start(values: &Bound<'_, PyUntypedArray>) -> *const c_void {
    // SAFETY: an array of NumPy has this structure.
    unsafe { (*values.as_array_ptr()).fields.data.cast_const().cast() }
}

/// The type of an array's elements, if a library reads it: numbers of at most 64 bits in the machine's order
/// of bytes, and truth values.
pub fn kind_of_elements(values: &Bound<'_, PyUntypedArray>) -> Option<RawColumnType> {
    let element = values.dtype();
    if element.byteorder() == b'>' {
        return None;
    }
    Some(match (element.kind(), element.itemsize()) {
        (b'f', 4) => RawColumnType::F32,
        (b'f', 8) => RawColumnType::F64,
        (b'i', 1) => RawColumnType::I8,
        (b'i', 2) => RawColumnType::I16,
        (b'i', 4) => RawColumnType::I32,
        (b'i', 8) => RawColumnType::I64,
        (b'u', 1) => RawColumnType::U8,
        (b'u', 2) => RawColumnType::U16,
        (b'u', 4) => RawColumnType::U32,
        (b'u', 8) => RawColumnType::U64,
        (b'b', 1) => RawColumnType::Bool,
        _ => return None,
    })
}
