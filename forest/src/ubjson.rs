//! A reader of Universal Binary JSON as XGBoost writes it, as a serde [`Deserializer`](serde::Deserializer).
//!
//! XGBoost's dialect is big-endian and has typed arrays (`[$d#L` count, then bare values without a closing
//! bracket); the reader accepts the other standard forms, too. It refuses a count of more values than the
//! remaining bytes can hold, and limits the nesting to [`MAX_NESTING`]. So memory is bounded by the size of
//! the input, and the stack cannot overflow.

use std::fmt;

use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::json::path::ValuePath;

/// Maximum nesting of objects and arrays, as in the JSON reader.
const MAX_NESTING: u32 = 128;

/// The reason why the bytes could not be read.
#[derive(Debug)]
pub(crate) struct UbjsonError {
    /// The message for the user.
    pub message: String,
    /// Whether the bytes are well-formed, but a value does not have the type that the caller expects.
    pub is_data: bool,
    /// Whether a text is not UTF-8.
    pub is_encoding: bool,
}

impl UbjsonError {
    fn syntax(message: impl Into<String>) -> UbjsonError {
        UbjsonError { message: message.into(), is_data: false, is_encoding: false }
    }
}

impl fmt::Display for UbjsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UbjsonError {}

impl serde::de::Error for UbjsonError {
    fn custom<T: fmt::Display>(message: T) -> UbjsonError {
        UbjsonError { message: message.to_string(), is_data: true, is_encoding: false }
    }
}

/// A position in the bytes.
pub(crate) struct UbjsonReader<'de> {
    bytes: &'de [u8],
    position: usize,
    nesting: u32,
    path: ValuePath,
}

impl<'de> UbjsonReader<'de> {
    pub(crate) fn new(bytes: &'de [u8]) -> UbjsonReader<'de> {
        UbjsonReader { bytes, position: 0, nesting: 0, path: ValuePath::default() }
    }

    /// A reader that records the path of the value that it is at.
    pub(crate) fn with_path(bytes: &'de [u8]) -> UbjsonReader<'de> {
        UbjsonReader { path: ValuePath::recorded(), ..UbjsonReader::new(bytes) }
    }

    /// The path of the value that the reader is at, or at which it failed.
    pub(crate) fn path(&self) -> &ValuePath {
        &self.path
    }

    /// Offset of the next byte to be read.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Fails unless all bytes have been read.
    pub(crate) fn end(&self) -> Result<(), UbjsonError> {
        if self.position == self.bytes.len() {
            return Ok(());
        }
        Err(UbjsonError::syntax("there is more data after the end of the document"))
    }

    fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    fn take(&mut self, count: usize) -> Result<&'de [u8], UbjsonError> {
        let taken = self.bytes[self.position..].get(..count);
        let taken = taken.ok_or_else(|| UbjsonError::syntax("the file ends in the middle of a value"))?;
        self.position += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], UbjsonError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn byte(&mut self) -> Result<u8, UbjsonError> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    /// The type marker of the next value. Skips `N`, the marker without a value.
    fn marker(&mut self) -> Result<u8, UbjsonError> {
        loop {
            match self.byte()? {
                b'N' => {}
                marker => return Ok(marker),
            }
        }
    }

    fn integer(&mut self, marker: u8) -> Result<i64, UbjsonError> {
        Ok(match marker {
            b'i' => i64::from(i8::from_be_bytes(self.array()?)),
            b'U' | b'C' => i64::from(self.byte()?),
            b'I' => i64::from(i16::from_be_bytes(self.array()?)),
            b'l' => i64::from(i32::from_be_bytes(self.array()?)),
            b'L' => i64::from_be_bytes(self.array()?),
            _ => {
                let found = char::from(marker).escape_default();
                return Err(UbjsonError::syntax(format!("a length should follow here, not `{found}`")));
            }
        })
    }

    /// A count of items, checked against the remaining bytes: each item takes at least `width` bytes.
    fn count(&mut self, marker: u8, width: usize) -> Result<usize, UbjsonError> {
        let count = self.integer(marker)?;
        let count = usize::try_from(count).ok().filter(|&count| count <= self.remaining() / width);
        count.ok_or_else(|| UbjsonError::syntax("a count is larger than the rest of the file"))
    }

    fn string(&mut self, marker: u8) -> Result<&'de str, UbjsonError> {
        let length = self.count(marker, 1)?;
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map_err(|error| {
            self.position -= length - error.valid_up_to();
            UbjsonError { is_encoding: true, ..UbjsonError::syntax("a string is not valid UTF-8") }
        })
    }

