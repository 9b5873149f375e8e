//! Navigation and editing in an editor.
//!
//! `tests/cases/FEATURE/*.txt` holds cases: a line `=== title [options]`, a schedule, `---`, and the expected
//! result. In a schedule `<|>` marks a cursor, and `<[` and `]>` a selection. Options are those of a check,
//! and `crlf`, `open` (no line end at the end), `to=NAME` (a new name). `UPDATE=1` writes the results.
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sched_grammar::ast::Span;
use sched_ide::*;
use sched_lang::diagnostics::Diagnostic;
use sched_lang::diagnostics::apply::{apply, fix_all};
use sched_lang::{CheckOptions, check, format};
use sched_nest::show::show_nest;

struct Case {
    title: String,
    /// The position of the cursor, or both ends of the selection.
    marks: Vec<Span>,
    new_name: String,
    analysis: Analysis,
}

fn case(title: &str, marked: &str) -> Case {
    let words = title.split_once('[').map_or("", |(_, rest)| rest.trim_end_matches(']'));
    let own = |word: &&str| *word == "crlf" || *word == "open" || word.starts_with("to=");
    let (own, options): (Vec<&str>, Vec<&str>) = words.split_whitespace().partition(own);
    let new_name = own.iter().find_map(|word| word.strip_prefix("to=")).unwrap_or_default().to_owned();
    let mut marked = marked.to_owned();
    if own.contains(&"crlf") {
        marked = marked.replace('\n', "\r\n");
    }
    if own.contains(&"open") {
        marked.truncate(marked.trim_end_matches(['\r', '\n']).len());
    }
    let (source, marks) = unmark(&marked);
    let analysis = Analysis::new(source, sched_testing::options(&options.join(" ")));
    Case { title: title.to_owned(), marks, new_name, analysis }
}

/// The text without marks, and where they were.
fn unmark(marked: &str) -> (String, Vec<Span>) {
    let (mut text, mut marks, mut start) = (String::new(), Vec::new(), 0);
    let mut rest = marked;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("<|>") {
            marks.push(Span::new(text.len(), text.len()));
            rest = after;
        } else if let Some(after) = rest.strip_prefix("<[") {
            start = text.len();
            rest = after;
        } else if let Some(after) = rest.strip_prefix("]>") {
            marks.push(Span::new(start, text.len()));
            rest = after;
        } else {
            let (first, after) = rest.split_at(rest.chars().next().map_or(0, char::len_utf8));
            text.push_str(first);
            rest = after;
        }
    }
    (text, marks)
}

/// Runs all cases of a feature.
fn run(feature: &str, show: fn(&Case) -> String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(feature);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder can be read")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no cases in {}", folder.display());
    let mut failures = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("cases").replace("\r\n", "\n");
        let mut actual = String::new();
        let mut all = text.split_inclusive('\n').peekable();
        while let Some(line) = all.next() {
            let Some(title) = line.strip_prefix("=== ") else {
                panic!("{}: no title: {line}", path.display())
            };
            let mut source = String::new();
            while let Some(line) = all.next_if(|line| *line != "---\n" && !line.starts_with("=== ")) {
                source.push_str(line);
            }
            while all.next_if(|line| !line.starts_with("=== ")).is_some() {}
            let shown = show(&case(title.trim_end(), &source)).replace('\r', "␍");
            let _ = write!(actual, "{line}{source}---\n{shown}");
        }
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, actual).expect("the cases can be written");
        } else if actual != text {
            failures.push(format!("{}\n--- expected\n{text}--- actual\n{actual}", path.display()));
        }
    }
    assert!(failures.is_empty(), "{}\nUPDATE=1 accepts the new output", failures.join("\n"));
}

/// `3:14`: line and column, in characters from 1.
fn place(source: &str, offset: usize) -> String {
    let before = &source[..offset];
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    format!("{}:{}", before.matches('\n').count() + 1, before[line..].chars().count() + 1)
}

