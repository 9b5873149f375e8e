//! Columns in a GPU's memory: those of an array of two dimensions, and arrays of one dimension.

use crate::device_view::{DeviceView, is_on_gpu};
use crate::library::LibraryProperties;
use pyo3::exceptions::{PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use sched_library::{RawColumn, RawColumnType, Stream};
use std::ffi::c_void;
use std::ptr;

/// A column: its name in quotes, as in messages, and an array of one dimension.
#[derive(FromPyObject)]
pub struct QuotedColumn<'py>(pub Bound<'py, PyString>, pub Bound<'py, PyAny>);

/// The columns of all features, valid as long as this value lives.
pub struct DeviceColumns<'py> {
    /// The columns in the form of the C interface.
    pub all: Vec<RawColumn>,
    /// Number of the GPU.
    pub device: i32,
    _views: Vec<DeviceView<'py>>,
}

impl<'py> DeviceColumns<'py> {
    /// The columns of `rows` rows, for work in `stream`. `None` is a feature that is missing in all rows.
    ///
    /// # Errors
    /// ValueError and TypeError for columns that kernels do not read, or that are not in the memory of one
    /// GPU.
    pub fn of(
        columns: &[Option<QuotedColumn<'py>>],
        rows: usize,
        stream: Stream,
    ) -> PyResult<DeviceColumns<'py>> {
        let mut made =
            DeviceColumns { all: Vec::with_capacity(columns.len()), device: 0, _views: Vec::new() };
        let mut first: Option<(String, i32)> = None;
        for column in columns {
            let Some(QuotedColumn(name, values)) = column else {
                made.all.push(RawColumn::ABSENT);
                continue;
            };
            let what = format!("column {}", name.to_string_lossy());
            let view = view_of(&what, values, stream)?;
            check_length(&what, &view, rows)?;
            let kind = check_elements(&what, &view)?;
            match &first {
                Some((other, device)) if rows > 0 && *device != view.device => {
                    return Err(PyValueError::new_err(format!(
                        "{what} is in the memory of GPU {}, and {other} in that of GPU {device}; copy it to \
                         GPU {device}",
                        view.device
                    )));
                }
                Some(_) => {}
                None => first = Some((what, view.device)),
            }
            made.all.push(match rows {
                0 => RawColumn::ABSENT,
                1 => RawColumn::of(pointer(view.address), kind, 0),
                _ => RawColumn::of(pointer(view.address), kind, view.strides[0]),
            });
            if let (Some(validity), Some(column)) = (view.validity, made.all.last_mut()) {
                column.validity = pointer(validity).cast();
            }
            made._views.push(view);
        }
        made.device = first.map_or(0, |(_, device)| device);
        Ok(made)
    }
}

/// The columns of an array of rows, which has a column for each feature.
///
/// # Errors
/// ValueError and TypeError for elements that kernels do not read.
pub fn columns_of_rows(view: &DeviceView<'_>, properties: LibraryProperties) -> PyResult<Vec<RawColumn>> {
    let what = "the array of rows";
    let kind = check_elements(what, view)?;
    // LightGBM rounds integers of arrays to single precision, and those of tables to double precision.
    let is_wide =
        matches!(kind, RawColumnType::I32 | RawColumnType::U32 | RawColumnType::I64 | RawColumnType::U64);
    if is_wide && properties.integer_type == "float32" && properties.row_type == "float64" {
        return Err(PyTypeError::new_err(format!(
            "{what} holds values of type {}, which the trainer rounds to float32: give X.astype(\"float32\") \
             or X.float() (PyTorch)",
            view.element.name()
        )));
    }
    let (rows, [by_row, by_column]) = (view.shape[0], [view.strides[0], view.strides[1]]);
    let column = |number: i64| match rows {
        0 => RawColumn::ABSENT,
        _ => {
            let place = view.address.wrapping_add_signed(by_column.wrapping_mul(number));
            RawColumn::of(pointer(place), kind, if rows == 1 { 0 } else { by_row })
        }
    };
    Ok((0..view.shape[1]).map(column).collect())
}

/// The array of a column.
fn view_of<'py>(what: &str, values: &Bound<'py, PyAny>, stream: Stream) -> PyResult<DeviceView<'py>> {
    if !is_on_gpu(values)? {
        return Err(PyValueError::new_err(format!(
            "{what} is in the host's memory, and other columns are in a GPU's: copy it to the GPU, such as \
             cupy.asarray(X) or X.cuda() (PyTorch), or give all columns in the host's memory"
        )));
    }
    DeviceView::of(values, stream).map_err(|error| {
        let py = values.py();
        let is_type =
            error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyNotImplementedError>(py);
        if is_type { PyTypeError::new_err(format!("{what}: {}", error.value(py))) } else { error }
    })
}

fn check_length(what: &str, view: &DeviceView<'_>, rows: usize) -> PyResult<()> {
    let [length] = view.shape[..] else {
        return Err(PyTypeError::new_err(format!(
            "{what} has {} dimensions; a column has one",
            view.shape.len()
        )));
    };
    match usize::try_from(length) == Ok(rows) {
        true => Ok(()),
        false => Err(PyValueError::new_err(format!("{what} has {length} rows, and the table {rows}"))),
    }
}

/// The type of the elements of an array whose first dimension is the rows.
fn check_elements(what: &str, view: &DeviceView<'_>) -> PyResult<RawColumnType> {
    let kind = view.element.of_column().ok_or_else(|| {
        PyTypeError::new_err(format!(
            "{what} holds values of type {}; give float32 or float64, such as X.astype(\"float32\") or \
             X.float() (PyTorch)",
            view.element.name()
        ))
    })?;
    let copy = "give a copy, such as X.copy() (CuPy) or X.clone() (PyTorch)";
    if !view.is_aligned() {
        return Err(PyValueError::new_err(format!(
            "{what} has elements at addresses that are no multiples of their {} bytes; {copy}",
            view.element.bytes()
        )));
    }
    if view.shape[0] > 1 && view.strides[0] == 0 {
        return Err(PyValueError::new_err(format!(
            "{what} has the same element in all rows (a stride of 0); {copy}, or X.contiguous()"
        )));
    }
    Ok(kind)
}

/// The pointer to an address of a GPU.
pub fn pointer(address: u64) -> *const c_void {
    ptr::without_provenance(address as usize)
}
