//! Names of classes and of categories.

use std::fmt;

/// The name of a class or of a category.
#[derive(Clone, Debug, PartialEq)]
pub enum Label {
    /// A whole number.
    Integer(i64),
    /// Another number.
    Number(f64),
    /// A text. Truth values are the texts `True` and `False`, as Python spells them.
    Text(String),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Integer(number) => write!(f, "{number}"),
            Label::Number(number) => write!(f, "{number}"),
            Label::Text(text) => f.write_str(text),
        }
    }
}