fn shown(a: &Analysis, span: Span) -> String {
    let text = a.text(span).replace('\n', "⏎");
    format!("{} `{text}`", place(a.source(), span.start as usize))
}

fn edited(a: &Analysis, edits: &[Edit]) -> String {
    apply(a.source(), edits).unwrap_or_else(|| panic!("edits overlap: {edits:?}"))
}

/// The lines that differ, before and after.
fn changed(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let front = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[front..], &new[front..]);
    let back = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let lines = |sign: &str, lines: &[&str]| -> String {
        lines.iter().map(|line| format!("  {sign} {}\n", line.trim_end_matches('\n'))).collect()
    };
    lines("-", &old[..old.len() - back]) + &lines("+", &new[..new.len() - back])
}

#[test]
fn definitions() {
    run("definition", |case| {
        let a = &case.analysis;
        let mut out = String::new();
        for mark in &case.marks {
            let _ = match definition(a, mark.start as usize) {
                Some(found) => {
                    let targets: Vec<String> = found.targets.iter().map(|span| shown(a, *span)).collect();
                    writeln!(out, "{} -> {}", shown(a, found.origin), targets.join(", "))
                }
                None => writeln!(out, "{} -> nothing", place(a.source(), mark.start as usize)),
            };
        }
        out
    });
}

/// The lines with the occurrences of a name: `«used»`, `«=declared»`.
fn occurrences(case: &Case) -> String {
    let a = &case.analysis;
    let mut out = String::new();
    for mark in &case.marks {
        let offset = mark.start as usize;
        let all = highlights(a, offset);
        let spans = |test: fn(&Highlight) -> bool| -> Vec<Span> {
            all.iter().filter(|highlight| test(highlight)).map(|highlight| highlight.span).collect()
        };
        assert_eq!(references(a, offset, true), spans(|_| true), "{}", case.title);
        assert_eq!(references(a, offset, false), spans(|h| h.kind == HighlightKind::Read), "{}", case.title);
        let mut marks = Vec::new();
        for highlight in &all {
            let open = if highlight.kind == HighlightKind::Write { "«=" } else { "«" };
            marks.push(Edit {
                span: Span { end: highlight.span.start, ..highlight.span },
                text: open.to_owned(),
            });
            marks.push(Edit {
                span: Span { start: highlight.span.end, ..highlight.span },
                text: "»".to_owned(),
            });
        }
        let _ = writeln!(out, "at {}", place(a.source(), offset));
        let text = edited(a, &marks);
        for (number, line) in text.lines().enumerate().filter(|(_, line)| line.contains('«')) {
            let _ = writeln!(out, "{:4} {line}", number + 1);
        }
    }
    out
}

#[test]
fn references_and_highlights() {
    run("references", occurrences);
}

#[test]
fn renames() {
    run("rename", |case| {
        let a = &case.analysis;
        let mut out = String::new();
        for mark in &case.marks {
            let offset = mark.start as usize;
            match prepare_rename(a, offset) {
                Ok(found) => assert_eq!(a.text(found.span), found.placeholder),
                Err(why) => {
                    assert_eq!(rename(a, offset, &case.new_name), Err(why.clone()));
                    let _ = writeln!(out, "{}: {why}", place(a.source(), offset));
                    continue;
                }
            }
            let _ = match rename(a, offset, &case.new_name) {
                Ok(edits) => {
                    write!(out, "{}\n{}", place(a.source(), offset), changed(a.source(), &edited(a, &edits)))
                }
                Err(why) => writeln!(out, "{}: {why}", place(a.source(), offset)),
            };
        }
        out
    });
}

