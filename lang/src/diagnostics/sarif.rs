//! Diagnostics in the Static Analysis Results Interchange Format, SARIF 2.1.0: one run over all files.
//!
//! Lines and columns count from 1. Columns count UTF-16 code units, which readers expect that ignore the
//! run's `columnKind`.

use std::collections::BTreeSet;

use sched_diagnostics::{Place, Span};
use serde_json::{Map, Value, json};

use super::concise::LineStarts;
use super::{Code, Diagnostic, Findings, Fix, Severity};
use crate::pages::without_links;

/// Published schema of the format.
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";

/// The findings of all files as one SARIF log. `version` is the version of the program.
pub fn render(files: &[Findings], version: &str) -> String {
    let diagnostics = files.iter().flat_map(|file| file.diagnostics);
    let codes: BTreeSet<Code> = diagnostics.map(|diagnostic| diagnostic.code).collect();
    let codes: Vec<Code> = codes.into_iter().collect();
    let rules: Vec<Value> = codes.iter().map(|code| rule(*code)).collect();
    let mut artifacts = Vec::new();
    let mut results = Vec::new();
    for file in files {
        let text = IndexedText { lines: LineStarts::new(file.source), file };
        if !file.path.is_empty() {
            artifacts.push((
                file.path,
                json!({ "location": { "uri": uri(file.path) }, "sourceLanguage": "sched" }),
            ));
        }
        for diagnostic in file.diagnostics {
            if let Some(path) = &diagnostic.file
                && !artifacts.iter().any(|(known, _)| known == path)
            {
                artifacts.push((path, json!({ "location": { "uri": uri(path) } })));
            }
            let path = diagnostic.file.as_deref().unwrap_or(file.path);
            let artifact = artifacts.iter().position(|(known, _)| *known == path);
            let artifact = artifact.map(|index| json!({ "uri": uri(path), "index": index }));
            results.push(result(&text, artifact.as_ref(), diagnostic, &codes));
        }
    }
    let artifacts: Vec<Value> = artifacts.into_iter().map(|(_, artifact)| artifact).collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "schedc", "semanticVersion": version, "rules": rules } },
            "columnKind": "utf16CodeUnits",
            "artifacts": artifacts,
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

/// A code as a rule, with its page.
fn rule(code: Code) -> Value {
    json!({
        "id": code.to_string(),
        "shortDescription": { "text": code.title() },
        "help": { "text": without_links(code.page()), "markdown": code.page() },
        "defaultConfiguration": { "level": level(code.severity()) },
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Hint => "note",
    }
}

/// A text with the starts of its lines.
struct IndexedText<'a> {
    lines: LineStarts,
    file: &'a Findings<'a>,
}

impl IndexedText<'_> {
    fn region(&self, span: Span) -> Value {
        let position = |at: u32| self.lines.position_utf16(self.file.source, at as usize);
        let ((line, column), (end_line, end_column)) = (position(span.start), position(span.end));
        json!({
            "startLine": line,
            "startColumn": column,
            "endLine": end_line,
            "endColumn": end_column,
        })
    }

    /// A place in a file.
    fn location(&self, artifact: &Value, place: &Place) -> Value {
        let physical =
            |region: Value| json!({ "physicalLocation": { "artifactLocation": artifact, "region": region } });
        match place {
            Place::Text(span) => physical(self.region(*span)),
            Place::Cell { line: Some(line), .. } => physical(json!({ "startLine": line })),
            Place::Byte(byte) => physical(json!({ "byteOffset": byte, "byteLength": 0 })),
            Place::Element(element) => json!({
                "physicalLocation": { "artifactLocation": artifact },
                "logicalLocations": [{ "fullyQualifiedName": element }],
            }),
            Place::Whole | Place::Cell { line: None, .. } => {
                json!({ "physicalLocation": { "artifactLocation": artifact } })
            }
        }
    }
}

fn result(text: &IndexedText, artifact: Option<&Value>, diagnostic: &Diagnostic, codes: &[Code]) -> Value {
    let mut result = Map::new();
    let mut set = |key: &str, value: Value| drop(result.insert(key.to_owned(), value));
    set("ruleId", diagnostic.code.to_string().into());
    if let Ok(index) = codes.binary_search(&diagnostic.code) {
        set("ruleIndex", index.into());
    }
    set("level", level(diagnostic.severity).into());
    set("message", json!({ "text": message(diagnostic) }));
    if let Some(artifact) = artifact {
        set("locations", json!([text.location(artifact, &diagnostic.place)]));
        if !diagnostic.labels.is_empty() {
            let related = diagnostic.labels.iter().enumerate().map(|(id, label)| {
                let mut related = text.location(artifact, &label.span.into());
                related["id"] = id.into();
                related["message"] = json!({ "text": label.message });
                related
            });
            set("relatedLocations", related.collect());
        }
        if !diagnostic.fixes.is_empty() {
            set("fixes", diagnostic.fixes.iter().map(|fix| self::fix(text, artifact, fix)).collect());
        }
    }
    Value::Object(result)
}

/// The message as a sentence, the help and the notes.
fn message(diagnostic: &Diagnostic) -> String {
    let mut text = format!("{}.", diagnostic.message);
    for more in diagnostic.help.iter().chain(&diagnostic.notes) {
        text.push('\n');
        text.push_str(more);
    }
    text
}

fn fix(text: &IndexedText, artifact: &Value, fix: &Fix) -> Value {
    let replacements: Vec<Value> = fix
        .edits
        .iter()
        .map(|edit| {
            json!({
                "deletedRegion": text.region(edit.span),
                "insertedContent": { "text": edit.text },
            })
        })
        .collect();
    json!({
        "description": { "text": fix.title },
        "artifactChanges": [{ "artifactLocation": artifact, "replacements": replacements }],
        "properties": { "applicability": fix.applicability.name() },
    })
}

/// A path as a relative or `file` URI.
fn uri(path: &str) -> String {
    let path = path.replace(std::path::MAIN_SEPARATOR, "/");
    let path = path.strip_prefix("./").unwrap_or(&path);
    let mut out = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in path.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        if is_plain {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
