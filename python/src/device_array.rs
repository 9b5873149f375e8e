//! Arrays of results in a GPU's memory.

use crate::device_view::driver;
use crate::dlpack::{CUDA, ElementType, capsule};
use crate::error::SchedcError;
use numpy::{PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use sched_library::{Dtype, Stream};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// The address of the elements; 0 if there are none.
    pub fn address(&self) -> u64 {
        self.memory.address
    }

    /// Allocates an uninitialised array for work in a stream, whose Python object is `owner`.
    ///
    /// # Errors
    /// SchedcError if there is too little memory, or no driver.
    pub fn new(
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
