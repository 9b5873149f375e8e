//! Tests of the reference in `docs/book`: its examples check, its nests and errors are those of the checker,
//! and its lists are complete. `UPDATE=1 cargo test -p sched-lang book::` writes all generated parts.
//!
//! A fenced block `sched` is an example, with options of the check as in the other tests. It gives no error
//! and no warning, unless it has the word `fails` or `warns`. A block `nest` after it shows its nest, a block
//! `error` its diagnostics.

use crate::refused;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use sched_lang::check;
use sched_lang::diagnostics::{CODES, Code, Severity, codes, full};
use sched_lang::directives::{DirectiveOp, Role, SIGNATURES, Signature, SupportedTargets};
use sched_nest::show::show_nests;

/// Chapters before the directives, and after them.
const BEFORE: &[(&str, &str)] = &[
    ("Introduction", "introduction.md"),
    ("A tour of five minutes", "tour.md"),
    ("Your first schedule in ten minutes", "tutorial.md"),
    ("The language", "language/index.md"),
    ("  Files", "language/files.md"),
    ("  Rows and trees", "language/rows.md"),
    ("  Indices and lineage", "language/lineage.md"),
    ("  Copies and their names", "language/copies.md"),
    ("  Order of accumulation", "language/accumulation.md"),
    ("  Schedules by number of rows", "language/when.md"),
    ("  Params and model properties", "language/params.md"),
    ("  Targets and devices", "language/targets.md"),
];
const AFTER: &[(&str, &str)] =
    &[("What makes schedules fast", "performance.md"), ("Errors and hints", "errors/index.md")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/book/src")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default().replace("\r\n", "\n")
}

/// Compares a file with the expected text, or writes it.
fn expect(path: &Path, text: &str, wrong: &mut Vec<String>) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder can be made");
        std::fs::write(path, text).expect("the page can be written");
    } else if read(path) != text {
        wrong.push(format!("{} is not up to date", path.display()));
    }
}

fn finish(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{}\nUPDATE=1 writes what is generated", wrong.join("\n"));
}

/// All chapters in order: title, indented below the chapter of which it is a part, and file.
fn chapters() -> Vec<(String, String)> {
    let own = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        list.iter().map(|(title, path)| ((*title).to_owned(), (*path).to_owned())).collect()
    };
    let mut all = own(BEFORE);
    all.push(("Directives".to_owned(), "directives/index.md".to_owned()));
    all.extend(SIGNATURES.iter().map(|s| (format!("  {}", s.name), format!("directives/{}.md", s.name))));
    all.extend(own(AFTER));
    all.extend(CODES.iter().map(|code| (format!("  {code}: {}", code.title()), format!("errors/{code}.md"))));
    all
}

#[test]
fn the_summary_is_complete() {
    let mut text = "# Summary\n\n".to_owned();
    for (title, path) in chapters() {
        let bare = title.trim_start();
        let indent = " ".repeat(title.len() - bare.len());
        let _ = writeln!(text, "{indent}- [{bare}](./{path})");
    }
    let mut wrong = Vec::new();
    expect(&root().join("SUMMARY.md"), &text, &mut wrong);
    for (_, path) in chapters() {
        let is_there = read(&root().join(&path)).starts_with("# ");
        if !is_there {
            wrong.push(format!("{path} is not there, or has no title"));
        }
    }
    finish(wrong);
}

#[test]
fn error_pages_are_those_of_explain() {
    let mut wrong = Vec::new();
    for &code in CODES {
        expect(&root().join(format!("errors/{}.md", code)), code.page(), &mut wrong);
    }
    let mut index = "# Errors and hints\n\n".to_owned();
    index.push_str(
        "These are all messages of `schedc check`. `schedc explain CODE` prints the same \
                    pages.\n\n",
    );
    index.push_str(
        "A schedule with an error has no meaning. A warning is about something legal that is \
                    probably not\n",
    );
    index.push_str("meant, a hint about something worth knowing. A comment `allow(CODE)` silences both.\n\n");
    index.push_str("| code | severity | title |\n|---|---|---|\n");
    for &code in CODES {
        let _ =
            writeln!(index, "| [{0}](./{0}.md) | {1} | {2} |", code, code.severity().name(), code.title());
    }
    expect(&root().join("errors/index.md"), &index, &mut wrong);
    finish(wrong);
}

