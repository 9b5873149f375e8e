//! The renderers for programs, and places in texts that are not plain ASCII.

use sched_lang::diagnostics::{concise, full, json};
use sched_lang::{CheckOptions, check};

#[test]
fn places_count_characters_and_bytes() {
    let source = "# ä\r\nconst X = 1; tile(batch, b0, b1, X); /* */\r\n cache(bö)\n\n";
    let checked = check(source, &CheckOptions::default());
    let lines = concise::render("a b.sched", source, &checked.diagnostics);
    for line in lines.lines() {
        assert!(line.starts_with("a b.sched:2:") || line.starts_with("a b.sched:3:"), "{line}");
    }
    let text = json::render("a b.sched", source, &checked.diagnostics);
    let all: serde_json::Value = serde_json::from_str(&text).expect("valid JSON");
    let all = all.as_array().expect("an array");
    assert_eq!(all.len(), lines.lines().count());
    for one in all {
        let (start, end) = (one["place"]["start"].as_u64(), one["place"]["end"].as_u64());
        let range = start.expect("a start") as usize..end.expect("an end") as usize;
        assert!(source.get(range).is_some());
        let place = format!("a b.sched:{}:{}:", one["place"]["line"], one["place"]["column"]);
        assert!(lines.lines().any(|line| line.starts_with(&place)), "{place} in\n{lines}");
    }
}

#[test]
fn colours_only_where_wanted() {
    let source = "tile(batch, b0, b1, 0)";
    let checked = check(source, &CheckOptions::default());
    assert!(full::render("x", source, &checked.diagnostics, true).contains('\u{1b}'));
    assert!(!full::render("x", source, &checked.diagnostics, false).contains('\u{1b}'));
}

#[test]
fn json_has_everything() {
    let source = "tile(batch, b0, b1, 64)\nreorder(tree, batch)\n";
    let checked = check(source, &CheckOptions::default());
    let text = json::render("x.sched", source, &checked.diagnostics);
    let all: serde_json::Value = serde_json::from_str(&text).expect("valid JSON");
    let one = &all[0];
    assert_eq!(one["code"], "S0040");
    assert_eq!(one["severity"], "error");
    assert_eq!(one["place"]["line"], 2);
    assert_eq!(one["labels"][0]["place"]["start"], 0);
    assert_eq!(one["fixes"][0]["edits"][0]["text"], "b0");
    assert_eq!(one["fixes"][1]["edits"][0]["text"], "b1");
}
