//! All proposed next steps are legal, and no simple legal step is missing.

use std::collections::{BTreeMap, BTreeSet};

use sched_lang::diagnostics::{Code, Severity};
use sched_lang::directives::{DirectiveOp, SIGNATURES};
use sched_lang::legal_next::{Argument, NextStep, at};
use sched_lang::{CheckOptions, CheckPurpose, check};
use sched_nest::Layout;
use sched_testing::schedules::{Rng, schedule};

fn examples() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let entries = std::fs::read_dir(folder).expect("the examples");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "sched"));
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).expect("a schedule")).collect()
}

/// Errors and warnings by code.
fn problems(text: &str, options: &CheckOptions) -> BTreeMap<Code, usize> {
    let mut problems = BTreeMap::new();
    for diagnostic in check(text, options).diagnostics {
        if diagnostic.severity >= Severity::Warning {
            *problems.entry(diagnostic.code).or_insert(0) += 1;
        }
    }
    problems
}

/// The texts of a step in all of its forms.
fn forms(next: &NextStep) -> impl Iterator<Item = String> {
    std::iter::once(next.text()).chain(next.with_other_numbers.iter().map(ToString::to_string))
}

/// Writes each proposal into the text. Returns the number of proposals.
fn all_are_legal(text: &str, offset: usize, options: &CheckOptions, only: Option<DirectiveOp>) -> usize {
    let before = problems(text, options);
    let proposals = at(text, offset, options, only);
    for next in proposals.iter().flat_map(forms) {
        let (start, end) = text.split_at(offset);
        let after = problems(&format!("{start}{next}\n{end}"), options);
        let is_new = |(code, count): (&Code, &usize)| before.get(code).is_none_or(|known| count > known);
        assert!(!after.iter().any(is_new), "`{next}` at {offset} gives {after:?} in\n{text}");
    }
    proposals.len()
}

#[test]
fn proposals_are_legal_in_examples() {
    let options = [CheckOptions::default(), sched_testing::options("trees=20 depth=4 features=5 compile")];
    let mut count = 0;
    for text in examples() {
        for options in &options {
            let starts = text.match_indices('\n').map(|(at, _)| at + 1).filter(|at| !text[*at..].is_empty());
            for offset in starts.step_by(2).chain([text.len()]) {
                count += all_are_legal(&text, offset, options, None);
            }
        }
    }
    assert!(count > 1000, "only {count} proposals");
}

#[test]
fn proposals_are_legal_in_random_schedules() {
    let mut count = 0;
    for seed in 0..500 {
        let mut rng = Rng(seed);
        let trees = 1 + rng.below(20);
        let options = sched_testing::options(&format!("trees={trees} depth={} compile", 1 + rng.below(6)));
        let text = schedule(seed, options.model.as_deref().expect("a model"));
        for _ in 0..3 {
            let signature = rng.pick(SIGNATURES).expect("a directive");
            count += all_are_legal(&text, text.len(), &options, Some(signature.op));
        }
    }
    assert!(count > 1000, "only {count} proposals");
}

/// Simple forms of a directive about one loop, in text.
fn simple(name: &str, v: &str) -> Vec<String> {
    let numbers = |list: &[i64], before: &str| -> Vec<String> {
        list.iter().map(|n| format!("{name}({v}{before}, {n})")).collect()
    };
    match name {
        "tile" => numbers(&[2, 3, 4, 8, 64], ", new_a, new_b"),
        "split" => numbers(&[1, 2, 3, 4, 64], ", new_a, new_b"),
        "interleave" | "vectorize" => {
            let mut all = numbers(&[2, 4, 8], "");
            all.push(format!("{name}({v})"));
            all
        }
        "unrollWalk" | "peelWalk" | "speculateWalk" | "vectorReduce" => numbers(&[1, 2, 4, 8], ""),
        "representation" => {
            Layout::ALL.iter().map(|layout| format!("{name}({v}, {})", layout.word())).collect()
        }
        "gpuDimension" => ["grid.x", "block.x", "block.z"].map(|word| format!("{name}({v}, {word})")).into(),
        "sortTrees" | "tileTrees" | "reorder" => Vec::new(),
        _ => vec![format!("{name}({v})")],
    }
}

/// The bare names of all loops of the nest.
fn loop_names(text: &str, options: &CheckOptions) -> Vec<String> {
    let nest = check(text, options).nest().cloned().expect("a legal schedule");
    let bare = |name: &str| {
        let last = name.rsplit('.').next().unwrap_or(name);
        last.split('[').next().unwrap_or(last).to_owned()
    };
    let names: BTreeSet<String> = nest.loops.iter().map(|this| bare(&this.name)).collect();
    names.into_iter().collect()
}