#[test]
fn tokens() {
    run("tokens", |case| {
        let a = &case.analysis;
        let (mut out, mut line) = (String::new(), String::new());
        for token in semantic_tokens(a) {
            let at = place(a.source(), token.span.start as usize);
            let number = at.split_once(':').map_or("", |(number, _)| number).to_owned();
            if number != line {
                let _ = write!(out, "{}{number}:", if out.is_empty() { "" } else { "\n" });
                line = number;
            }
            let declares = if token.modifiers.declaration { "=" } else { "" };
            let built_in = if token.modifiers.built_in { "*" } else { "" };
            let kind = format!("{:?}", token.kind).to_lowercase();
            let _ = write!(out, " {}<{declares}{built_in}{kind}>", a.text(token.span));
        }
        out + "\n"
    });
}

#[test]
fn symbols() {
    fn write_all(a: &Analysis, symbols: &[Symbol], indent: usize, out: &mut String) {
        for symbol in symbols {
            let kind = format!("{:?}", symbol.kind).to_lowercase();
            let (from, to) = (symbol.span.start as usize, symbol.span.end as usize);
            let _ = writeln!(
                out,
                "{:indent$}{kind} `{}` {} ({}-{}, name at {})",
                "",
                symbol.name,
                symbol.detail,
                place(a.source(), from),
                place(a.source(), to),
                place(a.source(), symbol.selection.start as usize),
            );
            assert_eq!(symbol.span.to(symbol.selection), symbol.span);
            assert!(symbol.children.iter().all(|child| symbol.span.to(child.span) == symbol.span));
            write_all(a, &symbol.children, indent + 2, out);
        }
    }
    run("symbols", |case| {
        let mut out = String::new();
        write_all(&case.analysis, &document_symbols(&case.analysis), 0, &mut out);
        out
    });
}

#[test]
fn actions() {
    run("actions", |case| {
        let a = &case.analysis;
        let mut out = String::new();
        for mark in &case.marks {
            let _ = writeln!(out, "at {}", place(a.source(), mark.start as usize));
            for action in code_actions(a, *mark) {
                let fixes = action.fixes.map(|at| format!(" {}", a.verdict().diagnostics[at].code));
                let star = if action.preferred { "*" } else { "" };
                let _ =
                    writeln!(out, "{star}{:?}{}: {}", action.kind, fixes.unwrap_or_default(), action.title);
                out.push_str(&changed(a.source(), &edited(a, &action.edits)));
            }
        }
        out
    });
}

#[test]
fn folds() {
    run("folding", |case| {
        let a = &case.analysis;
        let line = |offset: u32| place(a.source(), offset as usize).split(':').next().map(str::to_owned);
        let show = |range: FoldingRange| {
            let (from, to) = (line(range.span.start), line(range.span.end));
            format!("{:?} {}-{}\n", range.kind, from.unwrap_or_default(), to.unwrap_or_default())
        };
        folding_ranges(a).into_iter().map(show).collect()
    });
}

#[test]
fn selections() {
    run("selection", |case| {
        let a = &case.analysis;
        let mut out = String::new();
        for mark in &case.marks {
            let _ = writeln!(out, "at {}", place(a.source(), mark.start as usize));
            for span in selection_ranges(a, mark.start as usize) {
                let _ = writeln!(out, "  {}", a.text(span).replace('\n', "⏎"));
            }
        }
        out
    });
}

#[test]
fn links() {
    run("links", |case| {
        let a = &case.analysis;
        let show = |link: FileLink| format!("{} -> {:?}\n", shown(a, link.span), link.target);
        document_links(a).into_iter().map(show).collect()
    });
}

#[test]
fn formats() {
    run("formatting", |case| {
        let a = &case.analysis;
        let edits = match case.marks.first() {
            Some(mark) => format_range_edits(a, *mark),
            None => format_edits(a),
        };
        let edits = match edits {
            Ok(edits) => edits,
            Err(errors) => return format!("{} errors\n", errors.len()),
        };
        let mut out = String::new();
        for edit in &edits {
            let (from, to) = (edit.span.start as usize, edit.span.end as usize);
            let (from, to) = (place(a.source(), from), place(a.source(), to));
            let _ = writeln!(out, "{from}-{to} {:?}", edit.text);
        }
        out + "text\n" + &changed("", &edited(a, &edits))
    });
}

