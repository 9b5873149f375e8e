//! Formats for programs: the examples of the documentation, and the invariants of every document. `UPDATE=1`
//! rewrites the examples. `SARIF=path` keeps a log with every code for other tools.
use std::path::{Path, PathBuf};

use sched_lang::diagnostics::{Applicability, CODES, Diagnostic, Findings, apply, github, json, sarif};
use sched_lang::diff::{diff_by_rows, diff_by_rows_json};
use sched_lang::show::lineages_json;
use sched_lang::{CheckOptions, check, check_lineage};
use sched_nest::show::nests_json;
use serde_json::Value;

/// Content and position of the block whose fence has these words.
fn block<'t>(text: &'t str, words: &str) -> (usize, &'t str) {
    let fence = format!("\n```{words}\n");
    let start = text.find(&fence).expect("the block") + fence.len();
    let len = text[start..].find("```\n").expect("a closing fence");
    (start, &text[start..start + len])
}

#[test]
fn documentation_shows_what_is_printed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/formats.md");
    let mut text = std::fs::read_to_string(&path).expect("the page");
    let source = block(&text, "sched").1.to_owned();
    let diagnostics = check(&source, &CheckOptions::default()).diagnostics;
    let files = [Findings { path: "fast.sched", source: &source, diagnostics: &diagnostics }];
    let all: Value = serde_json::from_str(&json::render_files(&files)).expect("JSON");
    let mut log: Value = serde_json::from_str(&sarif::render(&files, "0.1.0")).expect("JSON");
    // The log here leaves out the long pages.
    for rule in log["runs"][0]["tool"]["driver"]["rules"].as_array_mut().expect("rules") {
        for format in ["text", "markdown"] {
            let page = rule["help"][format].as_str().expect("a page");
            rule["help"][format] = format!("{}...", &page[..page.find('\n').expect("a line")]).into();
        }
    }
    let (checked, lineages) = check_lineage(block(&text, "sched nest").1, &CheckOptions::default());
    let nest = |words| check(block(&text, words).1, &CheckOptions::default()).nests.expect("a nest");
    let changes = diff_by_rows(&nest("sched before"), &nest("sched after"));
    let shown = [
        ("json check", format!("{all:#}\n")),
        ("json sarif", format!("{log:#}\n")),
        ("text github", github::render("fast.sched", &source, &diagnostics)),
        ("json nest", format!("{:#}\n", nests_json(&checked.nests.expect("a nest")))),
        ("json diff", format!("{:#}\n", diff_by_rows_json(&changes))),
        ("json lineage", format!("{:#}\n", lineages_json(&lineages))),
    ];
    for (words, actual) in shown {
        let (start, expected) = block(&text, words);
        let range = start..start + expected.len();
        if std::env::var_os("UPDATE").is_some() {
            text.replace_range(range, &actual);
        } else {
            assert_eq!(expected, actual, "the block `{words}`; UPDATE=1 rewrites it");
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, text).expect("the page can be written");
    }
}

