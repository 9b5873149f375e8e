//! Every code has a page with valid examples.

use std::collections::BTreeSet;

use sched_lang::check;
use sched_lang::diagnostics::apply::apply;
use sched_lang::diagnostics::codes::find;
use sched_lang::diagnostics::{CODES, Code, Fix, Severity};

/// The examples of a page: the words after `sched` and the text.
fn examples(page: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once("```sched") {
        let (words, after) = after.split_once('\n').expect("a line end after the fence");
        let (text, after) = after.split_once("```").expect("a closing fence");
        found.push((words.trim().to_owned(), text.to_owned()));
        rest = after;
    }
    found
}

fn codes(words: &str, text: &str) -> BTreeSet<Code> {
    check(text, &sched_testing::options(words)).diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

#[test]
fn pages_fail_and_pass_as_they_say() {
    let mut wrong = Vec::new();
    for &code in CODES {
        let title = format!("# {}: {}\n", code, code.title());
        if !code.page().starts_with(&title) {
            wrong.push(format!("{}: the page does not begin with {title:?}", code));
        }
        let [(bad_words, bad), (good_words, good)] = examples(code.page()).try_into().unwrap_or_default();
        // A number that stays unknown also gives hints on what is not verified.
        let least = code.severity().min(Severity::Warning);
        let found = check(&bad, &sched_testing::options(&bad_words)).diagnostics;
        let bad: BTreeSet<Code> =
            found.iter().filter(|found| found.severity >= least).map(|found| found.code).collect();
        if bad != BTreeSet::from([code]) {
            wrong.push(format!("{}: the failing example gives {bad:?}", code));
        }
        let good = codes(&good_words, &good);
        if !good.is_empty() {
            wrong.push(format!("{}: the fixed example gives {good:?}", code));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn fixes_fix() {
    let mut fixed = 0;
    for &code in CODES {
        let Some((words, text)) = examples(code.page()).into_iter().next() else { continue };
        for diagnostic in check(&text, &sched_testing::options(&words)).diagnostics {
            for fix in &diagnostic.fixes {
                let after = apply(&text, &fix.edits).expect("edits that fit");
                let rest = codes(&words, &after);
                assert!(!rest.contains(&code), "{}: {} leaves {rest:?} in\n{after}", code, fix.title);
                fixed += 1;
            }
        }
    }
    assert!(fixed > 50, "only {fixed} fixes were tried");
}

#[test]
fn codes_ascend_and_read_back() {
    assert!(CODES.windows(2).all(|pair| pair[0] < pair[1]));
    for &code in CODES {
        assert_eq!(find(&code.to_string()), Some(code));
    }
    for text in ["", "S", "S12", "S00421", "X0042", "S+042"] {
        assert_eq!(find(text), None, "{text}");
    }
}

/// Whether a code concerns loops and annotations, not syntax, names and numbers.
fn is_legality(code: Code) -> bool {
    (40..=86).contains(&code.number())
}

/// Legality errors without a fix that keeps all directives, with reasons.
const WITHOUT_FIX: &[(u16, &str)] = &[
    (48, "the page shows that halves of a split cannot be reordered"),
    (56, "only removing the directive helps"),
    (60, "only the author knows which of the copies are not needed"),
    (61, "one of the two annotations must go"),
    (68, "one of the two annotations must go"),
    (80, "the expression is in another line, and the check needs a model"),
];

#[test]
fn every_refusal_has_a_fix() {
    let directives = |text: &str| sched_grammar::parse(text).file.stmts.len();
    let mut without = Vec::new();
    for code in CODES.iter().filter(|code| is_legality(**code) && code.severity() == Severity::Error) {
        let Some((words, text)) = examples(code.page()).into_iter().next() else { continue };
        let options = sched_testing::options(&words);
        let fixes = check(&text, &options).diagnostics.into_iter().flat_map(|diagnostic| diagnostic.fixes);
        let helps = |fix: &Fix| {
            let after = apply(&text, &fix.edits).expect("edits that fit");
            directives(&after) >= directives(&text) && !check(&after, &options).has_errors()
        };
        if !fixes.into_iter().any(|fix| helps(&fix)) {
            without.push(code.number());
        }
    }
    let known: Vec<u16> = WITHOUT_FIX.iter().map(|(code, _)| *code).collect();
    assert_eq!(without, known, "codes whose example no fix mends but by leaving the directive out");
}
