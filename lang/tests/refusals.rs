//! The checklist of all refusals and remarks, directive by directive, and of schedules that are legal here
//! although other systems refuse them.

use std::collections::BTreeSet;

use crate::refused::{ALLOWED, Case, REFUSED};
use sched_lang::check;
use sched_lang::diagnostics::CODES;

fn codes((words, text): Case, errors_only: bool) -> BTreeSet<u16> {
    let text = text.replace("; ", "\n");
    let diagnostics = check(&text, &sched_testing::options(words)).diagnostics;
    let matters = |severity| !errors_only || severity >= sched_lang::diagnostics::Severity::Warning;
    diagnostics.iter().filter(|d| matters(d.severity)).map(|d| d.code.number()).collect()
}

#[test]
fn every_refusal_has_its_code() {
    let mut wrong = Vec::new();
    for (why, case, code) in REFUSED {
        let given = codes(*case, false);
        if given != BTreeSet::from([*code]) {
            wrong.push(format!("{why}: {given:?}, not {code}"));
        }
    }
    for (why, case) in ALLOWED {
        let given = codes(*case, true);
        if !given.is_empty() {
            wrong.push(format!("{why} is legal, but gives {given:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Codes outside of the checklist have a file in `fail`. The parser has separate tests, and other codes need
/// options or long texts.
#[test]
fn every_code_has_a_file() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fail");
    let texts: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .map(|path| std::fs::read_to_string(path).expect("a snapshot"))
        .collect();
    let is_shown = |code: &str| texts.iter().any(|text| text.contains(&format!("[{code}]")));
    let missing: Vec<String> =
        CODES.iter().map(|code| code.to_string()).filter(|code| !is_shown(code)).collect();
    assert!(missing.is_empty(), "no file in fail gives {missing:?}");
}
