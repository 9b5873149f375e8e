//! Golden texts of the formatter, and properties on texts with all legal spacings.
//!
//! `tests/fmt/*.sched` has the formatted text in an `.out` file, or the errors that prevent formatting.
//! `UPDATE=1` writes them.

use std::path::{Path, PathBuf};

use sched_grammar::ast::ScheduleFile;
use sched_grammar::{erase_spans, lexemes, parse};
use sched_lang::format;
use sched_testing::schedules::Rng;

fn schedules(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(&folder).expect("the folder can be read");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "sched")).collect();
    paths.sort();
    paths
}

fn bare(source: &str) -> ScheduleFile {
    let mut file = parse(source).file;
    erase_spans(&mut file);
    file
}

fn comments(source: &str) -> Vec<String> {
    parse(source).comments.iter().map(|comment| comment.text.trim_end().to_owned()).collect()
}

/// Formats a text without syntax errors, and checks all invariants.
fn formatted(source: &str) -> String {
    let once = format(source).expect("no syntax errors");
    assert_eq!(bare(&once), bare(source), "the meaning changed\n{source}\n--- formatted\n{once}");
    assert_eq!(comments(&once), comments(source), "comments changed\n{source}\n--- formatted\n{once}");
    assert_eq!(format(&once).as_deref(), Ok(once.as_str()), "not stable\n{source}");
    assert!(once.is_empty() || once.ends_with('\n') && !once.ends_with("\n\n"), "{once}");
    assert!(!once.contains("\n\n\n") && !once.contains(" \n"), "{once}");
    once
}

#[test]
fn golden() {
    let mut failures = Vec::new();
    for path in schedules("tests/fmt") {
        let source = std::fs::read_to_string(&path).expect("a schedule");
        let actual = match format(&source) {
            Ok(_) => formatted(&source),
            Err(errors) => errors.iter().map(|error| format!("{error}\n")).collect(),
        };
        let expected = path.with_extension("out");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&expected, &actual).expect("the expectation can be written");
        } else if std::fs::read_to_string(&expected).unwrap_or_default() != actual {
            failures.push(format!("{}:\n{actual}", path.display()));
        }
    }
    assert!(failures.is_empty(), "{}\nUPDATE=1 accepts the new output", failures.join("\n"));
}

#[test]
fn examples_are_formatted() {
    for path in schedules("../examples") {
        let source = std::fs::read_to_string(&path).expect("a schedule");
        assert_eq!(formatted(&source), source, "{}", path.display());
    }
}

/// The text with random blanks, line ends, comments and separators between its words.
fn bend(source: &str, rng: &mut Rng) -> String {
    const BLANKS: &[&str] = &[" ", "   ", "\t", "\r", ""];
    const INSIDE: &[&str] = &["\n", "\r\n", "// note  \n", " # f(x, \n\n", "\n\n // own\n", "//\n"];
    const BETWEEN: &[&str] = &[" ; ", "\n;\n", "\n\n\n\n", "// behind\n", "\n  # own\n", "; // behind\n\n"];
    let lexemes = lexemes(source);
    let parsed = parse(source);
    let ends: Vec<u32> = parsed.file.stmts.iter().map(|stmt| stmt.span.end).collect();
    let (mut out, mut at, mut depth) = (String::new(), 0_usize, 0_usize);
    let mut notes = parsed.comments.iter().peekable();
    for lexeme in lexemes {
        while let Some(comment) = notes.next_if(|comment| comment.span.start < lexeme.span.start) {
            out.push_str(&comment.text);
            out.push('\n');
        }
        let text = &source[lexeme.span.range()];
        let gap = &source[at..lexeme.span.start as usize];
        if !gap.is_empty() {
            out.push(' ');
        }
        out.push_str(text);
        at = lexeme.span.end as usize;
        match text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        let is_end = ends.contains(&lexeme.span.end);
        let fill = if is_end {
            BETWEEN
        } else if depth > 0 && rng.one_in(6) {
            INSIDE
        } else {
            BLANKS
        };
        out.push_str(rng.pick(fill).unwrap_or(&" "));
        if is_end && !out.contains('\n') && !out.trim_end().ends_with(';') {
            out.push('\n');
        }
        if is_end && rng.one_in(2) {
            out.push('\n');
        }
    }
    notes.for_each(|comment| out.push_str(&format!("\n{}", comment.text)));
    out
}

#[test]
fn bent_texts_format_as_they_mean() {
    let mut texts: Vec<String> = Vec::new();
    for folder in ["../examples", "tests/pass", "tests/fail", "tests/fmt"] {
        texts.extend(schedules(folder).iter().map(|path| std::fs::read_to_string(path).expect("a schedule")));
    }
    texts.retain(|text| parse(text).errors.is_empty());
    let (mut rng, mut tried) = (Rng(11), 0);
    let rounds = std::env::var("ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(3000);
    for round in 0..rounds {
        let text = bend(&texts[round % texts.len()], &mut rng);
        if parse(&text).errors.is_empty() {
            formatted(&text);
            tried += 1;
        }
    }
    assert!(tried * 10 > rounds * 8, "only {tried} of {rounds} bent texts are schedules");
}

#[test]
fn any_text() {
    const PIECES: &[&str] = &[
        "tile",
        "f",
        "(",
        ")",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ",",
        ".",
        ";",
        "=",
        "-",
        "+",
        "*",
        "1",
        "2_0",
        "a",
        "b0",
        "\n",
        "\n",
        " ",
        "  ",
        "// c\n",
        "# d",
        "\r\n",
        "param X = ",
        "const Y = ",
        "in {",
        "sched 1",
        "target cpu",
        "model \"m\"",
        "\"s\"",
        "é",
    ];
    let (mut rng, mut tried) = (Rng(5), 0);
    for _ in 0..60_000 {
        let mut text = String::new();
        for _ in 0..rng.below(14) {
            text.push_str(rng.pick(PIECES).unwrap_or(&" "));
        }
        if parse(&text).errors.is_empty() {
            formatted(&text);
            tried += 1;
        } else {
            assert!(format(&text).is_err());
        }
    }
    assert!(tried > 1000, "only {tried} texts are schedules");
}

#[test]
fn long_texts_format_quickly() {
    let line = "reorder(b0, // c\n tree, b1); tile(batch,b0,b1,64) // d\n";
    let text = line.repeat(20_000);
    let start = std::time::Instant::now();
    assert!(format(&text).is_ok());
    assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
}
