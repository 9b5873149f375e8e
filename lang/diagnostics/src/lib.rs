//! What schedc has to tell, as plain data: one type for schedules, models, data, compilation, libraries, the command line
//! and bugs of schedc itself. Who finds something says it in this type, and renderers show all alike.
//!
//! Each crate keeps the table of its own codes, written with [`codes!`]: a code without a title and a page does not
//! compile.

mod code;
mod error;
pub mod internal;
mod place;
pub mod usage;

pub use code::{Code, Family, Info, is_ascending};
pub use place::{Column, Place, Span};

use std::fmt::{self, Display, Formatter};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Hint,
    /// Legal, but probably not meant.
    Warning,
    /// It cannot be used as it is.
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

/// Something to tell: what, where, how bad it is, and the way out.
///
/// `Display` gives `CODE: FILE, PLACE: MESSAGE` and, on lines of their own, notes and help. What is in a text is better
/// shown with that text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its code.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// The file that it is in, as it is to be shown, where whoever found it knows that. Who checks a text does not.
    pub file: Option<String>,
    /// Where.
    pub place: Place,
    /// What is to be seen there.
    pub label: String,
    /// Other places of the same text that matter.
    pub labels: Vec<Label>,
    /// More to know: for illegal directives the loop nest at that point.
    pub notes: Vec<String>,
    /// A way out.
    pub help: Option<String>,
    /// Ways out that an editor can apply.
    pub fixes: Vec<Fix>,
}

impl Diagnostic {
    /// A diagnostic with the code's own severity and nothing but a headline and a place.
    pub fn new(code: Code, place: impl Into<Place>, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            severity: code.severity(),
            message: message.into(),
            file: None,
            place: place.into(),
            label: String::new(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: None,
            fixes: Vec::new(),
        }
    }

    /// The part of the checked text that it is about; empty and at the start for everything else.
    pub fn span(&self) -> Span {
        match self.place {
            Place::Text(span) => span,
            _ => Span::default(),
        }
    }

    /// In a file.
    #[must_use]
    pub fn file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
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

impl Display for Diagnostic {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.code)?;
        let place = self.place.to_string();
        match (&self.file, place.is_empty()) {
            (Some(file), true) => write!(f, "{file}: ")?,
            (Some(file), false) => write!(f, "{file}, {place}: ")?,
            (None, true) => {}
            (None, false) => write!(f, "{place}: ")?,
        }
        f.write_str(&self.message)?;
        self.notes.iter().try_for_each(|note| write!(f, "\n  {note}"))?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "\n  help: {help}"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Column, Diagnostic, Place, usage};

    #[test]
    fn a_diagnostic_reads_as_a_line_and_its_help() {
        let bare = Diagnostic::new(usage::UNREADABLE, Place::Whole, "there is nothing");
        assert_eq!(bare.to_string(), "U0002: there is nothing");
        let column = Column { number: 3, name: Some("age".to_owned()) };
        let cell = Diagnostic { place: Place::Cell { line: Some(2), column: Some(column) }, ..bare.clone() };
        let cell = cell.file("rows.csv").help("fill it");
        assert_eq!(
            cell.to_string(),
            "U0002: rows.csv, line 2, column 3 (age): there is nothing\n  help: fill it"
        );
        assert_eq!(bare.clone().file("a").to_string(), "U0002: a: there is nothing");
        let element = Diagnostic { place: Place::Element("trees[1].leaf".to_owned()), ..bare };
        assert_eq!(element.to_string(), "U0002: trees[1].leaf: there is nothing");
    }
}
