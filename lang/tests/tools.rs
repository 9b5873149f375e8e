//! Output of tools about schedules: lineages in `tests/lineage`, differences in `tests/diff`. A file of the
//! latter has two schedules with `----` between them, then `====` and the differences. `UPDATE=1` writes
//! them.
use std::path::{Path, PathBuf};

use sched_lang::diagnostics::apply::fix_all;
use sched_lang::diagnostics::{CODES, Severity};
use sched_lang::diff::{diff, diff_by_rows, diff_by_rows_json, show_diff_by_rows};
use sched_lang::show::{lineage_json, show_lineages, until_line};
use sched_lang::{CheckOptions, check, check_lineage};
use sched_nest::show::{nest_json, show_nest};
use sched_nest::{Nest, Variants};
use sched_testing::schedules::schedule;
use sched_testing::{options, options_of_schedule};

fn files(folder: &str, extension: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(&folder).expect("the folder can be read");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let paths = paths.filter(|path| path.extension().is_some_and(|e| e == extension));
    let mut files: Vec<_> =
        paths.map(|path| (path.clone(), std::fs::read_to_string(&path).expect("a text"))).collect();
    files.sort();
    assert!(!files.is_empty(), "nothing in {}", folder.display());
    files
}

fn expect(path: &Path, actual: &str) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, actual).expect("the expectation can be written");
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(expected, actual, "{}: UPDATE=1 accepts the new output", path.display());
}

#[test]
fn lineages() {
    for (path, source) in files("tests/lineage", "sched") {
        let (checked, lineages) = check_lineage(&source, &options_of_schedule(&source));
        assert!(!checked.has_errors(), "{}: {:?}", path.display(), checked.diagnostics);
        expect(&path.with_extension("txt"), &show_lineages(&lineages));
        let lineage = lineages.rest();
        let json = lineage_json(lineage);
        let indices = json["indices"].as_array().expect("a list");
        assert_eq!(indices.len(), lineage.indices.len());
        for index in indices {
            let made = index["made_by"]["line"].as_u64();
            assert_eq!(made.is_none(), index["name"] == "batch" || index["name"] == "tree", "{index}");
            let gone = index["consumed_by"]["text"].is_string();
            assert_eq!(gone, index["successors"] != serde_json::json!([]), "{index}");
        }
    }
}

fn nests_of(source: &str, options: &CheckOptions) -> Variants<Nest> {
    let checked = check(source, options);
    checked.nests.unwrap_or_else(|| panic!("{:?}\n{source}", checked.diagnostics))
}

fn nest_of(source: &str, options: &CheckOptions) -> Nest {
    nests_of(source, options).rest().clone()
}

#[test]
fn differences() {
    for (path, text) in files("tests/diff", "txt") {
        let (schedules, _) = text.split_once("====\n").expect("a line of `=`");
        let (a, b) = schedules.split_once("----\n").expect("a line of `-`");
        let options = options_of_schedule(a);
        let (a, b) = (nests_of(a, &options), nests_of(b, &options));
        let there = diff_by_rows(&a, &b);
        let back = diff_by_rows(&b, &a);
        assert_eq!(there.is_empty(), back.is_empty());
        assert_eq!(a == b, back.is_empty(), "{}", path.display());
        assert_eq!(diff_by_rows_json(&there).as_array().map(Vec::is_empty), Some(a == b));
        expect(&path, &format!("{schedules}====\n{}", show_diff_by_rows(&there)));
    }
}

/// A nest does not differ from itself, and nests that print differently differ.
#[test]
fn differences_of_random_schedules() {
    let options = options("depths=1,2,2,3,5,4");
    let model = options.model.clone().expect("a model");
    let nests: Vec<Nest> = (0..60).map(|seed| nest_of(&schedule(seed, &model), &options)).collect();
    for a in &nests {
        for b in &nests {
            let changes = diff(a, b);
            assert_eq!(changes.is_empty(), show_nest(a) == show_nest(b), "{}{}", show_nest(a), show_nest(b));
        }
    }
}

