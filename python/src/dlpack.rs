//! Arrays in a GPU's memory, in the two forms in which objects of Python export them: DLPack, and
//! `__cuda_array_interface__`.

use numpy::PyUntypedArray;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict};
use pyo3::{ffi, intern};
use sched_library::{Driver, Dtype, Stream};
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

/// Name of capsules of DLPack. A consumer that takes over the memory of a capsule renames the capsule.
const DLPACK_CAPSULE_NAME: &CStr = c"dltensor";

/// Kind of device in DLPack: memory of a GPU of NVIDIA.
pub const CUDA: i32 = 2;
/// Kind of device in DLPack: memory of a GPU of AMD.
const ROCM: i32 = 10;
/// Kind of device in DLPack: memory that moves between host and GPUs of NVIDIA.
const CUDA_MANAGED: i32 = 13;

/// Code of floats in DLPack.
const FLOAT_CODE: u8 = 2;

/// `DLDevice`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawDevice {
    kind: i32,
    number: i32,
}

/// `DLDataType`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementType {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// `DLTensor`.
#[repr(C)]
struct RawTensor {
    data: *mut c_void,
    device: RawDevice,
    ndim: i32,
    element: ElementType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor`.
#[repr(C)]
struct ManagedTensor {
    tensor: RawTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedTensor)>,
}

impl ElementType {
    /// Kinds of elements: the letter in `__cuda_array_interface__`, the code in DLPack, and the name in
    /// NumPy.
    const KINDS: [(char, u8, &str); 5] = [
        ('i', 0, "int"),
        ('u', 1, "uint"),
        ('f', FLOAT_CODE, "float"),
        ('c', 5, "complex"),
        ('b', 6, "bool"),
    ];

    /// The element type of results.
    pub fn of(dtype: Dtype) -> ElementType {
        let (code, bits) = match dtype {
            Dtype::F32 => (FLOAT_CODE, 32),
            Dtype::F64 => (FLOAT_CODE, 64),
            Dtype::I32 => (0, 32),
        };
        ElementType { code, bits, lanes: 1 }
    }

    /// The element type of a `typestr` such as `<f4`. `None` for unknown kinds and for the other byte order.
    fn of_typestr(text: &str) -> Option<ElementType> {
        let rest = text.strip_prefix(['<', '|', '='])?;
        let (_, code, _) = ElementType::KINDS.into_iter().find(|(letter, ..)| rest.starts_with(*letter))?;
        let bytes: u8 = rest.get(1..)?.parse().ok()?;
        Some(ElementType { code, bits: bytes.checked_mul(8)?, lanes: 1 })
    }

    /// The type of rows; None if the elements are no floats of 32 or 64 bits.
    pub fn dtype(self) -> Option<Dtype> {
        [Dtype::F32, Dtype::F64].into_iter().find(|dtype| ElementType::of(*dtype) == self)
    }

    /// The name as NumPy writes it.
    pub fn name(self) -> String {
        let known = ElementType::KINDS.into_iter().find(|(_, code, _)| *code == self.code);
        known.map_or("another type".to_owned(), |(_, _, name)| format!("{name}{}", self.bits))
    }

    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        usize::from(self.bits / 8)
    }

    /// The `typestr` of `__cuda_array_interface__`.
    pub fn typestr(self) -> String {
        let letter = ElementType::KINDS.into_iter().find(|(_, code, _)| *code == self.code);
        format!("<{}{}", letter.map_or('V', |(letter, ..)| letter), self.bytes())
    }
}

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
    if object.is_instance_of::<PyUntypedArray>() {
        return Ok(false);
    }
    match dlpack_device(object)? {
        Some((CUDA | CUDA_MANAGED, _)) => Ok(true),
        Some((ROCM, _)) => Err(PyTypeError::new_err(
            "rows are in the memory of a GPU of AMD, and Python takes rows of GPUs of NVIDIA alone; give \
             rows in the host's memory, such as X.cpu().numpy()",
        )),
        Some(_) => Ok(false),
        None => Ok(object.getattr_opt(intern!(object.py(), "__cuda_array_interface__"))?.is_some()),
    }
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
    /// Distance between neighbours in each dimension, in elements; None if they are packed.
    strides: Option<Vec<i64>>,
    /// Whether the array may not be written.
    pub is_read_only: bool,
    /// The capsule, or the array itself.
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
        // The capsule is not renamed, so it frees the tensor when it is dropped.
        let tensor = capsule.pointer_checked(Some(DLPACK_CAPSULE_NAME))?.cast::<ManagedTensor>();
        // SAFETY: capsules of this name hold a managed tensor.
        let raw = unsafe { &tensor.as_ref().tensor };
        let dimensions = usize::try_from(raw.ndim).unwrap_or(0);
        let numbers = |start: *mut i64| {
            // SAFETY: shape and strides have a number for each dimension.
            (!start.is_null()).then(|| unsafe { std::slice::from_raw_parts(start, dimensions) }.to_vec())
        };
        if !matches!(raw.device.kind, CUDA | CUDA_MANAGED) {
            return Err(PyBufferError::new_err("the array is not in the memory of a GPU of NVIDIA"));
        }
        Ok(DeviceView {
            address: if raw.data.is_null() { 0 } else { raw.data as u64 + raw.byte_offset },
            device: raw.device.number,
            element: raw.element,
            shape: numbers(raw.shape).unwrap_or_default(),
            strides: numbers(raw.strides),
            is_read_only: false,
            _owner: capsule.into_any(),
        })
    }

    fn of_interface(object: &Bound<'py, PyAny>, stream: Stream) -> PyResult<DeviceView<'py>> {
        let py = object.py();
        let about = object.getattr(intern!(py, "__cuda_array_interface__"))?;
        let item = |name: &str| about.call_method1(intern!(py, "get"), (name,));
        let given = |name: &str| item(name).map(|found| Some(found).filter(|found| !found.is_none()));
        let typestr: String = item("typestr")?.extract()?;
        let element = ElementType::of_typestr(&typestr).ok_or_else(|| {
            PyTypeError::new_err(format!("the array has elements of the type {typestr}; give float32"))
        })?;
        if given("mask")?.is_some() {
            return Err(PyTypeError::new_err("the array has a mask; give NaN for missing values"));
        }
        let (address, is_read_only): (u64, bool) = item("data")?.extract()?;
        let strides: Option<Vec<i64>> = given("strides")?.map(|all| all.extract()).transpose()?;
        let bytes = (element.bytes() as i64).max(1);
        let device = match address {
            0 => 0,
            _ => driver()?.device_of(address).map_err(|error| PyBufferError::new_err(error.to_string()))?,
        };
        if let Some(writer) = given("stream")? {
            let writer = Stream::of(writer.extract()?);
            // SAFETY: the array names a stream of its device, and the caller another.
            let done = unsafe { driver()?.order_streams(device, writer, stream) };
            done.map_err(|error| PyBufferError::new_err(error.to_string()))?;
        }
        Ok(DeviceView {
            address,
            device,
            element,
            shape: item("shape")?.extract()?,
            // A stride that is no multiple of the element's bytes becomes 0, which counts as not packed.
            strides: strides
                .map(|all| all.into_iter().map(|s| if s % bytes == 0 { s / bytes } else { 0 }).collect()),
            is_read_only,
            _owner: object.clone(),
        })
    }

    /// Whether the elements are contiguous in C order.
    pub fn is_packed(&self) -> bool {
        let Some(strides) = &self.strides else { return true };
        let mut packed = 1;
        let is_packed = self.shape.iter().zip(strides).rev().all(|(&length, &stride)| {
            let fits = length <= 1 || stride == packed;
            packed *= length;
            fits
        });
        is_packed || self.shape.contains(&0)
    }
}

/// The driver.
///
/// # Errors
/// BufferError if there is none.
pub fn driver() -> PyResult<&'static Driver> {
    Driver::get().map_err(|error| PyBufferError::new_err(error.to_string()))
}

/// An exported array. It lives until the consumer frees it.
struct ExportedTensor<T> {
    managed: ManagedTensor,
    shape: Vec<i64>,
    _owner: T,
}

/// A capsule of DLPack with packed elements in a GPU's memory, which `owner` keeps valid.
pub fn capsule<T: Send + 'static>(
    py: Python<'_>,
    (device, address): (i32, u64),
    element: ElementType,
    shape: Vec<i64>,
    owner: T,
) -> PyResult<Bound<'_, PyAny>> {
    let tensor = RawTensor {
        data: address as *mut c_void,
        device: RawDevice { kind: CUDA, number: device },
        ndim: i32::try_from(shape.len()).map_err(|_| PyValueError::new_err("too many dimensions"))?,
        element,
        shape: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    let managed = ManagedTensor { tensor, context: std::ptr::null_mut(), deleter: Some(free::<T>) };
    let exported = Box::leak(Box::new(ExportedTensor { managed, shape, _owner: owner }));
    exported.managed.tensor.shape = exported.shape.as_mut_ptr();
    exported.managed.context = (&raw mut *exported).cast();
    let pointer = &raw mut exported.managed;
    // SAFETY: the capsule has the tensor and its destructor; the name lives as long as the program.
    let made = unsafe {
        let capsule = ffi::PyCapsule_New(pointer.cast(), DLPACK_CAPSULE_NAME.as_ptr(), Some(end_capsule));
        Bound::from_owned_ptr_or_err(py, capsule)
    };
    if made.is_err() {
        // SAFETY: no capsule has the tensor.
        unsafe { free::<T>(pointer) };
    }
    made
}

/// Frees an exported array.
unsafe extern "C" fn free<T>(tensor: *mut ManagedTensor) {
    // SAFETY: the context is the box that `capsule` made, and the deleter is called once.
    drop(unsafe { Box::from_raw((*tensor).context.cast::<ExportedTensor<T>>()) });
}

/// Destructor of a capsule: frees the tensor if no consumer has taken it.
unsafe extern "C" fn end_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: Python ends a capsule of `capsule`; a consumer has renamed it.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, DLPACK_CAPSULE_NAME.as_ptr()) == 0 {
            return;
        }
        let tensor = NonNull::new(
            ffi::PyCapsule_GetPointer(capsule, DLPACK_CAPSULE_NAME.as_ptr()).cast::<ManagedTensor>(),
        );
        if let Some(tensor) = tensor
            && let Some(deleter) = tensor.as_ref().deleter
        {
            deleter(tensor.as_ptr());
        }
    }
}
