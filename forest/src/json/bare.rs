//! A reader of JSON that also accepts the bare numbers `NaN`, `Infinity` and `-Infinity`, as XGBoost writes
//! them.
//!
//! This reader parses containers and bare numbers, and passes every other value to serde_json. So both
//! readers agree on values, and `NaN` inside a quoted text stays text. The reader can record the path of the
//! value that it is at, for messages.

use super::path::ValuePath;
use super::scalar::JsonScalar;
use serde::de::{self, DeserializeOwned, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

/// Maximum nesting of containers, as in serde_json.
const MAX_NESTING: u32 = 128;

/// Spellings of bare numbers, with their values.
const LITERALS: [(&[u8], f64); 3] =
    [(b"NaN", f64::NAN), (b"Infinity", f64::INFINITY), (b"-Infinity", f64::NEG_INFINITY)];

/// The bare number at the start of the bytes, if there is one.
fn literal(bytes: &[u8]) -> Option<(&'static [u8], f64)> {
    LITERALS.into_iter().find(|(name, _)| bytes.starts_with(name))
}

/// Whether a bare number begins at a position, or one byte before it, since serde_json consumes a sign first.
pub(super) fn stands_at(bytes: &[u8], position: usize) -> bool {
    let begins = |at: usize| bytes.get(at..).is_some_and(|rest| literal(rest).is_some());
    begins(position) || position.checked_sub(1).is_some_and(begins)
}

/// A reader of one document.
pub(super) struct JsonReader<'de> {
    bytes: &'de [u8],
    position: usize,
    nesting: u32,
    path: ValuePath,
}

/// The reason why the reader stopped.
#[derive(Debug)]
pub(super) struct JsonError {
    /// The message for the user.
    pub message: String,
    /// Whether the document is well-formed, but a value does not have the type that the caller expects.
    pub is_data: bool,
}

impl JsonError {
    fn syntax(message: &str) -> JsonError {
        JsonError { message: message.into(), is_data: false }
    }
}

impl std::fmt::Display for JsonError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for JsonError {}

impl de::Error for JsonError {
    fn custom<T: std::fmt::Display>(message: T) -> JsonError {
        JsonError { message: message.to_string(), is_data: true }
    }
}

/// The message without the ` at line 1 column 7` that serde_json appends.
pub(super) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text[..end].to_owned()
}

impl<'de> JsonReader<'de> {
    pub(super) fn new(bytes: &'de [u8]) -> JsonReader<'de> {
        JsonReader { bytes, position: 0, nesting: 0, path: ValuePath::default() }
    }

    /// A reader that records the path of the value that it is at.
    pub(super) fn with_path(bytes: &'de [u8]) -> JsonReader<'de> {
        JsonReader { path: ValuePath::recorded(), ..JsonReader::new(bytes) }
    }

    /// The path of the value that the reader is at, or at which it failed.
    pub(super) fn path(&self) -> &ValuePath {
        &self.path
    }

    /// The number of bytes read so far.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Checks that only white space follows.
    pub(super) fn end(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(JsonError::syntax("trailing characters")),
        }
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.bytes.get(self.position..)?;
        let skipped = rest.iter().position(|byte| !matches!(byte, b' ' | b'\n' | b'\r' | b'\t'))?;
        self.position += skipped;
        rest.get(skipped).copied()
    }

    fn expect(&mut self, byte: u8, message: &str) -> Result<(), JsonError> {
        match self.peek() {
            Some(found) if found == byte => {
                self.position += 1;
                Ok(())
            }
            Some(_) => Err(JsonError::syntax(message)),
            None => Err(self.ended()),
        }
    }

    fn ended(&mut self) -> JsonError {
        self.position = self.bytes.len();
        JsonError::syntax("EOF while parsing a value")
    }

    /// Consumes a bare number, if one follows.
    fn bare(&mut self) -> Option<f64> {
        self.peek()?;
        let (name, value) = literal(self.bytes.get(self.position..)?)?;
        self.position += name.len();
        Some(value)
    }

    /// Consumes a text, a number or a word, and returns its bytes.
    fn scalar_bytes(&mut self) -> Result<&'de [u8], JsonError> {
        let first = self.peek().ok_or_else(|| self.ended())?;
        let rest = &self.bytes[self.position..];
        let length = match first {
            b'"' => end_of_text(rest).ok_or_else(|| self.ended())?,
            _ => rest
                .iter()
                .position(
                    |byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.'),
                )
                .unwrap_or(rest.len()),
        };
        if length == 0 {
            return Err(JsonError::syntax("expected value"));
        }
        self.position += length;
        Ok(&rest[..length])
    }

