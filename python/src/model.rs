//! A model that predicts.

use crate::arguments::CallArguments;
use crate::arrow::{ArrayStream, TableBatch};
use crate::columns::{BorrowedColumns, ColumnBuffers, replace};
use crate::device;
use crate::device_columns::QuotedColumn;
use crate::device_view::is_on_gpu;
use crate::error::SchedcError;
use crate::frames::{BlockColumns, BlockPlaces, StreamPlan, as_packed_row, rounded};
use crate::library::{CallInput, CallOptions, LibraryProperties, LoadedLibrary, RowSlice};
use crate::records::values_of_records;
use crate::rows::{AcceptedRows, rows_of};
use numpy::{PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyCapsuleMethods, PyDict, PyList, PyString};
use sched_library::{Dtype, ModelFunctions, ModelHandle, OutputKind, RawColumn, RawColumnType};
use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::path::PathBuf;
use std::ptr;
use std::sync::Arc;

/// A model that `schedc build` compiled. Several threads may call it at the same time; calls release the
/// interpreter's lock.
#[pyclass(frozen, name = "Model", module = "schedc_runtime")]
pub struct CompiledModel {
    library: Arc<LoadedLibrary>,
    /// The capsule with the handle of a model that another Python module compiled. It keeps the model alive.
    capsule: Option<Py<PyCapsule>>,
    properties: LibraryProperties,
}

/// Loads a library of `schedc build`, from its path or its bytes.
///
/// Loading a library runs its code, so load only trusted ones.
#[pyfunction]
#[pyo3(signature = (library, /))]
pub fn load(py: Python<'_>, library: &Bound<'_, PyAny>) -> PyResult<CompiledModel> {
    let loaded = match library.extract::<&[u8]>() {
        Ok(bytes) => LoadedLibrary::from_bytes(bytes),
        Err(_) => {
            let path: PathBuf =
                library.extract().map_err(|_| PyTypeError::new_err("load takes a path or bytes"))?;
            py.detach(|| LoadedLibrary::open(&path))
        }
    };
    let library = loaded.map_err(PyOSError::new_err)?;
    let properties = LibraryProperties::of(&library.functions.info());
    Ok(CompiledModel { library: Arc::new(library), capsule: None, properties })
}

/// Name of capsules that hold a [`ModelHandle`].
const HANDLE_CAPSULE_NAME: &CStr = c"schedc.ModelHandle";

/// Returns the model whose handle is in a capsule. The package `schedc` uses it for models that predict
/// before they are compiled.
///
/// Raises ValueError for a capsule of another version.
#[pyfunction]
pub fn load_handle(capsule: Bound<'_, PyCapsule>) -> PyResult<CompiledModel> {
    let address = capsule.pointer_checked(Some(HANDLE_CAPSULE_NAME))?.cast::<ModelHandle>();
    // SAFETY: capsules of this name hold a handle, whose first field is its version.
    let handle = unsafe { *address.as_ref() };
    if !handle.has_known_layout() {
        return Err(PyValueError::new_err(
            "schedc and schedc_runtime have different versions; install the same version of both",
        ));
    }
    let info = handle.info();
    let about: serde_json::Value = serde_json::from_str(&info).unwrap_or_default();
    let names: Vec<String> =
        serde_json::from_value(about["model"]["feature_names"].clone()).unwrap_or_default();
    let library = LoadedLibrary::of_handle(handle, Some(names).filter(|names| !names.is_empty()));
    Ok(CompiledModel {
        library: Arc::new(library),
        capsule: Some(capsule.unbind()),
        properties: LibraryProperties::of(&info),
    })
}

#[pymethods]
impl CompiledModel {
    /// Number of columns of a row.
    #[getter]
    fn num_features(&self) -> usize {
        self.library.functions.num_features()
    }

    /// Whether the model is a library. If not, another Python module of this process compiled it in memory.
    #[getter]
    fn has_library(&self) -> bool {
        self.capsule.is_none()
    }

