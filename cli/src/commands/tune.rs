//! `schedc tune`: searches for fast schedules by the cost model and by timing.

use super::timed_rows::{check_gpu, check_kernels, check_threads, filled, rows_of};
use crate::args::{GpuStrategy, Tune};
use crate::outputs::{refuse_collisions, refuse_overwriting};
use crate::stdout::print;
use crate::terminal::Terminal;
use crate::{environment, interrupt};
use sched_forest::Float;
use sched_lang::{CheckOptions, Target};
use sched_llvm::host_cpu_name;
use schedc_data::{FeatureValues, write_atomically};
use schedc_driver::compile::gpu_of;
use schedc_driver::lock::{EntryKey, Figures, LockEntry, LockFile, Measurement, target_name};
use schedc_driver::{Failure, Model, RowMemory, ScheduleSource, reason};
use schedc_measure::{DRAW_SEED, OrderedRows, Quartiles};
use schedc_tune::{
    GpuSearchOptions, SearchProgress, SearchResult, SearchState, Strategy, TuningTask, calls_text, rows_text,
    schedule_of_size, schedule_text, speed_ratio_text, tune,
};
use serde_json::json;
use std::ops::ControlFlow;
use std::path::Path;

/// Steps of the progress bar.
const PROGRESS_STEPS: f64 = 1000.0;

/// Runs the command.
pub fn run(args: &Tune, terminal: &Terminal) -> Result<(), Failure> {
    let inputs = [
        Some(args.model.as_path()),
        args.schedule.as_deref(),
        args.rows.input.as_deref(),
        args.resume.as_deref(),
    ];
    // A search takes long, so files that cannot be written are refused before it. --save may replace the
    // state that the search resumes.
    let outputs = [
        ("--out", Some(args.out.as_path())),
        ("--save", args.save.as_deref()),
        ("--lock", args.lock.as_deref()),
    ];
    refuse_collisions(&inputs[..3], &outputs)?;
    refuse_overwriting(&inputs, &args.out)?;
    refuse_lock_as_schedule(&args.out)?;
    environment::check()?;
    let start = args.schedule.as_deref().map(ScheduleSource::read).transpose()?;
    let target = target_of(args, start.as_ref())?;
    let gpu = GpuSearchOptions {
        strategy: args.strategy.into(),
        by_cost_model: args.by_counts,
        rows_in: args.rows_in.into(),
    };
    check_options(args, &target, gpu)?;
    let place = TunedDevice::of(&target, gpu)?;
    let mut model =
        Model::read(&args.model, &args.reading.options())?.with_profile(args.values.profile.as_deref())?;
    let once = rows_of(&args.rows, args.row_type, &model)?;
    if matches!(once, FeatureValues::F32(_)) {
        model = model.for_rows(Float::F32);
    }
    let mut sizes: Vec<usize> = args.batch.iter().filter_map(|rows| usize::try_from(*rows).ok()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let features = model.forest().num_features;
    let rows = OrderedRows::new(filled(once, features, sizes.last().copied().unwrap_or(1))?, features, false);
    let task = TuningTask {
        model: &model,
        cpu: args.cpu,
        target: &target,
        rows: &rows,
        sizes: &sizes,
        threads: &args.threads,
        budget: args.budget,
        start: start.as_ref(),
        values: &args.values,
        gpu,
        allow_slower: args.allow_slower,
    };
    let mut state = state(args, &model, &place)?;
    let found = searched(&task, &mut state, terminal).inspect_err(|_| {
        interrupt::end_if_interrupted("the search was interrupted before it timed a schedule");
    })?;
    if let Some(path) = &args.save {
        write_atomically(path, |out| out.write_all(state.to_json().as_bytes()))?;
    }
    if let Some(path) = &args.lock {
        lock(args, path, &model, &target, &found)?;
    }
    if found.ended_early {
        terminal.say("note: the search was interrupted; this is the best schedule so far");
    }
    print_gains(&found, &place, terminal);
    write_result(args, &model, &found, &place, terminal)
}

/// The target of the search: the one of the command line, or else that of the schedule, or else the
/// processor.
///
/// # Errors
/// When the schedule is for GPUs, and the command line names a processor.
fn target_of(args: &Tune, start: Option<&ScheduleSource>) -> Result<Target, Failure> {
    let own = start.map(|start| {
        let options = CheckOptions { target: None, ..ScheduleSource::options(None, &args.values) };
        (start, sched_lang::check(&start.text, &options).target)
    });
    match (&args.values.target, own) {
        (Some(given), Some((start, own))) if own.is_gpu() && !given.is_gpu() => Err(Failure::usage(
            format!("{} is for GPUs, and --target names a processor", start.name),
            "leave out --target, or name a schedule without `gpuDimension`",
        )),
        (Some(given), _) => Ok(given.clone()),
        (None, Some((_, own))) => Ok(own),
        (None, None) => Ok(Target::cpu()),
    }
}

/// Refuses to replace a lock by a schedule.
fn refuse_lock_as_schedule(out: &Path) -> Result<(), Failure> {
    if out.extension().is_none_or(|ending| ending != "lock") {
        return Ok(());
    }
    let message = format!("--out writes a schedule, and {} is the name of a lock", out.display());
    Err(Failure::usage(message, format!("store it in the lock with --lock {}", out.display())))
}

/// Ends of the device's name in saved searches whose figures are not times of whole calls.
const BY_COUNTS: &str = ", by counts";
const OF_KERNELS: &str = ", kernels";

/// The processor or GPU that a search tunes for, and the source of its figures.
struct TunedDevice {
    /// The processor or the GPU.
    name: String,
    /// The strategy of a search for a GPU whose schedules are not timed.
    counted: Option<Strategy>,
    /// The memory of the rows of timed calls, if the GPU is timed.
    rows_in: Option<RowMemory>,
    /// The schedule's header line that names the target.
    target: Option<String>,
}

impl TunedDevice {
    fn of(target: &Target, gpu: GpuSearchOptions) -> Result<TunedDevice, Failure> {
        if !target.is_gpu() {
            return Ok(TunedDevice { name: host_cpu_name(), counted: None, rows_in: None, target: None });
        }
        let name = format!("gpu({})", gpu_of(target)?);
        let counted = (!gpu.is_timed()).then_some(gpu.strategy);
        let rows_in = gpu.is_timed().then_some(gpu.rows_in);
        Ok(TunedDevice { target: Some(name.clone()), name, counted, rows_in })
    }

    /// The device, and the kind of figures, by which saved searches are recognized.
    fn searched(&self) -> String {
        let kind = match (self.counted, self.rows_in) {
            (Some(_), _) => BY_COUNTS,
            (None, Some(RowMemory::Device)) => OF_KERNELS,
            (None, _) => "",
        };
        format!("{}{kind}", self.name)
    }

    /// The kind of figures of a search for this device.
    fn kind(&self, search: &SearchState) -> &'static str {
        match search.processor.strip_prefix(&self.name) {
            Some(BY_COUNTS) => "predictions from counts",
            Some(OF_KERNELS) => "times of kernels",
            _ => "times of whole calls",
        }
    }
}

