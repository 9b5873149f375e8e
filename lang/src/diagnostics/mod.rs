//! What is told of schedules: its codes, its words, its fixes; and the renderers that show what schedc has to tell, be it of
//! schedules or of anything else.

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
pub(crate) use helps::FixTrial;
pub use nearest::nearest;
pub use sched_diagnostics::{Applicability, Code, Diagnostic, Edit, Fix, Label, Severity};
pub(crate) use wording::{WaysOut, word};

/// What is to be told of one text, for renderers that put several files into one document.
#[derive(Clone, Copy, Debug)]
pub struct Findings<'a> {
    /// The path of the text as it is to be shown. A diagnostic that names a file of its own is about that one.
    pub path: &'a str,
    /// The text.
    pub source: &'a str,
    /// What is to be told.
    pub diagnostics: &'a [Diagnostic],
}