    /// The optional type and count after the opening bracket of a container.
    fn header(&mut self, close: u8) -> Result<ContainerHeader, UbjsonError> {
        let mut kind = None;
        if self.bytes.get(self.position) == Some(&b'$') {
            self.position += 1;
            let marker = self.byte()?;
            if matches!(marker, b'Z' | b'T' | b'F' | b'N') {
                return Err(UbjsonError::syntax("an array of values that take no bytes is not supported"));
            }
            kind = Some(marker);
        }
        let mut left = None;
        if self.bytes.get(self.position) == Some(&b'#') {
            self.position += 1;
            let marker = self.byte()?;
            left = Some(self.count(marker, kind.and_then(width).unwrap_or(1))?);
        } else if kind.is_some() {
            return Err(UbjsonError::syntax("a typed container needs a count"));
        }
        Ok(ContainerHeader { kind, left, close })
    }

    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, UbjsonError>,
    ) -> Result<T, UbjsonError> {
        if self.nesting == MAX_NESTING {
            return Err(UbjsonError::syntax(format!("objects and arrays nest more than {MAX_NESTING} deep")));
        }
        self.nesting += 1;
        let value = read(self);
        self.nesting -= 1;
        value
    }
}

/// Size in bytes of a number with this type marker; `None` for other types.
fn width(marker: u8) -> Option<usize> {
    match marker {
        b'i' | b'U' | b'C' => Some(1),
        b'I' => Some(2),
        b'l' | b'd' => Some(4),
        b'L' | b'D' => Some(8),
        _ => None,
    }
}

/// The header of a container: the type of its items, the number of items left, and the closing bracket if the
/// items are not counted.
struct ContainerHeader {
    kind: Option<u8>,
    left: Option<usize>,
    close: u8,
}

/// A value whose type marker has been read.
struct MarkedValue<'r, 'de> {
    reader: &'r mut UbjsonReader<'de>,
    marker: u8,
}

impl<'de> MarkedValue<'_, 'de> {
    fn container<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, UbjsonError> {
        let is_array = self.marker == b'[';
        self.reader.nested(|reader| {
            let header = reader.header(if is_array { b']' } else { b'}' })?;
            let mut items = UbjsonItems { reader, header, ended: false, read: 0 };
            let value = if is_array { visitor.visit_seq(&mut items) } else { visitor.visit_map(&mut items) }?;
            // The visitor may stop before the end of the container, so the end is checked here.
            if !items.ended && items.next()?.is_some() {
                return Err(serde::de::Error::custom("an array has more values than expected"));
            }
            Ok(value)
        })
    }
}

