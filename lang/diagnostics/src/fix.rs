//! Fixes that editors can apply.

use crate::place::Span;

/// Whether a fix can be applied without review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Applicability {
    /// The fix keeps the intended meaning.
    Safe,
    /// The fix is legal, but may change the intended meaning.
    Unsure,
    /// The fix contains a placeholder, for which a value must be chosen.
    Placeholder,
}

impl Applicability {
    /// `safe`, `unsure` or `placeholder`.
    pub fn name(self) -> &'static str {
        match self {
            Applicability::Safe => "safe",
            Applicability::Unsure => "unsure",
            Applicability::Placeholder => "placeholder",
        }
    }
}

/// One replacement of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Part to replace; empty to insert.
    pub span: Span,
    /// New text.
    pub text: String,
}

/// A fix that an editor can apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// Title, in the imperative.
    pub title: String,
    /// Replacements that do not overlap.
    pub edits: Vec<Edit>,
    /// Whether the fix can be applied without review.
    pub applicability: Applicability,
}
