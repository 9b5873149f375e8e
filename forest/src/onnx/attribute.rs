//! Attributes of operators: arrays of numbers and texts, in the type that readers want.

use super::wire::{Fields, Message, Value};
use crate::codes;
use crate::error::ModelError;
use crate::forest::Float;

/// The attributes of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attributes<'a> {
    node: Message<'a>,
}

/// Element types of tensors.
pub(super) mod element {
    pub const FLOAT: i64 = 1;
    pub const UINT8: i64 = 2;
    pub const INT32: i64 = 6;
    pub const INT64: i64 = 7;
    pub const STRING: i64 = 8;
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

/// Numbers of fields.
const NODE_ATTRIBUTE: u32 = 5;
const NAME: u32 = 1;
const INT: u32 = 3;
const STRING: u32 = 4;
const TENSOR: u32 = 5;
const FLOATS: u32 = 7;
const INTS: u32 = 8;
const STRINGS: u32 = 9;

impl<'a> Attributes<'a> {
    pub fn of(node: Message<'a>) -> Attributes<'a> {
        Attributes { node }
    }

    fn find(self, name: &str) -> Result<Option<Message<'a>>, ModelError> {
        for attribute in self.node.all(NODE_ATTRIBUTE) {
            let attribute = attribute?;
            // The name comes first as a rule, so the values are not walked over here.
            for field in attribute.fields() {
                match field? {
                    (NAME, Value::Bytes(found)) if found.bytes() == name.as_bytes() => {
                        return Ok(Some(attribute));
                    }
                    (NAME, _) => break,
                    _ => {}
                }
            }
        }
        Ok(None)
    }

    /// Whether there is such an attribute.
    pub fn has(self, name: &str) -> Result<bool, ModelError> {
        Ok(self.find(name)?.is_some())
    }

    /// A whole number.
    pub fn int(self, name: &str) -> Result<Option<i64>, ModelError> {
        self.find(name)?.map_or(Ok(None), |attribute| attribute.integer(INT))
    }

    /// A text; empty if there is none.
    pub fn text(self, name: &str) -> Result<&'a str, ModelError> {
        self.find(name)?.map_or(Ok(""), |attribute| attribute.text(STRING))
    }

    /// Texts.
    pub fn texts(
        self,
        name: &str,
    ) -> Result<impl Iterator<Item = Result<Message<'a>, ModelError>>, ModelError> {
        Ok(self.find(name)?.into_iter().flat_map(|attribute| attribute.all(STRINGS)))
    }

    /// Calls `each` with the whole numbers of an attribute.
    pub fn for_ints(self, name: &str, each: impl FnMut(i64)) -> Result<(), ModelError> {
        self.find(name)?.map_or(Ok(()), |attribute| varints(attribute, INTS, each))
    }

    /// Whole numbers. Numbers beyond 32 bits become the nearest 32-bit number, which no file uses as an index
    /// or a count.
    pub fn ints(self, name: &str) -> Result<Vec<i32>, ModelError> {
        let Some(attribute) = self.find(name)? else { return Ok(Vec::new()) };
        let mut count = 0;
        varints(attribute, INTS, |_| count += 1)?;
        let mut values = Vec::with_capacity(count);
        varints(attribute, INTS, |value| {
            values.push(value.clamp(i32::MIN.into(), i32::MAX.into()) as i32);
        })?;
        Ok(values)
    }

    /// Numbers in single precision.
    pub fn floats(self, name: &str) -> Result<Vec<f64>, ModelError> {
        let Some(attribute) = self.find(name)? else { return Ok(Vec::new()) };
        fixed(attribute, FLOATS, |bytes: [u8; 4]| f64::from(f32::from_le_bytes(bytes)))
    }

    fn tensor(self, name: &str) -> Result<Option<Tensor<'a>>, ModelError> {
        let Some(attribute) = self.find(name)? else { return Ok(None) };
        let message = attribute.child(TENSOR)?;
        Tensor::new(message).map(Some).map_err(|error| error.at(name))
    }

    /// The numbers of a tensor of this type; none if there is no such attribute.
    pub fn tensor_floats(self, name: &str, float: Float) -> Result<Option<Vec<f64>>, ModelError> {
        let Some(tensor) = self.tensor(name)? else { return Ok(None) };
        tensor.floats(float).map(Some).map_err(|error| error.below(name))
    }

    /// The bytes of a tensor of small numbers.
    pub fn tensor_bytes(self, name: &str) -> Result<Vec<u8>, ModelError> {
        let Some(tensor) = self.tensor(name)? else { return Ok(Vec::new()) };
        tensor.small().map_err(|error| error.below(name))
    }
}

