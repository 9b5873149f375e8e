//! Codes, words and fixes of schedules, and the renderers of all diagnostics of schedc.

pub mod apply;
pub mod codes;
pub mod concise;
mod edits;
pub mod full;
pub mod github;
mod helps;
pub mod json;
mod nearest;
pub mod sarif;
mod wording;

pub use codes::CODES;
pub(crate) use helps::{FixTrial, name_fixes};
pub use nearest::nearest;
pub use sched_diagnostics::{Applicability, Code, Diagnostic, Edit, Fix, Severity, SpanLabel};
pub(crate) use wording::{WordingOptions, put_into_words};

/// Diagnostics of one text, for renderers that join several files into one document.
#[derive(Clone, Copy, Debug)]
pub struct Findings<'a> {
    /// Path of the text for display. A diagnostic may name another file.
    pub path: &'a str,
    /// The text.
    pub source: &'a str,
    /// The diagnostics.
    pub diagnostics: &'a [Diagnostic],
}