impl<'de> serde::Deserializer<'de> for MarkedValue<'_, 'de> {
    type Error = UbjsonError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, UbjsonError> {
        match self.marker {
            b'{' | b'[' => self.container(visitor),
            b'S' => {
                let length = self.reader.byte()?;
                visitor.visit_borrowed_str(self.reader.string(length)?)
            }
            b'd' => visitor.visit_f32(f32::from_be_bytes(self.reader.array()?)),
            b'D' => visitor.visit_f64(f64::from_be_bytes(self.reader.array()?)),
            b'H' => {
                let length = self.reader.byte()?;
                let number = self.reader.string(length)?.parse();
                visitor
                    .visit_f64(number.map_err(|_| UbjsonError::syntax("a number in text form is malformed"))?)
            }
            b'T' => visitor.visit_bool(true),
            b'F' => visitor.visit_bool(false),
            b'Z' => visitor.visit_unit(),
            marker if width(marker).is_some() => visitor.visit_i64(self.reader.integer(marker)?),
            marker => {
                let found = char::from(marker).escape_default();
                Err(UbjsonError::syntax(format!("`{found}` begins no value")))
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, UbjsonError> {
        if self.marker == b'Z' { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, UbjsonError> {
        visitor.visit_newtype_struct(self)
    }

    /// Skips arrays of numbers, which make up most of a file, without parsing them.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, UbjsonError> {
        let start = self.reader.position;
        if self.marker == b'[' {
            let header = self.reader.header(b']')?;
            if let (Some(width), Some(count)) = (header.kind.and_then(width), header.left) {
                self.reader.take(width * count)?;
                return visitor.visit_unit();
            }
            self.reader.position = start;
        }
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct enum identifier
    }
}

impl<'de> serde::Deserializer<'de> for &mut UbjsonReader<'de> {
    type Error = UbjsonError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, UbjsonError> {
        let marker = self.marker()?;
        MarkedValue { reader: self, marker }.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The contents of a container.
struct UbjsonItems<'r, 'de> {
    reader: &'r mut UbjsonReader<'de>,
    header: ContainerHeader,
    ended: bool,
    /// Number of items before the next one.
    read: usize,
}

impl UbjsonItems<'_, '_> {
    /// The type byte of the next item, or `None` at the end. In a typed array it is the common type, which
    /// takes no byte; in an object it is always the type of the key's length.
    fn next(&mut self) -> Result<Option<u8>, UbjsonError> {
        let is_object = self.header.close == b'}';
        let more = self.header.left != Some(0);
        if let Some(left) = &mut self.header.left {
            *left = left.saturating_sub(1);
        }
        let marker = match self.header.kind {
            _ if !more => None,
            Some(kind) if !is_object => Some(kind),
            _ => Some(self.reader.marker()?),
        };
        let closed = self.header.left.is_none() && marker == Some(self.header.close);
        self.ended = marker.is_none() || closed;
        Ok(marker.filter(|_| !closed))
    }
}

impl<'de> SeqAccess<'de> for &mut UbjsonItems<'_, 'de> {
    type Error = UbjsonError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, UbjsonError> {
        let Some(marker) = self.next()? else { return Ok(None) };
        self.reader.path.enter_item(self.read);
        self.read += 1;
        let value = seed.deserialize(MarkedValue { reader: self.reader, marker })?;
        self.reader.path.leave();
        Ok(Some(value))
    }

    fn size_hint(&self) -> Option<usize> {
        self.header.left
    }
}

impl<'de> MapAccess<'de> for &mut UbjsonItems<'_, 'de> {
    type Error = UbjsonError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, UbjsonError> {
        let Some(marker) = self.next()? else { return Ok(None) };
        let key = self.reader.string(marker)?;
        self.reader.path.enter_key(|| key.to_owned());
        seed.deserialize(key.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, UbjsonError> {
        let marker = match self.header.kind {
            Some(kind) => kind,
            None => self.reader.marker()?,
        };
        let value = seed.deserialize(MarkedValue { reader: self.reader, marker })?;
        self.reader.path.leave();
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::de::{DeserializeOwned, IgnoredAny};

    use super::*;

    fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
        let mut reader = UbjsonReader::new(bytes);
        let value = T::deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
        value.map_err(|error| error.message)
    }

    #[test]
    fn arrays_have_many_forms() {
        let forms: [&[u8]; 5] = [
            b"[i\x01I\x00\x02Nl\xff\xff\xff\xff]",
            b"[#U\x03i\x01L\0\0\0\0\0\0\0\x02i\xff",
            b"[$i#i\x03\x01\x02\xff",
            b"[$l#L\0\0\0\0\0\0\0\x03\0\0\0\x01\0\0\0\x02\xff\xff\xff\xff",
            b"[$I#I\0\x03\0\x01\0\x02\xff\xff",
        ];
        for form in forms {
            assert_eq!(parse::<Vec<i64>>(form), Ok(vec![1, 2, -1]), "{form:?}");
            assert!(parse::<IgnoredAny>(form).is_ok(), "{form:?}");
        }
    }

    #[test]
    fn objects_have_many_forms() {
        let forms: [&[u8]; 3] =
            [b"{U\x01ai\x05N}", b"{#U\x01L\0\0\0\0\0\0\0\x01ai\x05", b"{$i#U\x01U\x01a\x05"];
        for form in forms {
            assert_eq!(
                parse::<BTreeMap<String, i32>>(form),
                Ok(BTreeMap::from([("a".into(), 5)])),
                "{form:?}"
            );
        }
    }

    #[test]
    fn scalars_are_read() {
        assert_eq!(parse::<f32>(b"d\x3f\xc0\0\0"), Ok(1.5));
        assert_eq!(parse::<f64>(b"D\x3f\xf8\0\0\0\0\0\0"), Ok(1.5));
        assert_eq!(parse::<f64>(b"HU\x031.5"), Ok(1.5));
        assert_eq!(parse::<String>(b"SU\x02hi"), Ok("hi".into()));
        assert_eq!(parse::<Vec<Option<bool>>>(b"[TFZ]"), Ok(vec![Some(true), Some(false), None]));
    }

    #[test]
    fn bombs_are_refused() {
        let count: &[u8] = b"[$l#L\x40\0\0\0\0\0\0\0";
        assert!(parse::<Vec<i64>>(count).unwrap_err().contains("larger than the rest"));
        assert!(parse::<IgnoredAny>(count).unwrap_err().contains("larger than the rest"));
        assert!(parse::<IgnoredAny>(b"[#L\x40\0\0\0\0\0\0\0").unwrap_err().contains("larger than the rest"));
        assert!(parse::<IgnoredAny>(b"[$Z#L\x40\0\0\0\0\0\0\0").unwrap_err().contains("that take no bytes"));
        assert!(parse::<IgnoredAny>(&b"[".repeat(100_000)).unwrap_err().contains("nest"));
        assert!(parse::<String>(b"SL\xff\xff\xff\xff\xff\xff\xff\xff").unwrap_err().contains("larger"));
    }

    #[test]
    fn nonsense_is_refused() {
        for (bytes, message) in [
            (&b"x"[..], "begins no value"),
            (b"[i\x01", "ends in the middle"),
            (b"[]i", "more data"),
            (b"SU\x01\xff", "UTF-8"),
            (b"{S", "a length should follow"),
            (b"[$i]", "needs a count"),
        ] {
            let error = parse::<IgnoredAny>(bytes).unwrap_err();
            assert!(error.contains(message), "{bytes:?}: {error}");
        }
    }
}
