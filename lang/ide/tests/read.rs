//! Features of editors for reading and writing a schedule. Each file in `cases/FEATURE` holds cases: after
//! `=== title | words` (options of the check; `crlf` writes line ends in two characters) a schedule with
//! cursors `‸`, after `---` the answers. `UPDATE=1 cargo test -p sched-ide read::` writes the answers:
//! review them.
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sched_grammar::ast::Span;
use sched_ide::*;
use sched_lang::diagnostics::Severity;
use sched_lang::directives::SIGNATURES;
use sched_lang::{CheckOptions, ModelInfo};

/// The mark of the cursor in a case.
const CURSOR: char = '‸';

struct Case {
    title: String,
    source: String,
    answers: String,
}

/// The cases of a file.
fn cases(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    for part in text.split("\n=== ").map(|part| part.strip_prefix("=== ").unwrap_or(part)) {
        let Some((title, rest)) = part.split_once('\n') else { continue };
        let rest = format!("{rest}\n");
        let (source, answers) = rest.split_once("---\n").unwrap_or((&rest, ""));
        let (title, source) = (title.to_owned(), source.to_owned());
        cases.push(Case { title, source, answers: answers.trim_end().to_owned() });
    }
    cases
}

/// The text without its cursors, and their offsets.
fn cursors(marked: &str) -> (String, Vec<usize>) {
    let mut parts = marked.split(CURSOR);
    let mut text = parts.next().unwrap_or_default().to_owned();
    let mut offsets = Vec::new();
    for part in parts {
        offsets.push(text.len());
        text.push_str(part);
    }
    (text, offsets)
}

fn analysis(case: &Case) -> (Analysis, Vec<usize>) {
    let words = case.title.split_once('|').map_or("", |(_, words)| words);
    let words: Vec<&str> = words.split_whitespace().collect();
    let is_crlf = words.contains(&"crlf");
    let options =
        sched_testing::options(&words.into_iter().filter(|w| *w != "crlf").collect::<Vec<_>>().join(" "));
    let source = if is_crlf { case.source.replace('\n', "\r\n") } else { case.source.clone() };
    let (text, offsets) = cursors(&source);
    (Analysis::new(text, options), offsets)
}

fn files(feature: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(feature);
    let entries = std::fs::read_dir(&folder).expect("the folder can be read");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no cases in {}", folder.display());
    files
}

/// Compares the answers to all cases of a feature with the expected ones, or writes them.
fn expect(feature: &str, answer: &dyn Fn(&Analysis, &[usize]) -> String) {
    let mut wrong = Vec::new();
    for path in files(feature) {
        let text = std::fs::read_to_string(&path).expect("a file of cases").replace("\r\n", "\n");
        let mut updated = String::new();
        for case in cases(&text) {
            let (analysis, offsets) = analysis(&case);
            let actual = answer(&analysis, &offsets).replace('\r', "␍");
            let actual = actual.trim_end();
            if actual != case.answers {
                wrong.push(format!(
                    "{}: {}\n--- expected\n{}\n--- actual\n{actual}\n",
                    path.display(),
                    case.title,
                    case.answers
                ));
            }
            let _ = write!(updated, "=== {}\n{}---\n{actual}\n\n", case.title, case.source);
        }
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, updated.trim_end().to_owned() + "\n").expect("the cases can be written");
            wrong.clear();
        }
    }
    assert!(wrong.is_empty(), "{}\nUPDATE=1 accepts the new answers", wrong.join("\n"));
}

/// The answers at all cursors, numbered, each indented below a headline.
fn at_each(offsets: &[usize], answer: &dyn Fn(usize) -> Option<(String, String)>) -> String {
    let mut out = String::new();
    for (number, offset) in offsets.iter().enumerate() {
        let (headline, text) = answer(*offset).unwrap_or(("nothing".to_owned(), String::new()));
        let _ = writeln!(out, "{}. {headline}", number + 1);
        for line in text.lines() {
            let _ = writeln!(out, "{}", format!("   {line}").trim_end());
        }
    }
    out
}

#[test]
fn hovers() {
    expect("hover", &|analysis, offsets| {
        at_each(offsets, &|offset| {
            let hover = hover(analysis, offset)?;
            let page = hover.page.map_or(String::new(), |page| format!(", see {page}"));
            Some((format!("`{}`{page}", analysis.text(hover.span)), hover.markdown))
        })
    });
}

