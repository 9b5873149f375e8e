//! Timing: contenders take turns, so that a change in the machine's speed meets all of them alike.

use super::kernels::Kernels;
use super::rows;
use super::run::{FORMAT, Point, Processor, Run};
use crate::args::{Bench, ScheduleOptions};
use crate::commands::Job;
use crate::compile::{RowRules, compile, facts, into_memory, runs_on_device};
use crate::defaults::CodeDestination;
use crate::failure::Failure;
use crate::terminal::Terminal;
use rustix::time::{ClockId, clock_gettime};
use sched_ir::lir::KernelKind;
use sched_llvm::runtime::{Kind, Status};
use sched_llvm::{Jit, Output, Rows, host_name};
use schedc_data::{Expect, Source, read_rows};
use std::path::Path;
use std::time::Duration;

/// A sample lasts at least this long, so that the clock does not matter.
const SAMPLE: Duration = Duration::from_millis(2);
/// Most numbers that the rows of the largest call may have.
const MOST_NUMBERS: usize = 1 << 28;

/// A compiled schedule.
struct Contender {
    name: String,
    jit: Jit,
    /// Whether some calls run on a GPU.
    on_device: bool,
}

/// The rows of one point: `batch` rows at a time, from the beginning again when they run out.
struct Workload<'a> {
    rows: &'a [f32],
    features: usize,
    batch: usize,
    threads: i32,
    clock: ClockId,
}

/// Times the schedules at all points.
pub fn measure(args: &Bench, model: &Path, terminal: &Terminal) -> Result<Run, Failure> {
    let (mut run, contenders, drawn) = contenders(args, model, terminal)?;
    let batches: Vec<usize> = args.batch.iter().filter_map(|batch| usize::try_from(*batch).ok()).collect();
    let once = match &args.input {
        Some(input) => read(input, run.features)?,
        None => drawn,
    };
    let rows = repeated(once, run.features, batches.iter().copied().max().unwrap_or(1))?;
    let points = (batches.len() * args.threads.len()) as u64;
    let any_on_device = contenders.iter().any(|contender| contender.on_device);
    let on_device: Vec<_> = contenders.iter().map(|one| one.on_device.then_some(&one.jit)).collect();
    let mut kernels = Kernels::new(&on_device, &rows, terminal);
    let progress = terminal.progress(points, "timing");
    for &threads in &args.threads {
        for &batch in &batches {
            let clock = clock(threads, any_on_device);
            let workload = Workload { rows: &rows, features: run.features, batch, threads, clock };
            let samples = race(&contenders, &workload, args.samples)?;
            for (number, (contender, samples)) in contenders.iter().zip(samples).enumerate() {
                let mut point = Point::of(&contender.name, batch, threads, run.trees, samples);
                point.kernel_us_per_row = kernels.us_per_row(number, batch, args.samples)?;
                run.points.push(point);
            }
            progress.advance(1);
        }
    }
    Ok(run)
}

/// Compiles the schedules; what the run is about is known then, too, and rows are drawn if none are given.
fn contenders(
    args: &Bench,
    model: &Path,
    terminal: &Terminal,
) -> Result<(Run, Vec<Contender>, Vec<f32>), Failure> {
    let mut run = Run {
        format: FORMAT,
        model: model.display().to_string(),
        fingerprint: None,
        trees: 0,
        features: 0,
        threads: args.threads.iter().copied().max().unwrap_or(1),
        cpu: Processor {
            name: host_name(),
            features: args.cpu.features().into_iter().map(String::from).collect(),
        },
        points: Vec::new(),
    };
    let schedules: Vec<_> = match args.schedules.as_slice() {
        [] => vec![None],
        several => several.iter().cloned().map(Some).collect(),
    };
    let mut contenders: Vec<Contender> = Vec::new();
    let mut drawn = Vec::new();
    for schedule in schedules {
        let options = ScheduleOptions { schedule, values: args.values.clone() };
        let job = Job::load(model, &options, &args.reading, (args.cpu, CodeDestination::Artefact))?;
        let (nest, target) = job.nest(&args.values, terminal)?;
        let compiled = compile(&job.model, nest, &[KernelKind::Raw])?;
        let about = facts(&job.model, &compiled, &job.source.text, args.cpu, RowRules::default());
        let jit = into_memory(&compiled, &target, args.cpu, &about, &[KernelKind::Raw])?;
        run.model = job.model.path.display().to_string();
        run.trees = job.model.forest.trees.len();
        run.features = job.model.forest.num_features;
        run.fingerprint = Some(job.model.fingerprint);
        if args.input.is_none() && drawn.is_empty() {
            drawn = rows::draw(&job.model.forest);
        }
        let name = unused_name(&job.source.name, &contenders);
        contenders.push(Contender { name, jit, on_device: runs_on_device(&compiled) });
    }
    Ok((run, contenders, drawn))
}

