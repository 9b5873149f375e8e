//! `schedc explain-speed`: reports the bounds of a schedule's loops, the gain of its directives, and faster
//! variations.

mod gpu;
mod report;

use super::bench::table::micros;
use super::load_job;
use super::timed_rows::{filled, rows_of};
use crate::args::ExplainSpeed;
use crate::environment;
use crate::stdout::print;
use crate::terminal::Terminal;
use report::{FORMAT, count};
use sched_forest::Float;
use sched_ir::Compiled;
use sched_ir::lir::OutputKind;
use sched_lang::Target;
use sched_nest::{Nest, Variants};
use schedc_data::FeatureValues;
use schedc_driver::compile::{compile, runs_on_device};
use schedc_driver::{CodeDestination, Failure, Job, machines};
use schedc_measure::bounds::{CallSize, CostExplanation, explain_cost, nest_with_remarks};
use schedc_measure::caches::Caches;
use schedc_measure::ledger::{LedgerExperiments, LedgerTable, PredictedTable, Question, Subject};
use schedc_measure::{OrderedRows, RaceLimits};
use serde::Serialize;
use std::fmt::Write;
use std::ops::ControlFlow;

/// Slowdown over the fastest proposal up to which a proposal gets further turns. A larger value measures more
/// proposals, which takes longer.
const MOST_SLOWDOWN: f64 = 1.2;
/// Smallest speed-up that is reported: smaller ones may be noise.
const LEAST_GAIN: f64 = 1.02;
/// Most proposals that are printed.
const MOST_SHOWN: usize = 5;

