//! Rows from Python objects: arrays without a copy, other objects through NumPy.

use crate::library::{CallInput, RowSlice};
use numpy::{PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use sched_library::{Dtype, RawColumn, RawColumnType};

/// Rows in a Python array, valid as long as this value lives.
pub struct BorrowedRows<'py> {
    /// Description of the rows, if they are row-major.
    pub slice: RowSlice,
    /// Description of the columns, if they are column-major.
    pub columns: Vec<RawColumn>,
    /// The array that owns the memory.
    _array: Bound<'py, PyAny>,
}

impl BorrowedRows<'_> {
    /// The input of a call.
    pub fn input(&self) -> CallInput<'_> {
        match self.columns.as_slice() {
            [] => CallInput::Rows(self.slice),
            columns => CallInput::Columns { columns, count: self.slice.count },
        }
    }
}

/// The rows that a library accepts.
#[derive(Clone, Copy)]
pub struct AcceptedRows {
    /// Number of columns.
    pub features: usize,
    /// Whether the library accepts columns.
    pub takes_columns: bool,
    /// The NumPy type to which integers are converted.
    pub integer_type: &'static str,
}

/// The rows of an object.
///
/// Arrays of single or double precision are not copied if their rows are contiguous, or if the library
/// accepts columns. NumPy copies others once: integers and booleans become the library's type, half precision
/// becomes single.
pub fn rows_of<'py>(object: &Bound<'py, PyAny>, accepted: AcceptedRows) -> PyResult<BorrowedRows<'py>> {
    if let Some(rows) = in_place(object, accepted)? {
        return Ok(rows);
    }
    refuse_frames(object)?;
    let numpy = object.py().import(intern!(object.py(), "numpy"))?;
    let array = numpy.call_method1(intern!(object.py(), "asarray"), (object,))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let bytes: usize = array.getattr("dtype")?.getattr("itemsize")?.extract()?;
    let dtype = match (kind.as_str(), bytes) {
        ("f", 2 | 4) => "float32",
        ("f", 8) => "float64",
        ("i" | "u" | "b", _) => accepted.integer_type,
        _ => {
            let name: String = array.getattr("dtype")?.str()?.extract()?;
            return Err(PyTypeError::new_err(format!(
                "rows hold values of type {name}; give numbers, such as X.astype(\"float32\")"
            )));
        }
    };
    let array = numpy.call_method1(intern!(object.py(), "ascontiguousarray"), (array, dtype))?;
    in_place(&array, accepted)?.ok_or_else(|| PyTypeError::new_err("NumPy made no array of the rows"))
}

/// Refuses data frames and tables. NumPy would ignore the names of their columns, and the rows would silently
/// be wrong.
fn refuse_frames(object: &Bound<'_, PyAny>) -> PyResult<()> {
    for sign in ["columns", "column_names", "__arrow_c_stream__", "__dataframe__"] {
        if object.hasattr(sign)? {
            let name = object.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "rows are an array, not a {name}; choose the columns and their order, \
                 as in X[model.feature_names].to_numpy(\"float32\")"
            )));
        }
    }
    Ok(())
}

/// The rows of an array that a library can read without a copy.
fn in_place<'py>(object: &Bound<'py, PyAny>, accepted: AcceptedRows) -> PyResult<Option<BorrowedRows<'py>>> {
    if let Ok(array) = object.cast::<PyArray2<f32>>() {
        return placed(array, (Dtype::F32, RawColumnType::F32), accepted);
    }
    if let Ok(array) = object.cast::<PyArray2<f64>>() {
        return placed(array, (Dtype::F64, RawColumnType::F64), accepted);
    }
    // The shape of other arrays and objects is checked after NumPy's conversion to two dimensions.
    let dimensions = match object.getattr_opt(intern!(object.py(), "ndim"))? {
        Some(dimensions) => dimensions.extract().unwrap_or(2),
        None => 2,
    };
    if dimensions != 2 {
        return Err(PyValueError::new_err(format!(
            "rows have two dimensions, not {dimensions}; one row is X.reshape(1, -1)"
        )));
    }
    Ok(None)
}

fn placed<'py, T: numpy::Element>(
    array: &Bound<'py, PyArray2<T>>,
    (element, kind): (Dtype, RawColumnType),
    AcceptedRows { features, takes_columns, .. }: AcceptedRows,
) -> PyResult<Option<BorrowedRows<'py>>> {
    let [count, columns] = [array.shape()[0], array.shape()[1]];
    if columns != features {
        return Err(PyValueError::new_err(format!(
            "rows have {columns} columns, but the model has {features} features"
        )));
    }
    let bytes = size_of::<T>() as isize;
    let [by_row, by_column] = [array.strides()[0], array.strides()[1]];
    let together = by_column == bytes || columns <= 1 || count == 0;
    let ahead = count <= 1 || (by_row % bytes == 0 && by_row >= bytes * columns as isize);
    if !together || !ahead || !(array.data() as usize).is_multiple_of(align_of::<T>()) {
        // A broadcast array of NumPy repeats a value with stride 0, which columns of a library do not
        // support.
        let apart = by_row.unsigned_abs() >= size_of::<T>() && count > 1;
        return Ok((takes_columns && apart).then(|| in_columns(array, kind)));
    }
    let stride = if count <= 1 { columns } else { (by_row / bytes) as usize };
    let slice = RowSlice { start: array.data() as *const _, count, stride, element };
    Ok(Some(BorrowedRows { slice, columns: Vec::new(), _array: array.as_any().clone() }))
}

/// The columns of an array, with any strides and addresses.
fn in_columns<'py, T: numpy::Element>(
    array: &Bound<'py, PyArray2<T>>,
    kind: RawColumnType,
) -> BorrowedRows<'py> {
    let [by_row, by_column] = [array.strides()[0], array.strides()[1]];
    let first = array.data().cast::<u8>();
    let column = |number: usize| {
        let values = first.wrapping_offset(by_column * number as isize);
        RawColumn::of(values as *const _, kind, by_row as i64)
    };
    let slice =
        RowSlice { start: first as *const _, count: array.shape()[0], stride: 0, element: Dtype::F32 };
    BorrowedRows {
        slice,
        columns: (0..array.shape()[1]).map(column).collect(),
        _array: array.as_any().clone(),
    }
}
