//! Each offered fix removes its finding, and fixing ends with a better schedule.

use std::collections::{BTreeMap, BTreeSet};

use sched_lang::diagnostics::apply::{apply, fix_all};
use sched_lang::diagnostics::{Applicability, Code, Diagnostic, Severity, codes};
use sched_lang::directives::SIGNATURES;
use sched_lang::{CheckOptions, check};
use sched_testing::schedules::Rng;

/// The schedules of a folder.
fn schedules(folder: &str) -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(folder).expect("the folder");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "sched"));
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).expect("a schedule")).collect()
}

/// Number of occurrences of each statement in a text, without blanks.
fn statements(text: &str) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for stmt in sched_grammar::parse(text).file.stmts {
        let text = text[stmt.span.range()].split_whitespace().collect::<String>();
        *all.entry(text).or_insert(0) += 1;
    }
    all
}

/// Statements that occur more than once, and more often than before.
fn duplicated(before: &str, after: &str) -> BTreeSet<String> {
    let known = statements(before);
    let more = |(text, count): &(String, usize)| {
        *count > 1 && *count > known.get(text).copied().unwrap_or(0) && text.ends_with(')')
    };
    statements(after).into_iter().filter(more).map(|(text, _)| text).collect()
}

/// Number of findings with a code.
fn count(found: &[Diagnostic], code: Code) -> usize {
    found.iter().filter(|diagnostic| diagnostic.code == code).count()
}

/// Number of findings with the same message.
fn same(found: &[Diagnostic], one: &Diagnostic) -> usize {
    found.iter().filter(|other| other.code == one.code && other.message == one.message).count()
}

fn rendered(text: &str, found: &[Diagnostic]) -> String {
    sched_lang::diagnostics::concise::render("it", text, found)
}

/// Whether the text names a CPU as its target.
fn is_for_cpu(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("target cpu"))
}

/// Applies each fix alone. Returns the number of fixes.
fn each_alone(text: &str, options: &CheckOptions) -> usize {
    let found = check(text, options).diagnostics;
    let mut fixes = 0;
    for finding in &found {
        for fix in &finding.fixes {
            fixes += 1;
            let after = apply(text, &fix.edits).expect("edits that fit");
            let rest = check(&after, options).diagnostics;
            let why = || {
                format!(
                    "{} `{}` in\n{text}\ngives\n{after}\n{}\n(was: {})",
                    finding.code,
                    fix.title,
                    rendered(&after, &rest),
                    finding.message
                )
            };
            assert!(same(&rest, finding) < same(&found, finding), "{}", why());
            assert!(duplicated(text, &after).is_empty(), "{}", why());
            if is_for_cpu(text) && finding.severity == Severity::Error {
                assert!(count(&rest, codes::GPU_ON_CPU) <= count(&found, codes::GPU_ON_CPU), "{}", why());
            }
        }
    }
    fixes
}

/// Applies all fixes. Returns the number of fixed findings.
fn all_together(text: &str, options: &CheckOptions, unsure: bool) -> usize {
    let before = check(text, options).diagnostics;
    let fixed = fix_all(text, options, unsure);
    let after = &fixed.checked.diagnostics;
    let why = || format!("{text}\nbecomes\n{}\n{}", fixed.text, rendered(&fixed.text, after));
    let errors = |found: &[Diagnostic]| found.iter().filter(|d| d.severity == Severity::Error).count();
    assert!(errors(after) <= errors(&before), "{}", why());
    assert!(duplicated(text, &fixed.text).is_empty(), "{}", why());
    assert_eq!(fixed.count == 0, fixed.text == text, "{}", why());
    if is_for_cpu(text) {
        let maps = |text: &str| text.matches("gpuDimension").count();
        assert!(maps(&fixed.text) <= maps(text), "{}", why());
    }
    let again = fix_all(&fixed.text, options, unsure);
    assert_eq!((again.count, &again.text), (0, &fixed.text), "fixing goes on after\n{}", why());
    fixed.count
}

#[test]
fn fixes_of_failing_schedules() {
    let (mut alone, mut together) = (0, 0);
    for text in schedules("tests/fail") {
        let options = sched_testing::options_of_schedule(&text);
        alone += each_alone(&text, &options);
        together += all_together(&text, &options, false) + all_together(&text, &options, true);
    }
    assert!(alone > 150 && together > 100, "only {alone} fixes were offered and {together} findings fixed");
}