/// The kinds of values in a document.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// An integer of at least this value.
    Count(u64),
    Object(&'static [Property]),
    /// A list with at least this number of items.
    List(usize, &'static Kind),
    Any,
}

/// A property, its kind, and whether it is required.
type Property = (&'static str, Kind, bool);

use Kind::{Any, Count, List, Object, Text, Word};

// The used part of the SARIF 2.1.0 format. Objects have no other properties.
const MESSAGE: Kind = Object(&[("text", Text, true), ("markdown", Text, false)]);
const LEVEL: Kind = Word(&["none", "note", "warning", "error"]);
const ARTIFACT_LOCATION: Kind = Object(&[("uri", Text, true), ("index", Count(0), false)]);
const REGION: Kind = Object(&[
    ("startLine", Count(1), true),
    ("startColumn", Count(1), true),
    ("endLine", Count(1), true),
    ("endColumn", Count(1), true),
]);
const PHYSICAL: Kind = Object(&[("artifactLocation", ARTIFACT_LOCATION, true), ("region", REGION, true)]);
const LOCATION: Kind =
    Object(&[("id", Count(0), false), ("physicalLocation", PHYSICAL, true), ("message", MESSAGE, false)]);
const REPLACEMENT: Kind = Object(&[("deletedRegion", REGION, true), ("insertedContent", MESSAGE, false)]);
const CHANGE: Kind =
    Object(&[("artifactLocation", ARTIFACT_LOCATION, true), ("replacements", List(1, &REPLACEMENT), true)]);
const FIX: Kind = Object(&[
    ("description", MESSAGE, false),
    ("artifactChanges", List(1, &CHANGE), true),
    ("properties", Any, false),
]);
const RESULT: Kind = Object(&[
    ("ruleId", Text, true),
    ("ruleIndex", Count(0), true),
    ("level", LEVEL, true),
    ("message", MESSAGE, true),
    ("locations", List(1, &LOCATION), true),
    ("relatedLocations", List(1, &LOCATION), false),
    ("fixes", List(1, &FIX), false),
]);
const RULE: Kind = Object(&[
    ("id", Text, true),
    ("shortDescription", MESSAGE, true),
    ("help", MESSAGE, true),
    ("defaultConfiguration", Object(&[("level", LEVEL, true)]), true),
]);
const DRIVER: Kind =
    Object(&[("name", Text, true), ("semanticVersion", Text, true), ("rules", List(0, &RULE), true)]);
const RUN: Kind = Object(&[
    ("tool", Object(&[("driver", DRIVER, true)]), true),
    ("columnKind", Word(&["utf16CodeUnits", "unicodeCodePoints"]), true),
    (
        "artifacts",
        List(0, &Object(&[("location", ARTIFACT_LOCATION, true), ("sourceLanguage", Text, false)])),
        true,
    ),
    ("results", List(0, &RESULT), true),
]);
const LOG: Kind =
    Object(&[("$schema", Text, true), ("version", Word(&["2.1.0"]), true), ("runs", List(1, &RUN), true)]);

fn validate(value: &Value, kind: Kind, place: &str) {
    match kind {
        Any => {}
        Text => assert!(value.is_string(), "{place}: {value}"),
        Word(words) => assert!(value.as_str().is_some_and(|text| words.contains(&text)), "{place}: {value}"),
        Count(least) => assert!(value.as_u64().is_some_and(|n| n >= least), "{place}: {value}"),
        List(least, kind) => {
            let items = value.as_array().expect(place);
            assert!(items.len() >= least, "{place}: {value}");
            items.iter().enumerate().for_each(|(at, item)| validate(item, *kind, &format!("{place}[{at}]")));
        }
        Object(properties) => {
            let object = value.as_object().expect(place);
            for (name, value) in object {
                let known = properties.iter().find(|(known, ..)| known == name);
                let (_, kind, _) = known.unwrap_or_else(|| panic!("{place} has a property {name}"));
                validate(value, *kind, &format!("{place}.{name}"));
            }
            for (name, _, _) in properties.iter().filter(|(.., required)| *required) {
                assert!(object.contains_key(*name), "{place} lacks {name}");
            }
        }
    }
}

/// The diagnostics of texts.
fn checked(texts: &[(String, String)]) -> Vec<Vec<Diagnostic>> {
    texts.iter().map(|(_, text)| check(text, &CheckOptions::default()).diagnostics).collect()
}

/// The findings of texts with these diagnostics.
fn findings<'a>(texts: &'a [(String, String)], checked: &'a [Vec<Diagnostic>]) -> Vec<Findings<'a>> {
    let each = texts.iter().zip(checked);
    each.map(|((path, source), diagnostics)| Findings { path, source, diagnostics }).collect()
}

/// Texts with a finding for every code, and with non-ASCII characters.
fn texts() -> Vec<(String, String)> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for &code in CODES {
        let (_, rest) = code.page().split_once("```sched").expect("an example");
        let text = rest.split_once('\n').expect("a line end").1.split_once("```").expect("a fence").0;
        texts.push((format!("pages/{}.sched", code), text.to_owned()));
    }
    let odd = "// \u{1d11e} é\r\ncache(\"\u{1d11e}\u{1d11e}é\", b0 b1)\ncache(batch\n# \u{1d11e}\ntile \
               batch, b0, b1, 8\n";
    texts.push(("odd \u{e9}:%.sched".to_owned(), odd.to_owned()));
    texts.push(("./empty.sched".to_owned(), String::new()));
    texts.push(("/absolute/a.sched".to_owned(), "cache(b9)".to_owned()));
    texts
}

/// The byte offset of a line and a column in UTF-16 code units, both from 1.
fn offset(text: &str, line: &Value, column: &Value) -> usize {
    let line = line.as_u64().expect("a line") as usize;
    let column = column.as_u64().expect("a column") as usize - 1;
    let start = text.match_indices('\n').map(|(at, _)| at + 1).nth(line.wrapping_sub(2)).unwrap_or(0);
    let start = if line == 1 { 0 } else { start };
    let mut units = 0;
    for (at, c) in text[start..].char_indices() {
        if units == column {
            return start + at;
        }
        units += c.len_utf16();
    }
    assert_eq!(units, column, "a column behind the end");
    text.len()
}

#[test]
fn sarif_is_valid_and_leads_to_the_right_places() {
    let texts = texts();
    let checked = checked(&texts);
    let files = findings(&texts, &checked);
    let rendered = sarif::render(&files, "0.1.0");
    if let Some(path) = std::env::var_os("SARIF") {
        std::fs::write(PathBuf::from(path), &rendered).expect("the log can be written");
    }
    let log: Value = serde_json::from_str(&rendered).expect("JSON");
    validate(&log, LOG, "log");
    let run = &log["runs"][0];
    let mut results = run["results"].as_array().expect("results").iter();
    for (file, artifact) in files.iter().zip(run["artifacts"].as_array().expect("artifacts")) {
        for diagnostic in file.diagnostics {
            let result = results.next().expect("a result for each finding");
            let rule =
                &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().expect("an index") as usize];
            assert_eq!(
                (&rule["id"], &result["ruleId"]),
                (&result["ruleId"], &diagnostic.code.to_string().into())
            );
            let place = &result["locations"][0]["physicalLocation"];
            assert_eq!(place["artifactLocation"]["uri"], artifact["location"]["uri"]);
            let bytes = |region: &Value| {
                offset(file.source, &region["startLine"], &region["startColumn"])
                    ..offset(file.source, &region["endLine"], &region["endColumn"])
            };
            assert_eq!(bytes(&place["region"]), diagnostic.span().range(), "{result}");
            let shown = result["fixes"].as_array().cloned().unwrap_or_default();
            assert_eq!(shown.len(), diagnostic.fixes.len());
            for (fix, shown) in diagnostic.fixes.iter().zip(&shown) {
                let changed = apply::apply(file.source, &fix.edits).expect("edits that fit");
                let mut text = file.source.to_owned();
                let replacements =
                    shown["artifactChanges"][0]["replacements"].as_array().expect("replacements");
                let mut edits: Vec<_> = replacements
                    .iter()
                    .map(|edit| (bytes(&edit["deletedRegion"]), edit["insertedContent"]["text"].as_str()))
                    .collect();
                edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
                for (range, new) in edits {
                    text.replace_range(range, new.expect("a text"));
                }
                assert_eq!(text, changed);
            }
        }
    }
    assert!(results.next().is_none());
    let uris: Vec<&str> = run["artifacts"]
        .as_array()
        .expect("artifacts")
        .iter()
        .filter_map(|artifact| artifact["location"]["uri"].as_str())
        .collect();
    let ends = ["odd%20%C3%A9%3A%25.sched", "empty.sched", "file:///absolute/a.sched"];
    assert!(uris.ends_with(&ends), "{uris:?}");
}

