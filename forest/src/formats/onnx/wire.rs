//! Reads protocol buffers in place. A message is a slice of the file, and each access to a field scans the
//! slice.
//!
//! The reader builds no structures in memory: an empty node of a graph takes two bytes, so a structure for
//! each node could take many times the size of the file.

use crate::codes;
use crate::error::ModelError;
use sched_diagnostics::Place;

/// A message, or another field with a length: a text or a byte string.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message<'a> {
    bytes: &'a [u8],
    /// Position in the file of the first byte that remains to be read.
    start: usize,
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldValue<'a> {
    /// A whole number.
    Varint(u64),
    /// Eight bytes.
    Fixed64([u8; 8]),
    /// A message, a text or a byte string.
    Bytes(Message<'a>),
    /// Four bytes.
    Fixed32([u8; 4]),
}

/// A field: its number and its value.
pub type MessageField<'a> = (u32, FieldValue<'a>);

/// Iterates over the fields of a message in the order of the file. Ends after the first error.
#[derive(Clone, Debug)]
pub struct MessageFields<'a> {
    rest: &'a [u8],
    end: usize,
}

const DAMAGED_HELP: &str =
    "the file was probably damaged or cut short; copy it again or save the model again";

impl<'a> Message<'a> {
    /// A whole file as a message.
    pub fn new(bytes: &'a [u8]) -> Message<'a> {
        Message { bytes, start: 0 }
    }

    /// Its bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Its fields, in the order of the file.
    pub fn fields(self) -> MessageFields<'a> {
        MessageFields { rest: self.bytes, end: self.start + self.bytes.len() }
    }

    /// The value of the last field with this number. Earlier fields do not count, by the rules of protocol
    /// buffers.
    ///
    /// # Errors
    /// `M0003` if a field is damaged.
    pub fn last(self, number: u32) -> Result<Option<FieldValue<'a>>, ModelError> {
        let mut found = None;
        for field in self.fields() {
            let (other, value) = field?;
            if other == number {
                found = Some(value);
            }
        }
        Ok(found)
    }

    /// The messages, texts or byte strings of a repeated field.
    pub fn all(self, number: u32) -> impl Iterator<Item = Result<Message<'a>, ModelError>> {
        self.fields().filter_map(move |field| match field {
            Ok((other, FieldValue::Bytes(message))) if other == number => Some(Ok(message)),
            Ok((other, _)) if other == number => Some(Err(self.wrong_type(number))),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        })
    }

    /// The message, text or byte string of a field; empty if the field is missing.
    ///
    /// # Errors
    /// `M0003` if a field is damaged, or the value is another one.
    pub fn child(self, number: u32) -> Result<Message<'a>, ModelError> {
        match self.last(number)? {
            Some(FieldValue::Bytes(message)) => Ok(message),
            Some(_) => Err(self.wrong_type(number)),
            None => Ok(Message { bytes: &[], start: self.start }),
        }
    }

    /// The whole number in a field.
    ///
    /// # Errors
    /// `M0003` if a field is damaged, or the value is another one.
    pub fn integer(self, number: u32) -> Result<Option<i64>, ModelError> {
        match self.last(number)? {
            Some(FieldValue::Varint(value)) => Ok(Some(value as i64)),
            Some(_) => Err(self.wrong_type(number)),
            None => Ok(None),
        }
    }

    /// The text of a field; empty if the field is missing.
    ///
    /// # Errors
    /// `M0003` if a field is damaged, or the value is no text.
    pub fn text(self, number: u32) -> Result<&'a str, ModelError> {
        self.child(number)?.as_text()
    }

    /// The bytes as text.
    ///
    /// # Errors
    /// `M0003` if they are not UTF-8.
    pub fn as_text(self) -> Result<&'a str, ModelError> {
        std::str::from_utf8(self.bytes).map_err(|error| {
            let at = self.start + error.valid_up_to();
            damaged("the text is not UTF-8", at)
        })
    }

    /// The error for a field whose value has another type.
    pub fn wrong_type(self, number: u32) -> ModelError {
        damaged(format!("field {number} of a message has the wrong type"), self.start)
    }
}

fn damaged(message: impl Into<String>, at: usize) -> ModelError {
    ModelError::new(codes::SYNTAX, message).at(Place::Byte(at)).help(DAMAGED_HELP)
}

