//! Calls on rows in a GPU's memory.

use crate::device_array::DeviceArray;
use crate::device_columns::{DeviceColumns, QuotedColumn, columns_of_rows, pointer};
use crate::device_view::{DeviceView, is_on_gpu};
use crate::dlpack::ElementType;
use crate::error::SchedcError;
use crate::library::{LibraryProperties, LoadedLibrary};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use sched_library::{Call, CallError, Dtype, OutputKind, RawColumn, Stream};

/// Status of the C interface: an argument is wrong.
const STATUS_ARGUMENT: i32 = 1;
/// Status of the C interface: the model has no code for the call.
const STATUS_UNSUPPORTED: i32 = 4;

/// The arguments of a call on rows in a GPU's memory.
pub struct DeviceCall<'a, 'py> {
    /// The kind of output.
    pub kind: OutputKind,
    /// The caller's array for the results, in the memory of the same GPU.
    pub out: Option<&'a Bound<'py, PyAny>>,
    /// The stream of the call; None for that of the rows.
    pub stream: Option<&'a Bound<'py, PyAny>>,
    /// Number of the GPU, if the caller gave one.
    pub device: Option<i32>,
}

/// The rows of a call.
enum DeviceInput<'a, 'py> {
    /// An array of two dimensions, with a column for each feature.
    Array(DeviceView<'py>),
    /// A column for each feature, and the number of rows.
    Columns(&'a DeviceColumns<'py>, i64),
}

/// Adds a call on an array of rows to its stream, and returns the array for its results: the caller's or a
/// new one. Does not wait for the results.
///
/// # Errors
/// ValueError and TypeError for rows and arrays that do not fit, and SchedcError if the library refuses.
pub fn predict<'py>(
    library: &LoadedLibrary,
    properties: LibraryProperties,
    rows: &Bound<'py, PyAny>,
    call: &DeviceCall<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    check_library(library, properties)?;
    let stream = CallStream::of(rows, call)?;
    let view = DeviceView::of(rows, stream.handle)?;
    check_rows(&view, library.functions.num_features())?;
    start(library, properties, (rows, DeviceInput::Array(view)), call, stream)
}

/// As [`predict`], on columns of `rows` rows: one for each feature, or `None` if the feature is missing in
/// all rows.
///
/// # Errors
/// As for [`predict`].
pub fn predict_columns<'py>(
    library: &LoadedLibrary,
    properties: LibraryProperties,
    (columns, rows): (&[Option<QuotedColumn<'py>>], usize),
    call: &DeviceCall<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    check_library(library, properties)?;
    let features = library.functions.num_features();
    let first = columns.iter().flatten().find_map(|QuotedColumn(_, values)| match is_on_gpu(values) {
        Ok(false) => None,
        Ok(true) => Some(Ok(values)),
        Err(error) => Some(Err(error)),
    });
    let (Some(first), true) = (first.transpose()?, columns.len() == features) else {
        return Err(PyValueError::new_err(format!(
            "there are {} columns, and the model has {features}; one at least is in a GPU's memory",
            columns.len()
        )));
    };
    let count = i64::try_from(rows).map_err(|_| PyValueError::new_err("there are too many rows"))?;
    let stream = CallStream::of(first, call)?;
    let columns = DeviceColumns::of(columns, rows, stream.handle)?;
    start(library, properties, (first, DeviceInput::Columns(&columns, count)), call, stream)
}

/// Adds a call to its stream. The results are like arrays of the library of `rows`.
fn start<'py>(
    library: &LoadedLibrary,
    properties: LibraryProperties,
    (rows, input): (&Bound<'py, PyAny>, DeviceInput<'_, 'py>),
    call: &DeviceCall<'_, 'py>,
    stream: CallStream,
) -> PyResult<Bound<'py, PyAny>> {
    let py = rows.py();
    let device = input.device();
    if call.device.is_some_and(|given| given != device) {
        return Err(PyValueError::new_err(format!(
            "rows are in the memory of GPU {device}, where the call runs: leave device= out, or copy the rows"
        )));
    }
    let (count, columns) = (input.count(), library.functions.num_outputs(call.kind) as i64);
    let shape = if columns == 1 { vec![count] } else { vec![count, columns] };
    let results = (library.functions.output_type(call.kind), shape);
    if let Some(out) = call.out {
        let to = writable(out, stream.handle, device, &results)?;
        input.run(py, library, properties, (call.kind, stream.handle, to.address))?;
        return Ok(out.clone());
    }
    let handle = stream.handle;
    let made = DeviceArray::new(device, results, (handle, stream.owner))?;
    input.run(py, library, properties, (call.kind, handle, made.address()))?;
    python_part(py)?.call_method1(intern!(py, "returned"), (made, rows))
}