/// Schedules that use the whole language.
fn corpus(folders: &[&str]) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(root.join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "sched") {
                let text = std::fs::read_to_string(&path).expect("a schedule");
                texts.push((path.display().to_string(), text));
            }
        }
    }
    texts.sort();
    texts
}

const ALL: &[&str] = &["../../examples", "../tests/pass", "../tests/fail", "../tests/fmt"];
const LEGAL: &[&str] = &["../../examples", "../tests/pass"];

/// The text with another name in the place of `name`, by whole words.
fn replaced(text: &str, name: &str, new: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(len);
        out.push_str(if word == name { new } else { word });
        let sign = after.chars().next().map_or(0, char::len_utf8);
        out.push_str(&after[..sign]);
        rest = &after[sign..];
    }
    out
}

/// A renamed schedule has the same nest up to the name, and renaming it back gives the same text.
#[test]
fn renaming_changes_nothing_but_the_name() {
    const NEW: &str = "another_name";
    let mut count = 0;
    for (path, text) in corpus(LEGAL) {
        let options = sched_testing::options_of_schedule(&text);
        let a = Analysis::new(text.as_str(), options);
        for token in semantic_tokens(&a).into_iter().filter(|token| token.modifiers.declaration) {
            let name = a.text(token.span).to_owned();
            let offset = token.span.start as usize;
            let nest = show_nest(a.schedule_at(offset).nest().expect("a legal schedule"));
            let edits = rename(&a, offset, NEW).unwrap_or_else(|why| panic!("{path}: {name}: {why}"));
            let renamed = edited(&a, &edits);
            let b = Analysis::new(renamed.as_str(), a.options().clone());
            let at = renamed.find(NEW).expect("the new name");
            let after = b.schedule_at(at).nest();
            let after = show_nest(after.unwrap_or_else(|| panic!("{path}: {name}: not legal:\n{renamed}")));
            assert_eq!(after, replaced(&nest, &name, NEW), "{path}: {name}");
            let codes = |a: &Analysis| -> Vec<_> { a.verdict().diagnostics.iter().map(|d| d.code).collect() };
            assert_eq!(codes(&a), codes(&b), "{path}: {name}");
            assert_eq!(edited(&b, &rename(&b, at, &name).expect("the old name is free")), text);
            count += 1;
        }
    }
    assert!(count > 50, "only {count} names");
}

/// Edits apply and lie on whole characters.
fn check_edits(a: &Analysis, edits: &[Edit]) -> String {
    edits.iter().for_each(|edit| check_span(a, edit.span));
    edited(a, edits)
}

fn check_span(a: &Analysis, span: Span) {
    assert!(a.source().get(span.range()).is_some(), "{span:?} is no part of {:?}", a.source());
}

/// The span of a part of the text after edits, with the text that replaced it.
fn moved(span: Span, edits: &[Edit]) -> Span {
    let (mut start, mut end) = (i64::from(span.start), i64::from(span.end));
    for edit in edits {
        let more = edit.text.len() as i64 - i64::from(edit.span.end - edit.span.start);
        let kept = if edit.span.start >= span.start { i64::from(edit.span.start - span.start) } else { 0 };
        if edit.span.end <= span.start && edit.span.start < span.start {
            start += more;
            end += more;
        } else if edit.span.start < span.end {
            end = (end + more).max(start + kept);
        }
    }
    Span::new(start as usize, end as usize)
}

