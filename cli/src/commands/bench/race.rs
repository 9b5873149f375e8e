//! Measures a run: compiles the schedules for the type of the rows, and times them with each number of rows
//! per call and of threads.

use super::kernels::{KernelTimer, show_device};
use super::run::{BenchPoint, BenchRun, FORMAT_VERSION, Processor};
use crate::args::{Bench, ScheduleOptions};
use crate::commands::load_job;
use crate::commands::timed_rows::{
    check_gpu, check_kernels, check_threads, filled, rows_of, runs_on_processor,
};
use crate::terminal::Terminal;
use sched_forest::Float;
use sched_llvm::host_cpu_name;
use schedc_data::FeatureValues;
use schedc_driver::job::is_schedule;
use schedc_driver::{CodeDestination, Failure, Model, RowMemory, ScheduleSource};
use schedc_measure::{Contender, Draft, OrderedRows, RaceLimits, RowOrder, Workload, race};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Default numbers of rows per call.
const DEFAULT_BATCHES: [usize; 4] = [1, 64, 1024, 16384];

/// Times the schedules with each number of rows per call and of threads.
pub fn measure(args: &Bench, model: &Path, terminal: &Terminal) -> Result<BenchRun, Failure> {
    let rows_in = RowMemory::from(args.rows_in);
    check_options(args)?;
    let (mut run, contenders, once) = contenders(args, model, terminal)?;
    if let Some(other) = contenders.iter().find(|one| !one.on_device && rows_in == RowMemory::Device) {
        return Err(runs_on_processor(&other.name));
    }
    check_gpu(rows_in)?;
    let mut batches: Vec<usize> =
        args.batch.iter().filter_map(|batch| usize::try_from(*batch).ok()).collect();
    if batches.is_empty() {
        batches.extend(DEFAULT_BATCHES);
    }
    let largest = batches.iter().copied().max().unwrap_or(1);
    let rows = OrderedRows::new(filled(once, run.features, largest)?, run.features, args.columns);
    let points = (batches.len() * args.threads.len()) as u64;
    let kernels = match rows_in {
        RowMemory::Host => Some(KernelTimer::new(&contenders, &rows, terminal)),
        RowMemory::Device => {
            show_device(terminal);
            None
        }
    };
    let limits = RaceLimits { max_samples: args.samples, budget: args.budget, ..RaceLimits::default() };
    let progress = terminal.progress(points, "timing");
    for &threads in &args.threads {
        for &batch in &batches {
            let workload = Workload { rows: &rows, batch, threads, rows_in };
            let timings = race(&contenders, &workload, &limits, &mut |_| ControlFlow::Continue(()))?;
            for (contender, timing) in contenders.iter().zip(timings) {
                let Some(quartiles) = timing.quartiles() else { continue };
                let mut point = BenchPoint::of(&contender.name, batch, threads, run.trees, quartiles);
                if let Some(kernels) = &kernels {
                    point.kernel_us_per_row = kernels.us_per_row(contender, &workload, &limits)?;
                }
                run.points.push(point);
            }
            progress.advance(1);
        }
    }
    Ok(run)
}

/// Refuses options that have no effect on kernels, if kernels are timed.
fn check_options(args: &Bench) -> Result<(), Failure> {
    let rows_in = RowMemory::from(args.rows_in);
    let others = [("--columns", args.columns), ("--peers", args.peers)];
    if let Some((option, _)) = others.into_iter().find(|(_, given)| *given && rows_in == RowMemory::Device) {
        return Err(Failure::usage(
            format!("{option} times calls from host memory, and --rows-in device times kernels"),
            format!("leave out {option}, or time whole calls with --rows-in host"),
        ));
    }
    check_threads(rows_in, &args.threads)
}

