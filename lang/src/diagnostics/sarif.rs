//! Diagnostics in the Static Analysis Results Interchange Format, SARIF 2.1.0: one run over all files.
//!
//! Lines and columns count from 1; columns count UTF-16 code units, which is what readers expect that ignore the run's
//! `columnKind`.

use std::collections::BTreeSet;

use sched_grammar::ast::Span;
use serde_json::{Map, Value, json};

use super::concise::Lines;
use super::{Code, Diagnostic, Findings, Fix, Severity, info};

/// The schema that the format is published with.
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";

/// The findings of all files as one SARIF log. `version` is the version of the program.
pub fn render(files: &[Findings], version: &str) -> String {
    let diagnostics = files.iter().flat_map(|file| file.diagnostics);
    let codes: BTreeSet<Code> = diagnostics.map(|diagnostic| diagnostic.code).collect();
    let codes: Vec<Code> = codes.into_iter().collect();
    let rules: Vec<Value> = codes.iter().map(|code| rule(*code)).collect();
    let mut artifacts = Vec::new();
    let mut results = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let place = Place { lines: Lines::new(file.source), file, index };
        artifacts.push(json!({ "location": { "uri": uri(file.path) }, "sourceLanguage": "sched" }));
        results.extend(file.diagnostics.iter().map(|diagnostic| result(&place, diagnostic, &codes)));
    }
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

/// What is known of a code, with its page.
fn rule(code: Code) -> Value {
    let Some(info) = info(code) else { return json!({ "id": code.to_string() }) };
    json!({
        "id": code.to_string(),
        "shortDescription": { "text": info.title },
        "help": { "text": info.page, "markdown": info.page },
        "defaultConfiguration": { "level": level(info.severity) },
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Hint => "note",
    }
}

/// A file, to find places in.
struct Place<'a> {
    lines: Lines,
    file: &'a Findings<'a>,
    index: usize,
}

impl Place<'_> {
    fn artifact(&self) -> Value {
        json!({ "uri": uri(self.file.path), "index": self.index })
    }

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

    fn location(&self, span: Span) -> Value {
        json!({ "artifactLocation": self.artifact(), "region": self.region(span) })
    }
}

fn result(place: &Place, diagnostic: &Diagnostic, codes: &[Code]) -> Value {
    let mut result = Map::new();
    let mut set = |key: &str, value: Value| drop(result.insert(key.to_owned(), value));
    set("ruleId", diagnostic.code.to_string().into());
    if let Ok(index) = codes.binary_search(&diagnostic.code) {
        set("ruleIndex", index.into());
    }
    set("level", level(diagnostic.severity).into());
    set("message", json!({ "text": message(diagnostic) }));
    set("locations", json!([{ "physicalLocation": place.location(diagnostic.span) }]));
    if !diagnostic.labels.is_empty() {
        let related = diagnostic.labels.iter().enumerate().map(|(id, label)| {
            json!({
                "id": id,
                "physicalLocation": place.location(label.span),
                "message": { "text": label.message },
            })
        });
        set("relatedLocations", related.collect());
    }
    if !diagnostic.fixes.is_empty() {
        set("fixes", diagnostic.fixes.iter().map(|fix| self::fix(place, fix)).collect());
    }
    Value::Object(result)
}

/// The headline as a sentence, the way out, and what else there is to know.
fn message(diagnostic: &Diagnostic) -> String {
    let mut text = format!("{}.", diagnostic.message);
    for more in diagnostic.help.iter().chain(&diagnostic.notes) {
        text.push('\n');
        text.push_str(more);
    }
    text
}

fn fix(place: &Place, fix: &Fix) -> Value {
    let replacements: Vec<Value> = fix
        .edits
        .iter()
        .map(|edit| {
            json!({
                "deletedRegion": place.region(edit.span),
                "insertedContent": { "text": edit.text },
            })
        })
        .collect();
    json!({
        "description": { "text": fix.title },
        "artifactChanges": [{ "artifactLocation": place.artifact(), "replacements": replacements }],
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
