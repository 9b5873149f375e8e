//! `schedc lock --upgrade`: measures an entry again.

use super::files::{model_of, write};
use crate::args;
use crate::commands::timed_rows::{check_gpu, check_threads, filled, random_rows};
use crate::terminal::Terminal;
use sched_lang::Target;
use sched_llvm::Cpu;
use schedc_driver::compile::for_one_call_of;
use schedc_driver::lock::{Figures, LockEntry, LockFile, LockRemedies, Measurement};
use schedc_driver::{CodeDestination, Failure, Job, Model, ScheduleSource, ScheduleValues};
use schedc_measure::{Contender, DRAW_SEED, Draft, OrderedRows, Quartiles, RaceLimits, Workload, race};
use std::ops::ControlFlow;
use std::path::Path;

/// Runs the command.
pub fn run(args: &args::Lock, name: &str, terminal: &Terminal) -> Result<(), Failure> {
    let mut lock = LockFile::read(&args.file)?;
    let entry = lock.entry_named(name).map_err(|failure| failure.in_file(args.file.display()))?.clone();
    let model = Model::read(&model_of(&entry, &args.file), &args.reading.options())?;
    let (cpu, target) = target_of(&entry, &args.file)?;
    let measured = measure(args, &entry, &model, (cpu, target.as_ref()), terminal)?;
    let renewed = LockEntry::of(entry.key.clone(), &model, cpu, &entry.schedule, measured)?;
    terminal.say(&format!("{}: {}; it was {}", renewed.key, speeds(&renewed), speeds(&entry)));
    if renewed.gain() < 1.0 {
        let tune = LockRemedies::of(&args.file).tune(&renewed.key.model, "");
        terminal.say(&format!("note: the schedule that schedc chooses is faster; {tune} finds a new one"));
    }
    lock.put(renewed);
    write(&lock, &args.file)
}

/// `0.05 µs per row, 0.06 µs with the default`
fn speeds(entry: &LockEntry) -> String {
    let Measurement { schedule, default, .. } = entry.measured;
    format!("{} µs per row, {} µs with the default", schedule.median, default.median)
}

/// The processor and the target of an entry, for a new measurement.
fn target_of(entry: &LockEntry, lock: &Path) -> Result<(Cpu, Option<Target>), Failure> {
    let target = entry.key.target.as_str();
    if target.starts_with("gpu")
        && let Ok(gpu) = target.parse::<Target>()
    {
        return Ok((Cpu::Native, Some(gpu)));
    }
    let name = if target == "cpu" { "native" } else { target };
    let cpu = name.parse::<Cpu>().map_err(|error| {
        Failure::usage(
            format!(
                "the entry {} is for a target that this schedc does not know: {}",
                entry.key, error.message
            ),
            "use the schedc that wrote it",
        )
        .in_file(lock.display())
    })?;
    Ok((cpu, None))
}

/// Times the entry's schedule and the schedule that schedc chooses, in turns.
fn measure(
    args: &args::Lock,
    entry: &LockEntry,
    model: &Model,
    (cpu, target): (Cpu, Option<&Target>),
    terminal: &Terminal,
) -> Result<Measurement, Failure> {
    let threads = i32::try_from(entry.key.threads).unwrap_or(i32::MAX);
    // The new times are of the same kind as the entry's.
    let rows_in = entry.key.rows_in;
    check_threads(rows_in, &[threads])?;
    check_gpu(rows_in)?;
    let rows = usize::try_from(entry.key.rows).unwrap_or(usize::MAX);
    let features = model.forest().num_features;
    let values = OrderedRows::new(filled(random_rows(model), features, rows)?, features, false);
    let model = model.for_rows(model.trainer_row_type);
    let own = ScheduleSource {
        name: format!("{}, {}", args.file.display(), entry.key),
        text: entry.schedule.clone(),
        is_chosen: false,
        path: None,
    };
    let chosen = ScheduleSource::chosen_for(&model, target, cpu, CodeDestination::Artefact);
    let mut contenders: Vec<Contender> = Vec::new();
    for source in [own, chosen] {
        let job = Job { model: model.clone(), source };
        let given = ScheduleValues { target: target.cloned(), ..ScheduleValues::default() };
        let (nests, target) = job.nest(&given, terminal)?;
        let draft = Draft { name: job.source.name.clone(), nests: for_one_call_of(nests, rows), target };
        contenders.push(draft.compile(&job.model, cpu, &job.source.text)?);
    }
    let workload = Workload { rows: &values, batch: rows, threads, rows_in };
    // More samples than any budget allows, so that the budget ends the race.
    let limits = RaceLimits { max_samples: 1000, budget: Some(args.budget), ..RaceLimits::default() };
    let timings = race(&contenders, &workload, &limits, &mut |_| ControlFlow::Continue(()))?;
    let figures: Vec<Figures> = timings.iter().filter_map(|timing| timing.quartiles()).map(figures).collect();
    let [schedule, default] = figures.as_slice() else {
        return Err(Failure::usage("the time budget is too short to measure", "raise it with --budget"));
    };
    let (schedule, default, budget) = (*schedule, *default, args.budget);
    Ok(Measurement { schedule, default, seed: DRAW_SEED, budget })
}

fn figures(quartiles: Quartiles) -> Figures {
    Figures { median: quartiles.median, low: quartiles.low, high: quartiles.high }
}
