//! The places to highlight together with the one at the cursor.

use sched_grammar::ast::Span;

use super::Analysis;

/// An occurrence of the name under the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Highlight {
    /// The highlighted text.
    pub span: Span,
    /// The kind of occurrence.
    pub kind: HighlightKind,
}

/// The kind of an occurrence of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HighlightKind {
    /// A use.
    Read,
    /// A declaration.
    Write,
}

/// All occurrences of the name at `offset`, in the order of the text.
pub fn highlights(a: &Analysis, offset: usize) -> Vec<Highlight> {
    let names = a.names();
    let Some(here) = names.at(offset) else { return Vec::new() };
    let kind = |declares| if declares { HighlightKind::Write } else { HighlightKind::Read };
    names
        .with_same_meaning(here)
        .map(|other| Highlight { span: other.span, kind: kind(other.declares) })
        .collect()
}