impl DeviceInput<'_, '_> {
    fn device(&self) -> i32 {
        match self {
            DeviceInput::Array(view) => view.device,
            DeviceInput::Columns(columns, _) => columns.device,
        }
    }

    /// Number of rows.
    fn count(&self) -> i64 {
        match self {
            DeviceInput::Array(view) => view.shape[0],
            DeviceInput::Columns(_, count) => *count,
        }
    }

    /// Makes the call, which writes its results to the address `out`.
    fn run(
        &self,
        py: Python<'_>,
        library: &LoadedLibrary,
        properties: LibraryProperties,
        (kind, stream, out): (OutputKind, Stream, u64),
    ) -> PyResult<()> {
        let call = |dtype, rows: u64| Call {
            memory: 1,
            device: self.device(),
            stream: stream.handle(),
            ..Call::new(kind, dtype, pointer(rows), self.count(), pointer(out).cast_mut())
        };
        let made;
        let columns: &[RawColumn] = match self {
            DeviceInput::Columns(columns, _) => &columns.all,
            DeviceInput::Array(view) => {
                if let Some(dtype) = view.element.dtype().filter(|_| view.is_packed() && view.is_aligned()) {
                    // Code for GPUs reads packed rows of its own type alone, and columns of all types.
                    match detached(py, library, call(dtype, view.address)) {
                        Err(error) if error.status == Some(STATUS_ARGUMENT) => {}
                        done => return done.map_err(|error| error_of(error, self.count(), "")),
                    }
                }
                made = columns_of_rows(view, properties)?;
                &made
            }
        };
        let call = Call { columns: columns.as_ptr(), ..call(Dtype::F32, 0) };
        detached(py, library, call).map_err(|error| error_of(error, self.count(), OF_AN_OLD_LIBRARY))
    }
}

/// Makes a call without the interpreter's lock.
fn detached(py: Python<'_>, library: &LoadedLibrary, call: Call) -> Result<(), CallError> {
    let call = UnlockedDeviceCall(call);
    py.detach(move || {
        let UnlockedDeviceCall(call) = { call };
        // SAFETY: types and shapes of the arrays were checked, and the caller keeps them.
        unsafe { library.functions.call(&call) }
    })
}

/// A call that may be made without the interpreter's lock.
struct UnlockedDeviceCall(Call);

// SAFETY: the caller keeps the arrays alive during the call.
unsafe impl Send for UnlockedDeviceCall {}

/// The exception for a library's error. `more` is a further reason for which it has no code for the call.
fn error_of(error: CallError, rows: i64, more: &str) -> PyErr {
    match error.status {
        Some(STATUS_ARGUMENT) => PyValueError::new_err(format!("the library refuses the call{more}")),
        Some(STATUS_UNSUPPORTED) => PyValueError::new_err(unsupported_message(rows) + more),
        _ => SchedcError::new_err(error.message),
    }
}

/// Checks the shape of an array of rows.
fn check_rows(view: &DeviceView<'_>, features: usize) -> PyResult<()> {
    let [_, columns] = view.shape[..] else {
        return Err(PyValueError::new_err(format!(
            "rows have two dimensions, not {}; one row is X.reshape(1, -1)",
            view.shape.len()
        )));
    };
    if columns != features as i64 {
        return Err(PyValueError::new_err(format!(
            "rows have {columns} columns, but the model has {features} features"
        )));
    }
    if view.validity.is_some() {
        return Err(PyTypeError::new_err("the array of rows has a mask; give NaN for missing values"));
    }
    Ok(())
}

