//! Values of JSON that are not containers.

use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A value that is not a container, in the form in which serde_json passes it to visitors.
pub(super) enum JsonScalar<'de> {
    Null,
    Bool(bool),
    /// A whole number that is not negative.
    Unsigned(u64),
    /// A negative whole number.
    Signed(i64),
    Float(f64),
    Text(Cow<'de, str>),
}

impl<'de> JsonScalar<'de> {
    /// Passes the value to a visitor.
    pub fn visit<V: Visitor<'de>, E: de::Error>(self, visitor: V) -> Result<V::Value, E> {
        match self {
            JsonScalar::Null => visitor.visit_unit(),
            JsonScalar::Bool(value) => visitor.visit_bool(value),
            JsonScalar::Unsigned(value) => visitor.visit_u64(value),
            JsonScalar::Signed(value) => visitor.visit_i64(value),
            JsonScalar::Float(value) => visitor.visit_f64(value),
            JsonScalar::Text(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
            JsonScalar::Text(Cow::Owned(text)) => visitor.visit_str(&text),
        }
    }
}

impl<'de> Deserialize<'de> for JsonScalar<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = JsonScalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true, false or null")
    }

    fn visit_unit<E>(self) -> Result<JsonScalar<'de>, E> {
        Ok(JsonScalar::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<JsonScalar<'de>, E> {
        Ok(JsonScalar::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<JsonScalar<'de>, E> {
        Ok(JsonScalar::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<JsonScalar<'de>, E> {
        Ok(JsonScalar::Signed(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<JsonScalar<'de>, E> {
        Ok(JsonScalar::Float(value))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<JsonScalar<'de>, E> {
        Ok(JsonScalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<JsonScalar<'de>, E> {
        Ok(JsonScalar::Text(Cow::Owned(text.to_owned())))
    }
}
