//! Calls on rows in a GPU's memory, and the arrays that they return.

use crate::dlpack::{CUDA, DeviceView, ElementType, capsule, driver};
use crate::error::SchedcError;
use crate::library::{LibraryProperties, LoadedLibrary};
use numpy::{PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use sched_library::{Call, Dtype, OutputKind, Stream};
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Status of the C interface: an argument is wrong.
const STATUS_ARGUMENT: i32 = 1;
/// Status of the C interface: the model has no code for the call.
const STATUS_UNSUPPORTED: i32 = 4;

/// Memory of a GPU, freed after the work in its stream.
struct DeviceMemory {
    /// Address of the memory; 0 if it has no bytes.
    address: u64,
    device: i32,
    stream: Stream,
    /// The Python object of the stream, which this value keeps alive.
    _owner: Option<Py<PyAny>>,
    /// Whether other streams may use the memory. If so, it is freed only after all work of the GPU.
    is_shared: AtomicBool,
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.address == 0 {
            return;
        }
        let free = || {
            let waits = self.is_shared.load(Ordering::Relaxed);
            // SAFETY: the driver allocated the memory, and nothing refers to it any more.
            // An error here is one of earlier work, and the next call reports it.
            let _ =
                driver().map(|driver| unsafe { driver.free(self.device, self.address, self.stream, waits) });
        };
        // Releases the interpreter's lock, since work of the GPU may need it. If the interpreter has ended,
        // the memory is freed with the process.
        Python::try_attach(|py| py.detach(free));
    }
}

/// An array of results in a GPU's memory. Libraries take it by DLPack or by `__cuda_array_interface__`,
/// without a copy.
#[pyclass(frozen, module = "schedc_runtime")]
pub struct DeviceArray {
    memory: Arc<DeviceMemory>,
    dtype: Dtype,
    #[pyo3(get)]
    shape: Vec<i64>,
}

#[pymethods]
impl DeviceArray {
    /// The type of the elements, as NumPy writes it.
    #[getter]
    fn dtype(&self) -> String {
        ElementType::of(self.dtype).name()
    }

    /// The number of the GPU.
    #[getter]
    fn device(&self) -> i32 {
        self.memory.device
    }

    /// The handle of the stream whose work writes the elements, so readers must wait for it; 1 for the
    /// default stream.
    #[getter]
    fn stream(&self) -> usize {
        self.memory.stream.dlpack_number()
    }

    /// The kind and the number of the device in DLPack.
    fn __dlpack_device__(&self) -> (i32, i32) {
        (CUDA, self.memory.device)
    }

    /// A capsule of DLPack, for work in the consumer's stream.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<i64>,
        max_version: Option<Bound<'py, PyAny>>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // The capsule has the form without a version, which consumers of all versions accept.
        drop(max_version);
        if copy == Some(true) || dl_device.is_some_and(|device| device != self.__dlpack_device__()) {
            return Err(PyBufferError::new_err(
                "the array is exported without a copy, in the GPU's memory; to_numpy() copies it to the host",
            ));
        }
        let consumer = match stream {
            // The consumer waits for the results itself.
            Some(-1) => None,
            Some(handle) => Some(Stream::of(usize::try_from(handle).map_err(|_| {
                PyValueError::new_err("stream is the handle of a stream, or -1 if the consumer waits itself")
            })?)),
            None => Some(Stream::DEFAULT),
        };
        if consumer != Some(self.memory.stream) {
            self.memory.is_shared.store(true, Ordering::Relaxed);
        }
        if let Some(consumer) = consumer
            && self.memory.address != 0
        {
            // SAFETY: both are streams of the device.
            let done = unsafe { driver()?.order_streams(self.memory.device, self.memory.stream, consumer) };
            done.map_err(|error| PyBufferError::new_err(error.to_string()))?;
        }
        let place = (self.memory.device, self.memory.address);
        capsule(py, place, ElementType::of(self.dtype), self.shape.clone(), self.memory.clone())
    }

    /// The array in CUDA's interface between libraries, version 3.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.memory.is_shared.store(true, Ordering::Relaxed);
        let about = PyDict::new(py);
        about.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        about.set_item("typestr", ElementType::of(self.dtype).typestr())?;
        about.set_item("data", (self.memory.address, false))?;
        about.set_item("strides", py.None())?;
        about.set_item("version", 3)?;
        about.set_item("stream", self.memory.stream.dlpack_number())?;
        Ok(about)
    }

    /// Waits for the results, and copies them to an array of NumPy.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.dtype {
            Dtype::F32 => self.copied::<f32>(py),
            Dtype::F64 => self.copied::<f64>(py),
            Dtype::I32 => self.copied::<i32>(py),
        }
    }

    /// Refuses the implicit copy to the host that NumPy would make.
    #[pyo3(signature = (*_arguments, **_keywords))]
    fn __array__(
        &self,
        _arguments: &Bound<'_, PyTuple>,
        _keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        Err(PyTypeError::new_err("the results are in a GPU's memory; to_numpy() copies them to the host"))
    }

    fn __len__(&self) -> usize {
        self.shape.first().map_or(0, |&rows| rows as usize)
    }

    fn __repr__(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(i64::to_string).collect();
        format!("DeviceArray({}, {}, GPU {})", shape.join(" x "), self.dtype(), self.memory.device)
    }
}