/// A schedule with a typical mistake.
fn mutated(text: &str, rng: &mut Rng) -> String {
    let mut lines: Vec<String> =
        text.lines().filter(|line| !line.starts_with("//")).map(str::to_owned).collect();
    let at = rng.below(lines.len());
    let names = ["batch", "tree", "b0", "b1", "t0", "t1"];
    match rng.below(9) {
        0 => {
            lines.remove(at);
        }
        1 => lines.insert(at, lines[at].clone()),
        2 => {
            let other = rng.below(lines.len());
            lines.swap(at, other);
        }
        3 => {
            let (from, to) = (rng.pick(&names).expect("a name"), rng.pick(&names).expect("a name"));
            lines[at] = lines[at].replace(from, to);
        }
        4 => {
            let digits = |c: char| c.is_ascii_digit();
            let number = ["0", "1", "3", "7", "48", "1000", "70000"][rng.below(7)];
            if let Some(start) = lines[at].find(" 1").or(lines[at].rfind(' ')) {
                let rest = lines[at][start + 1..].trim_start_matches(digits).to_owned();
                lines[at] = format!("{} {number}{rest}", &lines[at][..start]);
            }
        }
        5 => {
            let name = rng.pick(SIGNATURES).expect("a directive").name;
            let arguments = lines[at].find('(').map(|open| lines[at][open..].to_owned());
            lines[at] = format!("{name}{}", arguments.unwrap_or_default());
        }
        6 => lines.insert(0, ["target cpu", "target gpu", "target gpu(sm_90)"][rng.below(3)].to_owned()),
        7 => {
            let name = rng.pick(SIGNATURES).expect("a directive").name;
            let v = rng.pick(&names).expect("a name");
            let rest = ["", ", 2", ", 8", ", block.x", ", grid.x", ", sparse"][rng.below(6)];
            lines.insert(at, format!("{name}({v}{rest})"));
        }
        _ => {
            let cut = rng.below(lines[at].len() + 1);
            if lines[at].is_char_boundary(cut) && cut < lines[at].len() {
                lines[at].remove(cut);
            }
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn fixes_of_mutated_examples() {
    let options = ["", "trees=20 depth=4 features=5", "trees=100 depth=6 features=30 compile"]
        .map(sched_testing::options);
    let (mut alone, mut together) = (0, 0);
    for (number, text) in schedules("../examples").into_iter().enumerate() {
        let mut rng = Rng(number as u64 + 1);
        for round in 0..60 {
            let mut text = mutated(&text, &mut rng);
            if round % 2 == 1 {
                text = mutated(&text, &mut rng);
            }
            let options = &options[round % options.len()];
            alone += each_alone(&text, options);
            together += all_together(&text, options, true);
        }
    }
    assert!(alone > 500 && together > 300, "only {alone} fixes were offered and {together} findings fixed");
}

#[test]
fn a_reduction_of_threads_on_a_cpu_is_left_out() {
    let text = "target cpu\ntile(tree, t0, t1, 25)\nreorder(t0, batch, t1)\nparallel(t0)\nsharedReduce(t0)\n";
    let options = sched_testing::options("trees=100");
    let fixed = fix_all(text, &options, true);
    assert_eq!(fixed.count, 1);
    assert_eq!(fixed.text, text.replace("sharedReduce(t0)\n", ""));
    assert!(!fixed.checked.has_errors());
    // One loop without a parallel reduction.
    let fixed = fix_all("target cpu\nsharedReduce(tree)\n", &options, true);
    assert_eq!((fixed.count, fixed.text.as_str()), (1, "target cpu\n"));
}

#[test]
fn hints_are_not_fixed() {
    let text = "tile(tree, t0, t1, 64)\n";
    let options = sched_testing::options("trees=100");
    let hint = &check(text, &options).diagnostics[0];
    assert_eq!((hint.code, hint.severity), (codes::PARTIAL_TILE, Severity::Hint));
    assert!(!hint.fixes.is_empty(), "an editor offers the sizes that divide");
    let fixed = fix_all(text, &options, true);
    assert_eq!((fixed.count, fixed.text.as_str()), (0, text));
}

#[test]
fn one_fix_without_use_does_not_keep_the_others_back() {
    // Two errors with only placeholders or no fixes, among others with fixes.
    let text = "paralel(batch)\ntile(tree, t0, t1, SIZE)\ncache(batch)\ncache(batch)\nunrollWalk(tree, 0)\n";
    let options = sched_testing::options("trees=100");
    let fixed = fix_all(text, &options, true);
    assert!(fixed.text.starts_with("parallel(batch)\n"), "{}", fixed.text);
    assert_eq!(fixed.text.matches("cache(batch)").count(), 1, "{}", fixed.text);
    let applicable =
        |d: &Diagnostic| d.fixes.iter().any(|fix| fix.applicability != Applicability::Placeholder);
    assert!(
        !fixed.checked.diagnostics.iter().any(applicable),
        "{}",
        rendered(&fixed.text, &fixed.checked.diagnostics)
    );
}

/// The directives that a help names: texts in backquotes with arguments.
fn named_directives(help: &str) -> Vec<&str> {
    help.split('`').skip(1).step_by(2).filter(|text| text.ends_with(')')).collect()
}

/// A help that names directives instead of the one at fault names legal ones.
#[test]
fn directives_in_helps_are_legal() {
    let codes = [codes::NOT_LEAF, codes::NOT_IN_STAGE, codes::TERMS_OUT_OF_ORDER];
    let more = [
        // facts, and a schedule with a typical mistake
        "// facts: trees=100 features=30 target=gpu\ntile(batch, b0, b1, 64)\ngpuDimension(b0, grid.x)\n\
         gpuDimension(b1, block.x)\ncache(b0)\nrepresentation(quantized)\nvectorize(b1, 4)\n",
        "// facts: trees=100 features=30\nreorder(tree, batch)\nvectorize(tree, 8)\n",
        "// facts: trees=100 features=30\ntile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\ninterleave(b1, 2)\n\
         vectorize(b1, 8)\nvectorize(b0, 8)\n",
        "// facts: trees=100 features=30\nsplit(tree, t0, t1, 50)\ninterleave(batch, 4)\n",
        "// facts: trees=100 layers=64x20\ntile(batch, b0, b1, 64)\ntile(tree, t0, t1, 10)\n\
         unrollWalk(layer1.unit, 4)\nspecialize(layer1.unit)\n",
        "// facts: trees=100 layers=64x20 target=gpu\ngpuDimension(layer1.batch, grid.x)\n",
        "// facts: trees=100 layers=64x20\nvectorReduce(layer1.unit, 8)\natomicReduce(layer1.unit)\n",
        "// facts: trees=100 layers=64x20\nvectorize(layer1.unit, 4)\nvectorize(layer1.feature, 4)\n",
        "// facts: trees=100 layers=t3x200\nvectorize(trees1.tree, 8)\ninterleave(trees1.tree, 2)\n\
         tile(trees1.tree, t0, t1, 8)\nreorder(trees1.t1, trees1.t0)\n",
    ];
    let texts = schedules("tests/fail").into_iter().chain(more.map(str::to_owned));
    let (mut findings, mut tried) = (0, 0);
    for text in texts {
        let options = sched_testing::options_of_schedule(&text);
        let found = check(&text, &options).diagnostics;
        for finding in found.iter().filter(|finding| codes.contains(&finding.code)) {
            findings += 1;
            let help = finding.help.as_deref().unwrap_or_default();
            let span = statement_at(&text, finding.span().start as usize);
            for named in named_directives(help) {
                let removed =
                    ["emove ", "leave "].iter().any(|word| help.contains(&format!("{word}`{named}`")));
                let after = if removed {
                    text.replacen(named, "", 1)
                } else if help.contains(&format!("write `{named}` before")) {
                    format!("{}{named}\n{}", &text[..span.start], &text[span.start..])
                } else if text[span.clone()] == *named {
                    continue;
                } else {
                    format!("{}{named}{}", &text[..span.start], &text[span.end..])
                };
                tried += 1;
                let rest = check(&after, &options).diagnostics;
                let errors =
                    |found: &[Diagnostic]| found.iter().filter(|d| d.severity == Severity::Error).count();
                assert!(
                    same(&rest, finding) < same(&found, finding) && errors(&rest) <= errors(&found),
                    "{help}\n`{named}` in\n{text}\ngives\n{after}\n{}",
                    rendered(&after, &rest)
                );
            }
            assert!(!named_directives(help).is_empty(), "{text}: no help for {}: {help}", finding.message);
        }
    }
    assert!(findings > 30 && tried > 20, "{findings} findings, {tried} directives");
}

/// Range of the statement at a byte of a text.
fn statement_at(text: &str, at: usize) -> std::ops::Range<usize> {
    let stmts = sched_grammar::parse(text).file.stmts;
    let found = stmts.iter().map(|stmt| stmt.span.range()).find(|range| range.contains(&at));
    found.expect("a statement")
}
