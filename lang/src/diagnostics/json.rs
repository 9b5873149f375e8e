//! Diagnostics for programs: one JSON array. Offsets are bytes, lines and columns count from 1.
//!
//! `place` is an object:
//!
//! - in a checked text with `start`, `end`, `line`, `column`, `end_line` and `end_column`,
//! - in a table with `line` and `field` (`number` and `name` of a column),
//! - in a document with `element`,
//! - in an unreadable file with `byte`, where reading failed.
//!
//! `place` is null for a file as a whole. `path` is null for diagnostics without a file.

use sched_diagnostics::{Place, Span};
use serde_json::{Value, json};

use super::concise::LineStarts;
use super::{Diagnostic, Findings, Fix};

/// Diagnostics of one file as a JSON array.
pub fn render(path: &str, source: &str, diagnostics: &[Diagnostic]) -> String {
    render_files(&[Findings { path, source, diagnostics }])
}

/// Diagnostics of all files as one JSON array, in the order of the files.
pub fn render_files(files: &[Findings]) -> String {
    let mut all = Vec::new();
    for Findings { path, source, diagnostics } in files {
        let lines = LineStarts::new(source);
        all.extend(diagnostics.iter().map(|diagnostic| one(path, source, &lines, diagnostic)));
    }
    Value::Array(all).to_string()
}

fn one(path: &str, source: &str, lines: &LineStarts, diagnostic: &Diagnostic) -> Value {
    let place = |span: Span| place(source, lines, span);
    let path = diagnostic.file.as_deref().unwrap_or(path);
    let labels: Vec<Value> = diagnostic
        .labels
        .iter()
        .map(|label| json!({ "place": place(label.span), "message": label.message }))
        .collect();
    let fixes: Vec<Value> = diagnostic.fixes.iter().map(|fix| self::fix(source, lines, fix)).collect();
    json!({
        "path": (!path.is_empty()).then_some(path),
        "code": diagnostic.code.to_string(),
        "severity": diagnostic.severity.name(),
        "message": diagnostic.message,
        "place": match &diagnostic.place {
            Place::Text(span) => place(*span),
            Place::Whole => Value::Null,
            Place::Element(element) => json!({ "element": element }),
            Place::Byte(byte) => json!({ "byte": byte }),
            Place::Cell { line, column } => json!({
                "line": line,
                "field": column.as_ref().map(|field| json!({ "number": field.number, "name": field.name })),
            }),
        },
        "label": diagnostic.label,
        "labels": labels,
        "notes": diagnostic.notes,
        "help": diagnostic.help,
        "fixes": fixes,
    })
}

fn fix(source: &str, lines: &LineStarts, fix: &Fix) -> Value {
    let edits: Vec<Value> = fix
        .edits
        .iter()
        .map(|edit| json!({ "place": place(source, lines, edit.span), "text": edit.text }))
        .collect();
    json!({ "title": fix.title, "applicability": fix.applicability.name(), "edits": edits })
}

fn place(source: &str, lines: &LineStarts, span: Span) -> Value {
    let (line, column) = lines.position(source, span.start as usize);
    let (end_line, end_column) = lines.position(source, span.end as usize);
    json!({
        "start": span.start,
        "end": span.end,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
    })
}
