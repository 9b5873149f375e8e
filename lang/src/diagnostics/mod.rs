//! Diagnostics as plain data, and their renderers beside each other.

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

use sched_grammar::ast::Span;

pub use codes::{CODES, Code, CodeInfo, info};
pub(crate) use helps::keep_helpful;
pub use nearest::nearest;
pub(crate) use wording::{WaysOut, word};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Hint,
    /// Legal, but probably not meant.
    Warning,
    /// The schedule means nothing.
    Error,
}

impl Severity {
    /// `error`, `warning` or `hint`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Hint => "hint",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// Whether a fix can be applied without thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Applicability {
    /// It is what was meant.
    Safe,
    /// It is legal and may be what was meant.
    Unsure,
    /// It contains a value that only stands for one to be chosen.
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
    /// What is replaced; empty to insert.
    pub span: Span,
    /// By what.
    pub text: String,
}

/// A way out that an editor can apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What it does, in the imperative.
    pub title: String,
    /// Replacements that do not overlap.
    pub edits: Vec<Edit>,
    /// Whether it can be applied without thinking.
    pub applicability: Applicability,
}

/// A note in the source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What.
    pub message: String,
}

/// Something to tell about a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its code.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What is to be seen there.
    pub label: String,
    /// Other places that matter.
    pub labels: Vec<Label>,
    /// More to know: for illegal directives the loop nest at that point.
    pub notes: Vec<String>,
    /// A way out.
    pub help: Option<String>,
    /// Ways out that an editor can apply.
    pub fixes: Vec<Fix>,
}

/// What is to be told of one file, for renderers that put several files into one document.
#[derive(Clone, Copy, Debug)]
pub struct Findings<'a> {
    /// The path as it is to be shown.
    pub path: &'a str,
    /// The text.
    pub source: &'a str,
    /// What is to be told.
    pub diagnostics: &'a [Diagnostic],
}

impl Diagnostic {
    /// A diagnostic with the code's own severity and nothing but a headline and a place.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            severity: info(code).map_or(Severity::Error, |info| info.severity),
            message: message.into(),
            span,
            label: String::new(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: None,
            fixes: Vec::new(),
        }
    }

    /// With what is to be seen at its place.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = text.into();
        self
    }

    /// With another place that matters.
    #[must_use]
    pub fn and(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { span, message: message.into() });
        self
    }

    /// With a way out.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// With a fix that replaces `span` by `text`.
    #[must_use]
    pub fn fix(
        mut self,
        title: impl Into<String>,
        span: Span,
        text: &str,
        applicability: Applicability,
    ) -> Self {
        let edits = vec![Edit { span, text: text.to_owned() }];
        self.fixes.push(Fix { title: title.into(), edits, applicability });
        self
    }
}