/// Checks the promises of an action.
fn check_action(a: &Analysis, action: &Action, failures: &mut Vec<String>) {
    let after = check_edits(a, &action.edits);
    let checked = check(&after, a.options());
    match action.kind {
        ActionKind::QuickFix => {
            let at = action.fixes.expect("a diagnostic");
            let fixed = &a.verdict().diagnostics[at];
            let place = moved(fixed.span(), &action.edits);
            // The fix may uncover another mistake of the same kind, elsewhere.
            let is_there = |other: &Diagnostic| {
                let overlaps = other.span().start < place.end && place.start < other.span().end;
                let alike = other.code == fixed.code && other.message == fixed.message;
                alike && (overlaps || other.span() == place && fixed.span().start == fixed.span().end)
            };
            let (left, title) = (checked.diagnostics.iter().any(is_there), &action.title);
            if left {
                failures.push(format!("{} is there: {title}\n{}--- after\n{after}", fixed.code, a.source()));
            }
        }
        ActionKind::RefactorExtract | ActionKind::RefactorInline => {
            let (before, now) = (a.nest().map(show_nest), checked.nest().map(show_nest));
            assert_eq!(before, now, "{}\n{}--- after\n{after}", action.title, a.source());
        }
        ActionKind::SourceFixAll => assert_eq!(after, fix_all(a.source(), a.options(), false).text),
    }
}