#[test]
fn several_files_make_one_array() {
    let texts = texts();
    let checked = checked(&texts);
    let files = findings(&texts, &checked);
    let all: Value = serde_json::from_str(&json::render_files(&files)).expect("JSON");
    let single: Vec<Value> = files
        .iter()
        .flat_map(|file| {
            let text = json::render(file.path, file.source, file.diagnostics);
            serde_json::from_str::<Vec<Value>>(&text).expect("an array")
        })
        .collect();
    assert_eq!(all, Value::Array(single));
    let words: Vec<&Value> =
        all.as_array().expect("an array").iter().flat_map(|one| one["fixes"].as_array()).flatten().collect();
    for applicability in [Applicability::Safe, Applicability::Unsure, Applicability::Placeholder] {
        assert!(words.iter().any(|fix| fix["applicability"] == applicability.name()));
    }
    assert_eq!(json::render_files(&[]), "[]");
}

#[test]
fn annotations_are_escaped() {
    let source = "cache(50%)\nreorder(b0,\n b1\ncache('a:b,c')\n";
    let diagnostics = check(source, &CheckOptions::default()).diagnostics;
    let text = github::render("a,b: 100%.sched", source, &diagnostics);
    assert_eq!(text.lines().count(), diagnostics.len());
    for (line, diagnostic) in text.lines().zip(&diagnostics) {
        let (command, rest) = line.split_once(" file=").expect("a file");
        assert_eq!(command, "::error");
        let (properties, message) = rest.split_once("::").expect("a message");
        assert!(properties.starts_with("a%2Cb%3A 100%25.sched,line="), "{line}");
        let names: Vec<&str> = properties.split(',').filter_map(|p| p.split_once('=')).map(|p| p.0).collect();
        assert!(names.ends_with(&["endColumn", "title"]) || names == ["line", "endLine", "title"], "{line}");
        let message = message.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%");
        assert!(message.starts_with(&diagnostic.message), "{line}");
    }
    assert_eq!(github::render("x", "", &[]), "");
}
