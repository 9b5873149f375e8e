//! A model that predicts.

use crate::SchedcError;
use crate::columns::{ColumnBuffers, Columns};
use crate::library::{CallOptions, Input, Library};
use crate::rows::{AcceptedRows, rows_of};
use numpy::{PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sched_library::{Dtype, Kind};
use std::ffi::c_void;
use std::path::PathBuf;
use std::ptr;
use std::sync::Arc;

/// A model that `schedc build` compiled. Several threads may call it at the same time; calls release the
/// interpreter's lock.
#[pyclass(frozen, module = "schedc_runtime")]
pub struct Model {
    library: Arc<Library>,
    /// The NumPy type that arrays of integers are converted to.
    whole: &'static str,
}

/// Loads a library of `schedc build`, from its path or its bytes.
///
/// Loading a library runs its code, so load only trusted ones.
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
    let library = loaded.map_err(PyOSError::new_err)?;
    let whole = whole_numbers(&library.loaded.info());
    Ok(Model { library: Arc::new(library), whole })
}

/// The NumPy type that arrays of integers are converted to, from the library's JSON about its model.
/// Libraries of older releases lack it.
fn whole_numbers(info: &str) -> &'static str {
    let about: serde_json::Value = serde_json::from_str(info).unwrap_or_default();
    if about["model"]["whole_numbers"]["arrays"] == "f32" { "float32" } else { "float64" }
}

#[pymethods]
impl Model {
    /// Number of columns of a row.
    #[getter]
    fn num_features(&self) -> usize {
        self.library.loaded.num_features()
    }

    /// The names of the columns, or None if the model has none.
    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.library.loaded.feature_names()
    }

    /// The library's JSON about its model and schedule.
    #[getter]
    fn info_json(&self) -> String {
        self.library.loaded.info()
    }

    /// Predicts rows.
    #[pyo3(signature = (rows, /, output = "value", *, out = None, threads = 0, base_margin = None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        output: &str,
        out: Option<&Bound<'py, PyAny>>,
        threads: i32,
        base_margin: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kind = kind_of(output)?;
        let accepted = AcceptedRows {
            features: self.library.loaded.num_features(),
            takes_columns: self.library.takes_columns(),
            whole: self.whole,
        };
        let rows = rows_of(rows, accepted)?;
        let shape = CallShape { kind, rows: rows.slice.count, threads, base_margin };
        self.call(py, rows.input(), shape, out)
    }

    /// Predicts rows that are given as columns, one for each feature.
    #[pyo3(signature = (columns, rows, /, output = "value", *, out = None, threads = 0, base_margin = None))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword")]
    fn predict_columns<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<Option<ColumnBuffers<'py>>>,
        rows: usize,
        output: &str,
        out: Option<&Bound<'py, PyAny>>,
        threads: i32,
        base_margin: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kind = kind_of(output)?;
        let columns = Columns::of(columns, rows)?;
        let shape = CallShape { kind, rows, threads, base_margin };
        self.call(py, Input::Columns { columns: &columns.all, count: rows }, shape, out)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let load = py.import("schedc_runtime")?.getattr("load")?;
        Ok((load, (PyBytes::new(py, &self.library.bytes()?),)))
    }

    fn __repr__(&self) -> String {
        let library = &self.library;
        format!(
            "Model({} features, {} trees, {} values)",
            library.loaded.num_features(),
            library.loaded.num_outputs(Kind::Leaf),
            library.loaded.num_outputs(Kind::Value)
        )
    }
}

/// The kind of output of a call, and its number of rows.
#[derive(Clone, Copy)]
struct CallShape<'a, 'py> {
    kind: Kind,
    rows: usize,
    threads: i32,
    base_margin: Option<&'a Bound<'py, PyAny>>,
}

/// Pointers that another thread of this call may use: Python objects keep the memory alive.
struct Pointers<'a>(Input<'a>, CallOptions);

// SAFETY: the arrays are borrowed for the duration of the call.
unsafe impl Send for Pointers<'_> {}

impl Model {
    /// Makes the call, into `out` or a new array.
    fn call<'py>(
        &self,
        py: Python<'py>,
        input: Input<'_>,
        shape: CallShape<'_, 'py>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if shape.threads < 0 {
            return Err(PyValueError::new_err(
                "threads is a number from 1 on, or 0 for the library's own choice",
            ));
        }
        match self.library.loaded.output_type(shape.kind) {
            Dtype::F32 => self.fill::<f32>(py, input, shape, out),
            Dtype::F64 => self.fill::<f64>(py, input, shape, out),
            Dtype::I32 => self.fill::<i32>(py, input, shape, out),
        }
    }

    /// Makes the call with results of a type: one dimension for a single column, otherwise two.
    fn fill<'py, T: numpy::Element>(
        &self,
        py: Python<'py>,
        input: Input<'_>,
        shape: CallShape<'_, 'py>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (kind, count) = (shape.kind, shape.rows);
        let columns = self.library.loaded.num_outputs(kind);
        if columns == 0 {
            let what = kind.word();
            return Err(PyValueError::new_err(format!("the model has no output \"{what}\"")));
        }
        let made = match out {
            Some(out) => out.clone(),
            // SAFETY: the call writes all elements; after an error the array is not returned.
            None if columns == 1 => unsafe { PyArray1::<T>::new(py, count, false) }.into_any(),
            // SAFETY: the call writes all elements; after an error the array is not returned.
            None => unsafe { PyArray2::<T>::new(py, [count, columns], false) }.into_any(),
        };
        let margins = shape.base_margin.map(|margin| self.base_margin(margin, count)).transpose()?;
        let base_margin = margins.as_ref().map_or(ptr::null(), |(_, start)| *start);
        let options =
            CallOptions { out: writable::<T>(&made, count, columns)?, threads: shape.threads, base_margin };
        let pointers = Pointers(input, options);
        let library = &self.library;
        let done = py.detach(move || {
            let Pointers(input, options) = { pointers };
            // SAFETY: the call holds the arrays, and their shapes were checked.
            unsafe { library.predict(kind, input, options) }
        });
        done.map_err(SchedcError::new_err)?;
        Ok(made)
    }

    /// A contiguous array with the base margins of `count` rows, and its address.
    fn base_margin<'py>(
        &self,
        margin: &Bound<'py, PyAny>,
        count: usize,
    ) -> PyResult<(Bound<'py, PyAny>, *const c_void)> {
        let margins = self.library.loaded.num_outputs(Kind::Raw);
        let numpy = margin.py().import("numpy")?;
        let packed = |kind: &str| numpy.call_method1("ascontiguousarray", (margin, kind));
        let (array, size, start) = match self.library.loaded.output_type(Kind::Raw) {
            Dtype::F64 => {
                let array = packed("float64")?;
                let values = array.cast::<PyArrayDyn<f64>>()?;
                (array.clone(), values.len(), values.data().cast_const().cast())
            }
            _ => {
                let array = packed("float32")?;
                let values = array.cast::<PyArrayDyn<f32>>()?;
                (array.clone(), values.len(), values.data().cast_const().cast())
            }
        };
        if size != count * margins {
            return Err(PyValueError::new_err(format!(
                "base_margin has {size} numbers, and {count} rows of {margins} margins need {}",
                count * margins
            )));
        }
        Ok((array, start))
    }
}

/// The address for `count` rows of `columns` results in the caller's array.
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
    Kind::of_word(output)
        .ok_or_else(|| PyValueError::new_err(format!("output is {}, not {output:?}", Kind::words())))
}