/// Refuses options that the target's kind of processor does not support.
fn check_options(args: &Tune, target: &Target, gpu: GpuSearchOptions) -> Result<(), Failure> {
    let for_gpus = args.by_counts || !matches!(args.strategy, GpuStrategy::Neighbours);
    if !target.is_gpu() && for_gpus {
        return Err(Failure::usage(
            "--strategy and --by-counts need a GPU as target",
            "add --target gpu, or leave them out",
        ));
    }
    if gpu.rows_in == RowMemory::Device {
        check_timed_kernels(args, target)?;
    }
    if target.is_gpu() && args.lock.is_some() && !gpu.is_timed() {
        return Err(Failure::usage(
            "a lock stores measured times, and times on this GPU are only predicted from counts",
            "leave out --lock and save the schedule with -o, or tune on a machine with this GPU, without \
             --by-counts",
        ));
    }
    Ok(())
}

/// Refuses to time kernels if the target has none, or if nothing is timed.
fn check_timed_kernels(args: &Tune, target: &Target) -> Result<(), Failure> {
    if !target.is_gpu() {
        return Err(Failure::usage(
            "--rows-in device times kernels, and needs a GPU as target",
            "add --target gpu, or leave it out",
        ));
    }
    if args.by_counts {
        return Err(Failure::usage(
            "--rows-in device times kernels, and --by-counts times nothing",
            "leave out one of the two",
        ));
    }
    check_threads(RowMemory::Device, &args.threads)?;
    check_kernels(RowMemory::Device, "the search", target)?;
    check_gpu(RowMemory::Device)
}

/// Stores the fastest schedules in a lock. They replace the lock's entries for the same calls.
fn lock(
    args: &Tune,
    path: &Path,
    model: &Model,
    target: &Target,
    found: &SearchResult,
) -> Result<(), Failure> {
    let mut lock = LockFile::read_or_new(path)?;
    let target = target_name(Some(target), args.cpu)?;
    let figures = |time: &Quartiles| Figures { median: time.median, low: time.low, high: time.high };
    for best in &found.best {
        let schedule = schedule_of_size(found, best);
        for figure in &best.figures {
            let threads = u32::try_from(figure.threads).unwrap_or(0);
            let key = EntryKey::new(&target, &args.model, path, best.rows as u64, threads)?
                .with_rows_in(figure.rows_in.unwrap_or_default());
            let measured = Measurement {
                schedule: figures(&figure.us_per_row),
                default: figures(&figure.chosen_us_per_row),
                seed: DRAW_SEED,
                budget: args.budget,
            };
            lock.put(LockEntry::of(key, model, args.cpu, &schedule, measured)?);
        }
    }
    super::lock::files::write(&lock, path)
}