/// The line after a completion, with `│` around the new text.
fn shown(analysis: &Analysis, item: &Completion) -> String {
    let source = analysis.source();
    let (start, end) = (item.replace.start as usize, item.replace.end as usize);
    let line = source[..start].rfind('\n').map_or(0, |at| at + 1);
    let rest = source[end..].lines().next().unwrap_or_default();
    format!("{}│{}│{rest}", &source[line..start], item.insert)
}

#[test]
fn completions() {
    expect("completion", &|analysis, offsets| {
        at_each(offsets, &|offset| {
            let all = completion(analysis, offset);
            let first = all.first()?;
            let headline = shown(analysis, first);
            let mut text = String::new();
            for item in &all {
                assert_eq!(item.replace, first.replace, "one word is replaced");
                let _ =
                    writeln!(text, "{:?} {} ({}) filter {}", item.kind, item.label, item.detail, item.filter);
            }
            Some((headline, text))
        })
    });
}

#[test]
fn every_completed_directive_is_legal() {
    let mut count = 0;
    for text in corpus().iter().filter(|text| text.len() < 800 && is_small(text)) {
        for options in [CheckOptions::default(), sched_testing::options("depths=1,2,2,3,1,5,4 features=3")] {
            let starts = text.match_indices('\n').map(|(at, _)| at + 1).chain([0]);
            for offset in starts.step_by(3) {
                let analysis = Analysis::new(text.as_str(), options.clone());
                for item in completion(&analysis, offset) {
                    if item.is_whole_directive() {
                        let line = format!("{}\n", item.label);
                        let written = format!("{}{line}{}", &text[..offset], &text[offset..]);
                        nothing_new(&analysis, &written, &item.label);
                        count += 1;
                    }
                }
            }
        }
    }
    assert!(count > 500, "only {count} completions");
}

#[test]
fn every_completed_argument_is_legal() {
    let mut count = 0;
    for text in corpus().iter().filter(|text| text.len() < 800 && is_small(text)) {
        let options = sched_testing::options("depths=1,2,2,3,1,5,4 features=3");
        for directive in SIGNATURES.iter().filter(|signature| signature.required == 1 && !signature.repeats) {
            let offset = text.len() + directive.name.len() + 1;
            let written = format!("{text}{}()\n", directive.name);
            let without = Analysis::new(text.as_str(), options.clone());
            for item in completion(&Analysis::new(written.as_str(), options.clone()), offset) {
                if item.kind == CompletionKind::Index || item.kind == CompletionKind::Word {
                    // Optional numbers are left out, so the checker chooses them.
                    let (start, end) = (item.replace.start as usize, item.replace.end as usize);
                    let whole = format!("{}{}{}", &written[..start], item.insert, &written[end..]);
                    let is_layout = directive.name == "representation" && item.kind == CompletionKind::Index;
                    if !is_layout {
                        nothing_new(&without, &whole, &item.label);
                        count += 1;
                    }
                }
            }
        }
    }
    assert!(count > 300, "only {count} completions");
}

/// Checks that a text has no error and no warning more often than another text.
fn nothing_new(before: &Analysis, text: &str, what: &str) {
    let count = |analysis: &Analysis, code| {
        let all = analysis.verdict().diagnostics.iter();
        all.filter(|d| d.code == code && d.severity >= Severity::Warning).count()
    };
    let after = Analysis::new(text, before.options().clone());
    for diagnostic in after.verdict().diagnostics.iter().filter(|d| d.severity >= Severity::Warning) {
        let code = diagnostic.code;
        assert!(
            count(&after, code) <= count(before, code),
            "`{what}` gives {code}: {} in\n{text}",
            diagnostic.message
        );
    }
}

#[test]
fn signatures() {
    expect("signature", &|analysis, offsets| {
        at_each(offsets, &|offset| {
            let help = signature_help(analysis, offset)?;
            let mark = |at: usize| if at == help.active { "> " } else { "  " };
            let lines = help.parameters.iter().enumerate().map(|(at, parameter)| {
                let (start, end) = parameter.label;
                format!("{}{}: {}\n", mark(at), &help.label[start..end], parameter.documentation)
            });
            assert!(!help.documentation.is_empty());
            Some((help.label.clone(), lines.collect()))
        })
    });
}