impl<'a> MessageFields<'a> {
    fn at(&self) -> usize {
        self.end - self.rest.len()
    }

    #[inline]
    fn field(&mut self) -> Result<MessageField<'a>, ModelError> {
        let start = self.at();
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).ok().filter(|&number| number > 0 && number < 1 << 29);
        let Some(number) = number else { return Err(damaged("a field has an impossible number", start)) };
        let value = match key & 7 {
            0 => FieldValue::Varint(self.varint()?),
            1 => FieldValue::Fixed64(self.array()?),
            2 => {
                let length = self.varint()?;
                let start = self.at();
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                let bytes = self.take(length)?;
                FieldValue::Bytes(Message { bytes, start })
            }
            5 => FieldValue::Fixed32(self.array()?),
            kind => {
                return Err(damaged(format!("a field has the type {kind}, which ONNX does not use"), start));
            }
        };
        Ok((number, value))
    }

    /// The next whole number, in a variable number of bytes, mostly one.
    ///
    /// # Errors
    /// `M0003` if the bytes end within the number, or the number has too many bytes.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, ModelError> {
        match self.rest {
            [byte @ 0..0x80, rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(*byte))
            }
            [low, high @ 0..0x80, rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(*low & 0x7f) | u64::from(*high) << 7)
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, ModelError> {
        let mut value = 0;
        for (at, &byte) in self.rest.iter().enumerate().take(10) {
            value |= u64::from(byte & 0x7f) << (7 * at);
            if byte < 0x80 {
                self.rest = &self.rest[at + 1..];
                return Ok(value);
            }
        }
        let message = match self.rest.len() {
            0..10 => "the file ends within a number",
            _ => "a number has too many bytes",
        };
        Err(damaged(message, self.at()))
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], ModelError> {
        let at = self.at();
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| damaged("a number is cut short", at))
    }

    #[inline]
    fn take(&mut self, length: usize) -> Result<&'a [u8], ModelError> {
        match self.rest.split_at_checked(length) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            None => {
                let message = format!("{length} bytes should follow, and there are {}", self.rest.len());
                Err(damaged(message, self.at()))
            }
        }
    }

    /// The number and the wire type of the next field, even if its value is truncated.
    pub fn next_key(mut self) -> Option<(u32, u8)> {
        let key = self.varint().ok()?;
        Some((u32::try_from(key >> 3).ok()?, (key & 7) as u8))
    }

    /// Whether there are no more fields.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

impl<'a> Iterator for MessageFields<'a> {
    type Item = Result<MessageField<'a>, ModelError>;

    #[inline]
    fn next(&mut self) -> Option<Result<MessageField<'a>, ModelError>> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_place() {
        let bytes = b"\x08\x96\x01\x12\x02ab\x1d\x00\x00\x80\x3f\x21\0\0\0\0\0\0\xf0\x3f\x08\x05";
        let message = Message::new(bytes);
        let fields: Vec<MessageField> = message.fields().map(Result::unwrap).collect();
        assert_eq!(fields[0], (1, FieldValue::Varint(150)));
        assert_eq!(fields[2], (3, FieldValue::Fixed32(1.0f32.to_le_bytes())));
        assert_eq!(fields[3], (4, FieldValue::Fixed64(1.0f64.to_le_bytes())));
        assert_eq!(message.integer(1).unwrap(), Some(5));
        assert_eq!(message.text(2).unwrap(), "ab");
        assert_eq!(message.text(9).unwrap(), "");
        assert_eq!(message.integer(2).unwrap_err().code, codes::SYNTAX);
        assert_eq!(message.all(2).count(), 1);
    }

    #[test]
    fn damage_has_a_place() {
        let cases: [(&[u8], usize); 6] = [
            (b"\x08", 1),
            (b"\x08\xff", 1),
            (b"\x12\x05ab", 2),
            (b"\x00\x01", 0),
            (b"\x0b\x01", 0),
            (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 1),
        ];
        for (bytes, at) in cases {
            let mut fields = Message::new(bytes).fields();
            let error = fields.next().unwrap().unwrap_err();
            assert_eq!((error.code, error.place.clone()), (codes::SYNTAX, Place::Byte(at)), "{bytes:?}");
            assert!(fields.next().is_none());
        }
        assert_eq!(Message::new(b"\x0a\x01\xff").text(1).unwrap_err().place, Place::Byte(2));
    }
}
