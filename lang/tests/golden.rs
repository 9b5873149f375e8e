//! Golden schedules. Those in `pass` and in the examples have the expected nest in a file beside them, those
//! in `fail` the expected diagnostics. `UPDATE=1 cargo test -p sched-lang golden::` writes them.
use std::fmt::Write;
use std::path::{Path, PathBuf};

use sched_lang::check;
use sched_lang::diagnostics::{Severity, codes, concise, full};
use sched_nest::show::show_nests;
use sched_testing::{options, options_of_schedule};

fn schedules(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(&folder).expect("the folder can be read");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "sched")).collect();
    paths.sort();
    assert!(!paths.is_empty(), "no schedules in {}", folder.display());
    paths
}

fn name(path: &Path) -> String {
    path.file_name().expect("a file").to_string_lossy().into_owned()
}

fn expect(path: &Path, actual: &str, failures: &mut Vec<String>) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, actual).expect("the expectation can be written");
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default().replace("\r\n", "\n");
    if expected != actual {
        failures.push(format!("{}\n--- expected\n{expected}--- actual\n{actual}", path.display()));
    }
}

fn finish(failures: Vec<String>) {
    assert!(failures.is_empty(), "{}\nUPDATE=1 accepts the new output", failures.join("\n"));
}

/// The nest and all diagnostics of a schedule that should pass.
fn passing(path: &Path, source: &str, options: &sched_lang::CheckOptions) -> String {
    let checked = check(source, options);
    let said = concise::render(&name(path), source, &checked.diagnostics);
    let nests = checked.nests.unwrap_or_else(|| panic!("{} does not pass:\n{said}", path.display()));
    format!("{}{said}", show_nests(&nests))
}

#[test]
fn pass() {
    let mut failures = Vec::new();
    for path in schedules("tests/pass") {
        let source = std::fs::read_to_string(&path).expect("a schedule");
        let actual = passing(&path, &source, &options_of_schedule(&source));
        expect(&path.with_extension("nest"), &actual, &mut failures);
    }
    finish(failures);
}

#[test]
fn examples_pass_without_warnings() {
    let mut failures = Vec::new();
    for path in schedules("../examples") {
        let source = std::fs::read_to_string(&path).expect("a schedule");
        let mut actual = String::new();
        for words in ["", "trees=100 depth=6 features=30 batch-size=4096 compile"] {
            let options = options(words);
            let _ = writeln!(actual, "[{}]", if words.is_empty() { "without a model" } else { words });
            actual.push_str(&passing(&path, &source, &options));
            let warned = check(&source, &options).diagnostics.iter().any(|d| d.severity >= Severity::Warning);
            assert!(!warned, "{} has warnings:\n{actual}", path.display());
        }
        let file = format!("tests/examples/{}", name(&path.with_extension("nest")));
        expect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file), &actual, &mut failures);
    }
    finish(failures);
}

#[test]
fn examples_are_not_called_slow() {
    for path in schedules("../examples").into_iter().chain(schedules("../examples/gpu")) {
        let source = std::fs::read_to_string(&path).expect("a schedule");
        for bits in [128, 256, 512] {
            let words = format!("trees=100 depth=6 features=30 bin-bytes=1 vector-bits={bits}");
            let said = check(&source, &options(&words)).diagnostics;
            let slow = codes::NARROW_VECTOR..=codes::UNROLLED_FAR;
            assert!(said.iter().all(|d| !slow.contains(&d.code)), "{}: {said:?}", path.display());
        }
    }
}

#[test]
fn fail() {
    let mut failures = Vec::new();
    for path in schedules("tests/fail") {
        let source = std::fs::read_to_string(&path).expect("a schedule");
        let checked = check(&source, &options_of_schedule(&source));
        let actual = full::render(&name(&path), &source, &checked.diagnostics, false);
        assert!(!checked.diagnostics.is_empty(), "{} has nothing to say", path.display());
        expect(&path.with_extension("txt"), &actual, &mut failures);
    }
    finish(failures);
}