#[test]
fn inlays() {
    expect("inlay", &|analysis, _| {
        let all = InlayKinds { ranges: true, iterations: true, parameters: true, values: true };
        let whole = Span::new(0, analysis.source().len());
        let hints = inlay_hints(analysis, whole, all);
        let mut text = analysis.source().to_owned();
        for hint in hints.iter().rev() {
            let blank = if hint.padding_left { " " } else { "" };
            text.insert_str(hint.offset, &format!("⟦{blank}{}⟧", hint.text));
        }
        for (kind, only) in [
            (InlayKind::Range, InlayKinds { ranges: true, iterations: true, ..InlayKinds::default() }),
            (InlayKind::Parameter, InlayKinds { parameters: true, ..InlayKinds::default() }),
            (InlayKind::Value, InlayKinds { values: true, ..InlayKinds::default() }),
        ] {
            let wanted: Vec<&InlayHint> = hints.iter().filter(|hint| hint.kind == kind).collect();
            let some = inlay_hints(analysis, whole, only);
            assert_eq!(some.iter().collect::<Vec<_>>(), wanted, "each kind can be had alone");
        }
        let tooltips: Vec<String> = hints.iter().map(|hint| hint.tooltip.clone()).collect();
        format!("{}\n{}", text.trim_end(), tooltips.join("\n"))
    });
}

#[test]
fn hints_of_a_part_are_those_of_the_whole_in_it() {
    let text = "tile(batch, b0, b1, 64)\ntile(tree, t0, t1, 8)\n";
    let analysis = Analysis::new(text, CheckOptions::default());
    let all = InlayKinds { ranges: true, iterations: true, parameters: true, values: true };
    let second = Span::new(24, text.len());
    assert_eq!(inlay_hints(&analysis, Span::new(0, text.len()), all).len(), 6);
    let hints = inlay_hints(&analysis, second, all);
    assert_eq!(
        hints.iter().map(|hint| hint.text.as_str()).collect::<Vec<_>>(),
        [": 0..N_t step 8", ": 0..8", "size:"]
    );
}

#[test]
fn iterations_stand_where_the_range_does_not_give_them() {
    let model = ModelInfo { num_trees: 100, num_features: 4, ..ModelInfo::default() };
    let options = CheckOptions { model: Some(Arc::new(model)), ..CheckOptions::default() };
    let text = "tile(tree, t0, t1, 30)\nsplit(t1, first, second, 10)\n";
    let analysis = Analysis::new(text, options);
    let shown = |wanted: InlayKinds| {
        let hints = inlay_hints(&analysis, Span::new(0, text.len()), wanted);
        hints.into_iter().map(|hint| hint.text).collect::<Vec<_>>()
    };
    let (ranges, iterations) = (true, true);
    assert_eq!(
        shown(InlayKinds { ranges, iterations, ..InlayKinds::default() }),
        [": 0..100 step 30 (4 iterations)", ": 0..30", ": 0..10", ": 10..30 (20 iterations)"]
    );
    assert_eq!(
        shown(InlayKinds { ranges, ..InlayKinds::default() }),
        [": 0..100 step 30", ": 0..30", ": 0..10", ": 10..30"]
    );
    assert_eq!(
        shown(InlayKinds { iterations, ..InlayKinds::default() }),
        [": 4 iterations", ": 30 iterations", ": 10 iterations", ": 20 iterations"]
    );
}

#[test]
fn lenses() {
    let kinds = |text: &str| -> Vec<LensKind> {
        code_lenses(&Analysis::new(text, CheckOptions::default())).into_iter().map(|lens| lens.kind).collect()
    };
    assert_eq!(kinds("// only a comment\n"), []);
    assert_eq!(kinds("// 🌲\nparallel(batch)\n"), [LensKind::ShowNest, LensKind::Build, LensKind::Bench]);
    assert_eq!(kinds("parallel(nope)\n"), [LensKind::ShowNest]);
    assert_eq!(
        kinds("gpuDimension(batch, grid.x)\n"),
        [LensKind::ShowNest, LensKind::Build, LensKind::Bench]
    );
    let lens = code_lenses(&Analysis::new("# c\n\ncache(batch)", CheckOptions::default()));
    assert_eq!(lens[0].span, Span::new(5, 17));
}