/// The number of a tensor that holds one, in single precision. None for any other tensor.
pub(super) fn single_number(tensor: Message) -> Result<Option<f64>, ModelError> {
    if tensor.integer(DATA_TYPE)? != Some(element::FLOAT) {
        return Ok(None);
    }
    match Tensor::new(tensor)?.floats(Float::F32)?.as_slice() {
        &[number] => Ok(Some(number)),
        _ => Ok(None),
    }
}

/// A tensor, whose shape does not matter here.
struct Tensor<'a> {
    message: Message<'a>,
    element: i64,
    raw: Option<Message<'a>>,
}

const DATA_TYPE: u32 = 2;
const FLOAT_DATA: u32 = 4;
const INT32_DATA: u32 = 5;
const RAW_DATA: u32 = 9;
const DOUBLE_DATA: u32 = 10;
const DATA_LOCATION: u32 = 14;

impl<'a> Tensor<'a> {
    fn new(message: Message<'a>) -> Result<Tensor<'a>, ModelError> {
        if message.integer(DATA_LOCATION)?.unwrap_or(0) != 0 {
            return Err(ModelError::new(codes::ONNX_TYPE, "the numbers of a tensor are in another file")
                .help(
                    "save the model with its data in one file: onnx.save(model, path, \
                       save_as_external_data=False)",
                ));
        }
        let raw = match message.last(RAW_DATA)? {
            Some(Value::Bytes(raw)) if !raw.bytes().is_empty() => Some(raw),
            Some(Value::Bytes(_)) | None => None,
            Some(_) => return Err(message.wrong_type(RAW_DATA)),
        };
        Ok(Tensor { message, element: message.integer(DATA_TYPE)?.unwrap_or(0), raw })
    }

    fn floats(&self, float: Float) -> Result<Vec<f64>, ModelError> {
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

    fn small(&self) -> Result<Vec<u8>, ModelError> {
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
        ModelError::new(codes::ONNX_TYPE, format!("the tensor is of {has}, where the rows ask for {wanted}"))
            .help("ONNX Runtime does not run such a model, either: give the tensors the type of the rows")
    }
}

/// Calls `each` with the whole numbers of a field, one by one in the file or packed.
fn varints(message: Message, number: u32, mut each: impl FnMut(i64)) -> Result<(), ModelError> {
    for field in message.fields() {
        match field? {
            (found, Value::Varint(value)) if found == number => each(value as i64),
            (found, Value::Bytes(packed)) if found == number => {
                let mut numbers: Fields = packed.fields();
                while !numbers.is_empty() {
                    each(numbers.varint()? as i64);
                }
            }
            (found, _) if found == number => return Err(message.wrong_type(number)),
            _ => {}
        }
    }
    Ok(())
}

/// The numbers of a field in four or eight bytes each, one by one in the file or packed.
fn fixed<const N: usize>(
    message: Message,
    number: u32,
    read: impl Fn([u8; N]) -> f64,
) -> Result<Vec<f64>, ModelError> {
    let mut values = Vec::new();
    for field in message.fields() {
        let (found, value) = field?;
        if found != number {
            continue;
        }
        let single: &[u8] = match &value {
            Value::Fixed32(bytes) => bytes,
            Value::Fixed64(bytes) => bytes,
            Value::Bytes(packed) => {
                values.append(&mut raw_numbers(*packed, &read)?);
                continue;
            }
            Value::Varint(_) => return Err(message.wrong_type(number)),
        };
        values.push(read(single.try_into().map_err(|_| message.wrong_type(number))?));
    }
    Ok(values)
}

fn raw_numbers<const N: usize>(raw: Message, read: impl Fn([u8; N]) -> f64) -> Result<Vec<f64>, ModelError> {
    let (numbers, rest) = raw.bytes().as_chunks::<N>();
    if !rest.is_empty() {
        let message = format!("{} bytes are no whole count of numbers of {N} bytes", raw.bytes().len());
        return Err(ModelError::new(codes::LENGTH_MISMATCH, message));
    }
    Ok(numbers.iter().map(|&bytes| read(bytes)).collect())
}
