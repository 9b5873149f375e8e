//! Views of arrays in a GPU's memory, in the two forms in which objects of Python export them: DLPack, and
//! `__cuda_array_interface__`.

use crate::dlpack::{CUDA, CUDA_MANAGED, ElementType, ImportedTensor, ROCM};
use numpy::PyUntypedArray;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyFloat, PyInt};
use sched_library::{Driver, Stream};

/// The kind and the number of the device that has an array. `None` if the object lacks the DLPack interface.
fn dlpack_device(object: &Bound<'_, PyAny>) -> PyResult<Option<(i32, i32)>> {
    let method = object.getattr_opt(intern!(object.py(), "__dlpack_device__"))?;
    Ok(method.and_then(|method| method.call0().ok()?.extract().ok()))
}

/// Whether an object is an array in the memory of a GPU.
///
/// # Errors
/// TypeError for memory of a GPU of AMD.
#[pyfunction]
#[pyo3(signature = (object, /))]
pub fn is_on_gpu(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    // A dict of one row has many numbers, in which attributes need not be looked up.
    let is_number = object.is_exact_instance_of::<PyFloat>() || object.is_exact_instance_of::<PyInt>();
    if is_number || object.is_instance_of::<PyUntypedArray>() {
        return Ok(false);
    }
    match dlpack_device(object)? {
        Some((CUDA | CUDA_MANAGED, _)) => Ok(true),
        Some((ROCM, _)) => Err(PyTypeError::new_err(
            "rows are in the memory of a GPU of AMD, and Python takes rows of GPUs of NVIDIA alone; give \
             rows in the host's memory, such as X.cpu().numpy()",
        )),
        Some(_) => Ok(false),
        // An object with the attribute may fail to export its elements, such as a column of texts of cuDF.
        None => Ok(object
            .getattr_opt(intern!(object.py(), "__cuda_array_interface__"))
            .map_or(true, |interface| interface.is_some())),
    }
}