/// The state of the search to resume, or a new state.
fn state(args: &Tune, model: &Model, place: &TunedDevice) -> Result<SearchState, Failure> {
    let new = SearchState::new(&model.fingerprint, &place.searched(), &args.threads);
    let Some(path) = &args.resume else { return Ok(new) };
    let unusable = |why: String| {
        Failure::unreadable(
            path.display(),
            why,
            "name a file that `schedc tune --save` wrote, or leave out --resume",
        )
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| unusable(format!("it cannot be read: {}", reason(&error))))?;
    let saved =
        SearchState::from_json(&text).map_err(|why| unusable(format!("it is not a saved search: {why}")))?;
    if saved.is_about(&new) {
        return Ok(saved);
    }
    // Other figures of the same GPU.
    let is_other_kind = place.target.is_some() && saved.processor.starts_with(&place.name);
    if is_other_kind && (&saved.fingerprint, &saved.threads) == (&new.fingerprint, &new.threads) {
        return Err(Failure::unreadable(
            path.display(),
            format!("it has {}, and this search has {}", place.kind(&saved), place.kind(&new)),
            "continue it with its own --rows-in and --by-counts, or leave out --resume",
        ));
    }
    Err(unusable("it belongs to another model, another processor or other threads".to_string()))
}

/// Runs the search with a progress bar, until it ends or the user interrupts it.
fn searched(
    task: &TuningTask,
    state: &mut SearchState,
    terminal: &Terminal,
) -> Result<SearchResult, Failure> {
    interrupt::end_well();
    let bar = terminal.progress(PROGRESS_STEPS as u64, "searching");
    let mut advanced = 0;
    tune(task, state, &mut |progress: &SearchProgress| {
        let now = (progress.spent.min(1.0) * PROGRESS_STEPS) as u64;
        bar.advance(now.saturating_sub(advanced));
        advanced = advanced.max(now);
        if let Some(best) = progress.best {
            let rows = rows_text(progress.rows, progress.rows_in);
            bar.say(&format!("{rows}: {best:.3} \u{b5}s a row"));
        }
        if interrupt::was_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
}

/// Writes the schedule, and prints the results.
fn write_result(
    args: &Tune,
    model: &Model,
    found: &SearchResult,
    place: &TunedDevice,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let file = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let tried: usize = found.best.iter().map(|best| best.tried).sum();
    let head = format!(
        "found by schedc tune {} for {} on {}: {tried} schedules were {}",
        env!("CARGO_PKG_VERSION"),
        file(&args.model),
        place.name,
        match place.counted {
            Some(strategy) =>
                format!("compared by the cost model, none timed (strategy {})", strategy.name()),
            None => match place.rows_in {
                None => "timed".to_string(),
                Some(RowMemory::Host) => "timed, from host memory to host memory".to_string(),
                Some(RowMemory::Device) => "timed, kernels alone on rows in the GPU's memory".to_string(),
            },
        }
    );
    let schedule = schedule_text(found, &head, place.target.as_deref());
    if args.json {
        let all = json!({
            "format": 1,
            "model": args.model.display().to_string(),
            "fingerprint": model.fingerprint,
            "processor": place.name,
            "timed": place.counted.is_none(),
            "rows_in": place.rows_in.map(RowMemory::word),
            "strategy": place.target.as_ref().map(|_| Strategy::from(args.strategy).name()),
            "sizes": found.best,
            "bounds": found.bounds,
            "ended_early": found.ended_early,
            "schedule": schedule,
        });
        print(&(serde_json::to_string_pretty(&all).unwrap_or_default() + "\n"))?;
        if args.out.as_os_str() == "-" {
            return Ok(());
        }
    }
    if args.out.as_os_str() == "-" {
        return print(&schedule);
    }
    write_atomically(&args.out, |out| out.write_all(schedule.as_bytes()))?;
    terminal.say(&format!("wrote {}", args.out.display()));
    Ok(())
}

/// Prints the speed of the result relative to schedc's own choice, for each size of calls.
fn print_gains(found: &SearchResult, place: &TunedDevice, terminal: &Terminal) {
    let end = if place.counted.is_some() { ", predicted, not timed" } else { "" };
    for best in &found.best {
        for (timed, gain) in best.gains() {
            let speed = match (best.is_own, best.slower) {
                (true, Some(slower)) => {
                    format!("{} schedc's own schedule: kept schedc's own", speed_ratio_text(1.0 / slower))
                }
                (true, None) => format!("schedc's own schedule is the fastest of {}", best.tried),
                (false, _) => format!("{} schedc's own schedule", speed_ratio_text(gain)),
            };
            terminal.say(&format!("{}: {speed}{end}", calls_text(best.rows, timed)));
        }
    }
}