#[test]
fn pages_say_what_the_checker_says() {
    let raised = raised();
    let mut wrong = Vec::new();
    let mut examples = 0;
    // cli/tests/documents.rs runs the commands of the tour, whose schedules are files for them.
    let is_checked = |path: &str| !path.starts_with("errors/") && path != "tour.md";
    for (_, path) in chapters().iter().filter(|(_, path)| is_checked(path)) {
        let file = root().join(path);
        let text = read(&file);
        let updated = match path.as_str() {
            "directives/index.md" => directives(&text),
            _ => update(path, &text, &raised, &mut examples, &mut wrong),
        };
        expect(&file, &updated, &mut wrong);
    }
    if wrong.is_empty() {
        assert!(examples > 60, "only {examples} examples");
    }
    finish(wrong);
}

/// The page with new blocks `nest` and `error` and new generated parts.
fn update(
    path: &str,
    text: &str,
    raised: &BTreeMap<DirectiveOp, BTreeSet<Code>>,
    examples: &mut usize,
    wrong: &mut Vec<String>,
) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    let mut last: Option<(String, String)> = None;
    while let Some(line) = lines.next() {
        let _ = writeln!(out, "{line}");
        if let Some(name) = line.strip_prefix("<!-- directive ").and_then(|rest| rest.strip_suffix(" -->")) {
            while lines.peek().is_some_and(|line| *line != "<!-- end -->") {
                lines.next();
            }
            match SIGNATURES.iter().find(|signature| signature.name == name) {
                Some(signature) => out.push_str(&model(signature, raised)),
                None => wrong.push(format!("{path}: there is no directive {name}")),
            }
        }
        let Some(words) = line.strip_prefix("```").filter(|words| !words.is_empty()) else { continue };
        let mut body = String::new();
        for line in lines.by_ref().take_while(|line| *line != "```") {
            let _ = writeln!(body, "{line}");
        }
        let (language, words) = words.split_once(' ').unwrap_or((words, ""));
        match (language, &last) {
            ("sched", _) => {
                *examples += 1;
                judge(path, words, &body, wrong);
                last = Some((words.to_owned(), body.clone()));
            }
            ("nest", Some((words, schedule))) => {
                let nests = check(schedule, &sched_testing::options(&options_of(words))).nests;
                body = nests.as_ref().map(show_nests).unwrap_or_default();
            }
            ("error", Some((words, schedule))) => {
                let said = check(schedule, &sched_testing::options(&options_of(words))).diagnostics;
                body = full::render("first.sched", schedule, &said, false);
            }
            ("nest" | "error", None) => wrong.push(format!("{path}: a block without an example before it")),
            _ => {}
        }
        let _ = writeln!(out, "{body}```");
    }
    out
}

/// The words that are options of the check.
fn options_of(words: &str) -> String {
    let own = words.split_whitespace().filter(|word| !matches!(*word, "fails" | "warns"));
    own.collect::<Vec<_>>().join(" ")
}

/// Checks that an example gives the severity of its words.
fn judge(path: &str, words: &str, schedule: &str, wrong: &mut Vec<String>) {
    let said = check(schedule, &sched_testing::options(&options_of(words))).diagnostics;
    let worst = said.iter().map(|diagnostic| diagnostic.severity).max().unwrap_or(Severity::Hint);
    let fails = words.split_whitespace().any(|word| word == "fails");
    let warns = words.split_whitespace().any(|word| word == "warns");
    let expected = match (fails, warns) {
        (true, _) => Severity::Error,
        (_, true) => Severity::Warning,
        _ => Severity::Hint,
    };
    if worst != expected {
        wrong.push(format!("{path}: an example gives {worst:?}, not {expected:?}:\n{schedule}"));
    }
}

