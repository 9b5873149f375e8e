//! Arrays in a GPU's memory in DLPack, a form in which Python's libraries exchange arrays.

use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use sched_library::{Dtype, RawColumnType};
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

/// Name of capsules of DLPack. A consumer that takes over the memory of a capsule renames the capsule.
const DLPACK_CAPSULE_NAME: &CStr = c"dltensor";

/// Kind of device in DLPack: memory of a GPU of NVIDIA.
pub const CUDA: i32 = 2;
/// Kind of device in DLPack: memory of a GPU of AMD.
pub const ROCM: i32 = 10;
/// Kind of device in DLPack: memory that moves between host and GPUs of NVIDIA.
pub const CUDA_MANAGED: i32 = 13;

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
    pub fn of_typestr(text: &str) -> Option<ElementType> {
        let rest = text.strip_prefix(['<', '|', '='])?;
        let (_, code, _) = ElementType::KINDS.into_iter().find(|(letter, ..)| rest.starts_with(*letter))?;
        let bytes: u8 = rest.get(1..)?.parse().ok()?;
        Some(ElementType { code, bits: bytes.checked_mul(8)?, lanes: 1 })
    }

    /// The type of the elements as those of a column; None if no library reads them.
    pub fn of_column(self) -> Option<RawColumnType> {
        let (_, _, name) = ElementType::KINDS.into_iter().find(|(_, code, _)| *code == self.code)?;
        Some(match (name, self.bits, self.lanes) {
            ("float", 32, 1) => RawColumnType::F32,
            ("float", 64, 1) => RawColumnType::F64,
            ("int", 8, 1) => RawColumnType::I8,
            ("int", 16, 1) => RawColumnType::I16,
            ("int", 32, 1) => RawColumnType::I32,
            ("int", 64, 1) => RawColumnType::I64,
            ("uint", 8, 1) => RawColumnType::U8,
            ("uint", 16, 1) => RawColumnType::U16,
            ("uint", 32, 1) => RawColumnType::U32,
            ("uint", 64, 1) => RawColumnType::U64,
            ("bool", 8, 1) => RawColumnType::Bool,
            _ => return None,
        })
    }

    /// The type of packed rows; None if the elements are no floats of 32 or 64 bits.
    pub fn dtype(self) -> Option<Dtype> {
        [Dtype::F32, Dtype::F64].into_iter().find(|dtype| ElementType::of(*dtype) == self)
    }

    /// The name as NumPy writes it.
    pub fn name(self) -> String {
        let known = ElementType::KINDS.into_iter().find(|(_, code, _)| *code == self.code);
        match known {
            Some((.., "bool")) => "bool".to_owned(),
            Some((.., name)) => format!("{name}{}", self.bits),
            None => "another type".to_owned(),
        }
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

/// The tensor of a capsule. Its memory is valid as long as the capsule.
pub struct ImportedTensor {
    /// Address of the first element; 0 if there is none.
    pub address: u64,
    /// Number of the GPU.
    pub device: i32,
    /// Type of the elements.
    pub element: ElementType,
    /// Number of elements in each dimension.
    pub shape: Vec<i64>,
    /// Distance between neighbours in each dimension, in elements; None if they are packed.
    pub strides: Option<Vec<i64>>,
}

impl ImportedTensor {
    /// The tensor in the memory of a GPU that a capsule holds. The capsule is not renamed, so it frees the
    /// tensor when it is dropped.
    ///
    /// # Errors
    /// BufferError for a tensor in other memory, or the error that the object is no such capsule.
    pub fn of(capsule: &Bound<'_, PyCapsule>) -> PyResult<ImportedTensor> {
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
        Ok(ImportedTensor {
            address: if raw.data.is_null() { 0 } else { raw.data as u64 + raw.byte_offset },
            device: raw.device.number,
            element: raw.element,
            shape: numbers(raw.shape).unwrap_or_default(),
            strides: numbers(raw.strides),
        })
    }
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