/// A name that no other contender has: a schedule may be timed against itself.
fn unused_name(name: &str, others: &[Contender]) -> String {
    let taken = |name: &str| others.iter().any(|other| other.name == name);
    let numbered = (2..=others.len() + 1).map(|number| format!("{name} ({number})"));
    std::iter::once(name.to_string()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
}

/// The rows of a file.
fn read(input: &Path, features: usize) -> Result<Vec<f32>, Failure> {
    // Times hardly depend on the order of columns.
    let expect = Expect::unnamed(features).by_position(true);
    let rows = read_rows(&Source::from_argument(input), expect)?;
    if rows.rows == 0 {
        let help = "name a file with at least one row";
        return Err(Failure::usage(format!("{} has no rows to time", input.display()), help));
    }
    Ok(rows.into_f32())
}

/// Rows repeated until they fill the largest call.
fn repeated(mut values: Vec<f32>, features: usize, largest: usize) -> Result<Vec<f32>, Failure> {
    if largest.saturating_mul(features) > MOST_NUMBERS {
        return Err(Failure::usage(
            format!("{largest} rows of {features} features are too many to time in one call"),
            format!("use a --batch of at most {}", MOST_NUMBERS / features),
        ));
    }
    let once = values.len();
    while once > 0 && values.len() < largest * features {
        values.extend_from_within(..once);
    }
    Ok(values)
}

/// Samples of the time of one row, in microseconds, of each contender.
fn race(contenders: &[Contender], workload: &Workload, rounds: u32) -> Result<Vec<Vec<f64>>, Failure> {
    let mut calls = Vec::new();
    for contender in contenders {
        calls.push(calibrate(contender, workload)?);
    }
    let mut samples = vec![Vec::new(); contenders.len()];
    for _ in 0..rounds {
        for ((contender, calls), samples) in contenders.iter().zip(&calls).zip(&mut samples) {
            let spent = sample(contender, workload, *calls)?;
            // Never 0, of which there is no logarithm and no reciprocal.
            let micros = spent.max(Duration::from_nanos(1)).as_secs_f64() * 1e6;
            samples.push(micros / (*calls * workload.batch) as f64);
        }
    }
    Ok(samples)
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
    let Workload { rows, features, batch, threads, clock } = *workload;
    let outputs = usize::try_from(contender.jit.model().num_margins).unwrap_or(0);
    let mut out = vec![0f32; batch * outputs];
    let whole = (rows.len() / features.max(1)).saturating_sub(batch) + 1;
    let mut first = 0;
    let since = now(clock);
    for _ in 0..calls {
        let piece = Rows::F32(&rows[first * features..(first + batch) * features]);
        let done = contender.jit.predict(Kind::Raw, piece, batch, Output::F32(&mut out), threads);
        done.map_err(|status| {
            let help = match status.code() {
                Status::DRIVER | Status::DEVICE => "time it on a machine with a GPU, or name --target cpu",
                _ => "predict fewer rows",
            };
            Failure::new(sched_llvm::codes::PREDICTION, format!("prediction failed: {status}"), help)
        })?;
        first = (first + batch) % whole;
    }
    Ok(now(clock).saturating_sub(since))
}

/// One thread is timed by the processor time of this process, which other processes disturb less; several, and GPUs, by
/// the time that passes.
fn clock(threads: i32, on_device: bool) -> ClockId {
    if threads == 1 && !on_device { ClockId::ProcessCPUTime } else { ClockId::Monotonic }
}

fn now(clock: ClockId) -> Duration {
    Duration::try_from(clock_gettime(clock)).unwrap_or_default()
}
