//! One line for each diagnostic: `path:line:column: error[S0042]: message`. Places outside of a checked text
//! are written in words.

use super::Diagnostic;
use sched_diagnostics::Place;

/// Diagnostics, one a line. Lines and columns count from 1, columns in characters.
pub fn render(path: &str, source: &str, diagnostics: &[Diagnostic]) -> String {
    let lines = LineStarts::new(source);
    let mut out = String::new();
    for diagnostic in diagnostics {
        let path = diagnostic.file.as_deref().unwrap_or(path);
        let mut parts: Vec<String> = Vec::new();
        parts.extend((!path.is_empty()).then(|| path.to_owned()));
        let place = match &diagnostic.place {
            Place::Whole => String::new(),
            Place::Text(span) => {
                let (line, column) = lines.position(source, span.start as usize);
                parts.extend([line, column].map(|number| number.to_string()));
                String::new()
            }
            Place::Cell { line: Some(line), column } => {
                parts.push(line.to_string());
                Place::Cell { line: None, column: column.clone() }.to_string()
            }
            other => other.to_string(),
        };
        let head = if parts.is_empty() { String::new() } else { parts.join(":") + ": " };
        let place = if place.is_empty() { place } else { place + ": " };
        let (severity, code) = (diagnostic.severity.name(), diagnostic.code);
        out.push_str(&format!("{head}{severity}[{code}]: {place}{}\n", diagnostic.message));
    }
    out
}

/// Starts of lines.
pub(super) struct LineStarts(Vec<usize>);

impl LineStarts {
    pub(super) fn new(source: &str) -> Self {
        LineStarts(std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// Line and column of a byte offset, both from 1.
    pub(super) fn position(&self, source: &str, offset: usize) -> (usize, usize) {
        let (line, before) = self.before(source, offset);
        (line, before.chars().count() + 1)
    }

    /// Line and column of a byte offset, both from 1; the column counts UTF-16 code units.
    pub(super) fn position_utf16(&self, source: &str, offset: usize) -> (usize, usize) {
        let (line, before) = self.before(source, offset);
        (line, before.encode_utf16().count() + 1)
    }

    /// The line of a byte offset, from 1, and the text of that line before it.
    fn before<'s>(&self, source: &'s str, offset: usize) -> (usize, &'s str) {
        let line = self.0.partition_point(|start| *start <= offset).max(1);
        let start = self.0.get(line - 1).copied().unwrap_or(0);
        (line, source.get(start..offset.min(source.len())).unwrap_or_default())
    }
}
