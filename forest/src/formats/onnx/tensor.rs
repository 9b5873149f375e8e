//! Tensors: arrays of numbers or texts in a file.

use super::numbers::{fixed, raw_numbers, varints};
use super::wire::{FieldValue, Message};
use crate::codes;
use crate::error::ModelError;
use crate::forest::Float;

/// Element types of tensors.
pub mod element {
    /// Single precision.
    pub const FLOAT: i64 = 1;
    /// Bytes.
    pub const UINT8: i64 = 2;
    /// Whole numbers of 32 bits.
    pub const INT32: i64 = 6;
    /// Whole numbers of 64 bits.
    pub const INT64: i64 = 7;
    /// Texts.
    pub const STRING: i64 = 8;
    /// Truth values.
    pub const BOOL: i64 = 9;
    /// Double precision.
    pub const DOUBLE: i64 = 11;

    /// The name of an element type.
    pub fn name(element: i64) -> String {
        let names = [
            "undefined",
            "float",
            "uint8",
            "int8",
            "uint16",
            "int16",
            "int32",
            "int64",
            "string",
            "bool",
            "float16",
            "double",
            "uint32",
            "uint64",
            "complex64",
            "complex128",
            "bfloat16",
        ];
        let name = usize::try_from(element).ok().and_then(|element| names.get(element));
        name.map_or_else(|| format!("type {element}"), |name| String::from(*name))
    }
}

/// The number of a tensor with one element, in single precision. `None` for any other tensor.
pub(super) fn single_number(tensor: Message) -> Result<Option<f64>, ModelError> {
    if tensor.integer(DATA_TYPE)? != Some(element::FLOAT) {
        return Ok(None);
    }
    match TensorProto::new(tensor)?.floats(Float::F32)?.as_slice() {
        &[number] => Ok(Some(number)),
        _ => Ok(None),
    }
}

/// A tensor in a file.
#[derive(Clone, Copy, Debug)]
pub struct TensorProto<'a> {
    message: Message<'a>,
    element: i64,
    raw: Option<Message<'a>>,
}

/// Maximum number of axes, which no tensor of a pipeline exceeds.
const MOST_AXES: usize = 8;

const DIMENSIONS: u32 = 1;
const DATA_TYPE: u32 = 2;
const FLOAT_DATA: u32 = 4;
const INT32_DATA: u32 = 5;
const STRING_DATA: u32 = 6;
const INT64_DATA: u32 = 7;
const RAW_DATA: u32 = 9;
const DOUBLE_DATA: u32 = 10;
const DATA_LOCATION: u32 = 14;

impl<'a> TensorProto<'a> {
    /// The tensor of a message.
    ///
    /// # Errors
    /// `M0042` if its numbers are in another file.
    pub fn new(message: Message<'a>) -> Result<TensorProto<'a>, ModelError> {
        if message.integer(DATA_LOCATION)?.unwrap_or(0) != 0 {
            return Err(ModelError::new(codes::ONNX_TYPE, "the numbers of a tensor are in another file")
                .help(
                    "save the model with its data in one file: onnx.save(model, path, \
                       save_as_external_data=False)",
                ));
        }
        let raw = match message.last(RAW_DATA)? {
            Some(FieldValue::Bytes(raw)) if !raw.bytes().is_empty() => Some(raw),
            Some(FieldValue::Bytes(_)) | None => None,
            Some(_) => return Err(message.wrong_type(RAW_DATA)),
        };
        Ok(TensorProto { message, element: message.integer(DATA_TYPE)?.unwrap_or(0), raw })
    }

    /// The type of its elements, one of the numbers in [`element`].
    pub fn element(&self) -> i64 {
        self.element
    }

    /// The number of values along each axis.
    ///
    /// # Errors
    /// `M0009` if a size is negative or 2^40 and more, or if there are too many axes.
    pub fn shape(&self) -> Result<Vec<usize>, ModelError> {
        let mut shape = Vec::new();
        let mut is_bounded = true;
        varints(self.message, DIMENSIONS, |size| {
            is_bounded &= (0..1 << 40).contains(&size) && shape.len() < MOST_AXES;
            shape.extend(usize::try_from(size).ok().filter(|_| is_bounded));
        })?;
        match is_bounded {
            true => Ok(shape),
            false => Err(ModelError::new(
                codes::BAD_PARAMETER,
                "the shape of a tensor has a negative or too large size, or too many axes",
            )),
        }
    }

    /// The elements of a tensor of whole numbers or truth values; these are 0 and 1.
    ///
    /// # Errors
    /// `M0042` if its type is another one.
    pub fn integers(&self) -> Result<Vec<i64>, ModelError> {
        let mut values = Vec::new();
        match (self.element, self.raw) {
            (element::INT64, Some(raw)) => raw_numbers(raw, i64::from_le_bytes),
            (element::INT32, Some(raw)) => raw_numbers(raw, |bytes| i64::from(i32::from_le_bytes(bytes))),
            (element::BOOL | element::UINT8, Some(raw)) => raw_numbers(raw, |[byte]: [u8; 1]| byte.into()),
            (element::INT64, None) => {
                varints(self.message, INT64_DATA, |value| values.push(value)).map(|()| values)
            }
            (element::INT32 | element::BOOL | element::UINT8, None) => {
                varints(self.message, INT32_DATA, |value| values.push(value)).map(|()| values)
            }
            _ => Err(self.wrong_element(element::INT64)),
        }
    }

    /// The elements of a tensor of texts.
    ///
    /// # Errors
    /// `M0042` if its type is another one, `M0003` if a text is not UTF-8.
    pub fn texts(&self) -> Result<Vec<&'a str>, ModelError> {
        if self.element != element::STRING {
            return Err(self.wrong_element(element::STRING));
        }
        self.message.all(STRING_DATA).map(|text| text?.as_text()).collect()
    }

    /// The elements of a tensor of the type `float`, widened.
    ///
    /// # Errors
    /// `M0042` if its type is another one.
    pub fn floats(&self, float: Float) -> Result<Vec<f64>, ModelError> {
        let wanted = match float {
            Float::F32 => element::FLOAT,
            Float::F64 => element::DOUBLE,
        };
        if self.element != wanted {
            return Err(self.wrong_element(wanted));
        }
        let single = |bytes| f64::from(f32::from_le_bytes(bytes));
        match (float, self.raw) {
            (Float::F32, Some(raw)) => raw_numbers(raw, single),
            (Float::F64, Some(raw)) => raw_numbers(raw, f64::from_le_bytes),
            (Float::F32, None) => fixed(self.message, FLOAT_DATA, single),
            (Float::F64, None) => fixed(self.message, DOUBLE_DATA, f64::from_le_bytes),
        }
    }

    pub(super) fn small(&self) -> Result<Vec<u8>, ModelError> {
        if self.element != element::UINT8 {
            return Err(self.wrong_element(element::UINT8));
        }
        if let Some(raw) = self.raw {
            return Ok(raw.bytes().to_vec());
        }
        let mut values = Vec::new();
        varints(self.message, INT32_DATA, |value| values.push(u8::try_from(value).unwrap_or(u8::MAX)))?;
        Ok(values)
    }

    fn wrong_element(&self, wanted: i64) -> ModelError {
        let (has, wanted) = (element::name(self.element), element::name(wanted));
        ModelError::new(
            codes::ONNX_TYPE,
            format!("the tensor has the type {has}, and the rows need {wanted}"),
        )
        .help("ONNX Runtime does not run such a model, either: give the tensors the type of the rows")
    }
}
