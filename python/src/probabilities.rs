//! Probabilities of both classes, from those of the second class.

use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::ops::Sub;

/// Probabilities of the first and of the second class in two columns. `second` has those of the second class,
/// in one dimension. In NumPy this would take four operations of about a microsecond each for one row.
#[pyfunction]
#[pyo3(signature = (second, /))]
pub fn both_classes<'py>(second: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(second) = second.cast::<PyArray1<f32>>() {
        return columns(second, 1.0);
    }
    if let Ok(second) = second.cast::<PyArray1<f64>>() {
        return columns(second, 1.0);
    }
    Err(PyTypeError::new_err("probabilities are an array of one dimension, float32 or float64"))
}

fn columns<'py, T: Element + Copy + Sub<Output = T>>(
    second: &Bound<'py, PyArray1<T>>,
    one: T,
) -> PyResult<Bound<'py, PyAny>> {
    let py = second.py();
    let second = second.try_readonly()?;
    let view = second.as_array();
    // SAFETY: the loop writes all elements.
    let both = unsafe { PyArray2::<T>::new(py, [second.len(), 2], false) };
    // SAFETY: no other reference to the new array exists.
    let shares = unsafe { both.as_slice_mut()? };
    for (shares, &share) in shares.chunks_exact_mut(2).zip(view) {
        shares.copy_from_slice(&[one - share, share]);
    }
    Ok(both.into_any())
}
