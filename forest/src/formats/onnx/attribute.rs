//! Attributes of nodes: numbers, texts and arrays of these.

use super::numbers::{fixed, varints};
use super::tensor::TensorProto;
use super::wire::{FieldValue, Message};
use crate::error::ModelError;
use crate::forest::Float;

/// The attributes of a node.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    node: Message<'a>,
}

/// Numbers of fields in ONNX's messages.
const NODE_ATTRIBUTE: u32 = 5;
const NAME: u32 = 1;
const FLOAT: u32 = 2;
const INT: u32 = 3;
const STRING: u32 = 4;
const TENSOR: u32 = 5;
const FLOATS: u32 = 7;
const INTS: u32 = 8;
const STRINGS: u32 = 9;

impl<'a> Attributes<'a> {
    /// The attributes of this node.
    pub fn of(node: Message<'a>) -> Attributes<'a> {
        Attributes { node }
    }

    fn find(self, name: &str) -> Result<Option<Message<'a>>, ModelError> {
        for attribute in self.node.all(NODE_ATTRIBUTE) {
            let attribute = attribute?;
            // The name usually comes first, so the search does not read the values.
            for field in attribute.fields() {
                match field? {
                    (NAME, FieldValue::Bytes(found)) if found.bytes() == name.as_bytes() => {
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
    ///
    /// # Errors
    /// `M0003` if the file is damaged there.
    pub fn has(self, name: &str) -> Result<bool, ModelError> {
        Ok(self.find(name)?.is_some())
    }

    /// A whole number.
    ///
    /// # Errors
    /// `M0003` if the file is damaged there.
    pub fn int(self, name: &str) -> Result<Option<i64>, ModelError> {
        self.find(name)?.map_or(Ok(None), |attribute| attribute.integer(INT))
    }

    /// A text; empty if there is none.
    ///
    /// # Errors
    /// `M0003` if the file is damaged there.
    pub fn text(self, name: &str) -> Result<&'a str, ModelError> {
        self.find(name)?.map_or(Ok(""), |attribute| attribute.text(STRING))
    }

    /// Texts.
    ///
    /// # Errors
    /// `M0003` if the file is damaged there.
    pub fn texts(
        self,
        name: &str,
    ) -> Result<impl Iterator<Item = Result<Message<'a>, ModelError>>, ModelError> {
        Ok(self.find(name)?.into_iter().flat_map(|attribute| attribute.all(STRINGS)))
    }

    /// Calls `each` with the whole numbers of an attribute.
    ///
    /// # Errors
    /// `M0003` if the file is damaged there.
    pub fn for_ints(self, name: &str, each: impl FnMut(i64)) -> Result<(), ModelError> {
        self.find(name)?.map_or(Ok(()), |attribute| varints(attribute, INTS, each))
    }

    /// Whole numbers. Numbers beyond 32 bits become the nearest 32-bit number, which is no valid index or
    /// count.
    ///
    /// # Errors
    /// `M0003` if the file is damaged there.
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
    ///
    /// # Errors
    /// `M0003` if the file is damaged there.
    pub fn floats(self, name: &str) -> Result<Vec<f64>, ModelError> {
        let Some(attribute) = self.find(name)? else { return Ok(Vec::new()) };
        fixed(attribute, FLOATS, |bytes: [u8; 4]| f64::from(f32::from_le_bytes(bytes)))
    }

    /// A number in single precision.
    ///
    /// # Errors
    /// `M0003` if the file is damaged there.
    pub fn float(self, name: &str) -> Result<Option<f32>, ModelError> {
        let Some(attribute) = self.find(name)? else { return Ok(None) };
        match attribute.last(FLOAT)? {
            Some(FieldValue::Fixed32(bytes)) => Ok(Some(f32::from_le_bytes(bytes))),
            Some(_) => Err(attribute.wrong_type(FLOAT)),
            None => Ok(None),
        }
    }

    /// A tensor.
    ///
    /// # Errors
    /// `M0042` if its numbers are in another file.
    pub fn tensor(self, name: &str) -> Result<Option<TensorProto<'a>>, ModelError> {
        let Some(attribute) = self.find(name)? else { return Ok(None) };
        let message = attribute.child(TENSOR)?;
        TensorProto::new(message).map(Some).map_err(|error| error.at(name))
    }

    /// The numbers of a tensor whose elements have the type `float`; `None` if there is no such attribute.
    ///
    /// # Errors
    /// `M0042` if its type is another one.
    pub fn tensor_floats(self, name: &str, float: Float) -> Result<Option<Vec<f64>>, ModelError> {
        let Some(tensor) = self.tensor(name)? else { return Ok(None) };
        tensor.floats(float).map(Some).map_err(|error| error.within(name))
    }

    /// The elements of a tensor of bytes; empty if there is no such attribute.
    ///
    /// # Errors
    /// `M0042` if its type is another one.
    pub fn tensor_bytes(self, name: &str) -> Result<Vec<u8>, ModelError> {
        let Some(tensor) = self.tensor(name)? else { return Ok(Vec::new()) };
        tensor.small().map_err(|error| error.within(name))
    }
}
