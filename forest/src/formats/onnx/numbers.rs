//! Repeated fields of numbers. The file has them one by one or packed.

use super::wire::{FieldValue, Message, MessageFields};
use crate::codes;
use crate::error::ModelError;

/// Calls `each` with the whole numbers of a repeated field.
pub(super) fn varints(message: Message, number: u32, mut each: impl FnMut(i64)) -> Result<(), ModelError> {
    for field in message.fields() {
        match field? {
            (found, FieldValue::Varint(value)) if found == number => each(value as i64),
            (found, FieldValue::Bytes(packed)) if found == number => {
                let mut numbers: MessageFields = packed.fields();
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

/// The numbers of a repeated field, of four or eight bytes each.
pub(super) fn fixed<const N: usize>(
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
            FieldValue::Fixed32(bytes) => bytes,
            FieldValue::Fixed64(bytes) => bytes,
            FieldValue::Bytes(packed) => {
                values.append(&mut raw_numbers(*packed, &read)?);
                continue;
            }
            FieldValue::Varint(_) => return Err(message.wrong_type(number)),
        };
        values.push(read(single.try_into().map_err(|_| message.wrong_type(number))?));
    }
    Ok(values)
}

pub(super) fn raw_numbers<const N: usize, T>(
    raw: Message,
    read: impl Fn([u8; N]) -> T,
) -> Result<Vec<T>, ModelError> {
    let (numbers, rest) = raw.bytes().as_chunks::<N>();
    if !rest.is_empty() {
        let message = format!("{} bytes are no multiple of {N}, the size of a number", raw.bytes().len());
        return Err(ModelError::new(codes::LENGTH_MISMATCH, message));
    }
    Ok(numbers.iter().map(|&bytes| read(bytes)).collect())
}
