//! Timing: contenders take turns, so that a change in the machine's speed meets all of them alike.

use super::kernels::Kernels;
use super::order::{Order, Ordered, Piece};
use super::rows;
use super::run::{FORMAT, Point, Processor, Run};
use crate::args::{Bench, ScheduleOptions};
use crate::commands::load_job;
use crate::terminal::Terminal;
use rustix::time::{ClockId, clock_gettime};
use sched_forest::Float;
use sched_ir::lir::KernelKind;
use sched_llvm::runtime::{Dtype, Kind, Status, output_type};
use sched_llvm::{Jit, Output, host_name};
use schedc_data::{Expect, Source, Values, read_rows};
use schedc_driver::CodeDestination;
use schedc_driver::Failure;
use schedc_driver::Model;
use schedc_driver::compile::{RowRules, compile, facts, into_memory, runs_on_device};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// A sample lasts at least this long, so that the clock does not matter.
const SAMPLE: Duration = Duration::from_millis(2);
/// Most numbers that the rows of the largest call may have.
const MOST_NUMBERS: usize = 1 << 28;

/// Most calls of a sample on rows of their own.
const MOST_PIECES: usize = 1024;

/// A compiled schedule.
struct Contender {
    name: String,
    jit: Rc<Jit>,
    /// What it gets.
    order: Order,
    /// Whether some calls run on a GPU.
    on_device: bool,
}

/// The rows of one point: `batch` rows at a time, from the beginning again when they run out.
struct Workload<'a> {
    rows: &'a Ordered,
    batch: usize,
    threads: i32,
    clock: ClockId,
}