    /// Reads a value that is not a container, by serde_json. Visitors get it from here: code of serde_json
    /// for each of them would be most of this crate's code.
    fn scalar(&mut self) -> Result<JsonScalar<'de>, JsonError> {
        let bytes = self.scalar_bytes()?;
        serde_json::from_slice(bytes).map_err(|error| self.scalar_error(bytes, &error))
    }

    /// Reads a number, rounded once to the type that the caller expects; `None` for other values.
    fn number<T: DeserializeOwned>(&mut self) -> Result<Option<T>, JsonError> {
        let is_number = matches!(self.peek(), Some(b'0'..=b'9' | b'-'));
        if !is_number || literal(&self.bytes[self.position..]).is_some() {
            return Ok(None);
        }
        let bytes = self.scalar_bytes()?;
        serde_json::from_slice(bytes).map(Some).map_err(|error| self.scalar_error(bytes, &error))
    }

    /// The error of serde_json for a scalar whose last byte was read.
    fn scalar_error(&mut self, bytes: &[u8], error: &serde_json::Error) -> JsonError {
        if !error.is_data() && !error.is_eof() {
            self.position -= bytes.len();
        }
        JsonError { message: without_position(error), is_data: error.is_data() }
    }

    /// Reads the contents of a container, and limits the nesting.
    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut JsonItems<'_, 'de>) -> Result<T, JsonError>,
    ) -> Result<T, JsonError> {
        if self.nesting == MAX_NESTING {
            return Err(JsonError::syntax("recursion limit exceeded"));
        }
        let close = if self.bytes[self.position] == b'[' { b']' } else { b'}' };
        self.position += 1;
        self.nesting += 1;
        let mut items = JsonItems { reader: self, close, read: 0, is_closed: false };
        let value = read(&mut items)?;
        if !items.is_closed && items.next()? {
            return Err(de::Error::custom("a container has more values than expected"));
        }
        self.nesting -= 1;
        Ok(value)
    }
}

