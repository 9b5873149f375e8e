//! Changes of a text.

use crate::Edit;

/// A change that can be applied at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Title of the change, a sentence for the user.
    pub title: String,
    /// The kind of change.
    pub kind: ActionKind,
    /// Replacements that do not overlap.
    pub edits: Vec<Edit>,
    /// Index of the diagnostic that the change corrects, among those of the check.
    pub fixes: Option<usize>,
    /// Whether the change certainly keeps the intended meaning, so that editors may offer it first.
    pub preferred: bool,
}

/// Kinds of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActionKind {
    /// A correction of a diagnostic.
    QuickFix,
    /// A number becomes a param.
    RefactorExtract,
    /// A param or const becomes its value.
    RefactorInline,
    /// Everything that is safe to fix in the whole text.
    SourceFixAll,
}
