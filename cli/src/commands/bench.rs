//! `schedc bench`: schedules against each other, in turns, by medians.

use super::{Job, print};
use crate::args::{Bench, ScheduleOptions};
use crate::compile::{compile, facts};
use crate::failure::Failure;
use crate::terminal::Terminal;
use sched_ir::lir::Kernel;
use sched_llvm::runtime::Kind;
use sched_llvm::{Jit, Output, Rows};
use schedc_data::{Expect, Source, read_rows};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Samples per contender and point; the median counts.
const ROUNDS: usize = 15;
/// A sample lasts at least this long, so that the clock does not matter.
const SAMPLE: Duration = Duration::from_millis(2);

/// Most numbers that the rows of the largest call may have.
const MOST_NUMBERS: usize = 1 << 28;

/// A compiled schedule.
struct Contender {
    name: String,
    jit: Jit,
}

/// The rows of one point: `batch` rows at a time, from the beginning again when they run out.
struct Workload<'a> {
    rows: &'a [f32],
    features: usize,
    outputs: usize,
    batch: usize,
    threads: i32,
}

/// Runs the command.
pub fn run(args: &Bench, terminal: &Terminal) -> Result<(), Failure> {
    let contenders = contenders(args, terminal)?;
    let Some(first) = contenders.first() else { return Ok(()) };
    let features = usize::try_from(first.jit.model().num_features).unwrap_or(0);
    let outputs = usize::try_from(first.jit.model().num_margins).unwrap_or(0);
    let trees = usize::try_from(first.jit.model().num_trees).unwrap_or(0).max(1);
    let input = Source::from_argument(&args.input);
    let rows = read_rows(&input, Expect { columns: features, names: None })?;
    if rows.rows == 0 {
        let help = "name a file with at least one row";
        return Err(Failure::unusable(format!("{} has no rows to time", args.input.display()), help));
    }
    let batches: Vec<usize> = args.batch.iter().filter_map(|batch| usize::try_from(*batch).ok()).collect();
    let largest = batches.iter().copied().max().unwrap_or(1);
    if largest.saturating_mul(features) > MOST_NUMBERS {
        let message = format!("{largest} rows of {features} features are too many to time in one call");
        return Err(Failure::unusable(
            message,
            format!("use a --batch of at most {}", MOST_NUMBERS / features),
        ));
    }
    let mut values = rows.into_f32();
    let once = values.len();
    while values.len() < largest * features {
        values.extend_from_within(..once);
    }
    print(&heading(&contenders))?;
    let points = (batches.len() * args.threads.len()) as u64;
    let progress = terminal.progress(points, "timing");
    for &threads in &args.threads {
        for &batch in &batches {
            let workload = Workload { rows: &values, features, outputs, batch, threads };
            let medians = race(&contenders, &workload)?;
            print(&line(&medians, batch, threads, trees))?;
            progress.advance(1);
        }
    }
    Ok(())
}

fn contenders(args: &Bench, terminal: &Terminal) -> Result<Vec<Contender>, Failure> {
    let named = |path: &std::path::PathBuf| Some(path.clone());
    let schedules =
        if args.schedules.is_empty() { vec![None] } else { args.schedules.iter().map(named).collect() };
    let mut contenders = Vec::new();
    for schedule in schedules {
        let options = ScheduleOptions { schedule, values: args.values.clone() };
        let job = Job::load(&args.model, &options, &args.reading, args.cpu)?;
        let nest = job.nest(&args.values, terminal)?;
        let compiled = compile(&job.model, nest, &[Kernel::Raw])?;
        let about = facts(&job.model, &compiled, &job.source.text, args.cpu.name());
        let jit = Jit::compile(&compiled.lir, args.cpu, &about, &[Kernel::Raw])?;
        contenders.push(Contender { name: job.source.name, jit });
    }
    Ok(contenders)
}

/// The median time of one row, in nanoseconds, of each contender.
fn race(contenders: &[Contender], workload: &Workload) -> Result<Vec<f64>, Failure> {
    let mut calls = Vec::new();
    for contender in contenders {
        calls.push(calibrate(contender, workload)?);
    }
    let mut samples = vec![Vec::new(); contenders.len()];
    for _ in 0..ROUNDS {
        for (at, contender) in contenders.iter().enumerate() {
            let spent = sample(contender, workload, calls[at])?;
            samples[at].push(spent.as_secs_f64() * 1e9 / (calls[at] * workload.batch) as f64);
        }
    }
    Ok(samples.into_iter().map(median).collect())
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}

/// How many calls make a sample.
fn calibrate(contender: &Contender, workload: &Workload) -> Result<usize, Failure> {
    let mut calls = 1;
    while calls < 1 << 24 {
        if sample(contender, workload, calls)? >= SAMPLE {
            break;
        }
        calls *= 2;
    }
    Ok(calls)
}

fn sample(contender: &Contender, workload: &Workload, calls: usize) -> Result<Duration, Failure> {
    let Workload { rows, features, outputs, batch, threads } = *workload;
    let mut out = vec![0f32; batch * outputs];
    let whole = (rows.len() / features.max(1)).saturating_sub(batch) + 1;
    let mut first = 0;
    let since = Instant::now();
    for _ in 0..calls {
        let piece = Rows::F32(&rows[first * features..(first + batch) * features]);
        let done = contender.jit.predict(Kind::Raw, piece, batch, Output::F32(&mut out), threads);
        done.map_err(|status| {
            Failure::unusable(format!("prediction failed: {status}"), "predict fewer rows")
        })?;
        first = (first + batch) % whole;
    }
    Ok(since.elapsed())
}

fn heading(contenders: &[Contender]) -> String {
    let mut text = String::new();
    for (at, contender) in contenders.iter().enumerate() {
        let _ = writeln!(text, "{}: {}", letter(at), contender.name);
    }
    let _ = write!(text, "{:>8} {:>8}", "batch", "threads");
    for at in 0..contenders.len() {
        let _ = write!(text, " {:>12} {:>9}", format!("{} µs/row", letter(at)), "ns/walk");
        if at > 0 {
            let _ = write!(text, " {:>7}", format!("A/{}", letter(at)));
        }
    }
    text + "\n"
}

fn line(medians: &[f64], batch: usize, threads: i32, trees: usize) -> String {
    let mut text = format!("{batch:>8} {threads:>8}");
    for (at, median) in medians.iter().enumerate() {
        let _ = write!(text, " {:>12.3} {:>9.2}", median / 1e3, median / trees as f64);
        if at > 0 {
            let _ = write!(text, " {:>7.2}", medians[0] / median);
        }
    }
    text + "\n"
}

/// `A`, `B`, …; numbers when letters run out.
fn letter(at: usize) -> String {
    match u8::try_from(at) {
        Ok(n) if n < 26 => char::from(b'A' + n).to_string(),
        _ => format!("#{}", at + 1),
    }
}
