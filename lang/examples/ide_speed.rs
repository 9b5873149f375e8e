//! How long an editor waits: `cargo run --release -p sched-lang --example ide_speed`.
//!
//! Hover, completion and the picture of the nest at many places of schedules of about 200 lines with a model of 1,000
//! trees, each on a text that has just been checked. The aim: hover and completion under 2 ms in 99 of 100 cases.

use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use sched_grammar::ast::Span;
use sched_lang::ide::InlayKinds;
use sched_lang::ide::{Analysis, completion, hover, inlay_hints, nest_view, signature_help};
use sched_lang::{ModelFacts, Options};

fn main() {
    let trees = 1000;
    let depths = (0..trees).map(|at| 4 + at / 250).collect();
    let model =
        ModelFacts { num_trees: trees, num_features: 30, num_classes: 1, depths, ..ModelFacts::default() };
    let options = Options { facts: Some(model), ..Options::default() };
    let texts = [("blocks", blocks()), ("chain of splits", splits()), ("copies", copies())];
    for (name, text) in texts {
        let analysis = Analysis::new(text.as_str(), options.clone());
        let errors = analysis.checked().diagnostics.len();
        println!("{name}: {} lines, {errors} diagnostics", text.lines().count());
        let all = Span::new(0, text.len());
        let kinds = InlayKinds { ranges: true, parameters: true, values: true };
        report("check", &text, &options, &|analysis, _| {
            black_box(Analysis::new(analysis.source(), analysis.options().clone()));
        });
        report("hover", &text, &options, &|analysis, at| drop(black_box(hover(analysis, at))));
        report("completion", &text, &options, &|analysis, at| drop(black_box(completion(analysis, at))));
        report("signature help", &text, &options, &|analysis, at| {
            drop(black_box(signature_help(analysis, at)));
        });
        report("inlay hints", &text, &options, &|analysis, _| {
            drop(black_box(inlay_hints(analysis, all, kinds)));
        });
        report("nest view", &text, &options, &|analysis, _| drop(black_box(nest_view(analysis))));
        let lines = starts(&text);
        let slow = |at: usize, written: &str| {
            let text = format!("{}{written}\n{}", &text[..at], &text[at..]);
            let analysis = Analysis::new(text, options.clone());
            let begin = Instant::now();
            let found = completion(&analysis, at + written.len()).len();
            (begin.elapsed(), found)
        };
        for written in ["", "par", "tile(", "parallel(", "reorder(", "interleave(", "unrollWalk(tree, "] {
            let mut times: Vec<(Duration, usize)> = lines.iter().map(|at| slow(*at, written)).collect();
            times.sort_unstable();
            let most = times.iter().map(|(_, found)| *found).max().unwrap_or(0);
            let times: Vec<Duration> = times.into_iter().map(|(time, _)| time).collect();
            print_times(&format!("  completing `{written}`, up to {most}"), &times);
        }
    }
}

/// Where the lines begin.
fn starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

fn report(what: &str, text: &str, options: &Options, ask: &dyn Fn(&Analysis, usize)) {
    let mut times = Vec::new();
    for at in (0..text.len()).step_by(text.len() / 300 + 1) {
        let analysis = Analysis::new(text, options.clone());
        let begin = Instant::now();
        ask(&analysis, at);
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    print_times(&format!("  {what}"), &times);
}

fn print_times(what: &str, times: &[Duration]) {
    let at =
        |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default().as_secs_f64() * 1e3;
    let most = times.last().copied().unwrap_or_default().as_secs_f64() * 1e3;
    println!("{what:45} p50 {:7.3} ms  p99 {:7.3} ms  max {most:7.3} ms", at(50), at(99));
}

/// Twenty blocks of trees, each with a shape and facts of its own.
fn blocks() -> String {
    let mut text = "model \"model.json\"\nparam ROWS = 64 in {16, 32, 64}\nconst BLOCK = 50\n\n".to_owned();
    text.push_str("tile(batch, b0, b1, ROWS)\nreorder(b0, tree, b1)\nparallel(b0)\n");
    let mut rest = "tree".to_owned();
    for at in 0..19 {
        let _ = writeln!(text, "\n// Block {at}");
        let _ = writeln!(text, "split({rest}, p{at}, r{at}, BLOCK * {})", at + 1);
        let _ = writeln!(text, "tile(p{at}, q{at}, s{at}, 10)");
        let _ = writeln!(text, "interleave(p{at}.b1, 4)");
        let _ = writeln!(text, "unrollWalk(q{at}, {})\npeelWalk(s{at}, 2)\ncache(q{at})", 1 + at % 5);
        let _ = writeln!(text, "representation(q{at}, sparse)");
        rest = format!("r{at}");
    }
    text
}

fn splits() -> String {
    let mut text = String::new();
    let mut rest = "tree".to_owned();
    for at in 1..=100 {
        let _ = writeln!(text, "split({rest}, a{at}, r{at}, {})\ninterleave(a{at}, 4)", at * 5);
        rest = format!("r{at}");
    }
    text
}

fn copies() -> String {
    let mut text =
        "tile(batch, b0, b1, 64)\ntile(tree, t0, t1, 100)\nreorder(b0, t0, b1, t1)\nspecialize(t0)\n"
            .to_owned();
    for at in 0..98 {
        let _ = writeln!(text, "// {at}\nunrollWalk(t0[{}].b1, {})", at % 10, 1 + at / 10);
    }
    text
}