/// Compiles the schedules for the type of the rows. Returns the run, still without measured times, the
/// contenders and the rows.
fn contenders(
    args: &Bench,
    model: &Path,
    terminal: &Terminal,
) -> Result<(BenchRun, Vec<Contender>, FeatureValues), Failure> {
    let mut run = BenchRun {
        format: FORMAT_VERSION,
        model: model.display().to_string(),
        fingerprint: None,
        trees: 0,
        features: 0,
        threads: args.threads.iter().copied().max().unwrap_or(1),
        rows_in: args.rows_in.into(),
        cpu: Processor {
            name: host_cpu_name(),
            features: args.cpu.features().into_iter().map(String::from).collect(),
        },
        points: Vec::new(),
    };
    let mut contenders: Vec<Contender> = Vec::new();
    let mut read = None;
    for which in schedules(args) {
        let schedule = if let ScheduleChoice::File(path) = which { Some(path.clone()) } else { None };
        let options = ScheduleOptions { schedule, values: args.values.clone() };
        let place = (args.cpu, CodeDestination::Artefact);
        let mut job = load_job(model, &options, &args.reading, place)?;
        match which {
            ScheduleChoice::File(_) | ScheduleChoice::Given => {}
            ScheduleChoice::Chosen => job.source = chosen(args, &job.model),
            ScheduleChoice::Plain => job.source = plain(),
        }
        let rows = match &mut read {
            Some(rows) => rows,
            none => none.insert(rows_of(&args.rows, args.row_type, &job.model)?),
        };
        if matches!(rows, FeatureValues::F32(_)) {
            job.set_row_type(Float::F32, args.values.target.as_ref(), place);
        }
        let mut values = args.values.clone().into_inner();
        if matches!(which, ScheduleChoice::Chosen | ScheduleChoice::Plain) {
            values.sets.clear();
        }
        if which == ScheduleChoice::Plain {
            // Without directives, code runs on the processor under every target.
            values.target = None;
        }
        let (nests, target) = job.nest(&values, terminal)?;
        // The cause of a refusal is the schedule, even on a machine without a GPU.
        check_kernels(args.rows_in.into(), &job.source.name, &target)?;
        run.model = job.model.path.display().to_string();
        run.trees = job.model.forest().trees.len();
        run.features = job.model.forest().num_features;
        run.fingerprint = Some(job.model.fingerprint.clone());
        let name = unused_name(&job.source.name, &contenders);
        let draft = Draft { name, nests, target };
        let contender = draft.compile(&job.model, args.cpu, &job.source.text)?;
        let mut from_columns = None;
        if args.columns {
            let name = format!("{} from columns", contender.name);
            let code = if job.source.is_chosen {
                // The choice depends on the order of the values.
                job.model = job.model.for_columns();
                job.source = chosen(args, &job.model);
                let (nests, target) = job.nest(&values, terminal)?;
                Draft { name: name.clone(), nests, target }.compile(&job.model, args.cpu, &job.source.text)?
            } else {
                contender.clone()
            };
            from_columns = Some(Contender { name, order: RowOrder::Columns, ..code });
        }
        contenders.push(contender);
        contenders.extend(from_columns);
    }
    Ok((run, contenders, read.unwrap_or(FeatureValues::F32(Vec::new()))))
}

/// A schedule to time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScheduleChoice<'a> {
    /// The schedule of a file.
    File(&'a PathBuf),
    /// The schedule that replaces the model on the command line, or else the automatic one.
    Given,
    /// The automatic schedule.
    Chosen,
    /// The plain nest, without directives.
    Plain,
}

/// The schedules to time.
fn schedules(args: &Bench) -> Vec<ScheduleChoice<'_>> {
    let mut all: Vec<ScheduleChoice> = args.schedules.iter().map(ScheduleChoice::File).collect();
    if all.is_empty() {
        all.push(ScheduleChoice::Given);
    }
    if args.baseline
        && !(all == [ScheduleChoice::Given] && args.model.as_deref().is_some_and(|what| !is_schedule(what)))
    {
        all.push(ScheduleChoice::Chosen);
    }
    if args.baseline {
        all.push(ScheduleChoice::Plain);
    }
    all
}

fn chosen(args: &Bench, model: &Model) -> ScheduleSource {
    ScheduleSource::chosen_for(model, args.values.target.as_ref(), args.cpu, CodeDestination::Artefact)
}

/// The schedule without directives.
fn plain() -> ScheduleSource {
    ScheduleSource { name: "plain nest".to_string(), text: String::new(), is_chosen: false, path: None }
}

/// A name that no other contender has, since a schedule may be timed against itself.
fn unused_name(name: &str, others: &[Contender]) -> String {
    let taken = |name: &str| others.iter().any(|other| other.name == name);
    let numbered = (2..=others.len() + 1).map(|number| format!("{name} ({number})"));
    std::iter::once(name.to_string()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
}