/// A view as text, with spans as the text that they cover.
fn picture(analysis: &Analysis, view: &NestView) -> String {
    let mut out = String::new();
    let mut stack: Vec<(usize, usize)> = view.roots.iter().rev().map(|id| (*id, 0)).collect();
    while let Some((id, depth)) = stack.pop() {
        let this = &view.loops[id];
        assert_eq!(this.id, id);
        let at = |span: Option<Span>| span.map_or("-", |span| analysis.text(span)).to_owned();
        let badges: Vec<String> =
            this.badges.iter().map(|b| format!("{} `{}` <- {}", b.kind, b.text, at(b.span))).collect();
        let _ = writeln!(
            out,
            "{}{} {}: {}{}{} <- {}{}{}",
            "  ".repeat(depth),
            this.axis,
            this.name,
            this.range,
            this.condition.as_ref().map_or(String::new(), |text| format!(" while {text}")),
            this.iterations.map_or(String::new(), |n| format!(" ({n})")),
            at(this.origin),
            if badges.is_empty() { "" } else { "; " },
            badges.join("; "),
        );
        match &this.inside {
            LoopContents::Walk => {}
            LoopContents::Children(list) => stack.extend(list.iter().rev().map(|id| (*id, depth + 1))),
            LoopContents::Cases(cases) => {
                stack
                    .extend(cases.iter().rev().flat_map(|case| case.iter().rev().map(|id| (*id, depth + 2))));
            }
        }
    }
    let why = view.accumulation.why.as_ref().map_or(String::new(), |why| format!(": {why}"));
    let _ = writeln!(out, "{}{why}", view.accumulation.order);
    let _ = write!(
        out,
        "layout {:?}, trees by {}, batch {:?}",
        view.representation, view.tree_order, view.batch_size
    );
    out
}

#[test]
fn nest_views() {
    expect("nest_view", &|analysis, offsets| {
        let whole = nest_view(analysis).map_or("no nest".to_owned(), |view| picture(analysis, &view));
        let parts = at_each(offsets, &|offset| {
            Some(("until here".to_owned(), picture(analysis, &nest_until(analysis, offset)?)))
        });
        format!("{whole}\n{parts}")
    });
}

#[test]
fn nests_by_hand() {
    expect("drops", &|analysis, offsets| {
        let after = |written: &WrittenDirective| {
            let after =
                sched_lang::diagnostics::apply::apply(analysis.source(), std::slice::from_ref(&written.edit));
            let after = after.expect("an edit that fits");
            let errors = |text: &str| {
                let diagnostics = sched_lang::check(text, analysis.options()).diagnostics;
                diagnostics.iter().filter(|found| found.severity == Severity::Error).count()
            };
            assert!(errors(&after) <= errors(analysis.source()), "{after}");
            let line = after.lines().position(|line| line.contains(&written.directive)).expect("the line");
            format!("`{}` in line {}", written.directive, line + 1)
        };
        let shown = |drops: Drops| {
            let moves = drops
                .moves
                .iter()
                .map(|one| format!("{} beyond {}: {}", one.from, one.onto, after(&one.written)));
            let tiles = drops.tiles.iter().map(|tiled| {
                let sizes: Vec<String> = tiled.sizes.iter().map(|(size, _)| size.to_string()).collect();
                let first = tiled.sizes.first().map(|(_, written)| after(written)).unwrap_or_default();
                format!("{} by {}: {first}", tiled.name, sizes.join(", "))
            });
            moves.chain(tiles).collect::<Vec<_>>().join("\n")
        };
        let whole = shown(drops(analysis, None));
        let parts =
            at_each(offsets, &|offset| Some(("until here".to_owned(), shown(drops(analysis, Some(offset))))));
        format!("{whole}\n{parts}")
    });
}

#[test]
fn proposals_lead_to_a_fast_schedule() {
    let options = sched_testing::options("trees=100 depth=6 features=30 bin-bytes=1 vector-bits=512");
    let mut text = String::new();
    for _ in 0..8 {
        let analysis = Analysis::new(text.as_str(), options.clone());
        let all = completion(&analysis, text.len());
        // The menu of the empty text comes before directives.
        let first = all.iter().find(|item| item.kind == CompletionKind::Directive).expect("a proposal");
        let nest = nest_after(&analysis, first.replace, &first.label).expect("the nest after it");
        assert!(nest.contains("walk"), "{nest}");
        text += &format!("{}\n", first.label);
    }
    let wanted = "tile(batch, b0, b1, 256)\nreorder(b0, tree, \
                  b1)\nparallel(b0)\ncache(b0)\nrepresentation(quantized)\n\
                  vectorize(b1, 64)\ninterleave(b1, 4)\nunrollAndJam(tree)\n";
    assert_eq!(text, wanted);
}

