//! Measures the waiting times of an editor: `cargo bench -p sched-ide --bench ide`.
//!
//! Hover, completion and the nest's picture, at many positions of schedules of about 200 lines with a model
//! of 1,000 trees, on texts that were just checked. Target: hover and completion under 2 ms in 99 of 100
//! cases.

use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use sched_grammar::ast::Span;
use sched_ide::InlayKinds;
use sched_ide::{Analysis, completion, hover, inlay_hints, nest_view, signature_help};
use sched_lang::{CheckOptions, ModelInfo};

fn main() {
    let trees = 1000;
    let depths = (0..trees).map(|at| 4 + at / 250).collect();
    let model =
        ModelInfo { num_trees: trees, num_features: 30, num_classes: 1, depths, ..ModelInfo::default() };
    let options = CheckOptions { model: Some(model.into()), ..CheckOptions::default() };
    for (name, text) in [("blocks", blocks()), ("chain of splits", splits()), ("copies", copies())] {
        let analysis = Analysis::new(text.as_str(), options.clone());
        let errors = analysis.verdict().diagnostics.len();
        let loops = analysis.nest().map_or(0, |nest| nest.loops.len());
        println!("{name}: {} lines, {loops} loops, {errors} diagnostics", text.lines().count());
        let all = Span::new(0, text.len());
        let kinds = InlayKinds { ranges: true, iterations: true, parameters: true, values: true };
        let places: Vec<(String, usize)> =
            (0..text.len()).step_by(text.len() / 150 + 1).map(|at| (text.clone(), at)).collect();
        let report = |what: &str, ask: &dyn Fn(&Analysis, usize)| report(what, &places, &options, ask);
        report("check", &|analysis, _| {
            black_box(Analysis::new(analysis.source(), analysis.options().clone()));
        });
        report("hover", &|analysis, at| drop(black_box(hover(analysis, at))));
        report("completion", &|analysis, at| drop(black_box(completion(analysis, at))));
        report("signature help", &|analysis, at| drop(black_box(signature_help(analysis, at))));
        report("inlay hints", &|analysis, _| drop(black_box(inlay_hints(analysis, all, kinds))));
        report("nest view", &|analysis, _| drop(black_box(nest_view(analysis))));
        for written in ["", "par", "tile(", "parallel(", "reorder(", "interleave(", "unrollWalk(tree, "] {
            let places: Vec<(String, usize)> =
                starts(&text).into_iter().step_by(3).map(|at| write_at(&text, at, written)).collect();
            let most = places
                .iter()
                .map(|(text, at)| completion(&Analysis::new(text.as_str(), options.clone()), *at).len());
            let most = most.max().unwrap_or(0);
            self::report(
                &format!("completing `{written}`, up to {most}"),
                &places,
                &options,
                &|analysis, at| {
                    drop(black_box(completion(analysis, at)));
                },
            );
        }
    }
}

/// The text with an inserted line, and the end of that line.
fn write_at(text: &str, at: usize, written: &str) -> (String, usize) {
    (format!("{}{written}\n{}", &text[..at], &text[at..]), at + written.len())
}

/// Offsets of the lines.
fn starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

/// Prints the time of an answer at each position: the minimum of some rounds, since a busy machine only adds
/// time.
fn report(what: &str, places: &[(String, usize)], options: &CheckOptions, ask: &dyn Fn(&Analysis, usize)) {
    const ROUNDS: usize = 7;
    let once = |(text, at): &(String, usize)| {
        let analysis = Analysis::new(text.as_str(), options.clone());
        let begin = Instant::now();
        ask(&analysis, *at);
        begin.elapsed()
    };
    let least = |place: &(String, usize)| (0..ROUNDS).map(|_| once(place)).min().unwrap_or_default();
    let mut times: Vec<Duration> = places.iter().map(least).collect();
    times.sort_unstable();
    let at =
        |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default().as_secs_f64() * 1e3;
    let most = times.last().copied().unwrap_or_default().as_secs_f64() * 1e3;
    println!("  {what:43} p50 {:7.3} ms  p99 {:7.3} ms  max {most:7.3} ms", at(50), at(99));
}

/// Twenty blocks of trees, each with its own shape and annotations.
fn blocks() -> String {
    let mut text = "param ROWS = 64 in {16, 32, 64}\nconst BLOCK = 50\n\n".to_owned();
    text.push_str("tile(batch, b0, b1, ROWS)\nreorder(b0, tree, b1)\nparallel(b0)\n");
    let mut rest = "tree".to_owned();
    for at in 0..19 {
        let _ = writeln!(text, "\n// Block {at}\nsplit({rest}, p{at}, r{at}, BLOCK * {})", at + 1);
        let _ = writeln!(text, "tile(p{at}, q{at}, s{at}, 10)\ninterleave(p{at}.b1, 4)");
        let _ = writeln!(text, "unrollWalk(q{at}, {})\npeelWalk(s{at}, 6)\ncache(q{at})", 1 + at % 4);
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

/// Ten copies of a loop, with annotations for each of them.
fn copies() -> String {
    let mut text =
        "tile(batch, b0, b1, 64)\ntile(tree, t0, t1, 100)\nreorder(b0, t0, b1, t1)\nspecialize(t0)\n"
            .to_owned();
    for at in 0..10 {
        let _ = writeln!(
            text,
            "// Copy {at}\ntile(t0[{at}].b1, c{at}, d{at}, 8)\ntile(t0[{at}].t1, u{at}, v{at}, 10)"
        );
        let _ = writeln!(text, "reorder(c{at}, u{at}, d{at}, v{at})\nsplit(u{at}, x{at}, y{at}, 50)");
        let _ = writeln!(
            text,
            "unrollWalk(c{at}, {})\ninterleave(x{at}.v{at}, 4)\ninterleave(y{at}.v{at}, 8)",
            1 + at % 4
        );
        let _ = writeln!(text, "cache(x{at})\npeelWalk(d{at}, 5)\nrepresentation(y{at}, sparse)");
        text.push_str("// and so on\n".repeat(8).as_str());
    }
    text
}
