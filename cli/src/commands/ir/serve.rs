//! `schedc ir --serve`: the stages of one schedule after the other, for editors. The model is read once, and again when its file
//! has changed; only one kernel is made.

use super::stage_text;
use crate::args::{Ir, Stage};
use clap::ValueEnum;
use sched_ir::lir::KernelKind;
use sched_lang::diagnostics::{Diagnostic, Severity, full};
use sched_lang::{Supported, Target};
use sched_nest::{Nest, Variants};
use schedc_driver::compile::compile;
use schedc_driver::{Failure, Model, Source, machines};
use schedc_measure::Predictor;
use serde::Deserialize;
use serde_json::json;
use std::fs;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::SystemTime;

/// A line of the input.
#[derive(Deserialize)]
struct Wish {
    /// The schedule.
    text: String,
    /// A stage, or `cost` for what the cost model says.
    stage: String,
    /// Rows of the calls that the cost is asked of.
    #[serde(default)]
    rows: Option<usize>,
}

/// Rows of calls that nothing is said of.
const ROWS: usize = 1024;
/// Nests whose costs are kept.
const MOST: usize = 256;

/// A model as its file was, and what is known of calls of it.
struct Known {
    stamp: Stamp,
    model: Model,
    predictor: Predictor,
    /// Costs of nests at calls of so many rows.
    costs: Vec<(Nest, usize, f64)>,
}

/// What tells whether a file has changed.
type Stamp = (u64, Option<SystemTime>);

/// Answers lines of standard input, each by a line of standard output: `{"text"}` or `{"error"}`.
pub fn serve(args: &Ir, path: &Path) -> Result<(), Failure> {
    let mut known: Option<Known> = None;
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let answer = match answer(args, path, &mut known, &line) {
            Ok(text) => json!({ "text": text }),
            Err(error) => json!({ "error": error }),
        };
        // An editor that has gone wants nothing more.
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    Ok(())
}

fn answer(args: &Ir, path: &Path, known: &mut Option<Known>, line: &str) -> Result<String, String> {
    let wish: Wish = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let known = model(args, path, known).map_err(in_words)?;
    let source = Source { name: "schedule".to_owned(), text: wish.text, is_chosen: false, path: None };
    if wish.stage == "cost" {
        let cost = cost_of(args, known, &source, wish.rows.unwrap_or(ROWS));
        return cost.map(|cycles| cycles.to_string());
    }
    let stage = Stage::from_str(&wish.stage, false)?;
    text(args, &known.model, &source, stage)
}

/// The model as its file is now.
fn model<'k>(args: &Ir, path: &Path, known: &'k mut Option<Known>) -> Result<&'k mut Known, Failure> {
    let stamp = fs::metadata(path).map(|file| (file.len(), file.modified().ok())).unwrap_or_default();
    let fresh = match known.take().filter(|old| old.stamp == stamp) {
        Some(known) => known,
        None => {
            let model = Model::read(path, &args.reading.options())?.profiled(&args.values)?;
            let predictor = Predictor::new(&model, args.cpu);
            Known { stamp, model, predictor, costs: Vec::new() }
        }
    };
    Ok(known.insert(fresh))
}

/// The cycles of a call of so many rows, by the cost model.
fn cost_of(args: &Ir, known: &mut Known, source: &Source, rows: usize) -> Result<f64, String> {
    let (nests, _) = nests(args, &known.model, source)?;
    let nest = nests.into_for_rows(rows);
    let before = known.costs.iter().find(|(other, of, _)| *of == rows && *other == nest);
    if let Some((.., cycles)) = before {
        return Ok(*cycles);
    }
    let told = known.predictor.cycles(&known.model, Variants::only(nest.clone()), (rows, 1));
    let cycles = told.ok_or_else(|| "nothing is predicted of this schedule".to_owned())?;
    known.costs.push((nest, rows, cycles));
    let surplus = known.costs.len().saturating_sub(MOST);
    known.costs.drain(..surplus);
    Ok(cycles)
}

/// The nests of a schedule, and what it is for.
fn nests(args: &Ir, model: &Model, source: &Source) -> Result<(Variants<Nest>, Target), String> {
    let checked = source.check_for(Supported::Compilable, model, &args.values);
    source.check_fingerprint(&checked, model, &args.values).map_err(in_words)?;
    let error = checked.diagnostics.into_iter().find(|found| found.severity == Severity::Error);
    match (error, checked.nests) {
        (None, Some(nests)) => Ok((nests, checked.target)),
        (error, _) => Err(error.map(words).unwrap_or_default()),
    }
}

fn text(args: &Ir, model: &Model, source: &Source, stage: Stage) -> Result<String, String> {
    let (nests, target) = nests(args, model, source)?;
    // The stages before LIR need no kernel.
    let kernels: &[KernelKind] = match stage {
        Stage::Hir | Stage::Mir => &[],
        _ => &[KernelKind::Raw],
    };
    let compiled = compile(model, nests, kernels, &machines::of(args.cpu)).map_err(in_words)?;
    stage_text(args, stage, &compiled, &target).map_err(in_words)
}

fn in_words(failure: Failure) -> String {
    match failure {
        Failure::Refused(diagnostic) => words(*diagnostic),
        Failure::Findings | Failure::Told(_) => "the schedule cannot be compiled".to_owned(),
    }
}

/// As a run of the program says it.
fn words(diagnostic: Diagnostic) -> String {
    full::plain("", &diagnostic, false).trim_end().to_owned()
}