#[test]
fn mistakes_have_no_nest() {
    let analysis = Analysis::new("tile(batch, b0, b1, 64)\n", CheckOptions::default());
    let end = Span::new(24, 24);
    assert_eq!(nest_after(&analysis, end, "parallel(batch)"), None, "it is consumed");
    assert_eq!(nest_after(&analysis, end, "// nothing"), None);
    let nest = nest_after(&analysis, end, "reorder(b0, tree, b1)").expect("a nest");
    assert_eq!(nest.lines().nth(1), Some("  for tree in 0..N_t"), "{nest}");
}

/// Each line of a stage with the directives that it stems from.
fn annotated(analysis: &Analysis, stage: &str) -> String {
    let known = stage_lines(analysis, stage);
    let mut out = String::new();
    for (at, line) in stage.lines().enumerate() {
        let found = known.iter().find(|known| (known.first..known.first + known.count).contains(&at));
        let names =
            found.map(|found| found.spans.iter().map(|span| analysis.text(*span)).collect::<Vec<_>>());
        let _ = writeln!(out, "{}", format!("{line:<60}{}", names.unwrap_or_default().join("; ")).trim_end());
    }
    out
}

#[test]
fn lines_of_stages_stem_from_directives() {
    let source = "tile(batch, b0, b1, 256)\nreorder(b0, tree, \
                  b1)\nparallel(b0)\ncache(b0)\nrepresentation(quantized)\n\
                  vectorize(b1, 64)\n\nwhen n_rows <= 8 \
                  {\n    parallel(batch)\n    representation(levels)\n    interleave(tree, 4)\n}\n";
    let analysis = Analysis::new(source, sched_testing::options("trees=100 depth=6 features=30"));
    let mir = "when n_rows <= 8:\n  parallel batch in 0..n_rows {\n    for tree in 0..100 \
               {\n      v = walk levels trees[tree], rows[batch]\n    }\n  }\n\
               otherwise:\n  result[..] = base\n  parallel b0 in 0..n_rows step 256 \
               {\n    cache1 = bins of rows[b0 + 0..256] {\n      \
               for tree in 0..100 {\n        for b1 in 0..256 by 64 lanes \
               {\n          v = walk quantized trees[tree], cache1[b0 + b1]\n        \
               }\n      }\n    }\n  }\n";
    let wanted = "\
when n_rows <= 8:
  parallel batch in 0..n_rows {                             parallel(batch)
    for tree in 0..100 {                                    interleave(tree, 4)
      v = walk levels trees[tree], rows[batch]              representation(levels); interleave(tree, 4)
    }
  }
otherwise:
  result[..] = base
  parallel b0 in 0..n_rows step 256 {                       tile(batch, b0, b1, 256); parallel(b0)
    cache1 = bins of rows[b0 + 0..256] {                    cache(b0)
      for tree in 0..100 {
        for b1 in 0..256 by 64 lanes {                      tile(batch, b0, b1, 256); vectorize(b1, 64)
          v = walk quantized trees[tree], cache1[b0 + b1]   representation(quantized); vectorize(b1, 64)
        }
      }
    }
  }
";
    assert_eq!(annotated(&analysis, mir), wanted);
    let plan = "otherwise:\n  storage 0: complete trees\n    100 trees\n  walks of b1: level look-up over \
                storage 0\n    steps: 5 straight\n";
    let found = annotated(&analysis, plan);
    assert!(
        found.contains("storage 0: complete trees                                 representation(quantized)"),
        "{found}"
    );
    assert!(found.contains("tile(batch, b0, b1, 256); vectorize(b1, 64)"), "{found}");
    assert!(annotated(&analysis, "kernel.raw.parallel:\n\tret\n").contains("parallel(b0)"));
    let asm = "\t.text\nkernel.raw:\n\t# outside of the loops\n\tpushq\t%rbp\n\t# b0: \
               copies\n\tmovl\t%eax, %ebx\n.LBB0_1:\n\t\
               # b1\n\t.p2align\t4\n\tvpermb\t%zmm0, %zmm1, %zmm2\n\t# tree, n_rows <= 8\n\tretq\n";
    let wanted = "\
\t.text
kernel.raw:
\t# outside of the loops
\tpushq\t%rbp
\t# b0: copies                                               tile(batch, b0, b1, 256); parallel(b0); cache(b0)
\tmovl\t%eax, %ebx                                            tile(batch, b0, b1, 256); parallel(b0); \
            cache(b0)
.LBB0_1:
\t# b1                                                       tile(batch, b0, b1, 256); \
            representation(quantized); vectorize(b1, 64)
\t.p2align\t4
\tvpermb\t%zmm0, %zmm1, %zmm2                                 tile(batch, b0, b1, 256); \
            representation(quantized); vectorize(b1, 64)
\t# tree, n_rows <= 8                                        representation(levels); interleave(tree, 4)
\tretq                                                       representation(levels); interleave(tree, 4)
";
    assert_eq!(annotated(&analysis, asm), wanted);
    let known = stage_lines(&analysis, asm);
    let runs: Vec<(usize, usize)> = known.iter().map(|lines| (lines.first, lines.count)).collect();
    assert_eq!(runs, [(4, 2), (7, 1), (9, 1), (10, 2)], "lines of the same directives are reported together");
    assert_eq!(stage_lines(&analysis, "no stage at all {\n}} in in\n"), Vec::new());
}

