//! Names of classes and of categories.

use std::fmt;

/// The name of a class or of a category. Truth values are spelled as in Python, `True` and `False`.
#[derive(Clone, Debug, PartialEq)]
pub enum Label {
    /// A whole number.
    Integer(i64),
    /// Another number.
    Number(f64),
    /// A truth value.
    Truth(bool),
    /// A text.
    Text(String),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Integer(number) => write!(f, "{number}"),
            Label::Number(number) => write!(f, "{number}"),
            Label::Truth(truth) => f.write_str(if *truth { "True" } else { "False" }),
            Label::Text(text) => f.write_str(text),
        }
    }
}