/// Times the schedules at all points.
pub fn measure(args: &Bench, model: &Path, terminal: &Terminal) -> Result<Run, Failure> {
    let (mut run, contenders, once) = contenders(args, model, terminal)?;
    let batches: Vec<usize> = args.batch.iter().filter_map(|batch| usize::try_from(*batch).ok()).collect();
    let largest = batches.iter().copied().max().unwrap_or(1);
    let rows = match once {
        Values::F32(once) => Values::F32(repeated(once, run.features, largest)?),
        Values::F64(once) => Values::F64(repeated(once, run.features, largest)?),
    };
    let rows = Ordered::new(rows, run.features, args.columns);
    let points = (batches.len() * args.threads.len()) as u64;
    let any_on_device = contenders.iter().any(|contender| contender.on_device);
    let on_device: Vec<_> = contenders.iter().map(|one| one.on_device.then_some(&*one.jit)).collect();
    let mut kernels =
        Kernels::new(&on_device, &if any_on_device { narrow(rows.rows()) } else { Vec::new() }, terminal);
    let progress = terminal.progress(points, "timing");
    for &threads in &args.threads {
        for &batch in &batches {
            let clock = clock(threads, any_on_device);
            let workload = Workload { rows: &rows, batch, threads, clock };
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

/// Compiles the schedules for the type that the rows have; what the run is about is known then, too.
fn contenders(
    args: &Bench,
    model: &Path,
    terminal: &Terminal,
) -> Result<(Run, Vec<Contender>, Values), Failure> {
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
    let mut read = None;
    for schedule in schedules {
        let options = ScheduleOptions { schedule, values: args.values.clone() };
        let place = (args.cpu, CodeDestination::Artefact);
        let mut job = load_job(model, &options, &args.reading, place)?;
        let rows = match &mut read {
            Some(rows) => rows,
            none => none.insert(rows_of(args, &job.model)?),
        };
        if matches!(rows, Values::F32(_)) {
            job.read_rows(Float::F32, args.values.target.as_ref(), place);
        }
        let (nest, target) = job.nest(&args.values, terminal)?;
        let compiled = compile(&job.model, nest, &[KernelKind::Raw])?;
        let about = facts(&job.model, &compiled, &job.source.text, args.cpu, RowRules::default());
        let jit = into_memory(&compiled, &target, args.cpu, &about, &[KernelKind::Raw])?;
        run.model = job.model.path.display().to_string();
        run.trees = job.model.forest.trees.len();
        run.features = job.model.forest.num_features;
        run.fingerprint = Some(job.model.fingerprint);
        let name = unused_name(&job.source.name, &contenders);
        let (jit, on_device) = (Rc::new(jit), runs_on_device(&compiled));
        let from_columns = args.columns.then(|| Contender {
            name: format!("{name} from columns"),
            jit: Rc::clone(&jit),
            order: Order::Columns,
            on_device,
        });
        contenders.push(Contender { name, jit, order: Order::Rows, on_device });
        contenders.extend(from_columns);
    }
    Ok((run, contenders, read.unwrap_or(Values::F32(Vec::new()))))
}

/// The rows of the file that is named, or drawn ones. They have the type that is asked for, or that of the file; a model that
/// reads single precision would only round others.
fn rows_of(args: &Bench, model: &Model) -> Result<Values, Failure> {
    let values = match &args.input {
        Some(input) => read(input, model.forest.num_features)?,
        None => Values::F64(rows::draw(&model.forest)),
    };
    let default = match (&values, model.own_rows) {
        (Values::F32(_), _) | (_, Float::F32) => Float::F32,
        _ => Float::F64,
    };
    Ok(match (args.rows.map_or(default, Float::from), values) {
        (Float::F32, Values::F64(values)) => Values::F32(values.into_iter().map(|x| x as f32).collect()),
        (Float::F64, Values::F32(values)) => Values::F64(values.into_iter().map(f64::from).collect()),
        (_, values) => values,
    })
}

/// A name that no other contender has: a schedule may be timed against itself.
fn unused_name(name: &str, others: &[Contender]) -> String {
    let taken = |name: &str| others.iter().any(|other| other.name == name);
    let numbered = (2..=others.len() + 1).map(|number| format!("{name} ({number})"));
    std::iter::once(name.to_string()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
}

/// The rows of a file.
fn read(input: &Path, features: usize) -> Result<Values, Failure> {
    // Times hardly depend on the order of columns.
    let expect = Expect::unnamed(features).by_position(true);
    let rows = read_rows(&Source::from_argument(input), expect)?;
    if rows.rows == 0 {
        let help = "name a file with at least one row";
        return Err(Failure::usage(format!("{} has no rows to time", input.display()), help));
    }
    Ok(rows.values)
}

/// Rows repeated until they fill the largest call.
fn repeated<T: Copy>(mut values: Vec<T>, features: usize, largest: usize) -> Result<Vec<T>, Failure> {
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

/// The rows in single precision, in which GPUs get them: times do not depend on the last bits.
fn narrow(rows: &Values) -> Vec<f32> {
    match rows {
        Values::F32(values) => values.clone(),
        Values::F64(values) => values.iter().map(|x| *x as f32).collect(),
    }
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
    let Workload { rows, batch, threads, clock } = *workload;
    let outputs = usize::try_from(contender.jit.model().num_margins).unwrap_or(0);
    let doubles = output_type(contender.jit.model(), Kind::Raw) == Dtype::F64;
    let (floats, doubles) = if doubles { (0, batch * outputs) } else { (batch * outputs, 0) };
    let (mut floats, mut doubles) = (vec![0f32; floats], vec![0f64; doubles]);
    let whole = rows.count.saturating_sub(batch) + 1;
    // As a caller has them: the columns of a call are there before it.
    let pieces = (0..calls.min(MOST_PIECES)).map(|call| {
        let first = call * batch % whole;
        rows.piece(contender.order, first..first + batch)
    });
    let pieces: Vec<Piece> = pieces.collect();
    let since = now(clock);
    for piece in pieces.iter().cycle().take(calls) {
        let out = if doubles.is_empty() { Output::F32(&mut floats) } else { Output::F64(&mut doubles) };
        let done = contender.jit.predict(Kind::Raw, piece.rows(), batch, out, threads);
        done.map_err(|status| {
            let help = match status.code() {
                Status::DRIVER | Status::DEVICE => "time it on a machine with a GPU, or name --target cpu",
                _ => "predict fewer rows",
            };
            Failure::new(sched_llvm::codes::PREDICTION, format!("prediction failed: {status}"), help)
        })?;
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