#[test]
fn proposals_have_the_order_of_their_gains() {
    let options = sched_testing::options("trees=100 depth=6 features=30 bin-bytes=1 vector-bits=512");
    let source = "tile(batch, b0, b1, 256)\nreorder(b0, tree, b1)\n";
    let analysis = Analysis::new(source, options.clone());
    let plain = completion(&analysis, source.len());
    let mut items = plain.clone();
    order_by_gain(&mut items, |_| None);
    assert_eq!(items, plain, "nothing is known");
    // Layouts have gains, alone or with later directives. The others have equal gains and keep their order.
    order_by_gain(&mut items, |item| match &*item.label {
        "representation(preorder)" => Some(Gain { alone: 2.0, with_following: 6.0 }),
        "representation(quantized)" => Some(Gain { alone: 3.0, with_following: 3.0 }),
        "representation(sparse)" => Some(Gain { alone: 0.5, with_following: 0.6 }),
        _ => item.accepted_directive(source).map(|_| Gain { alone: 1.0, with_following: 1.001 }),
    });
    let labels: Vec<&str> = items.iter().map(|item| &*item.label).collect();
    assert_eq!(labels[..2], ["representation(preorder)", "representation(quantized)"]);
    assert_eq!(labels.last(), Some(&"representation(sparse)"));
    assert!(items.windows(2).all(|two| two[0].sort < two[1].sort));
    assert_eq!(items[0].detail, "2.00\u{d7}, later 6.00\u{d7}");
    assert_eq!(items[1].detail, "3.00\u{d7}");
    assert!(items[0].documentation.ends_with("6.00\u{d7} with the directives that usually follow."));
    let named = ["representation(preorder)", "representation(quantized)", "representation(sparse)"];
    let others = |all: &[Completion]| {
        let labels = all.iter().map(|item| item.label.clone());
        labels.filter(|label| !named.contains(&&**label)).collect::<Vec<_>>()
    };
    assert_eq!(others(&items), others(&plain));
    // A half-typed word is replaced.
    let typed = format!("{source}inter");
    let half = completion(&Analysis::new(typed.as_str(), options.clone()), typed.len());
    let taken = half
        .iter()
        .find_map(|item| item.accepted_directive(&typed).filter(|text| text.contains("interleave(")));
    assert!(taken.is_some_and(|text| text.starts_with(source) && !text.contains("inter\n")), "{half:?}");
    // After the first step, the next steps of a fast schedule follow.
    let tiled = "tile(batch, b0, b1, 256)";
    let wanted = "tile(batch, b0, b1, 256)\nreorder(b0, tree, \
                  b1)\nparallel(b0)\ncache(b0)\nrepresentation(quantized)\n\
                  vectorize(b1, 64)\ninterleave(b1, 4)\nunrollAndJam(tree)\n// end";
    assert_eq!(with_following_directives(&format!("{tiled}\n// end"), tiled.len(), &options), wanted);
}