#[test]
fn parts_of_a_schedule() {
    let source = "sched 1\ncache(b1)\ntile(batch, b0, b1, X)\n\nreorder(b0,\n  tree, b1)\nparam X = 8\n";
    let shown = |line| {
        show_nest(&nest_of(
            &until_line(source, line, &CheckOptions::default()).text,
            &CheckOptions::default(),
        ))
    };
    let root = "for batch in 0..n_rows\n  for tree in 0..N_t\n    walk\norder of accumulation: exact\n";
    assert_eq!(shown(1), root);
    assert_eq!(shown(2), root, "the loop of this annotation is not made yet");
    assert!(shown(3).contains("for b1 in 0..8 while b0 + b1 < n_rows [cache]\n    for tree"));
    assert_eq!(shown(3), shown(4));
    assert!(shown(5).contains("for tree in 0..N_t\n    for b1"), "{}", shown(5));
    assert_eq!(shown(5), shown(99));
    let broken = "tile(batch, b0, b1, 0)\ncache(b0)\n";
    assert_eq!(until_line(broken, 2, &CheckOptions::default()).text, broken);
    assert!(
        check(&until_line(broken, 1, &CheckOptions::default()).text, &CheckOptions::default()).has_errors()
    );
}

#[test]
fn nests_for_programs() {
    let source = "sched 1\ntile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nparallel(b0)\ninterleave(b1, 4)\n";
    let json = nest_json(&nest_of(source, &CheckOptions::default()));
    assert_eq!(json["roots"], serde_json::json!([0]));
    assert_eq!(json["loops"][0]["facts"], serde_json::json!({ "parallel": true }));
    assert_eq!(json["loops"][0]["stop"], "n_rows");
    assert_eq!(json["loops"][2]["stop"], 64);
    assert_eq!(json["loops"][2]["facts"]["interleave"], 4);
    assert_eq!(json["loops"][2]["body"]["kind"], "walk");
    assert_eq!(json["constraints"][0], serde_json::json!({ "loops": [0, 2], "below": "n_rows" }));
    assert_eq!(json["accumulation"]["order"], "exact");
}

#[test]
fn safe_fixes() {
    let cases = [
        ("cache(b0 b1)\n", "cache(b0, b1)\n", 1),
        ("tile batch, b0, b1, 64\ncache b0\n", "tile(batch, b0, b1, 64)\ncache(b0)\n", 2),
        ("cache(batch); cache(batch) // twice\n", "cache(batch);  // twice\n", 1),
        ("cache(batch)\n  cache(batch)  \nparallel(batch)\n", "cache(batch)\nparallel(batch)\n", 1),
        ("sched 7\n", "sched 1\n", 1),
        ("cache(batch) parallel(batch) unroll(tree)", "cache(batch) ; parallel(batch) ; unroll(tree)", 2),
        ("model 'a.json'\n", "model \"a.json\"\n", 1),
        ("paralel(batch)\n", "paralel(batch)\n", 0),
        ("", "", 0),
    ];
    for (before, after, count) in cases {
        let fixed = fix_all(before, &CheckOptions::default(), false);
        assert_eq!((fixed.text.as_str(), fixed.count), (after, count), "{before}");
    }
}

#[test]
fn unsure_fixes() {
    let source = "paralel(batch)\ntile(batch, b0, b1, 64\ncache(b2)\n";
    let fixed = fix_all(source, &CheckOptions::default(), true);
    assert_eq!(fixed.text, "parallel(b0)\ntile(batch, b0, b1, 64)\ncache(b0)\n");
    assert!(!fixed.checked.has_errors());
    let chosen = fix_all("tile(batch, b0, b1, ROWS)\n", &CheckOptions::default(), true);
    assert_eq!(chosen.count, 0, "a value to be chosen is not chosen by a program: {}", chosen.text);
}

/// Fixing the failing example of each code ends, without new errors, and fixed findings are gone.
#[test]
fn fixing_ends() {
    let mut fixed_codes = 0;
    for &code in CODES {
        let Some((_, rest)) = code.page().split_once("```sched") else { continue };
        let (words, rest) = rest.split_once('\n').expect("a line end after the fence");
        let (text, _) = rest.split_once("```").expect("a closing fence");
        let options = options(words);
        let errors = |source: &str| {
            check(source, &options).diagnostics.iter().filter(|d| d.severity == Severity::Error).count()
        };
        for unsure in [false, true] {
            let fixed = fix_all(text, &options, unsure);
            assert!(errors(&fixed.text) <= errors(text), "{}: {}", code, fixed.text);
            assert_eq!(check(&fixed.text, &options), fixed.checked, "{}", code);
            let again = fix_all(&fixed.text, &options, unsure);
            assert_eq!((again.text, again.count), (fixed.text, 0), "{}", code);
            fixed_codes += usize::from(fixed.count > 0);
        }
    }
    assert!(fixed_codes > 40, "only {fixed_codes} examples were fixed");
}