/// Usage, targets and diagnostics of a directive.
fn model(signature: &Signature, raised: &BTreeMap<DirectiveOp, BTreeSet<Code>>) -> String {
    let mut text = format!("```text\n{}\n```\n\n{}\n\n", signature.usage(), signature.summary);
    let loops = signature.position(|role| role == Role::Index);
    let kind = match (signature.is_modifier, loops) {
        (true, Some(_)) => "A loop modifier.",
        (true, None) => "A modifier of the whole nest.",
        (false, Some(at)) if signature.is_optional(at) => {
            "An annotation of a loop of the final nest, or of all."
        }
        (false, Some(_)) => "An annotation of a loop of the final nest.",
        (false, None) => "An annotation of the whole nest.",
    };
    let order = if signature.is_modifier {
        "Modifiers apply one after the other, in the order of the text."
    } else {
        "Annotations have no order."
    };
    let support = match signature.targets {
        SupportedTargets::Everywhere => "For CPUs and GPUs.",
        SupportedTargets::OnCpus => "For CPUs only.",
        SupportedTargets::OnGpus => "For GPUs only, or for `schedc predict --simulate`.",
    };
    let _ = writeln!(text, "{kind} {order}\n{support}\n");
    let codes = raised.get(&signature.op).cloned().unwrap_or_default();
    let links: Vec<String> = codes.iter().map(|code| format!("[{code}](../errors/{code}.md)")).collect();
    if !links.is_empty() {
        let _ = writeln!(text, "Errors and hints, besides those of all directives:\n{}.", links.join(",\n"));
    }
    text
}

/// The list of all directives.
fn directives(text: &str) -> String {
    let start = text.split_once("<!-- list -->").map_or(text, |(start, _)| start);
    let mut out = format!("{start}<!-- list -->\n\n| directive | what it does | targets |\n|---|---|---|\n");
    for signature in SIGNATURES {
        let compiled = signature.targets.word();
        let usage = signature.usage();
        let _ =
            writeln!(out, "| [`{usage}`](./{}.md) | {} | {compiled} |", signature.name, signature.summary);
    }
    out
}

/// Whether a code concerns names, numbers and arguments of any directive.
fn is_general(code: Code) -> bool {
    code.number() < 40
        || [codes::CONSUMED, codes::ANNOTATION_LOST, codes::CONTRADICTION, codes::REPEATED].contains(&code)
}

/// Codes of each directive over all schedules that should fail: those of the pages and of the tests.
fn raised() -> BTreeMap<DirectiveOp, BTreeSet<Code>> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for &code in CODES {
        for part in code.page().split("```sched").skip(1) {
            let (words, rest) = part.split_once('\n').unwrap_or_default();
            texts.push((words.to_owned(), rest.split("```").next().unwrap_or_default().to_owned()));
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fail");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    for path in files.iter().filter(|path| path.extension().is_some_and(|e| e == "sched")) {
        let text = read(path);
        let words =
            text.lines().find_map(|line| line.strip_prefix("// facts:")).unwrap_or_default().to_owned();
        texts.push((words, text));
    }
    let listed =
        refused::REFUSED.iter().map(|(_, (words, text), _)| ((*words).to_owned(), text.replace("; ", "\n")));
    texts.extend(listed);
    let mut raised: BTreeMap<DirectiveOp, BTreeSet<Code>> = BTreeMap::new();
    for (words, text) in texts {
        for diagnostic in check(&text, &sched_testing::options(&words)).diagnostics {
            // The text from the start of the line, or the last `;`, begins with the directive's name.
            let before = text.get(..diagnostic.span().end as usize).unwrap_or_default();
            let start = text.get(..diagnostic.span().start as usize).unwrap_or_default();
            let at = start.rfind(['\n', ';']).map_or(0, |at| at + 1);
            let line = before.get(at..).unwrap_or_default().trim_start();
            let name = line.split('(').next().unwrap_or_default();
            if let Some(signature) = SIGNATURES.iter().find(|signature| signature.name == name)
                && !is_general(diagnostic.code)
            {
                raised.entry(signature.op).or_default().insert(diagnostic.code);
            }
        }
    }
    raised
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    let mut links = 0;
    for (_, path) in chapters() {
        let file = root().join(&path);
        let text = read(&file);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            links += 1;
            let page = file.parent().map(|folder| folder.join(target.split('#').next().unwrap_or(target)));
            if !target.contains("://") && !page.is_some_and(|page| page.is_file()) {
                wrong.push(format!("{path}: {target} leads nowhere"));
            }
        }
    }
    assert!(links > 150, "only {links} links");
    finish(wrong);
}