#[test]
fn proposals_that_lose_the_exact_order_come_last() {
    let options = sched_testing::options("trees=100 depth=6 features=30 bin-bytes=1 vector-bits=512");
    let directives = |items: &[Completion]| {
        let directives = items.iter().filter(|item| item.accepted_directive("").is_some());
        directives.map(|item| (item.label.clone(), item.detail.clone())).collect::<Vec<_>>()
    };
    let lost = |all: &[(String, String)]| {
        let place = |of: &str| all.iter().position(|(label, _)| label.starts_with(of));
        let (sorted, last_exact) = (place("sortTrees"), place("reorder(tree, batch)"));
        assert!(last_exact.is_some() && last_exact < sorted, "{all:?}");
        all[sorted.unwrap_or_default()].1.clone()
    };
    let mut items = completion(&Analysis::new("", options.clone()), 0);
    assert_eq!(lost(&directives(&items)), "accumulation no longer exact");
    // A gain does not help.
    order_by_gain(&mut items, |item| {
        let alone = if item.label.starts_with("sortTrees") { 3.0 } else { 1.0 };
        item.accepted_directive("").map(|_| Gain { alone, with_following: 1.0 })
    });
    assert_eq!(lost(&directives(&items)), "3.00\u{d7}, accumulation no longer exact");
    // An annotation loses it, too; in a schedule that has lost it, the usual order holds.
    let tiled = "tile(tree, t0, t1, 4)\n";
    let detail = |source: &str, wanted: &str| {
        let items = completion(&Analysis::new(source, options.clone()), source.len());
        items.into_iter().find(|item| item.label == wanted).map(|item| item.detail)
    };
    assert_eq!(detail(tiled, "parallel(t0)").as_deref(), Some("accumulation no longer exact"));
    assert_eq!(detail("sortTrees(depth)\n", "tile(tree, t0, t1, 4)").as_deref(), Some("changes the nest"));
}

#[test]
fn mistakes_are_left_out_of_the_nest() {
    let source = "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nparallel(b0\nvectorize(b1, 16)\n";
    let analysis = Analysis::new(source, sched_testing::options("trees=100 depth=6 features=30"));
    assert!(nest_view(&analysis).is_none(), "there is a mistake");
    let (view, text) = nest_of_legal_directives(&analysis);
    assert_eq!(view.loops.len(), 3, "{text}");
    assert!(text.contains("vectorize"), "{text}");
    let left: Vec<&str> =
        skipped_statements(&analysis, None).into_iter().map(|span| analysis.text(span)).collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].starts_with("parallel(b0"), "{left:?}");
    assert!(skipped_statements(&analysis, Some(5)).is_empty());
    // At a directive with errors, the nest is the one before it, though the checker goes on with its effect.
    let source = "tile(batch, b0, b1, 64)\nvectorize(b0, 16)\nsplit(tree, t0, t1, 100)\ncache(b0)\n";
    let analysis = Analysis::new(source, sched_testing::options("trees=100 depth=6 features=30"));
    let loops = |of: &str| {
        let at = source.find(of).expect("a directive") + 3;
        let view = nest_until(&analysis, at).expect("a nest");
        let badges: usize = view.loops.iter().map(|this| this.badges.len()).sum();
        (view.loops.len(), badges, refused_directive(&analysis, at).map(|span| analysis.text(span)))
    };
    assert_eq!(loops("tile"), (3, 0, None));
    assert_eq!(loops("vectorize"), (3, 0, Some("vectorize(b0, 16)")));
    assert_eq!(loops("split"), (3, 1, Some("split(tree, t0, t1, 100)")));
    assert_eq!(loops("cache").2, None);
}

#[test]
fn a_nest_view_tells_bytes_and_idle_lanes() {
    let source = "tile(batch, b0, b1, 50)\nreorder(b0, tree, b1)\nvectorize(b1, 16)\n";
    let analysis = Analysis::new(source, sched_testing::options("trees=100 depth=6 features=30"));
    let view = nest_view(&analysis).expect("a nest");
    assert_eq!(view.loops[0].working_set_bytes, Some(50 * 30 * 4));
    assert_eq!(view.loops[2].idle, Some(IdleLanes { idle: 14, lanes: 16 }));
    assert!(view.l2_bytes.is_some_and(|bytes| bytes >= 256 << 10));
}

