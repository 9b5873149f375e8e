//! `pass/*.sched` parse and print as in their `.out`. `fail/*.sched` have the errors of their `.out`.
//! `UPDATE=1` rewrites the `.out` files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sched_grammar::ast::{ScheduleFile, Span, StmtKind};
use sched_grammar::{SyntaxError, each_span, erase_spans, parse, parse_strict, print_file};

fn cases(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .expect("a folder of cases")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "sched"))
        .collect();
    paths.sort();
    assert!(paths.len() > 5, "no cases in {}", folder.display());
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).expect("a text"))).collect()
}

fn compare(path: &Path, actual: &str) {
    let out = path.with_extension("out");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&out, actual).expect("a writable folder");
    }
    let expected = std::fs::read_to_string(&out).unwrap_or_default();
    assert_eq!(actual, expected, "{} (UPDATE=1 rewrites it)", out.display());
}

fn bare(mut file: ScheduleFile) -> ScheduleFile {
    erase_spans(&mut file);
    file
}

fn place(source: &str, span: Span) -> String {
    let before = &source[..span.range().start];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    format!("{line}:{column} {:?}", &source[span.range()])
}

fn render(source: &str, error: &SyntaxError) -> String {
    let mut text = format!("{} {}: {}\n", error.code, place(source, error.span), error.message());
    if let Some((span, what)) = error.related() {
        writeln!(text, "      {}: {what}", place(source, span)).expect("a string takes any text");
    }
    if let Some(help) = error.help() {
        writeln!(text, "      {help}").expect("a string takes any text");
    }
    text
}

/// The text after all fixes of all errors.
fn fixed(source: &str, errors: &[SyntaxError]) -> String {
    let mut fixes: Vec<_> = errors.iter().flat_map(SyntaxError::fixes).collect();
    fixes.sort_by_key(|fix| fix.span);
    let mut text = source.to_owned();
    for fix in fixes.iter().rev() {
        text.replace_range(fix.span.range(), &fix.text);
    }
    text
}

#[test]
fn pass() {
    for (path, source) in cases("pass") {
        let parsed = parse(&source);
        assert_eq!(parsed.errors, [], "{}", path.display());
        assert_eq!(parse_strict(&source).as_ref(), Ok(&parsed.file));
        let printed = print_file(&parsed.file);
        compare(&path, &printed);
        assert_eq!(bare(parse(&printed).file), bare(parsed.file), "{}", path.display());
    }
}

#[test]
fn fail() {
    for (path, source) in cases("fail") {
        let parsed = parse(&source);
        assert!(!parsed.errors.is_empty(), "{}", path.display());
        assert_eq!(parse_strict(&source).as_ref(), Err(&parsed.errors));
        let mut text: String = parsed.errors.iter().map(|error| render(&source, error)).collect();
        write!(text, "--- read as\n{}", parsed.file).unwrap();
        compare(&path, &text);
    }
}

#[test]
fn errors_with_a_fix_are_gone_once_it_is_applied() {
    let mut tried = 0;
    for (path, source) in cases("fail") {
        let errors = parse(&source).errors;
        if errors.iter().all(|error| !error.fixes().is_empty()) {
            tried += 1;
            let fixed = fixed(&source, &errors);
            assert_eq!(parse(&fixed).errors, [], "{}: {fixed}", path.display());
        }
    }
    assert!(tried > 5, "{tried}");
}

#[test]
fn every_kind_of_error_has_a_case_and_a_code_of_its_own() {
    let mut codes: Vec<_> =
        cases("fail").iter().flat_map(|(_, source)| parse(source).errors).map(|error| error.code).collect();
    codes.sort_unstable();
    codes.dedup();
    let all: Vec<_> = (1..=19).map(|n| format!("S{n:04}")).collect();
    assert_eq!(codes, all);
}

/// The span of a statement contains neither the `;` nor a comment at its end.
#[test]
fn spans_of_statements_and_comments() {
    let source =
        "\u{feff} tile(a, b) ; // é one\r\nmodel \"x\" # two\nparam X = (3) in {4}\n tile(a // in\n, b)";
    let parsed = parse(source);
    let stmts: Vec<_> = parsed.file.stmts.iter().map(|stmt| &source[stmt.span.range()]).collect();
    assert_eq!(stmts, ["tile(a, b)", "model \"x\"", "param X = (3) in {4}", "tile(a // in\n, b)"]);
    let comments: Vec<_> = parsed.comments.iter().map(|comment| comment.text.as_str()).collect();
    assert_eq!(comments, ["// é one", "# two", "// in"]);
    for comment in &parsed.comments {
        assert_eq!(&source[comment.span.range()], comment.text);
    }
}

#[test]
fn spans_of_parts() {
    let mut file = parse("tile( v[3].t , (a+b)*2, -f(1) )").file;
    let source = "tile( v[3].t , (a+b)*2, -f(1) )";
    let mut parts = Vec::new();
    each_span(&mut file, &mut |span| parts.push(&source[span.range()]));
    let expected = [
        source,
        "tile",
        "( v[3].t , (a+b)*2, -f(1) )",
        "v[3].t",
        "v[3].t",
        "v",
        "3",
        "t",
        "(a+b)*2",
        "(a+b)",
        "a",
        "a",
        "a",
        "b",
        "b",
        "b",
        "2",
        "-f(1)",
        "f(1)",
        "f",
        "1",
    ];
    assert_eq!(parts, expected);
}

#[test]
fn a_long_file() {
    let lines =
        "param X = 64 in {16, 32}\ntile(batch, b0, b1, min(ROWS, N_t/2)) // note\nfirst.b1\nparallel(b0\n";
    let parsed = parse(&lines.repeat(5_000));
    assert_eq!(parsed.file.stmts.len(), 20_000);
    assert_eq!(parsed.errors.len(), 10_000);
    let directives =
        parsed.file.stmts.iter().filter(|stmt| matches!(stmt.kind, StmtKind::Directive(_))).count();
    assert_eq!(directives, 10_000);
}