impl DeviceArray {
    /// Allocates an uninitialised array for work in a stream, whose Python object is `owner`.
    fn new(
        device: i32,
        (dtype, shape): (Dtype, Vec<i64>),
        (stream, owner): (Stream, Option<Py<PyAny>>),
    ) -> PyResult<DeviceArray> {
        let bytes = shape.iter().product::<i64>() as usize * ElementType::of(dtype).bytes();
        let address = match bytes {
            0 => 0,
            _ => {
                let allocated = driver_of_call()?.alloc(device, bytes, stream);
                allocated.map_err(|error| SchedcError::new_err(format!("{error}; {NO_MEMORY_HELP}")))?
            }
        };
        let memory =
            DeviceMemory { address, device, stream, _owner: owner, is_shared: AtomicBool::new(false) };
        Ok(DeviceArray { memory: Arc::new(memory), dtype, shape })
    }

    fn copied<'py, T: numpy::Element>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let shape: Vec<usize> = self.shape.iter().map(|&length| length as usize).collect();
        let bytes = shape.iter().product::<usize>() * size_of::<T>();
        // SAFETY: the driver writes all elements; after an error the array is not returned.
        let array = unsafe { PyArrayDyn::<T>::new(py, shape, false) };
        if bytes > 0 {
            let (memory, to) = (&self.memory, array.data() as usize);
            let driver = driver()?;
            // SAFETY: both have this number of bytes.
            let done = py.detach(|| unsafe {
                driver.download(memory.device, to as *mut c_void, memory.address, bytes, memory.stream)
            });
            done.map_err(|error| SchedcError::new_err(error.to_string()))?;
        }
        Ok(array.into_any())
    }
}

/// Help for the error that no memory could be allocated.
const NO_MEMORY_HELP: &str = "pass an array for the results as out=";

/// The driver; SchedcError if there is none.
fn driver_of_call() -> PyResult<&'static sched_library::Driver> {
    sched_library::Driver::get().map_err(|error| SchedcError::new_err(error.to_string()))
}

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

/// Adds a call to its stream, and returns the array for its results: the caller's or a new one. Does not wait
/// for the results.
///
/// # Errors
/// ValueError and TypeError for rows and arrays that do not fit, and SchedcError if the library refuses.
pub fn predict<'py>(
    library: &LoadedLibrary,
    properties: LibraryProperties,
    rows: &Bound<'py, PyAny>,
    call: &DeviceCall<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    if !properties.runs_on_gpu {
        return Err(PyValueError::new_err(no_gpu_code_message(library)));
    }
    let py = rows.py();
    let arrays = py.import(intern!(py, "schedc_runtime._device"))?;
    let named = match call.stream {
        Some(stream) => stream.clone(),
        None => arrays.call_method1(intern!(py, "stream_of"), (rows,))?,
    };
    let (stream, owner) = if named.is_none() { (Stream::DEFAULT, None) } else { stream_of(&named)? };
    let view = DeviceView::of(rows, stream)?;
    let dtype = check_rows(&view, library.functions.num_features(), call.device)?;
    let (count, columns) = (view.shape[0], library.functions.num_outputs(call.kind) as i64);
    let shape = if columns == 1 { vec![count] } else { vec![count, columns] };
    let results = (library.functions.output_type(call.kind), shape);
    if let Some(out) = call.out {
        let to = writable(out, stream, view.device, &results)?;
        run(py, library, properties, (call.kind, dtype, stream), (&view, to.address))?;
        return Ok(out.clone());
    }
    let made = DeviceArray::new(view.device, results, (stream, owner))?;
    run(py, library, properties, (call.kind, dtype, stream), (&view, made.memory.address))?;
    arrays.call_method1(intern!(py, "returned"), (made, rows))
}