#[test]
fn a_nest_view_is_written_as_json() {
    let source = "tile(batch, b0, b1, 64)\nspecialize(tree)\ninterleave(b1, 4)\n";
    let analysis = Analysis::new(source, sched_testing::options("trees=2 depth=3"));
    assert!(nest_view(&analysis).is_none(), "a leaf loop has nothing to specialize");
    let source = "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nspecialize(tree)\ninterleave(b1, 4)\n";
    let analysis = Analysis::new(source, sched_testing::options("trees=2 depth=3"));
    let view = nest_view(&analysis).expect("a nest");
    let json = nest_view_json(&view);
    assert_eq!(json["roots"], serde_json::json!([0]));
    assert_eq!(json["loops"][0]["origin"], serde_json::json!({ "start": 0, "end": 23 }));
    assert_eq!(json["loops"][1]["cases"], serde_json::json!([[2], [3]]));
    assert_eq!(json["loops"][1]["walk"], false);
    assert_eq!(json["loops"][2]["walk"], true);
    assert_eq!(json["loops"][2]["name"], "tree[0].b1");
    assert_eq!(json["loops"][2]["while"], "b0 + tree[0].b1 < n_rows");
    assert_eq!(json["loops"][2]["badges"][0]["text"], "interleave 4");
    assert_eq!(json["accumulation"]["order"], "exact");
}

/// Texts that use the whole language.
fn corpus() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = Vec::new();
    for folder in ["../../examples", "../tests/pass", "../tests/fail"] {
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

/// Whether a schedule is short and its nest small, so that a test can ask for answers at many places.
fn is_small(text: &str) -> bool {
    text.len() < 1500
        && Analysis::new(text, sched_testing::options("trees=9")).outside_blocks().lineage().indices.len()
            < 100
}

fn inside(text: &str, span: Span) {
    assert!(text.get(span.range()).is_some(), "{span:?} is no part of {text:?}");
}

/// Requests all answers at a place. Nothing panics, and every span of an answer is inside the text.
fn ask_all(analysis: &Analysis, offset: usize) {
    let text = analysis.source();
    if let Some(hover) = hover(analysis, offset) {
        inside(text, hover.span);
        assert!(!hover.markdown.is_empty());
    }
    for item in completion(analysis, offset) {
        inside(text, item.replace);
        assert!(item.replace.start as usize <= offset && offset <= item.replace.end as usize);
    }
    if let Some(help) = signature_help(analysis, offset) {
        help.parameters.iter().for_each(|p| assert!(help.label.get(p.label.0..p.label.1).is_some()));
    }
    if offset.is_multiple_of(4) {
        let all = InlayKinds { ranges: true, iterations: true, parameters: true, values: true };
        let hints = inlay_hints(analysis, Span::new(0, text.len()), all);
        hints.iter().for_each(|hint| assert!(text.is_char_boundary(hint.offset)));
        code_lenses(analysis).iter().for_each(|lens| inside(text, lens.span));
    }
    if let Some(view) = nest_until(analysis, offset) {
        let badges = view.loops.iter().flat_map(|this| this.badges.iter().map(|badge| badge.span));
        let spans = view.loops.iter().map(|this| this.origin).chain(badges);
        spans.flatten().for_each(|span| inside(text, span));
    }
}

#[test]
fn every_prefix_of_every_schedule() {
    let options = [
        CheckOptions::default(),
        sched_testing::options("depths=1,2,2,3,1,5,4 features=3"),
        sched_testing::options("trees=9"),
    ];
    for (number, text) in corpus().iter().enumerate().filter(|(_, text)| is_small(text)) {
        for (at, _) in text.char_indices().skip(number % 5).step_by(5).chain([(text.len(), ' ')]) {
            let analysis = Analysis::new(&text[..at], options[at % options.len()].clone());
            ask_all(&analysis, at);
            ask_all(&analysis, at / 2);
        }
    }
}

#[test]
fn every_offset_of_every_schedule() {
    for text in corpus().iter().filter(|text| is_small(text)) {
        for source in [text.clone(), text.replace('\n', " // 🌲é\r\n")] {
            let analysis =
                Analysis::new(source.as_str(), sched_testing::options("depths=1,2,2,3,1,5,4 features=3"));
            (0..source.len() + 2).step_by(7).for_each(|offset| ask_all(&analysis, offset));
        }
    }
}