/// Runs the command.
pub fn run(args: &ExplainSpeed, terminal: &Terminal) -> Result<(), Failure> {
    environment::check()?;
    let place = (args.cpu, CodeDestination::Artefact);
    let values = &args.schedule.values;
    let mut job = load_job(&args.model, &args.schedule, &args.reading, place)?;
    let once = rows_of(&args.rows, args.row_type, &job.model)?;
    if matches!(once, FeatureValues::F32(_)) {
        job.set_row_type(Float::F32, values.target.as_ref(), place);
    }
    let (nests, target) = job.nest(values, terminal)?;
    let rows = usize::try_from(args.batch).unwrap_or(usize::MAX);
    let compiled = compile(
        &job.model,
        Variants::only(nests.into_for_rows(rows)),
        &[OutputKind::Raw],
        &machines::of(args.cpu),
    )?;
    if runs_on_device(&compiled) {
        return gpu::explain(args, (&job, &target), &compiled);
    }
    let threads = match u64::try_from(args.threads) {
        Ok(0) | Err(_) => std::thread::available_parallelism().map_or(1, |count| count.get() as u64),
        Ok(some) => some,
    };
    let report = speed_report(args, (&job, &target), &compiled, threads, once)?;
    if args.json {
        return print(&(serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"));
    }
    print(&report.text(&compiled.variants.rest().hir.nest))
}

/// Predicts the speed; unless only static analysis is wanted, also measures it.
fn speed_report(
    args: &ExplainSpeed,
    (job, target): (&Job, &Target),
    compiled: &Compiled,
    threads: u64,
    once: FeatureValues,
) -> Result<SpeedReport, Failure> {
    let caches = args.caches.clone().unwrap_or_else(Caches::of_this_machine);
    let calls = CallSize { rows: args.batch, threads };
    let machine = machines::of(args.cpu);
    let bounds = explain_cost(&job.model, compiled, &machine, calls, &caches)
        .ok_or_else(|| Failure::usage("the model has no code that computes margins", "name another model"))?;
    let subject = Subject {
        model: &job.model,
        source: &job.source,
        values: &args.schedule.values,
        target,
        cpu: args.cpu,
    };
    let question = Question {
        ablations: !args.only_static,
        advice_threads: usize::try_from(threads).ok(),
        batches: vec![usize::try_from(args.batch).unwrap_or(usize::MAX)],
        ..Question::default()
    };
    let prepare = if args.only_static { LedgerExperiments::without_code } else { LedgerExperiments::new };
    let prepared = prepare(&subject, &question)?;
    let measured = match args.only_static {
        true => None,
        false => time(args, job, &prepared, once)?.into_iter().next(),
    };
    Ok(SpeedReport {
        format: FORMAT,
        model: args.model.display().to_string(),
        schedule: job.source.name.clone(),
        processor: machine.name,
        batch: args.batch,
        threads,
        bounds,
        predicted: prepared.predicted().into_iter().next(),
        measured,
    })
}

/// Result of the command. `docs/speed.md` documents its JSON.
#[derive(Serialize)]
struct SpeedReport {
    /// Version of the JSON: increased if a field is removed or changes its meaning.
    format: u32,
    model: String,
    schedule: String,
    processor: String,
    batch: u64,
    threads: u64,
    bounds: CostExplanation,
    predicted: Option<PredictedTable>,
    measured: Option<LedgerTable>,
}

impl SpeedReport {
    /// The report as text, with the nest.
    fn text(&self, nest: &Nest) -> String {
        let (a_call, on) = (count(self.batch, "row"), count(self.threads, "thread"));
        let CostExplanation { cycles_per_row, us_per_row, .. } = &self.bounds;
        let time = micros(*us_per_row);
        let mut text = format!(
            "{}, {a_call} a call, {on}\npredicted: {cycles_per_row:.1} cycles a row, {time} µs\n\n",
            self.schedule
        );
        text += &nest_with_remarks(nest, &self.bounds);
        match (&self.measured, &self.predicted) {
            (Some(table), predicted) => text += &measured_text(table, predicted.as_ref()),
            (None, Some(predicted)) => text += &predicted_text(predicted),
            (None, None) => {}
        }
        text
    }
}

/// Times the schedule, the schedule without each directive, and its variations.
fn time(
    args: &ExplainSpeed,
    job: &Job,
    prepared: &LedgerExperiments,
    once: FeatureValues,
) -> Result<Vec<LedgerTable>, Failure> {
    let features = job.model.forest().num_features;
    let rows = OrderedRows::new(filled(once, features, prepared.largest_batch())?, features, false);
    let limits = RaceLimits {
        budget: Some(args.budget),
        drop_out_ratio: Some(MOST_SLOWDOWN),
        ..RaceLimits::default()
    };
    prepared.time(&rows, &[args.threads], &limits, &mut |_| ControlFlow::Continue(()))
}

/// Text of the predicted speed-ups over the plain nest and schedc's own choice, and of worthwhile variations.
fn predicted_text(predicted: &PredictedTable) -> String {
    let times = |gain: Option<f64>| gain.map_or("-".to_string(), |gain| format!("{gain:.2}"));
    let mut text = format!(
        "\npredicted: {} times as fast as the plain nest, {} times as fast as schedc's own choice\n",
        times(predicted.over_plain),
        times(predicted.over_chosen)
    );
    text += "what would make it faster, predicted:\n";
    let all = predicted.advice.iter().filter(|one| one.gain >= LEAST_GAIN);
    text += &lines(all.map(|one| format!("  {:>6.2} times as fast: {}\n", one.gain, one.text)));
    text
}

fn measured_text(table: &LedgerTable, predicted: Option<&PredictedTable>) -> String {
    let time =
        |figure: &schedc_measure::ledger::MeasuredTime| figure.us_per_row.map_or("-".to_string(), micros);
    let over =
        |figure| table.whole.speed_up_over(figure).map_or("-".to_string(), |ratio| format!("{ratio:.2}"));
    let (plain, chosen) = (&table.baselines.plain, &table.baselines.chosen);
    let mut text = format!(
        "\nmeasured: {} µs per row; the plain nest {}, {} times as long; schedc's own choice {}, {} times\n",
        time(&table.whole),
        time(plain),
        over(plain),
        time(chosen),
        over(chosen)
    );
    let mut losses: Vec<_> = table.ablations.iter().filter_map(|one| Some((one.loss?, one))).collect();
    losses.sort_by(|one, two| two.0.total_cmp(&one.0));
    for (loss, one) in losses {
        let more = if one.with.is_empty() { "" } else { " and the directives that need it" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {loss:>6.2} times as long without line {}: `{}`{more}", one.line, one.text);
    }
    text += "what would make it faster, measured:\n";
    let advice = table.advice.iter().filter(|one| one.gain >= LEAST_GAIN);
    text += &lines(advice.map(|one| {
        let predicted = one.predicted.map_or(String::new(), |gain| format!(", predicted {gain:.2}"));
        format!("  {:>6.2} times as fast{predicted}: {}\n", one.gain, one.text)
    }));
    if let Some(slower) = predicted.map(|predicted| predicted.surely_slower).filter(|slower| *slower > 0) {
        let _ = writeln!(
            text,
            "{} predicted to be clearly slower, not compiled",
            count(slower as u64, "variation")
        );
    }
    text
}

/// The first proposals, or a sentence if there are none.
fn lines(advice: impl Iterator<Item = String>) -> String {
    let shown: String = advice.take(MOST_SHOWN).collect();
    if shown.is_empty() {
        "  no variation of a directive, and no additional directive\n".to_string()
    } else {
        shown
    }
}