/// The memory of the caller's array for results of a type and shape.
fn writable<'py>(
    out: &Bound<'py, PyAny>,
    stream: Stream,
    device: i32,
    (dtype, shape): &(Dtype, Vec<i64>),
) -> PyResult<DeviceView<'py>> {
    let wrong = || {
        let shape: Vec<String> = shape.iter().map(i64::to_string).collect();
        PyValueError::new_err(format!(
            "out must be a writable array of {} in C order with the shape ({}), in the memory of GPU \
             {device} as the rows",
            ElementType::of(*dtype).name(),
            shape.join(", ") + if shape.len() == 1 { "," } else { "" },
        ))
    };
    if !is_on_gpu(out)? {
        return Err(wrong());
    }
    let view = DeviceView::of(out, stream)?;
    let is_column = shape.len() == 1 && view.shape == [shape[0], 1];
    let fits = view.validity.is_none()
        && (view.shape == *shape || is_column)
        && view.element == ElementType::of(*dtype);
    let is_here = view.device == device && !view.is_read_only && view.is_packed() && view.is_aligned();
    if fits && is_here { Ok(view) } else { Err(wrong()) }
}

/// Refuses a model without code for a GPU.
fn check_library(library: &LoadedLibrary, properties: LibraryProperties) -> PyResult<()> {
    match properties.runs_on_gpu {
        true => Ok(()),
        false => Err(PyValueError::new_err(no_gpu_code_message(library))),
    }
}

/// The message for rows in a GPU's memory, if the model has no code for a GPU or is not compiled yet.
fn no_gpu_code_message(library: &LoadedLibrary) -> String {
    let (what, more) = match library.has_file() {
        true => ("compiled for the processor", "compile it with schedc.compile(model, target=\"gpu\")"),
        false => ("not compiled yet", "wait() for the compilation"),
    };
    format!(
        "the model is {what}, and the rows are in a GPU's memory: {more}, or give rows in the host's memory, \
         such as X.cpu().numpy() (PyTorch) or X.get() (CuPy)"
    )
}

/// The reason for which a library refuses columns, and rows of other types than its own.
const OF_AN_OLD_LIBRARY: &str = "; a library of an older schedc takes packed rows of its own type alone from \
    a GPU's memory: build it again, or give X.astype(\"float32\")";

/// The message for a call that has no code for rows in a GPU's memory.
fn unsupported_message(rows: i64) -> String {
    format!(
        "the model cannot predict {rows} rows in a GPU's memory: its schedule runs calls of this size on the \
         processor (a block such as `when n_rows <= 100` without gpuDimension), or it names a number for \
         missing values; give rows in the host's memory, or a schedule without the block"
    )
}

/// The module about arrays of PyTorch and CuPy.
fn python_part(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import(intern!(py, "schedc_runtime._device"))
}

/// The stream of a call.
struct CallStream {
    handle: Stream,
    /// The Python object of the stream.
    owner: Option<Py<PyAny>>,
}

impl CallStream {
    /// The stream that the caller names, or else that of an array.
    fn of(rows: &Bound<'_, PyAny>, call: &DeviceCall<'_, '_>) -> PyResult<CallStream> {
        let py = rows.py();
        match call.stream {
            Some(stream) => CallStream::of_object(stream),
            None => CallStream::of_object(&python_part(py)?.call_method1(intern!(py, "stream_of"), (rows,))?),
        }
    }

    /// The stream that an object names: the number of its handle, an object with `__cuda_stream__`, a stream
    /// of PyTorch or of CuPy; the default stream for None.
    fn of_object(stream: &Bound<'_, PyAny>) -> PyResult<CallStream> {
        let py = stream.py();
        if stream.is_none() {
            return Ok(CallStream { handle: Stream::DEFAULT, owner: None });
        }
        if let Ok(handle) = stream.extract::<usize>() {
            return Ok(CallStream { handle: Stream::of(handle), owner: None });
        }
        let kept = |handle| CallStream { handle: Stream::of(handle), owner: Some(stream.clone().unbind()) };
        if let Some(protocol) = stream.getattr_opt(intern!(py, "__cuda_stream__"))? {
            let (_, handle): (i64, usize) = protocol.call0()?.extract()?;
            return Ok(kept(handle));
        }
        for name in ["cuda_stream", "ptr"] {
            if let Some(handle) = stream.getattr_opt(name)? {
                return Ok(kept(handle.extract()?));
            }
        }
        Err(PyTypeError::new_err(format!(
            "stream is the handle of a stream, or a stream of PyTorch, CuPy or cuda.core, not {}",
            stream.get_type().name()?
        )))
    }
}