/// Makes the call, which writes its results to the address `out`.
fn run(
    py: Python<'_>,
    library: &LoadedLibrary,
    properties: LibraryProperties,
    (kind, dtype, stream): (OutputKind, Dtype, Stream),
    (rows, out): (&DeviceView<'_>, u64),
) -> PyResult<()> {
    let count = rows.shape[0];
    let call = UnlockedDeviceCall(Call {
        memory: 1,
        device: rows.device,
        stream: stream.handle(),
        ..Call::new(kind, dtype, address(rows.address), count, address(out).cast_mut())
    });
    let done = py.detach(move || {
        let UnlockedDeviceCall(call) = { call };
        // SAFETY: types and shapes of the arrays were checked, and the caller keeps them.
        unsafe { library.functions.call(&call) }
    });
    done.map_err(|error| match error.status {
        Some(STATUS_ARGUMENT) => PyValueError::new_err(other_type_message(rows.element, properties)),
        Some(STATUS_UNSUPPORTED) => PyValueError::new_err(unsupported_message(count)),
        _ => SchedcError::new_err(error.message),
    })
}

/// A call that may be made without the interpreter's lock.
struct UnlockedDeviceCall(Call);

// SAFETY: the caller keeps the arrays alive during the call.
unsafe impl Send for UnlockedDeviceCall {}

fn address(number: u64) -> *const c_void {
    ptr::without_provenance(number as usize)
}

/// The type of rows in the form that code for GPUs reads: packed floats, with a column for each feature.
fn check_rows(view: &DeviceView<'_>, features: usize, device: Option<i32>) -> PyResult<Dtype> {
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
    if device.is_some_and(|device| device != view.device) {
        return Err(PyValueError::new_err(format!(
            "rows are in the memory of GPU {}, where the call runs: leave device= out, or copy the rows",
            view.device
        )));
    }
    if !view.is_packed() {
        return Err(PyValueError::new_err(
            "rows in a GPU's memory must follow each other without gaps: give X.contiguous() (PyTorch), or \
             ascontiguousarray(X) of the array's library",
        ));
    }
    view.element.dtype().ok_or_else(|| {
        PyTypeError::new_err(format!(
            "rows in a GPU's memory hold values of type {}; give float32 or float64, such as \
             X.astype(\"float32\") or X.float() (PyTorch)",
            view.element.name()
        ))
    })
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
    if !crate::dlpack::is_on_gpu(out)? {
        return Err(wrong());
    }
    let view = DeviceView::of(out, stream)?;
    let is_column = shape.len() == 1 && view.shape == [shape[0], 1];
    let fits = (view.shape == *shape || is_column) && view.element == ElementType::of(*dtype);
    let is_here = view.device == device && !view.is_read_only && view.is_packed();
    if fits && is_here { Ok(view) } else { Err(wrong()) }
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

/// The message for rows of a type that the code does not read.
fn other_type_message(element: ElementType, properties: LibraryProperties) -> String {
    let wanted = properties.row_type;
    format!(
        "rows in a GPU's memory are {}, and the library has code for {wanted} alone: give \
         X.astype(\"{wanted}\"), or compile the model with rows=\"both\"",
        element.name()
    )
}

/// The message for a call that has no code for rows in a GPU's memory.
fn unsupported_message(rows: i64) -> String {
    format!(
        "the model cannot predict {rows} rows in a GPU's memory: its schedule runs calls of this size on the \
         processor (a block such as `when n_rows <= 100` without gpuDimension), or it names a number for \
         missing values; give rows in the host's memory, or a schedule without the block"
    )
}

/// The stream that an object names: the number of its handle, an object with `__cuda_stream__`, a stream of
/// PyTorch or of CuPy.
pub fn stream_of(stream: &Bound<'_, PyAny>) -> PyResult<(Stream, Option<Py<PyAny>>)> {
    let py = stream.py();
    if let Ok(handle) = stream.extract::<usize>() {
        return Ok((Stream::of(handle), None));
    }
    let kept = || Some(stream.clone().unbind());
    if let Some(protocol) = stream.getattr_opt(intern!(py, "__cuda_stream__"))? {
        let (_, handle): (i64, usize) = protocol.call0()?.extract()?;
        return Ok((Stream::of(handle), kept()));
    }
    for name in ["cuda_stream", "ptr"] {
        if let Some(handle) = stream.getattr_opt(name)? {
            return Ok((Stream::of(handle.extract()?), kept()));
        }
    }
    Err(PyTypeError::new_err(format!(
        "stream is the handle of a stream, or a stream of PyTorch, CuPy or cuda.core, not {}",
        stream.get_type().name()?
    )))
}