/// Whether some objects are arrays in the memory of a GPU.
///
/// # Errors
/// As for [`is_on_gpu`].
#[pyfunction]
#[pyo3(signature = (objects, /))]
pub fn any_on_gpu(objects: &Bound<'_, PyAny>) -> PyResult<bool> {
    for object in objects.try_iter()? {
        if is_on_gpu(&object?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An array in a GPU's memory. The memory is valid as long as this value lives.
pub struct DeviceView<'py> {
    /// Address of the first element; 0 if the array is empty.
    pub address: u64,
    /// Number of the GPU.
    pub device: i32,
    /// Type of the elements.
    pub element: ElementType,
    /// Number of elements in each dimension.
    pub shape: Vec<i64>,
    /// Distance between neighbours in each dimension, in bytes.
    pub strides: Vec<i64>,
    /// Address of a bitmap with a bit for each element, least significant first: 1 if it has a value. `None`
    /// if all elements have one.
    pub validity: Option<u64>,
    /// Whether the array may not be written.
    pub is_read_only: bool,
    /// The capsule, or the array and its description.
    _owner: Bound<'py, PyAny>,
}

impl<'py> DeviceView<'py> {
    /// The memory of an array, for work in `stream`. Makes `stream` wait for other streams that still write
    /// the array.
    ///
    /// # Errors
    /// The array's own error, or BufferError if neither form can export the array.
    pub fn of(object: &Bound<'py, PyAny>, stream: Stream) -> PyResult<DeviceView<'py>> {
        match object.getattr_opt(intern!(object.py(), "__dlpack__"))? {
            Some(export) => DeviceView::of_dlpack(&export, stream),
            None => DeviceView::of_interface(object, stream),
        }
    }

    fn of_dlpack(export: &Bound<'py, PyAny>, stream: Stream) -> PyResult<DeviceView<'py>> {
        let keywords = PyDict::new(export.py());
        keywords.set_item("stream", stream.dlpack_number())?;
        let capsule = export.call((), Some(&keywords))?.cast_into::<PyCapsule>()?;
        let ImportedTensor { address, device, element, shape, strides } = ImportedTensor::of(&capsule)?;
        let bytes = element.bytes() as i64;
        let in_bytes = |all: Vec<i64>| all.into_iter().map(|stride| stride.saturating_mul(bytes)).collect();
        let strides = strides.map_or_else(|| packed(&shape, bytes), in_bytes);
        let _owner = capsule.into_any();
        Ok(DeviceView {
            address,
            device,
            element,
            shape,
            strides,
            validity: None,
            is_read_only: false,
            _owner,
        })
    }

    fn of_interface(object: &Bound<'py, PyAny>, stream: Stream) -> PyResult<DeviceView<'py>> {
        let interface = CudaInterface::of(object)?;
        let typestr: String = interface.item("typestr")?.extract()?;
        let element = ElementType::of_typestr(&typestr).ok_or_else(|| {
            PyTypeError::new_err(format!("the array has elements of the type {typestr}; give float32"))
        })?;
        let shape: Vec<i64> = interface.item("shape")?.extract()?;
        let (address, is_read_only): (u64, bool) = interface.item("data")?.extract()?;
        let strides: Option<Vec<i64>> = interface.given("strides")?.map(|all| all.extract()).transpose()?;
        let device = match address {
            0 => 0,
            _ => driver()?.device_of(address).map_err(|error| PyBufferError::new_err(error.to_string()))?,
        };
        interface.order(device, stream)?;
        let mask = interface.given("mask")?.map(|mask| CudaInterface::of(&mask)).transpose()?;
        let validity = mask.map(|mask| mask.bitmap(&shape, (device, stream))).transpose()?;
        Ok(DeviceView {
            address,
            device,
            element,
            strides: strides.unwrap_or_else(|| packed(&shape, element.bytes() as i64)),
            shape,
            validity,
            is_read_only,
            _owner: (object, interface.0).into_pyobject(object.py())?.into_any(),
        })
    }

    /// Whether the elements are contiguous in C order.
    pub fn is_packed(&self) -> bool {
        let packed = packed(&self.shape, self.element.bytes() as i64);
        let mut dimensions = self.shape.iter().zip(self.strides.iter().zip(&packed));
        dimensions.all(|(&length, (stride, packed))| length <= 1 || stride == packed)
            || self.shape.contains(&0)
    }

    /// Whether the address of each element is a multiple of its size.
    pub fn is_aligned(&self) -> bool {
        let bytes = (self.element.bytes() as i64).max(1);
        let mut dimensions = self.shape.iter().zip(&self.strides);
        self.address.is_multiple_of(bytes as u64)
            && dimensions.all(|(&length, stride)| length <= 1 || stride % bytes == 0)
    }
}

/// The strides of contiguous elements in C order.
fn packed(shape: &[i64], bytes: i64) -> Vec<i64> {
    let mut strides = vec![bytes; shape.len()];
    for dimension in (1..shape.len()).rev() {
        strides[dimension - 1] = strides[dimension].saturating_mul(shape[dimension]);
    }
    strides
}

/// The dict of `__cuda_array_interface__`.
struct CudaInterface<'py>(Bound<'py, PyAny>);

impl<'py> CudaInterface<'py> {
    fn of(object: &Bound<'py, PyAny>) -> PyResult<CudaInterface<'py>> {
        object.getattr(intern!(object.py(), "__cuda_array_interface__")).map(CudaInterface)
    }

    /// The value of a key; Python's None if the key is absent.
    fn item(&self, key: &str) -> PyResult<Bound<'py, PyAny>> {
        self.0.call_method1(intern!(self.0.py(), "get"), (key,))
    }

    /// The value of a key; `None` if it is absent or Python's None.
    fn given(&self, key: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.item(key).map(|found| Some(found).filter(|found| !found.is_none()))
    }

    /// Makes `stream` wait for the stream that still writes the array.
    fn order(&self, device: i32, stream: Stream) -> PyResult<()> {
        let Some(writer) = self.given("stream")? else { return Ok(()) };
        let writer = Stream::of(writer.extract()?);
        // SAFETY: the array names a stream of its device, and the caller another.
        let done = unsafe { driver()?.order_streams(device, writer, stream) };
        done.map_err(|error| PyBufferError::new_err(error.to_string()))
    }

    /// The address of the mask of an array of this shape.
    ///
    /// # Errors
    /// TypeError if the mask is no packed bitmap.
    fn bitmap(&self, shape: &[i64], (device, stream): (i32, Stream)) -> PyResult<u64> {
        let typestr: String = self.item("typestr")?.extract()?;
        let has_bits = typestr.strip_prefix(['<', '|', '=']) == Some("t1");
        let has_same_shape = self.item("shape")?.extract::<Vec<i64>>()? == shape;
        if !has_bits || !has_same_shape || self.given("strides")?.is_some() {
            return Err(PyTypeError::new_err(format!(
                "the array has a mask of the type {typestr}, and masks are packed bits (<t1) with a bit for \
                 each element; give NaN for missing values"
            )));
        }
        self.order(device, stream)?;
        let (address, _): (u64, bool) = self.item("data")?.extract()?;
        Ok(address)
    }
}

/// The driver.
///
/// # Errors
/// BufferError if there is none.
pub fn driver() -> PyResult<&'static Driver> {
    Driver::get().map_err(|error| PyBufferError::new_err(error.to_string()))
}
