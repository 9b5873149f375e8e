//! Reads a JSON or UBJSON document into serde types. Errors name the path of the value.
//!
//! The first pass records no paths, because that costs time on every value. If a value has the wrong type, a
//! second pass records the path.

mod bare;
pub(crate) mod keys;
pub(crate) mod path;
mod scalar;

use sched_diagnostics::Place;

use serde::de::DeserializeOwned;

use crate::codes;
use crate::error::ModelError;
use crate::ubjson;
use bare::without_position;

const DAMAGED_HELP: &str =
    "the file was probably damaged or cut short; copy it again or save the model again";
const STRUCTURE_HELP: &str =
    "the file was changed by hand or by another program; save the model again with XGBoost";

/// Reads a JSON document. `NaN`, `Infinity` and `-Infinity`, which are not JSON but are written by XGBoost,
/// are numbers.
pub(crate) fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ModelError> {
    let error = match serde_json::from_slice(bytes) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    if error.is_data() {
        return Err(structure(&without_position(&error), json_place::<T>(bytes)));
    }
    let offset = offset(bytes, &error);
    match bare::stands_at(bytes, offset) {
        true => with_bare_numbers(bytes),
        false => Err(json_syntax(bytes, &without_position(&error), offset)),
    }
}

/// Reads a document in which serde_json met a bare number.
fn with_bare_numbers<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ModelError> {
    let mut reader = bare::JsonReader::new(bytes);
    let error = match T::deserialize(&mut reader).and_then(|value| reader.end().map(|()| value)) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    if !error.is_data {
        return Err(json_syntax(bytes, &error.message, reader.position()));
    }
    Err(structure(&error.message, json_place::<T>(bytes)))
}

/// The position of the byte at which serde_json stopped.
fn offset(bytes: &[u8], error: &serde_json::Error) -> usize {
    if error.is_eof() {
        return bytes.len();
    }
    let line_start = match error.line() {
        0 | 1 => 0,
        line => bytes
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .nth(line - 2)
            .map_or(0, |(at, _)| at + 1),
    };
    (line_start + error.column().saturating_sub(1)).min(bytes.len())
}

/// The error for a document that breaks the rules of JSON at a byte.
fn json_syntax(bytes: &[u8], message: &str, offset: usize) -> ModelError {
    // A UTF-8 character has at most four bytes.
    let read = &bytes[..bytes.len().min(offset + 4)];
    if let Some(error) = std::str::from_utf8(read).err().filter(|error| error.error_len().is_some())
        && error.valid_up_to() <= offset
    {
        return not_utf8("JSON", error.valid_up_to());
    }
    ModelError::new(codes::SYNTAX, format!("the JSON cannot be read: {message}"))
        .at(Place::Byte(offset))
        .help(DAMAGED_HELP)
}

/// The error for a text in another encoding, usually a name.
fn not_utf8(format: &str, offset: usize) -> ModelError {
    let message =
        format!("the {format} has a text that is not UTF-8, such as a name in Latin-1 or Shift JIS");
    ModelError::new(codes::SYNTAX, message).at(Place::Byte(offset)).help(
        "give the features names in UTF-8 (XGBoost in Python: `booster.feature_names = [...]`) and save the \
         model again",
    )
}

/// The path of the value in a JSON document that is not as `T` expects.
fn json_place<T: DeserializeOwned>(bytes: &[u8]) -> String {
    let mut reader = bare::JsonReader::with_path(bytes);
    T::deserialize(&mut reader).err().map(|_| reader.path().to_string()).unwrap_or_default()
}

/// Reads a UBJSON document.
pub(crate) fn from_ubjson<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ModelError> {
    let mut reader = ubjson::UbjsonReader::new(bytes);
    let error = match T::deserialize(&mut reader).and_then(|value| reader.end().map(|()| value)) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    if error.is_encoding {
        return Err(not_utf8("UBJSON", reader.position()));
    }
    if !error.is_data {
        return Err(ModelError::new(codes::SYNTAX, format!("the UBJSON cannot be read: {}", error.message))
            .at(Place::Byte(reader.position()))
            .help(DAMAGED_HELP));
    }
    let mut reader = ubjson::UbjsonReader::with_path(bytes);
    let place = T::deserialize(&mut reader).err().map(|_| reader.path().to_string()).unwrap_or_default();
    Err(structure(&error.message, place))
}

fn structure(message: &str, place: String) -> ModelError {
    ModelError::new(codes::STRUCTURE, format!("the document is not as expected: {message}"))
        .at(place)
        .help(STRUCTURE_HELP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_errors_say_the_byte() {
        let cases = [
            ("[1,\n 2,\n x]", "byte 9"),
            ("[NaN,NaN,x]", "byte 9"),
            ("[1,2", "byte 4"),
            ("[-Infinity,2", "byte 12"),
            ("[1,\n -Infinity,\n -Inf]", "byte 17"),
        ];
        for (text, place) in cases {
            let error = from_json::<Vec<Option<f32>>>(text.as_bytes()).err();
            let error = error.unwrap_or_else(|| panic!("{text} was read"));
            assert_eq!((error.code, error.place.to_string().as_str()), (codes::SYNTAX, place), "{text}");
        }
    }

    #[test]
    fn other_encodings_are_named() {
        type Names = Vec<String>;
        for (bytes, place) in [
            (from_json::<Names>(b"[\"a\",\"M\xfcnchen\"]"), "byte 7"),
            (from_ubjson::<Names>(b"[SU\x01aSU\x02M\xfc]"), "byte 9"),
        ] {
            let error = bytes.unwrap_err();
            assert_eq!((error.code, error.place.to_string().as_str()), (codes::SYNTAX, place), "{error}");
            assert!(error.message.contains("not UTF-8"), "{error}");
            assert!(error.help.as_ref().unwrap().contains("feature_names"), "{error}");
        }
    }

    #[test]
    fn structure_errors_say_the_path() {
        type Nested = std::collections::BTreeMap<String, Vec<i32>>;
        let error = from_json::<Nested>(br#"{"a":[1],"b":[1,"x"]}"#).unwrap_err();
        assert_eq!((error.code, error.place.to_string().as_str()), (codes::STRUCTURE, "b[1]"));
        let error = from_json::<Nested>(br#"{"a":[1],"b":[1,Infinity]}"#).unwrap_err();
        assert_eq!((error.code, error.place.to_string().as_str()), (codes::STRUCTURE, "b[1]"));
        let error = from_ubjson::<Nested>(b"{U\x01a[i\x01]U\x01b[i\x01SU\x01x]}").unwrap_err();
        assert_eq!((error.code, error.place.to_string().as_str()), (codes::STRUCTURE, "b[1]"));
        let read =
            from_ubjson::<Nested>(b"{U\x01a[i\x01]U\x01b[$l#U\x02\0\0\0\x05\xff\xff\xff\xff}").unwrap();
        assert_eq!(read["b"], [5, -1]);
    }
}
