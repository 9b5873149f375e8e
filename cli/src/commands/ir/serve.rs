//! `schedc ir --serve`: answers the language server's requests for stages of the compiler. Reads the model
//! once, and again when its file has changed. Compiles only the kernel of margins.

use super::stages::stage_text;
use crate::args::{Ir, Stage};
use clap::ValueEnum;
use sched_ir::lir::OutputKind;
use sched_lang::diagnostics::{Diagnostic, Severity, full};
use sched_lang::{CheckPurpose, Target};
use sched_nest::{Nest, Variants};
use schedc_driver::compile::compile;
use schedc_driver::{Failure, Model, ScheduleSource, machines};
use schedc_measure::CostPredictor;
use serde::Deserialize;
use serde_json::json;
use std::fs;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::SystemTime;

/// A request: one line of standard input.
#[derive(Deserialize)]
struct StageRequest {
    /// The schedule.
    text: String,
    /// A stage, or `cost` for the cost model's prediction.
    stage: String,
    /// Rows per call, for `cost`.
    #[serde(default)]
    rows: Option<usize>,
}

/// Default number of rows per call.
const DEFAULT_ROWS: usize = 1024;
/// Most nests whose costs are cached.
const MOST_COSTS: usize = 256;

/// A model that was read from its file, and the costs of its nests.
struct ServedModel {
    stamp: ModelStamp,
    model: Model,
    predictor: CostPredictor,
    /// Cached costs: nest, rows per call, cycles.
    costs: Vec<(Nest, usize, f64)>,
}

/// Length and modification time of a file, which show whether it has changed.
type ModelStamp = (u64, Option<SystemTime>);

/// Answers lines of standard input, each by a line of standard output: `{"text"}` or `{"error"}`.
pub fn serve(args: &Ir, path: &Path) -> Result<(), Failure> {
    let mut loaded: Option<ServedModel> = None;
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let answer = match answer(args, path, &mut loaded, &line) {
            Ok(text) => json!({ "text": text }),
            Err(error) => json!({ "error": error }),
        };
        // The editor has closed the pipe.
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    Ok(())
}

fn answer(args: &Ir, path: &Path, loaded: &mut Option<ServedModel>, line: &str) -> Result<String, String> {
    let request: StageRequest = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let loaded = model(args, path, loaded).map_err(in_words)?;
    let source =
        ScheduleSource { name: "schedule".to_owned(), text: request.text, is_chosen: false, path: None };
    if request.stage == "cost" {
        let cost = cost_of(args, loaded, &source, request.rows.unwrap_or(DEFAULT_ROWS));
        return cost.map(|cycles| cycles.to_string());
    }
    let stage = Stage::from_str(&request.stage, false)?;
    text(args, &loaded.model, &source, stage)
}

/// The model, read again if its file has changed.
fn model<'k>(
    args: &Ir,
    path: &Path,
    loaded: &'k mut Option<ServedModel>,
) -> Result<&'k mut ServedModel, Failure> {
    let stamp = fs::metadata(path).map(|file| (file.len(), file.modified().ok())).unwrap_or_default();
    let fresh = match loaded.take().filter(|old| old.stamp == stamp) {
        Some(loaded) => loaded,
        None => {
            let model = Model::read(path, &args.reading.options())?
                .with_profile(args.schedule.values.profile.as_deref())?;
            let predictor = CostPredictor::new(&model, args.cpu);
            ServedModel { stamp, model, predictor, costs: Vec::new() }
        }
    };
    Ok(loaded.insert(fresh))
}

/// The cycles of a call of `rows` rows, by the cost model.
fn cost_of(args: &Ir, loaded: &mut ServedModel, source: &ScheduleSource, rows: usize) -> Result<f64, String> {
    let (nests, _) = nests(args, &loaded.model, source)?;
    let nest = nests.into_for_rows(rows);
    let before = loaded.costs.iter().find(|(other, of, _)| *of == rows && *other == nest);
    if let Some((.., cycles)) = before {
        return Ok(*cycles);
    }
    let predicted = loaded.predictor.predicted_cycles(&loaded.model, Variants::only(nest.clone()), (rows, 1));
    let cycles = predicted.ok_or_else(|| "the cost model has no prediction for this schedule".to_owned())?;
    loaded.costs.push((nest, rows, cycles));
    let surplus = loaded.costs.len().saturating_sub(MOST_COSTS);
    loaded.costs.drain(..surplus);
    Ok(cycles)
}

/// The nests of a schedule, and its target.
fn nests(args: &Ir, model: &Model, source: &ScheduleSource) -> Result<(Variants<Nest>, Target), String> {
    let checked = source.check_for(CheckPurpose::Compile, model, &args.schedule.values);
    source.check_fingerprint(&checked, model, &args.schedule.values).map_err(in_words)?;
    let error = checked.diagnostics.into_iter().find(|found| found.severity == Severity::Error);
    match (error, checked.nests) {
        (None, Some(nests)) => Ok((nests, checked.target)),
        (error, _) => Err(error.map(words).unwrap_or_default()),
    }
}

fn text(args: &Ir, model: &Model, source: &ScheduleSource, stage: Stage) -> Result<String, String> {
    let (nests, target) = nests(args, model, source)?;
    // The stages before LIR need no kernel.
    let kernels: &[OutputKind] = match stage {
        Stage::Hir | Stage::Mir => &[],
        _ => &[OutputKind::Raw],
    };
    let compiled = compile(model, nests, kernels, &machines::of(args.cpu)).map_err(in_words)?;
    stage_text(args, stage, &compiled, &target).map_err(in_words)
}

fn in_words(failure: Failure) -> String {
    match failure {
        Failure::Refused(diagnostic) => words(*diagnostic),
        Failure::Findings | Failure::Reported(_) => "the schedule cannot be compiled".to_owned(),
    }
}

/// A diagnostic as the command line prints it.
fn words(diagnostic: Diagnostic) -> String {
    full::plain("", &diagnostic, false).trim_end().to_owned()
}
