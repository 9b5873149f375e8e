//! No text makes the checker panic, hang or grow without bound.

use std::fmt::Write;
use std::time::{Duration, Instant};

use sched_lang::diagnostics::{concise, full, json};
use sched_lang::{CheckOptions, check};
use sched_nest::show::show_nests;
use sched_testing::schedules::Rng;

/// Texts that cover the whole language: examples, tests, and pages of codes.
fn corpus() -> Vec<String> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = Vec::new();
    for folder in ["../examples", "tests/pass", "tests/fail"] {
        for entry in std::fs::read_dir(root.join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "sched") {
                texts.push(std::fs::read_to_string(path).expect("a schedule"));
            }
        }
    }
    texts.sort();
    texts
}

/// Checks a text and renders it in all formats.
fn all(source: &str, options: &CheckOptions) {
    let checked = check(source, options);
    assert_eq!(checked.nests.is_none(), checked.has_errors(), "{source}");
    let _ = concise::render("x.sched", source, &checked.diagnostics);
    let _ = json::render("x.sched", source, &checked.diagnostics);
    let shown = full::render("x.sched", source, &checked.diagnostics, false);
    assert!(!shown.contains('\u{1b}'));
    if let Some(nests) = &checked.nests {
        let _ = show_nests(nests);
    }
}

fn all_options() -> [CheckOptions; 3] {
    [
        CheckOptions::default(),
        sched_testing::options("depths=1,2,2,3,1,5,4 features=3"),
        sched_testing::options("trees=40 batch-size=64 compile strict"),
    ]
}

#[test]
fn prefixes() {
    let options = all_options();
    for text in corpus().iter().filter(|text| text.len() < 1500) {
        for (at, _) in text.char_indices() {
            all(&text[..at], &options[at % options.len()]);
        }
    }
}

#[test]
fn deleted_and_replaced_tokens() {
    let corpus = corpus();
    let options = all_options();
    let words = [
        "tree",
        "batch",
        "b0",
        "t1",
        "0",
        "1",
        "64",
        "9223372036854775807",
        "-",
        "(",
        ")",
        "[0]",
        ".",
        ",",
        "é",
        "\n",
        "run_depth",
        "N_t",
        "/",
        "when n_rows <= 8 {",
        "when",
        "{",
        "}",
        "<=",
        "reorder",
        "split",
        "specialize",
        "splitByDepth",
        "\u{2028}",
        "\r\n",
    ];
    let mut rng = Rng(7);
    for round in 0..std::env::var("ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(4000) {
        let text = &corpus[rng.below(corpus.len())];
        let mut tokens: Vec<&str> = split(text);
        for _ in 0..=rng.below(4) {
            let at = rng.below(tokens.len());
            if at < tokens.len() {
                tokens[at] = if rng.one_in(2) { "" } else { words[rng.below(words.len())] };
            }
        }
        all(&tokens.concat(), &options[round % options.len()]);
    }
}

/// Words, blanks and single other characters.
fn split(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end =
            if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, after) = rest.split_at(end);
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// Checks that a long text takes far less time than quadratic algorithms would.
fn quickly(what: &str, text: &str, options: &CheckOptions) {
    let start = Instant::now();
    let checked = check(text, options);
    let elapsed = start.elapsed();
    assert!(
        elapsed < Duration::from_secs(5),
        "{what}: {elapsed:?} for {} diagnostics",
        checked.diagnostics.len()
    );
    println!("{what}: {elapsed:?}, {} diagnostics", checked.diagnostics.len());
}

#[test]
fn long_schedules_check_quickly() {
    const LINES: usize = 10_000;
    let model = sched_testing::options("trees=30000");
    let (mut splits, mut tiles, mut annotations, mut consts, mut unknown) =
        (String::new(), String::new(), String::new(), String::new(), String::new());
    let (mut before, mut tiled) = ("tree".to_owned(), "batch".to_owned());
    for at in 1..=LINES {
        let _ = writeln!(splits, "split({before}, a{at}, r{at}, {at})");
        before = format!("r{at}");
        let _ = writeln!(tiles, "tile({tiled}, o{at}, i{at}, {})", i64::MAX >> at.min(60));
        tiled = format!("i{at}");
        let _ = writeln!(annotations, "cache(batch); unrollWalk(tree, {})", at % 9);
        let _ = writeln!(
            consts,
            "const C{at} = {} + num_trees",
            if at > 1 { format!("C{}", at - 1) } else { "1".into() }
        );
        let _ = writeln!(unknown, "tile(batch, b, c, X{at}); reorder(x{at}, tree)");
    }
    for options in [&CheckOptions::default(), &model] {
        quickly("splits", &splits, options);
        quickly("tiles", &tiles, options);
        quickly("annotations", &annotations, options);
        quickly("consts", &consts, options);
        quickly("unknown", &unknown, options);
    }
    let mut misspelt = String::new();
    for at in 0..LINES {
        let _ = writeln!(misspelt, "const D{at} = {at}\nconst K{at} = missing{at}");
    }
    quickly("names that nothing has beside many that something has", &misspelt, &model);
    let mut named = splits.clone();
    for at in 1..=LINES / 2 {
        let _ = writeln!(named, "parallel(a{at}); interleave(a{at}, 4)");
    }
    quickly("annotations of many loops", &named, &model);
    let within = |inside: &str| format!("when n_rows <= 8 {{\n{inside}}}\n");
    quickly("splits in a block", &within(&splits), &model);
    quickly("consts and a block", &format!("{consts}{}", within(&annotations)), &model);
    let heads: String = (1..=LINES).map(|at| format!("when n_rows <= {at} {{\n    cache(x)\n}}\n")).collect();
    quickly("many blocks", &heads, &model);
    let many: String = (1..=16).map(|at| format!("when n_rows <= {at} {{\n}}\n")).collect();
    quickly("consts of many schedules", &format!("{consts}{many}"), &model);
    let copies: String =
        "tile(batch, b0, b1, 1000)\ntile(tree, t0, t1, 3)\nreorder(b0, t0, b1, t1)\nspecialize(b1)\n".into();
    let mut copies = copies;
    for at in 0..LINES {
        let _ = writeln!(copies, "unrollWalk(b1[{}].t1, 3); cache(t1)", at % 1000);
    }
    quickly("copies", &copies, &model);
}
