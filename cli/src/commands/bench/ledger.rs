//! `schedc bench --prefixes --ablate --sweep`: measures the gain of the parts of one schedule.

use super::ledger_table;
use crate::args::{Bench, ScheduleOptions};
use crate::commands::load_job;
use crate::commands::timed_rows::{filled, rows_of};
use crate::terminal::Terminal;
use sched_forest::Float;
use sched_llvm::host_cpu_name;
use schedc_data::FeatureValues;
use schedc_driver::{CodeDestination, Failure};
use schedc_measure::ledger::{Ledger, LedgerExperiments, Question, Subject};
use schedc_measure::{OrderedRows, RaceLimits};
use std::ops::ControlFlow;
use std::time::Duration;

/// The version of the JSON.
const FORMAT_VERSION: u32 = 1;
/// Default duration of a race.
const DEFAULT_BUDGET: Duration = Duration::from_millis(700);

/// The text to print.
pub fn text(args: &Bench, terminal: &Terminal) -> Result<String, Failure> {
    let ledger = measure(args, terminal)?;
    Ok(match args.json {
        // Serialization fails only for maps whose keys are no strings; a ledger has none.
        true => serde_json::to_string_pretty(&ledger).unwrap_or_default() + "\n",
        false => ledger_table::text(&ledger),
    })
}

fn measure(args: &Bench, terminal: &Terminal) -> Result<Ledger, Failure> {
    let schedule = match args.schedules.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        _ => {
            let help = "name one schedule, and time the others in runs of their own";
            return Err(Failure::usage("the parts of only one schedule can be timed", help));
        }
    };
    let Some(model) = &args.model else {
        return Err(Failure::usage("there is nothing to time", "name a model"));
    };
    let options = ScheduleOptions { schedule, values: args.values.clone() };
    let place = (args.cpu, CodeDestination::Artefact);
    let mut job = load_job(model, &options, &args.reading, place)?;
    let once = rows_of(&args.rows, args.row_type, &job.model)?;
    if matches!(once, FeatureValues::F32(_)) {
        job.set_row_type(Float::F32, args.values.target.as_ref(), place);
    }
    let (_, target) = job.nest(&args.values, terminal)?;
    let batches = args.batch.iter().filter_map(|batch| usize::try_from(*batch).ok()).collect();
    let question = Question {
        prefixes: args.prefixes,
        ablations: args.ablate,
        advice_threads: None,
        sweeps: args.sweep.clone(),
        batches,
    };
    let subject = Subject {
        model: &job.model,
        source: &job.source,
        values: &args.values,
        target: &target,
        cpu: args.cpu,
    };
    let prepared = LedgerExperiments::new(&subject, &question)?;
    let features = job.model.forest().num_features;
    let rows = OrderedRows::new(filled(once, features, prepared.largest_batch())?, features, false);
    let budget = args.budget.unwrap_or(DEFAULT_BUDGET);
    let limits = RaceLimits { max_samples: args.samples, budget: Some(budget), ..RaceLimits::default() };
    let mut watch = watch(terminal, &prepared, args, budget);
    let tables = prepared.time(&rows, &args.threads, &limits, &mut watch)?;
    drop(watch);
    Ok(Ledger {
        format: FORMAT_VERSION,
        model: job.model.path.display().to_string(),
        fingerprint: job.model.fingerprint.clone(),
        trees: job.model.forest().trees.len(),
        features,
        processor: host_cpu_name(),
        schedule: job.source.name.clone(),
        chosen: prepared.chosen,
        tables,
    })
}

/// Advances a progress bar by the time that has passed.
fn watch(
    terminal: &Terminal,
    prepared: &LedgerExperiments,
    args: &Bench,
    budget: Duration,
) -> impl FnMut(&schedc_measure::RaceProgress) -> ControlFlow<()> {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let races = prepared.races(&args.threads) as u64;
    let bar = terminal.progress(millis(budget).saturating_mul(races), "timing");
    let mut last = Duration::ZERO;
    move |progress| {
        // Each race counts its time from 0.
        let spent = progress.elapsed.checked_sub(last).unwrap_or(progress.elapsed);
        last = progress.elapsed;
        bar.advance(millis(spent));
        ControlFlow::Continue(())
    }
}
