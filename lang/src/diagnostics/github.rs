//! Diagnostics as workflow commands of GitHub Actions, which show them beside the lines of a pull request:
//! `::error file=a.sched,line=3,col=6,endLine=3,endColumn=11,title=S0040::message`.

use super::concise::LineStarts;
use super::{Diagnostic, Severity};
use sched_diagnostics::Place;

/// Diagnostics, one command a line. Lines and columns count from 1, columns in characters. The end column is
/// after the last character.
pub fn render(path: &str, source: &str, diagnostics: &[Diagnostic]) -> String {
    let lines = LineStarts::new(source);
    let mut out = String::new();
    for diagnostic in diagnostics {
        let command = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Hint => "notice",
        };
        let path = diagnostic.file.as_deref().unwrap_or(path);
        let file = if path.is_empty() { String::new() } else { format!("file={},", property(path)) };
        let (place, within) = place(source, &lines, &diagnostic.place);
        let mut message = within + &diagnostic.message;
        if let Some(help) = &diagnostic.help {
            message.push('\n');
            message.push_str(help);
        }
        out.push_str(&format!(
            "::{command} {file}{place}title={}::{}\n",
            property(&diagnostic.code.to_string()),
            data(&message)
        ));
    }
    out
}

/// Properties of an annotation for a place, and text for the part that has no property.
fn place(source: &str, lines: &LineStarts, place: &Place) -> (String, String) {
    match place {
        Place::Text(span) => {
            let (line, column) = lines.position(source, span.start as usize);
            let (end_line, end_column) = lines.position(source, span.end as usize);
            // GitHub reads columns only if a single line is concerned.
            let place = if line == end_line {
                format!("line={line},col={column},endLine={end_line},endColumn={end_column},")
            } else {
                format!("line={line},endLine={end_line},")
            };
            (place, String::new())
        }
        Place::Whole => (String::new(), String::new()),
        Place::Cell { line: Some(line), .. } => (format!("line={line},"), format!("{place}: ")),
        other => (String::new(), format!("{other}: ")),
    }
}

/// A message with escapes for characters that would end it.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property, with escapes also for `:` and `,`.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
