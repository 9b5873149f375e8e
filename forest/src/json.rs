//! Reading a JSON or UBJSON document into serde types, with errors that say where.
//!
//! The first pass keeps no track of where it is, because that costs time on every value. Only when a value has the
//! wrong type is the document read a second time with the path recorded.

use sched_diagnostics::Place;
use std::borrow::Cow;

use serde::de::DeserializeOwned;

use crate::codes;
use crate::error::ModelError;
use crate::ubjson;

const RETRAIN: &str = "the file was probably damaged or cut short; copy it again or save the model again";
const STRUCTURE: &str =
    "the file was changed by hand or by another program; save the model again with XGBoost";

/// Reads a JSON document. `NaN` and `Infinity`, which are not JSON but are written by XGBoost before release 3, are
/// read as `null`.
pub(crate) fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ModelError> {
    let error = match serde_json::from_slice(bytes) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    if error.is_data() {
        return Err(locate_json::<T>(bytes, &error));
    }
    let (clean, grown) = without_literals(bytes);
    if let Cow::Owned(clean) = &clean {
        return match serde_json::from_slice(clean) {
            Ok(value) => Ok(value),
            Err(error) if error.is_data() => Err(locate_json::<T>(clean, &error)),
            Err(error) => Err(json_syntax(clean, &error, &grown)),
        };
    }
    Err(json_syntax(bytes, &error, &[]))
}

fn json_syntax(bytes: &[u8], error: &serde_json::Error, grown: &[usize]) -> ModelError {
    let line_start = match error.line() {
        0 | 1 => 0,
        line => bytes
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .nth(line - 2)
            .map_or(0, |(at, _)| at + 1),
    };
    let offset = match error.is_eof() {
        true => bytes.len(),
        false => (line_start + error.column().saturating_sub(1)).min(bytes.len()),
    };
    let offset = offset - grown.partition_point(|&at| at < offset);
    ModelError::new(codes::SYNTAX, format!("the JSON cannot be read: {}", without_position(error)))
        .at(Place::Byte(offset))
        .help(RETRAIN)
}

fn locate_json<T: DeserializeOwned>(bytes: &[u8], error: &serde_json::Error) -> ModelError {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let located = serde_path_to_error::deserialize::<_, T>(&mut reader);
    let place = located.err().map(|error| error.path().to_string()).unwrap_or_default();
    structure(&without_position(error), place)
}

/// Reads a UBJSON document.
pub(crate) fn from_ubjson<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ModelError> {
    let mut reader = ubjson::Reader::new(bytes);
    let error = match T::deserialize(&mut reader).and_then(|value| reader.end().map(|()| value)) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    if !error.is_data {
        return Err(ModelError::new(codes::SYNTAX, format!("the UBJSON cannot be read: {}", error.message))
            .at(Place::Byte(reader.position()))
            .help(RETRAIN));
    }
    let located = serde_path_to_error::deserialize::<_, T>(&mut ubjson::Reader::new(bytes));
    let place = located.err().map(|error| error.path().to_string()).unwrap_or_default();
    Err(structure(&error.message, place))
}

fn structure(message: &str, place: String) -> ModelError {
    let place = if place == "." { String::new() } else { place };
    ModelError::new(codes::STRUCTURE, format!("the document is not as expected: {message}"))
        .at(place)
        .help(STRUCTURE)
}

/// The message without the ` at line 1 column 7` that serde_json appends.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text[..end].to_owned()
}

/// Numbers that JSON does not have.
const LITERALS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];

/// Replaces `NaN`, `Infinity` and `-Infinity` outside strings by `null`. Also returns, ascending, the positions in the
/// new text where it is one byte longer than the old one.
fn without_literals(bytes: &[u8]) -> (Cow<'_, [u8]>, Vec<usize>) {
    let mut clean = Vec::new();
    let mut grown = Vec::new();
    let (mut copied, mut at, mut in_string) = (0, 0, false);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let literal = match bytes[at] {
            b'N' | b'I' | b'-' if !in_string => {
                LITERALS.into_iter().find(|literal| rest.starts_with(literal))
            }
            _ => None,
        };
        match (literal, bytes[at]) {
            (Some(literal), _) => {
                clean.extend_from_slice(&bytes[copied..at]);
                clean.extend_from_slice(b"null");
                clean.extend(std::iter::repeat_n(b' ', literal.len().saturating_sub(4)));
                at += literal.len();
                copied = at;
                if literal.len() < 4 {
                    grown.push(clean.len());
                }
                continue;
            }
            (None, b'\\') if in_string => at += 1,
            (None, b'"') => in_string = !in_string,
            _ => {}
        }
        at += 1;
    }
    if copied == 0 {
        return (Cow::Borrowed(bytes), grown);
    }
    clean.extend_from_slice(&bytes[copied..]);
    (Cow::Owned(clean), grown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_become_null_outside_strings() {
        let (clean, grown) = without_literals(br#"{"NaN\"NaN":[NaN,-Infinity,1]}"#);
        assert_eq!(clean, &br#"{"NaN\"NaN":[null,null     ,1]}"#[..]);
        assert_eq!(grown, [17]);
    }

    #[test]
    fn syntax_errors_say_the_byte() {
        for (text, place) in [("[1,\n 2,\n x]", "byte 9"), ("[NaN,NaN,x]", "byte 9"), ("[1,2", "byte 4")] {
            let error = from_json::<Vec<Option<f32>>>(text.as_bytes()).err();
            let error = error.unwrap_or_else(|| panic!("{text} was read"));
            assert_eq!((error.code, error.place.to_string().as_str()), (codes::SYNTAX, place), "{text}");
        }
    }

    #[test]
    fn structure_errors_say_the_path() {
        type Nested = std::collections::BTreeMap<String, Vec<i32>>;
        let error = from_json::<Nested>(br#"{"a":[1],"b":[1,"x"]}"#).unwrap_err();
        assert_eq!((error.code, error.place.to_string().as_str()), (codes::STRUCTURE, "b[1]"));
        let error = from_ubjson::<Nested>(b"{U\x01a[i\x01]U\x01b[i\x01SU\x01x]}").unwrap_err();
        assert_eq!((error.code, error.place.to_string().as_str()), (codes::STRUCTURE, "b[1]"));
        let read =
            from_ubjson::<Nested>(b"{U\x01a[i\x01]U\x01b[$l#U\x02\0\0\0\x05\xff\xff\xff\xff}").unwrap();
        assert_eq!(read["b"], [5, -1]);
    }
}
