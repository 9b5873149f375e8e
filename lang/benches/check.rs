//! Times checks: `cargo bench -p sched-lang --bench check -- [NAME]`.
//!
//! Each line is one kind of schedule, without a model and with one of 30,000 trees. The aims are 10,000 lines
//! in under 50 ms, 200 lines in under 1 ms, and double time for double lines.

use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use sched_lang::{CheckOptions, ModelInfo, check};

/// A kind of schedule, and a function that writes one of about `n` lines.
type ScheduleKind = (&'static str, fn(usize) -> String);

const KINDS: &[ScheduleKind] = &[
    ("chain of splits", splits),
    ("chain of splits above trees", splits_above),
    ("tiled splits", tiled_splits),
    ("splits from the front", front),
    ("splits in two", halves),
    ("annotations of loops", many_annotations),
    ("repeated annotations", repeated),
    ("one chain of tiles", tiles),
    ("constants", constants),
    ("long expressions", expressions),
    ("unknown names", unknown),
    ("copies of loops", copies),
    ("comments", comments),
];

/// The allocator of the programs that check schedules.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    // Cargo adds an argument.
    let wanted = std::env::args().skip(1).find(|word| word != "--bench");
    let trees = 30_000;
    let depths = (0..trees).map(|at| at % 9).collect();
    let model =
        ModelInfo { num_trees: trees, num_features: 30, num_classes: 1, depths, ..ModelInfo::default() };
    let symbolic = CheckOptions::default();
    let concrete = CheckOptions { model: Some(model.into()), ..CheckOptions::default() };
    println!(
        "{:24} {:>22} {:>22} {:>22} {:>22}",
        "", "200 lines", "5,000 lines", "10,000 lines", "10,000, model"
    );
    for (name, write) in KINDS {
        if wanted.as_ref().is_some_and(|wanted| !name.contains(wanted.as_str())) {
            continue;
        }
        let mut line = format!("{name:24}");
        for (lines, options) in
            [(200, &symbolic), (5_000, &symbolic), (10_000, &symbolic), (10_000, &concrete)]
        {
            let text = write(lines);
            let (time, count) = time(&text, options);
            let _ = write!(line, " {:>10.3} ms, {count:>5}", time.as_secs_f64() * 1e3);
        }
        println!("{line}");
    }
}

/// Mean time of one check, and its number of diagnostics.
fn time(text: &str, options: &CheckOptions) -> (Duration, usize) {
    const LONG_ENOUGH: Duration = Duration::from_millis(400);
    let count = check(text, options).diagnostics.len();
    let begin = Instant::now();
    let start = clock(begin);
    let mut rounds = 0;
    while rounds < 5 || begin.elapsed() < LONG_ENOUGH {
        black_box(check(black_box(text), options));
        rounds += 1;
    }
    (clock(begin).saturating_sub(start) / rounds, count)
}

/// Processor time of this thread if the system provides it, so that a busy machine does not matter; else the
/// time of day.
fn clock(begin: Instant) -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = statistics.as_deref().and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| begin.elapsed(), Duration::from_nanos)
}

/// A schedule whose splits each copy the tree loop again.
fn splits_above(lines: usize) -> String {
    splits(lines).replacen("tree", "batch", 1)
}

fn splits(lines: usize) -> String {
    let mut text = String::new();
    for at in 1..=lines {
        let _ = writeln!(text, "split({}, a{at}, r{at}, {at})", rest(at));
    }
    text
}

/// Name of the trees that remain before the split number `at`.
fn rest(at: usize) -> String {
    if at == 1 { "tree".to_owned() } else { format!("r{}", at - 1) }
}

fn tiled_splits(lines: usize) -> String {
    let mut text = String::new();
    for at in 1..=lines / 2 {
        let _ = writeln!(text, "split({}, a{at}, r{at}, {})", rest(at), at * 5);
        let _ = writeln!(text, "tile(a{at}, o{at}, i{at}, 2)");
    }
    text
}

fn front(lines: usize) -> String {
    let mut text = String::new();
    let mut source = "tree".to_owned();
    for at in 1..=lines {
        let _ = writeln!(text, "split({source}, a{at}, r{at}, {})", 29_999 - at);
        source = format!("a{at}");
    }
    text
}

/// Splits of splits: every half is cut again, so that cuts are spread over all loops.
fn halves(lines: usize) -> String {
    let mut text = String::new();
    let mut queue = std::collections::VecDeque::from([("tree".to_owned(), 0, 16_384)]);
    for at in 0..lines {
        let Some((name, start, stop)) = queue.pop_front() else { break };
        let middle = (start + stop) / 2;
        let _ = writeln!(text, "split({name}, a{at}, r{at}, {middle})");
        queue.extend([(format!("a{at}"), start, middle), (format!("r{at}"), middle, stop)]);
    }
    text
}

fn many_annotations(lines: usize) -> String {
    let mut text = splits(lines / 3);
    for at in 1..=lines / 3 {
        let _ = writeln!(text, "unrollWalk(a{at}, {})\ninterleave(a{at}, 4)", 1 + at % 8);
    }
    text
}

fn repeated(lines: usize) -> String {
    let mut text = String::new();
    for at in 0..lines / 2 {
        let _ = writeln!(text, "cache(batch)\nunrollWalk(tree, {})", at % 9);
    }
    text
}

fn tiles(lines: usize) -> String {
    let mut text = String::new();
    let mut source = "batch".to_owned();
    for at in 1..=lines {
        let _ = writeln!(text, "tile({source}, o{at}, i{at}, {})", i64::MAX >> at.min(60));
        source = format!("i{at}");
    }
    text
}

fn constants(lines: usize) -> String {
    let mut text = "const C0 = 1\n".to_owned();
    for at in 1..lines {
        let _ = writeln!(text, "const C{at} = C{} + num_trees", at - 1);
    }
    text
}

fn expressions(lines: usize) -> String {
    let mut text = "const LONG = 1".to_owned();
    for _ in 0..200 {
        text.push_str(" + num_trees");
    }
    text.push_str("\nrepresentation(sparse)\n");
    for at in 1..lines {
        let _ = writeln!(text, "const C{at} = LONG + max_depth + trees_to_depth({})", at % 12);
    }
    text
}

fn unknown(lines: usize) -> String {
    let mut text = String::new();
    for at in 0..lines / 2 {
        let _ = writeln!(text, "tile(batch, b, c, X{at})\nreorder(x{at}, tree)");
    }
    text
}

fn copies(lines: usize) -> String {
    let mut text =
        "tile(batch, b0, b1, 1000)\ntile(tree, t0, t1, 3)\nreorder(b0, t0, b1, t1)\nspecialize(b1)\n"
            .to_owned();
    for at in 4..lines {
        let _ = writeln!(text, "unrollWalk(b1[{}].t1, {})", at % 1000, 1 + at / 1000);
    }
    text
}

fn comments(lines: usize) -> String {
    let mut text =
        "param ROWS = 64 in {16, 64}\ntile(batch, b0, b1, ROWS)\nreorder(b0, tree, b1)\n".to_owned();
    for _ in 3..lines {
        text.push_str("// allow(S0090) a comment, and nothing else\n");
    }
    text
}
