//! A model that predicts.

use crate::SchedcError;
use crate::library::{Column, Element, Kind, Library, RowSlice};
use crate::rows::{Rows, Wanted, rows_of};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::Arc;

/// A model that `schedc build` compiled. Calls may be made from many threads at once; the interpreter's lock is released
/// while one runs.
#[pyclass(frozen, module = "schedc_runtime")]
pub struct Model {
    library: Arc<Library>,
}

/// Loads a library that `schedc build` made, from its path or its bytes.
///
/// A library runs code as it is loaded, so it should come from a trusted place.
#[pyfunction]
#[pyo3(signature = (library, /))]
pub fn load(py: Python<'_>, library: &Bound<'_, PyAny>) -> PyResult<Model> {
    let loaded = match library.extract::<&[u8]>() {
        Ok(bytes) => Library::from_bytes(bytes),
        Err(_) => {
            let path: PathBuf =
                library.extract().map_err(|_| PyTypeError::new_err("load takes a path or bytes"))?;
            py.detach(|| Library::open(&path))
        }
    };
    Ok(Model { library: Arc::new(loaded.map_err(PyOSError::new_err)?) })
}

#[pymethods]
impl Model {
    /// Columns of a row.
    #[getter]
    fn num_features(&self) -> usize {
        self.library.num_features()
    }

    /// The names of the columns, or None if the model has none.
    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.library.feature_names()
    }

    /// What the library says of its model and schedule, as JSON.
    #[getter]
    fn info_json(&self) -> String {
        self.library.info()
    }

    /// Predicts rows.
    #[pyo3(signature = (rows, /, output = "value", *, out = None, threads = 0))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        output: &str,
        out: Option<&Bound<'py, PyAny>>,
        threads: i32,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kind = kind_of(output)?;
        let columns = self.library.num_outputs(kind);
        if columns == 0 {
            return Err(PyValueError::new_err(format!("the model has no output \"{output}\"")));
        }
        if threads < 0 {
            return Err(PyValueError::new_err(
                "threads is a number from 1 on, or 0 for the library's own choice",
            ));
        }
        let wanted =
            Wanted { features: self.library.num_features(), takes_columns: self.library.takes_columns() };
        let rows = rows_of(rows, wanted)?;
        let place = Place { kind, columns, rows: &rows, threads };
        match self.library.output_type(kind) {
            Element::F32 => self.fill::<f32>(py, place, out),
            Element::F64 => self.fill::<f64>(py, place, out),
            Element::I32 => self.fill::<i32>(py, place, out),
        }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let load = py.import("schedc_runtime")?.getattr("load")?;
        Ok((load, (PyBytes::new(py, &self.library.bytes()?),)))
    }

    fn __repr__(&self) -> String {
        let library = &self.library;
        format!(
            "Model({} features, {} trees, {} values)",
            library.num_features(),
            library.num_outputs(Kind::Leaf),
            library.num_outputs(Kind::Value)
        )
    }
}

/// What a call computes, and of what.
struct Place<'a, 'py> {
    kind: Kind,
    columns: usize,
    rows: &'a Rows<'py>,
    threads: i32,
}

/// Pointers that another thread of this call may use: Python objects keep what they point to.
struct Pointers<'a>(RowSlice, &'a [Column], *mut c_void);

// SAFETY: the arrays are borrowed for as long as the call takes.
unsafe impl Send for Pointers<'_> {}

impl Model {
    /// Makes the call, into `out` or a new array: of one dimension for one column, else of two.
    fn fill<'py, T: numpy::Element>(
        &self,
        py: Python<'py>,
        place: Place<'_, 'py>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let count = place.rows.slice.count;
        let made = match out {
            Some(out) => out.clone(),
            // SAFETY: the call writes all of it; after an error nobody sees it.
            None if place.columns == 1 => unsafe { PyArray1::<T>::new(py, count, false) }.into_any(),
            // SAFETY: the same.
            None => unsafe { PyArray2::<T>::new(py, [count, place.columns], false) }.into_any(),
        };
        let target = writable::<T>(&made, count, place.columns)?;
        let pointers = Pointers(place.rows.slice, &place.rows.columns, target);
        let (kind, threads) = (place.kind, place.threads);
        let library = &self.library;
        let done = py.detach(move || {
            let Pointers(rows, columns, out) = { pointers };
            // SAFETY: both arrays are held by this call, and the output has the shape that was checked.
            unsafe {
                match columns {
                    [] => library.predict(kind, rows, out, threads),
                    columns => library.predict_columns(kind, columns, rows.count, out, threads),
                }
            }
        });
        done.map_err(SchedcError::new_err)?;
        Ok(made)
    }
}

/// Where to write `count` rows of `columns` results in an array of the caller's.
fn writable<T: numpy::Element>(
    out: &Bound<'_, PyAny>,
    count: usize,
    columns: usize,
) -> PyResult<*mut c_void> {
    let wrong = || {
        let shape = if columns == 1 {
            format!("({count},) or ({count}, 1)")
        } else {
            format!("({count}, {columns})")
        };
        let element = T::get_dtype(out.py());
        PyValueError::new_err(format!(
            "out must be a writable array of {element} in C order with the shape {shape}"
        ))
    };
    if let Ok(array) = out.cast::<PyArray1<T>>() {
        let fits = columns == 1 && array.len() == count && array.is_c_contiguous();
        let writable = array.try_readwrite().is_ok();
        return if fits && writable { Ok(array.data() as *mut c_void) } else { Err(wrong()) };
    }
    let array = out.cast::<PyArray2<T>>().map_err(|_| wrong())?;
    let fits = array.shape() == [count, columns] && array.is_c_contiguous() && array.try_readwrite().is_ok();
    if fits { Ok(array.data() as *mut c_void) } else { Err(wrong()) }
}

fn kind_of(output: &str) -> PyResult<Kind> {
    match output {
        "value" => Ok(Kind::Value),
        "raw" => Ok(Kind::Raw),
        "class" => Ok(Kind::Class),
        "leaf" => Ok(Kind::Leaf),
        _ => {
            Err(PyValueError::new_err(format!("output is one of value, raw, class and leaf, not {output:?}")))
        }
    }
}