    /// The names of the columns, or None if the model has none.
    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.library.feature_names.clone()
    }

    /// The library's JSON about its model and schedule.
    #[getter]
    fn info_json(&self) -> String {
        self.library.functions.info()
    }

    /// Predicts rows.
    #[pyo3(signature = (
        rows, /, output = "value", *, out = None, threads = 0, base_margin = None, device = None,
        stream = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument of the Python method")]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        output: &str,
        out: Option<&Bound<'py, PyAny>>,
        threads: i32,
        base_margin: Option<&Bound<'py, PyAny>>,
        device: Option<i32>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = CallArguments {
            base_margin: base_margin.cloned(),
            device,
            out: out.cloned(),
            stream: stream.cloned(),
            threads,
            ..CallArguments::of(output, None)?
        };
        if is_on_gpu(rows)? {
            self.columns_of(arguments.kind)?;
            return device::predict(&self.library, self.properties, rows, &arguments.on_gpu()?);
        }
        arguments.check_on_host()?;
        let accepted = AcceptedRows {
            features: self.library.functions.num_features(),
            takes_columns: self.library.takes_columns(),
            integer_type: self.properties.integer_type,
        };
        let rows = rows_of(rows, accepted)?;
        self.call(py, rows.input(), rows.slice.count, &arguments)
    }

    /// Predicts rows that are given as columns, one for each feature. `options` are [`CallArguments`].
    #[pyo3(signature = (columns, rows, /, output = "value", **options))]
    fn predict_columns<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<Option<ColumnBuffers<'py>>>,
        rows: usize,
        output: &str,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = CallArguments::of(output, options)?;
        let mut columns = BorrowedColumns::of(columns, rows)?;
        let all = std::mem::take(&mut columns.all);
        self.call_columns(py, all, rows, &arguments)
    }

    /// Predicts rows that are given as columns in a GPU's memory: for each feature, a name in quotes for
    /// messages and an array. `options` are [`CallArguments`].
    #[pyo3(signature = (columns, rows, /, output = "value", **options))]
    fn predict_gpu_columns<'py>(
        &self,
        columns: Vec<Option<QuotedColumn<'py>>>,
        rows: usize,
        output: &str,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = CallArguments::of(output, options)?;
        self.columns_of(arguments.kind)?;
        let call = arguments.on_gpu()?;
        device::predict_columns(&self.library, self.properties, (&columns, rows), &call)
    }

    /// Predicts rows in blocks: arrays, the tuples of a column, or blocks of pandas. `places` are an array
    /// with the number of each feature's block, and one with the position there. `given` has columns of
    /// features that replace the blocks', and `options` are [`CallArguments`]. None if the library cannot
    /// read a block with a feature.
    #[pyo3(signature = (blocks, places, rows, given, /, output = "value", **options))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument of the Python method")]
    fn predict_blocks<'py>(
        &self,
        py: Python<'py>,
        blocks: Vec<Bound<'py, PyAny>>,
        places: BlockPlaces<'py>,
        rows: usize,
        given: HashMap<usize, ColumnBuffers<'py>>,
        output: &str,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let arguments = CallArguments::of(output, options)?;
        let Some(mut columns) = BlockColumns::of(&blocks, &places, rows)? else { return Ok(None) };
        let mut all = std::mem::take(&mut columns.all);
        replace(&mut all, &given, rows)?;
        self.call_columns(py, all, rows, &arguments).map(Some)
    }

    /// Predicts the rows of an Arrow stream, whose schema is that of the plan. `given` has columns of
    /// features that replace the stream's, and `options` are [`CallArguments`]. None if the library cannot
    /// read the stream's columns; the stream is consumed then, too.
    #[pyo3(signature = (capsule, plan, rows, given, /, output = "value", **options))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument of the Python method")]
    fn predict_stream<'py>(
        &self,
        py: Python<'py>,
        capsule: &Bound<'py, PyAny>,
        plan: &StreamPlan,
        rows: usize,
        given: HashMap<usize, ColumnBuffers<'py>>,
        output: &str,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let arguments = CallArguments::of(output, options)?;
        let Some(batch) = ArrayStream::of(capsule)?.next()?.map(TableBatch) else { return Ok(None) };
        // Tables of several batches are joined by their own library.
        if batch.rows() != rows {
            return Ok(None);
        }
        let Some(mut columns) = plan.columns_of(&batch, &given) else { return Ok(None) };
        replace(&mut columns, &given, rows)?;
        self.call_columns(py, columns, rows, &arguments).map(Some)
    }

    /// Predicts records: dicts from names to numbers, truth values or None, which is a missing value.
    /// `wanted` has the name of each feature, None for an absent one. `given` has columns of features that
    /// replace the records', and `options` are [`CallArguments`]. None if a record lacks a name, or a value
    /// is something else.
    #[pyo3(signature = (records, wanted, given, /, output = "value", **options))]
    fn predict_records<'py>(
        &self,
        py: Python<'py>,
        records: &Bound<'py, PyList>,
        wanted: Vec<Option<Bound<'py, PyString>>>,
        given: HashMap<usize, ColumnBuffers<'py>>,
        output: &str,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let arguments = CallArguments::of(output, options)?;
        let (features, rows) = (wanted.len(), records.len());
        let names: Vec<Option<&Bound<'py, PyString>>> = wanted
            .iter()
            .enumerate()
            .map(|(feature, name)| name.as_ref().filter(|_| !given.contains_key(&feature)))
            .collect();
        let Some(values) = values_of_records(records, &names)? else { return Ok(None) };
        if names.iter().all(Option::is_some) && features == self.library.functions.num_features() {
            return self.call_doubles(py, &values, rows, &arguments).map(Some);
        }
        let stride = if rows <= 1 { 0 } else { 8 * features as i64 };
        let column = |feature: usize| match (given.get(&feature), &wanted[feature]) {
            (Some(column), _) => column.column(rows),
            (None, None) => Ok(RawColumn::ABSENT),
            _ => Ok(RawColumn::of(values.as_ptr().wrapping_add(feature).cast(), RawColumnType::F64, stride)),
        };
        let columns = (0..features).map(column).collect::<PyResult<Vec<_>>>()?;
        self.call_columns(py, columns, rows, &arguments).map(Some)
    }

    /// The content of a section of the library's file; None if it has no section of this name.
    fn section<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
        Ok(self.library.section(name)?.map(|content| PyBytes::new(py, &content)))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let load = py.import("schedc_runtime")?.getattr("load")?;
        Ok((load, (PyBytes::new(py, &self.library.bytes()?),)))
    }

    fn __repr__(&self) -> String {
        let library = &self.library;
        format!(
            "Model({} features, {} trees, {} values)",
            library.functions.num_features(),
            library.functions.num_outputs(OutputKind::Leaf),
            library.functions.num_outputs(OutputKind::Value)
        )
    }
}