/// The length of a quoted text, quotes included.
fn end_of_text(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
            match self.number()? {
                Some(value) => visitor.$visit(value),
                None => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> de::Deserializer<'de> for &mut JsonReader<'de> {
    type Error = JsonError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        match self.peek() {
            Some(b'[') => self.nested(|items| visitor.visit_seq(items)),
            Some(b'{') => self.nested(|items| visitor.visit_map(items)),
            _ => match self.bare() {
                Some(value) => visitor.visit_f64(value),
                None => self.scalar()?.visit(visitor),
            },
        }
    }

    // serde_json rounds numbers once, to the requested type.
    numbers! { deserialize_f32 visit_f32 deserialize_f64 visit_f64 }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        match self.peek() {
            Some(b'n') => self.scalar().and_then(|_| visitor.visit_none()),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        match self.peek() {
            Some(b'[' | b'{') => self.deserialize_any(visitor),
            _ => {
                self.scalar_bytes()?;
                visitor.visit_unit()
            }
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map struct enum identifier
    }
}

/// The contents of a container.
struct JsonItems<'r, 'de> {
    reader: &'r mut JsonReader<'de>,
    close: u8,
    /// Number of items before the next one.
    read: usize,
    is_closed: bool,
}

impl JsonItems<'_, '_> {
    /// Advances to the next item. Returns false at the end.
    fn next(&mut self) -> Result<bool, JsonError> {
        if self.reader.peek() == Some(self.close) {
            self.reader.position += 1;
            self.is_closed = true;
            return Ok(false);
        }
        if self.read > 0 {
            self.reader.expect(b',', "expected `,` or the end of a list or of an object")?;
            if self.reader.peek() == Some(self.close) {
                return Err(JsonError::syntax("trailing comma"));
            }
        }
        self.read += 1;
        Ok(true)
    }
}

impl<'de> SeqAccess<'de> for &mut JsonItems<'_, 'de> {
    type Error = JsonError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, JsonError> {
        if !self.next()? {
            return Ok(None);
        }
        self.reader.path.enter_item(self.read - 1);
        let value = seed.deserialize(&mut *self.reader)?;
        self.reader.path.leave();
        Ok(Some(value))
    }
}

impl<'de> MapAccess<'de> for &mut JsonItems<'_, 'de> {
    type Error = JsonError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, JsonError> {
        if !self.next()? {
            return Ok(None);
        }
        match self.reader.peek() {
            Some(b'"') => {
                let rest = &self.reader.bytes[self.reader.position..];
                let key = end_of_text(rest).map_or(rest, |end| &rest[..end]);
                self.reader.path.enter_key(|| serde_json::from_slice(key).unwrap_or_default());
                seed.deserialize(&mut *self.reader).map(Some)
            }
            Some(_) => Err(JsonError::syntax("key must be a string")),
            None => Err(self.reader.ended()),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, JsonError> {
        self.reader.expect(b':', "expected `:`")?;
        let value = seed.deserialize(&mut *self.reader)?;
        self.reader.path.leave();
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde::de::DeserializeOwned;
    use serde_json::Value;
    use std::collections::BTreeMap;

    fn parse<T: DeserializeOwned>(text: &str) -> Result<T, JsonError> {
        let mut reader = JsonReader::new(text.as_bytes());
        T::deserialize(&mut reader).and_then(|value| reader.end().map(|()| value))
    }

    #[test]
    fn bare_numbers_are_values() {
        let values = parse::<Vec<f32>>(" [ NaN , -Infinity,Infinity, -1.5e0 ] ").unwrap();
        assert!(values[0].is_nan());
        assert_eq!(values[1..], [f32::NEG_INFINITY, f32::INFINITY, -1.5]);
        assert_eq!(parse::<Vec<Option<f64>>>("[null,Infinity]").unwrap(), [None, Some(f64::INFINITY)]);
    }

    #[test]
    fn texts_keep_the_names_of_bare_numbers() {
        let text = r#"{"NaN\"NaN":"[Infinity,\\","\u00e9, -Infinity":"NaN"}"#;
        let map = parse::<BTreeMap<String, String>>(text).unwrap();
        assert_eq!(map["NaN\"NaN"], "[Infinity,\\");
        assert_eq!(map["\u{e9}, -Infinity"], "NaN");
    }

    /// Documents without bare numbers give the same values as with serde_json.
    #[test]
    fn values_are_those_of_serde_json() {
        for text in [
            r#"{"a":[1,-2,3.5e3,18446744073709551615,true,false,null,"x\n\ud83d\ude00"],"b":{},"c":[[]]}"#,
            " [ ] ",
            "\t\"text\"\r\n",
            "-0",
            "[1 ,2\n, 3]",
        ] {
            assert_eq!(parse::<Value>(text).unwrap(), serde_json::from_str::<Value>(text).unwrap(), "{text}");
        }
        // Decimal numbers are rounded once, to single precision, not first to double precision.
        let text = "[16777217.0000000001,1.00000017881393432617187499]";
        assert_eq!(parse::<Vec<f32>>(text).unwrap(), serde_json::from_str::<Vec<f32>>(text).unwrap());
    }

    #[test]
    fn nonsense_is_refused_as_by_serde_json() {
        let cases = [
            "",
            "[",
            "[1",
            "[1,",
            "[1,]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{1:2}",
            "[01]",
            "[+1]",
            "[1.]",
            "[nan]",
            "[Infinit]",
            "[--Infinity]",
            "[InfinityInfinity]",
            "[NaN1]",
            "\"abc",
            "\"\\x\"",
            "[1]]",
            "[}",
            "{]",
            "[tru]",
            "[\u{1}]",
            "\"\u{1}\"",
        ];
        for text in cases {
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
            let error = parse::<Value>(text).err().unwrap_or_else(|| panic!("{text} was read"));
            assert!(!error.is_data, "{text}: {error}");
        }
        assert!(parse::<Vec<i32>>("[1,\"x\"]").unwrap_err().is_data);
        assert!(parse::<Vec<i32>>("[1,Infinity]").unwrap_err().is_data);
        assert!(parse::<(i32, i32)>("[1,2,3]").unwrap_err().is_data);
    }

    #[test]
    fn deep_documents_are_refused() {
        let nested = |depth: usize| format!("{}NaN{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse::<de::IgnoredAny>(&nested(128)).is_ok());
        assert!(parse::<de::IgnoredAny>(&nested(129)).unwrap_err().message.contains("recursion"));
        assert!(parse::<de::IgnoredAny>(&"[".repeat(1_000_000)).is_err());
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Fixture {
        a: f32,
    }

    #[test]
    fn unknown_keys_are_skipped() {
        let text = r#"{"x":[NaN,{"y":"\"}"}],"a":1,"z":-Infinity}"#;
        assert_eq!(parse::<Fixture>(text).unwrap(), Fixture { a: 1.0 });
    }
}
