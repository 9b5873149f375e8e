//! The one type of all messages.

use std::fmt::{self, Display, Formatter};

use crate::code::Code;
use crate::fix::{Applicability, Edit, Fix};
use crate::place::{Place, Span};
use crate::severity::Severity;

/// A note in the source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanLabel {
    /// Part of the text.
    pub span: Span,
    /// The note.
    pub message: String,
}

/// A message: what is wrong, where, how bad it is, and how to mend it.
///
/// `Display` gives `CODE: FILE, PLACE: MESSAGE`, then notes and help on separate lines. Renderers show a
/// diagnostic of a text with that text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Code of the message.
    pub code: Code,
    /// Severity.
    pub severity: Severity,
    /// The problem, in one sentence without a full stop.
    pub message: String,
    /// Name of the file, for display. The checker of a text does not know it.
    pub file: Option<String>,
    /// Place of the problem.
    pub place: Place,
    /// Note at the place.
    pub label: String,
    /// Other relevant places of the same text.
    pub labels: Vec<SpanLabel>,
    /// Further notes; for illegal directives the loop nest at that point.
    pub notes: Vec<String>,
    /// Advice on how to mend the problem.
    pub help: Option<String>,
    /// Fixes that an editor can apply.
    pub fixes: Vec<Fix>,
}

impl Diagnostic {
    /// A diagnostic with the code's own severity, a message and a place.
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

    /// Span of the place in the checked text. A place elsewhere gives the empty span at the start.
    pub fn span(&self) -> Span {
        match self.place {
            Place::Text(span) => span,
            _ => Span::default(),
        }
    }

    /// Sets the file.
    #[must_use]
    pub fn file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Sets the note at the place.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = text.into();
        self
    }

    /// Adds a note at another place of the text.
    #[must_use]
    pub fn and(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(SpanLabel { span, message: message.into() });
        self
    }

    /// Sets the help.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Adds a fix that replaces `span` by `text`.
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
    use super::Diagnostic;
    use crate::place::{Place, TableColumn};
    use crate::usage;

    #[test]
    fn a_diagnostic_reads_as_a_line_and_its_help() {
        let bare = Diagnostic::new(usage::UNREADABLE, Place::Whole, "there is nothing");
        assert_eq!(bare.to_string(), "U0002: there is nothing");
        let column = TableColumn { number: 3, name: Some("age".to_owned()) };
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