/// Tries all simple forms and looks for them among the proposals. Numbers may differ.
fn nothing_is_missing(text: &str, options: &CheckOptions) -> usize {
    let before = problems(text, options);
    if !before.is_empty() {
        // A new warning may replace an old one, which counts do not show.
        return 0;
    }
    let proposals = at(text, text.len(), options, None);
    let mut found = 0;
    let names = loop_names(text, options);
    let proposed = |name: &str, v: &[&str]| {
        proposals.iter().any(|next| {
            let signature = next.operation.signature().expect("a directive");
            let loops: Vec<String> = next
                .operation
                .arguments()
                .into_iter()
                .filter_map(|argument| match argument {
                    Argument::Loop(text) => Some(text),
                    _ => None,
                })
                .collect();
            signature.name == name && loops.iter().map(String::as_str).eq(v.iter().copied())
        })
    };
    for signature in SIGNATURES {
        for v in &names {
            for line in simple(signature.name, v) {
                if problems(&format!("{text}{line}\n"), options) == before {
                    found += 1;
                    assert!(proposed(signature.name, &[v]), "`{line}` is not proposed after\n{text}");
                }
            }
        }
    }
    for a in &names {
        for b in names.iter().filter(|b| *b != a) {
            let line = format!("reorder({a}, {b})");
            let checked = check(&format!("{text}{line}\n"), options);
            let same = check(text, options).nests == checked.nests;
            if !same && problems(&format!("{text}{line}\n"), options) == before {
                found += 1;
                assert!(proposed("reorder", &[a, b]), "`{line}` is not proposed after\n{text}");
            }
        }
    }
    found
}

#[test]
fn nothing_simple_is_missing() {
    let mut found = 0;
    for text in examples() {
        for words in ["", "trees=20 depth=4 features=5"] {
            found += nothing_is_missing(&text, &sched_testing::options(words));
        }
    }
    for seed in 0..120 {
        let options = sched_testing::options("trees=12 depth=4 compile");
        assert_eq!(options.purpose, CheckPurpose::Compile);
        let text = schedule(seed, options.model.as_deref().expect("a model"));
        found += nothing_is_missing(&text, &options);
    }
    assert!(found > 1000, "only {found} forms were legal");
}

#[test]
fn a_directive_being_written_is_left_out() {
    let text = "tile(batch, b0, b1, 64)\nreor\nparallel(b0)\n";
    let proposals =
        at(text, text.find("reor").expect("there") + 4, &CheckOptions::default(), Some(DirectiveOp::Reorder));
    let texts: Vec<String> = proposals.iter().map(NextStep::text).collect();
    assert!(texts.contains(&"reorder(tree, b1)".to_owned()), "{texts:?}");
    // An annotation of a loop that is replaced later has no effect.
    let text = "\ntile(batch, b0, b1, 64)\n";
    let texts: Vec<String> = at(text, 0, &CheckOptions::default(), Some(DirectiveOp::Parallel))
        .iter()
        .map(NextStep::text)
        .collect();
    assert_eq!(texts, ["parallel(tree)"]);
    let choices = at("", 0, &sched_testing::options("trees=100"), Some(DirectiveOp::Tile));
    assert_eq!(choices[0].text(), "tile(batch, b0, b1, 64)");
    assert!(choices[0].choices().contains(&"256".to_owned()));
    assert_eq!(choices[1].choices(), ["2"], "sizes that divide 100 trees");
}

#[test]
fn the_usual_next_steps_come_first() {
    let options = sched_testing::options("trees=100 depth=6");
    let text = "tile(batch, b0, b1, 64)\n";
    let reorders = at(text, text.len(), &options, Some(DirectiveOp::Reorder));
    assert_eq!(reorders[0].text(), "reorder(b0, tree, b1)");
    let text = "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\n";
    let vectors = at(text, text.len(), &options, Some(DirectiveOp::Vectorize));
    let widths: Vec<String> = [vec!["8".to_owned()], vectors[0].choices()].concat();
    assert_eq!(widths, ["8", "16", "32", "64", "4"]);
    // Vectors wider than their loop are missing.
    let text = "tile(batch, b0, b1, 16)\nreorder(b0, tree, b1)\n";
    let vectors = at(text, text.len(), &options, Some(DirectiveOp::Vectorize));
    assert_eq!(vectors[0].choices(), ["16", "4"]);
}
