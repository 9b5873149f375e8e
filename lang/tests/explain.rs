//! Every code has a page, and the examples on it are what they claim to be.

mod support;

use std::collections::BTreeSet;

use sched_lang::check;
use sched_lang::diagnostics::apply::apply;
use sched_lang::diagnostics::{CODES, Code};

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
    check(text, &support::options(words)).diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

#[test]
fn pages_fail_and_pass_as_they_say() {
    let mut wrong = Vec::new();
    for info in CODES {
        let title = format!("# {}: {}\n", info.code, info.title);
        if !info.page.starts_with(&title) {
            wrong.push(format!("{}: the page does not begin with {title:?}", info.code));
        }
        let [(bad_words, bad), (good_words, good)] = examples(info.page).try_into().unwrap_or_default();
        let bad = codes(&bad_words, &bad);
        if bad != BTreeSet::from([info.code]) {
            wrong.push(format!("{}: the failing example gives {bad:?}", info.code));
        }
        let good = codes(&good_words, &good);
        if !good.is_empty() {
            wrong.push(format!("{}: the fixed example gives {good:?}", info.code));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn fixes_fix() {
    let mut fixed = 0;
    for info in CODES {
        let Some((words, text)) = examples(info.page).into_iter().next() else { continue };
        for diagnostic in check(&text, &support::options(&words)).diagnostics {
            for fix in &diagnostic.fixes {
                let after = apply(&text, &fix.edits).expect("edits that fit");
                let rest = codes(&words, &after);
                assert!(
                    !rest.contains(&info.code),
                    "{}: {} leaves {rest:?} in\n{after}",
                    info.code,
                    fix.title
                );
                fixed += 1;
            }
        }
    }
    assert!(fixed > 50, "only {fixed} fixes were tried");
}

#[test]
fn codes_ascend_and_read_back() {
    assert!(CODES.windows(2).all(|pair| pair[0].code < pair[1].code));
    for info in CODES {
        assert_eq!(info.code.to_string().parse(), Ok(info.code));
    }
    for text in ["", "S", "S12", "S00421", "X0042", "S+042"] {
        assert!(text.parse::<Code>().is_err(), "{text}");
    }
}