/// Every action at every place of every schedule keeps its promises.
#[test]
fn actions_do_what_they_say() {
    let mut kinds = std::collections::HashMap::new();
    let mut failures = Vec::new();
    for (_, text) in corpus(ALL) {
        let a = Analysis::new(text.as_str(), sched_testing::options_of_schedule(&text));
        let mut seen: Vec<Action> = Vec::new();
        for offset in 0..=text.len() {
            for action in code_actions(&a, Span::new(offset, offset)) {
                if !seen.contains(&action) {
                    check_action(&a, &action, &mut failures);
                    *kinds.entry(action.kind).or_insert(0) += 1;
                    seen.push(action);
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    for kind in [ActionKind::QuickFix, ActionKind::RefactorExtract, ActionKind::RefactorInline] {
        assert!(kinds.get(&kind).is_some_and(|count| *count > 20), "{kind:?} is too rare: {kinds:?}");
    }
    assert!(kinds.contains_key(&ActionKind::SourceFixAll));
}

/// The formatter's edits give its text, and edits of a part keep the meaning of the schedule.
#[test]
fn formatting_by_edits_is_formatting() {
    for (path, text) in corpus(ALL) {
        for text in [
            text.clone(),
            text.replace('\n', "\r\n"),
            text.replace('\n', " ;;\n\n\n"),
            text.replace(", ", " ,"),
        ] {
            let Ok(whole) = format(&text) else { continue };
            let a = Analysis::new(text.as_str(), CheckOptions::default());
            assert_eq!(check_edits(&a, &format_edits(&a).expect("no errors")), whole, "{path}");
            let lines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
            for (at, start) in lines.iter().enumerate() {
                let end = lines.get(at + 2).unwrap_or(start);
                let part = Span::new(*start, *end);
                let once = check_edits(&a, &format_range_edits(&a, part).expect("no errors"));
                assert_eq!(format(&once).as_deref(), Ok(whole.as_str()), "{path}: {part:?}\n{once}");
            }
        }
    }
}

/// Requests all answers at one place.
fn ask(a: &Analysis, offset: usize) {
    definition(a, offset).iter().flat_map(|found| &found.targets).for_each(|span| check_span(a, *span));
    references(a, offset, true).iter().for_each(|span| check_span(a, *span));
    if prepare_rename(a, offset).is_ok() {
        check_edits(a, &rename(a, offset, "zz9").expect("a free name"));
    }
    let around = selection_ranges(a, offset);
    around.iter().for_each(|span| check_span(a, *span));
    assert!(around.windows(2).all(|pair| pair[0] != pair[1] && pair[0].to(pair[1]) == pair[1]));
    let point = Span::new(offset, offset + offset % 7);
    code_actions(a, point).iter().for_each(|action| drop(check_edits(a, &action.edits)));
    let _ = format_range_edits(a, point).map(|edits| check_edits(a, &edits));
}

/// Requests all answers about the whole text.
fn ask_whole(a: &Analysis) {
    let tokens = semantic_tokens(a);
    tokens.iter().for_each(|token| check_span(a, token.span));
    assert!(tokens.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start), "{:?}", a.source());
    assert!(tokens.iter().all(|token| !a.text(token.span).contains('\n')));
    document_symbols(a).iter().for_each(|symbol| check_span(a, symbol.span));
    folding_ranges(a).iter().for_each(|range| check_span(a, range.span));
    document_links(a).iter().for_each(|link| check_span(a, link.span));
    let _ = format_edits(a).map(|edits| check_edits(a, &edits));
}

/// No prefix of any schedule makes anything panic or point outside of the text.
#[test]
fn half_written_schedules() {
    for (number, (_, text)) in corpus(ALL).into_iter().enumerate() {
        let text = text.get(..1200).map_or(text.clone(), str::to_owned);
        let bent = text.replace('\n', "\r\n").replace("b0", "b😀0");
        for (text, stride) in [(text, 5), (bent, 13)] {
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            for end in ends.filter(|end| end % stride == number % stride) {
                let a = Analysis::new(&text[..end], sched_testing::options("trees=9 depth=4 features=5"));
                ask_whole(&a);
                let near = end.saturating_sub(24)..=end + 2;
                near.step_by(4).chain((0..end).step_by(101)).for_each(|offset| ask(&a, offset));
            }
        }
    }
}

/// A schedule of about 200 lines with many names and diagnostics.
fn long() -> String {
    let mut text = String::from("param ROWS = 64\nmodel \"m.json\"\n");
    for at in 0..33 {
        let _ = write!(
            text,
            "// Part {at}.\nconst C{at} = ROWS * {at} + 1\ntile({}, o{at}, i{at}, C{at} * 64)\n\
             cache(o{at})\ninterleave(i{at}, {at})\n\n",
            if at == 0 { "batch".to_owned() } else { format!("i{}", at - 1) }
        );
    }
    text
}

/// Each feature takes far less than the two milliseconds in which an editor wants an answer.
#[test]
fn answers_come_at_once() {
    type Feature = (&'static str, fn(&Analysis, usize));
    const FEATURES: &[Feature] = &[
        ("definition", |a, at| drop(definition(a, at))),
        ("references", |a, at| drop(references(a, at, true))),
        ("rename", |a, at| drop(rename(a, at, "zz9"))),
        ("tokens", |a, _| drop(semantic_tokens(a))),
        ("symbols", |a, _| drop(document_symbols(a))),
        ("folding", |a, _| drop(folding_ranges(a))),
        ("selection", |a, at| drop(selection_ranges(a, at))),
        ("links", |a, _| drop(document_links(a))),
        ("formatting", |a, _| drop(format_edits(a))),
        ("range formatting", |a, at| drop(format_range_edits(a, Span::new(at, at)))),
        ("actions", |a, at| drop(code_actions(a, Span::new(at, at)))),
    ];
    const ENOUGH: Duration = Duration::from_millis(10);
    // Processor time of this thread, since machines that run tests are busy. The fastest of several answers
    // counts.
    let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("a time");
    let text = long();
    for (name, feature) in FEATURES {
        let mut worst = Duration::ZERO;
        for at in (0..text.len()).step_by(text.len() / 8) {
            // The first request after an edit, with nothing computed but the check.
            let time = || {
                let a = Analysis::new(text.as_str(), CheckOptions::default());
                let start = now();
                feature(&a, at);
                now() - start
            };
            worst = worst.max((0..3).map(|_| time()).min().unwrap_or_default());
        }
        if std::env::var_os("TIMES").is_some() {
            eprintln!("{name:20} {worst:?}");
        }
        assert!(worst < ENOUGH, "{name} takes {worst:?}");
    }
}