/// Arguments of a call that may run without the interpreter's lock. Python objects keep the memory alive.
struct UnlockedCall<'a>(CallInput<'a>, CallOptions);

// SAFETY: the arrays are borrowed for the duration of the call.
unsafe impl Send for UnlockedCall<'_> {}

impl CompiledModel {
    /// Makes a call on columns of `rows` rows. If the values of a single row are contiguous, calls the
    /// library with a row.
    fn call_columns<'py>(
        &self,
        py: Python<'py>,
        mut columns: Vec<RawColumn>,
        rows: usize,
        arguments: &CallArguments<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _rounded = if arguments.single { rounded(&mut columns, rows) } else { Vec::new() };
        if rows == 1
            && columns.len() == self.library.functions.num_features()
            && let Some((start, element)) = as_packed_row(&columns)
        {
            let slice = RowSlice { start, count: 1, stride: columns.len(), element };
            return self.call(py, CallInput::Rows(slice), rows, arguments);
        }
        self.call(py, CallInput::Columns { columns: &columns, count: rows }, rows, arguments)
    }

    /// Makes a call on packed rows of doubles.
    fn call_doubles<'py>(
        &self,
        py: Python<'py>,
        values: &[f64],
        rows: usize,
        arguments: &CallArguments<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let slice = |start, element| RowSlice {
            start,
            count: rows,
            stride: self.library.functions.num_features(),
            element,
        };
        if arguments.single {
            let single: Vec<f32> = values.iter().map(|value| *value as f32).collect();
            return self.call(
                py,
                CallInput::Rows(slice(single.as_ptr().cast(), Dtype::F32)),
                rows,
                arguments,
            );
        }
        self.call(py, CallInput::Rows(slice(values.as_ptr().cast(), Dtype::F64)), rows, arguments)
    }

    /// Makes the call on `rows` rows, into the caller's array or a new one.
    fn call<'py>(
        &self,
        py: Python<'py>,
        input: CallInput<'_>,
        rows: usize,
        arguments: &CallArguments<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        arguments.check_on_host()?;
        match self.library.functions.output_type(arguments.kind) {
            Dtype::F32 => self.call_into::<f32>(py, input, rows, arguments),
            Dtype::F64 => self.call_into::<f64>(py, input, rows, arguments),
            Dtype::I32 => self.call_into::<i32>(py, input, rows, arguments),
        }
    }

    /// The number of columns of an output. Raises ValueError if the model lacks it.
    fn columns_of(&self, kind: OutputKind) -> PyResult<usize> {
        let columns = self.library.functions.num_outputs(kind);
        if columns > 0 {
            return Ok(columns);
        }
        let (what, known) =
            (kind.word(), OutputKind::words(|kind| self.library.functions.num_outputs(kind) > 0));
        Err(PyValueError::new_err(format!("the model has no output \"{what}\": choose {known}")))
    }

    /// Makes the call with results of type `T`, in one dimension for a single column, otherwise in two.
    fn call_into<'py, T: numpy::Element>(
        &self,
        py: Python<'py>,
        input: CallInput<'_>,
        count: usize,
        arguments: &CallArguments<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kind = arguments.kind;
        let columns = self.columns_of(kind)?;
        let made = match &arguments.out {
            Some(out) => out.clone(),
            // SAFETY: the call writes all elements; after an error the array is not returned.
            None if columns == 1 => unsafe { PyArray1::<T>::new(py, count, false) }.into_any(),
            // SAFETY: the call writes all elements; after an error the array is not returned.
            None => unsafe { PyArray2::<T>::new(py, [count, columns], false) }.into_any(),
        };
        let margins =
            arguments.base_margin.as_ref().map(|margin| self.base_margin(margin, count)).transpose()?;
        let base_margin = margins.as_ref().map_or(ptr::null(), |(_, start)| *start);
        let options = CallOptions {
            out: writable::<T>(&made, count, columns)?,
            threads: arguments.threads,
            base_margin,
            device: arguments.device.unwrap_or(0),
        };
        let pointers = UnlockedCall(input, options);
        let library = &self.library;
        let done = py.detach(move || {
            let UnlockedCall(input, options) = { pointers };
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
        let margins = self.library.functions.num_outputs(OutputKind::Raw);
        let numpy = margin.py().import("numpy")?;
        let packed = |kind: &str| numpy.call_method1("ascontiguousarray", (margin, kind));
        let (array, size, start) = match self.library.functions.output_type(OutputKind::Raw) {
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
