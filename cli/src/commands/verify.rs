//! `schedc verify`: compares the predictions of code with the model's, on rows that are solved for the model.

mod calls;
mod expected;
mod found;
mod others;
mod report;
mod run;
#[cfg(test)]
mod tests;
mod trainer;
mod versions;

use super::predict::{Predictor, schedule_order};
use super::simulate::Simulator;
use super::{load_job, print};
use crate::args::{Format, Verify};
use crate::environment;
use crate::model_rows::expected_of;
use crate::outputs::keep;
use crate::terminal::Terminal;
use calls::kinds;
use expected::Expected;
use others::{Comparison, Theirs};
use report::Report;
use run::{Verified, VerifyRun};
use sched_diagnostics::{internal, usage};
use sched_forest::fingerprint;
use sched_lang::Supported;
use sched_llvm::Library;
use sched_llvm::runtime::Kind;
use sched_nest::{Nest, Variants};
use schedc_data::{Destination, Expect, Source, Values, read_rows};
use schedc_driver::CodeDestination;
use schedc_driver::Failure;
use schedc_driver::Job;
use schedc_driver::Model;
use schedc_driver::categories::categories_of;
use schedc_driver::compile::{RowRules, compile, entry_info, into_memory};
use schedc_driver::machines;
use schedc_driver::outputs::{KERNELS, counts};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Code to verify, and its properties.
struct Code {
    predictor: Box<dyn Predictor>,
    exact: bool,
    counts: BTreeSet<usize>,
    processor: String,
    schedule: String,
}

/// Runs the command.
pub fn run(args: &Verify, terminal: &Terminal) -> Result<(), Failure> {
    environment::check()?;
    if let Some(failing) = &args.failing {
        let read = [Some(args.model.as_path()), args.input.as_deref(), args.against.as_deref()];
        keep(&read, failing)?;
        Destination::from_argument(failing).check(&[])?;
    }
    let cpu = args.cpu.or_else(environment::cpu).unwrap_or_default();
    let job = load_job(&args.model, &args.schedule, &args.reading, (cpu, CodeDestination::Memory))?;
    for note in &job.model.notes {
        terminal.say(&format!("note: {note}"));
    }
    let given = given(args, &job.model, terminal)?;
    let until = Instant::now() + Duration::from_secs(args.seconds);
    let Done { report, failing, unasked } = verify(args, &job, &given, until, terminal)?;
    if let (Some(path), Some(rows)) = (&args.failing, failing) {
        trainer::write_rows(path, &rows, job.model.forest().num_features)?;
        terminal.say(&format!("wrote {}", path.display()));
    }
    print(&match args.json || terminal.format() == Format::Json {
        true => format!("{:#}\n", report.to_json()),
        false => report.to_text(),
    })?;
    match unasked {
        _ if !report.is_equal() => Err(Failure::Findings),
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// The rows of the command line's input.
fn given(args: &Verify, model: &Model, terminal: &Terminal) -> Result<Vec<Values>, Failure> {
    let Some(path) = &args.input else { return Ok(Vec::new()) };
    let categories = categories_of(model, args.categories.choices());
    let expect = expected_of(model).by_position(args.by_position).with_categories(categories.as_ref());
    let rows = read_rows(&Source::from_argument(path), expect)?;
    for note in &rows.notes {
        terminal.say(&format!("note: {note}"));
    }
    Ok(vec![rows.values])
}

/// Results of the verification.
struct Done {
    report: Report,
    /// Rows whose results differ.
    failing: Option<Values>,
    /// The reason why the trainer could not predict the rows.
    unasked: Option<Failure>,
}

fn verify(
    args: &Verify,
    job: &Job,
    given: &[Values],
    until: Instant,
    terminal: &Terminal,
) -> Result<Done, Failure> {
    let model = &job.model;
    let mut notes = Vec::new();
    let code = match &args.artefact {
        Some(path) => library(args, path, model)?,
        None => in_memory(args, job, terminal)?,
    };
    let run = VerifyRun {
        forest: model.forest(),
        code: code.predictor.as_ref(),
        exact: code.exact,
        counts: code.counts,
        slow: args.simulate,
        until,
    };
    let widths = run.widths();
    let progress = terminal.progress(None, "verifying");
    let verified = run.verify(given, &mut |met| progress.advance(met)).map_err(|status| {
        let help = "build for the machine that runs the code; --simulate runs the code of a GPU without one";
        Failure::new(sched_llvm::codes::PREDICTION, format!("prediction failed: {status}"), help)
    })?;
    drop(progress);
    let Verified { rows, outcome, unreachable, found, failing } = verified;
    if outcome.stopped {
        notes.push(format!("stopped after {} seconds: --seconds allows more", args.seconds));
    }
    if !code.exact {
        notes.push("sums are near the trainer's; what is made of them is not compared".to_string());
    }
    if args.simulate {
        notes.push("the simulator has run some rows of each type".to_string());
    }
    let (others, unasked) = match others(args, model, given, &mut notes) {
        Ok(others) => (others, None),
        Err(failure) if args.trainer => (Vec::new(), Some(failure)),
        Err(failure) => return Err(failure),
    };
    let versions = match &args.artefact {
        Some(path) => versions::others(args, path)?,
        None => Vec::new(),
    };
    let artefact = match &args.artefact {
        Some(path) => Some((path.display().to_string(), fingerprint(&Model::bytes(path)?))),
        None => None,
    };
    let name = if artefact.is_some() { "the library's own".to_string() } else { job.source.name.clone() };
    let order = if code.exact { "exact" } else { "reassociated" };
    let report = Report {
        model: (model.path.display().to_string(), model.fingerprint.clone()),
        schedule: (name, fingerprint(code.schedule.as_bytes()), order.to_string()),
        artefact,
        processor: code.processor,
        versions,
        rows,
        outcome,
        outputs: kinds().into_iter().filter(|kind| widths[*kind as usize] > 0).map(Kind::word).collect(),
        unreachable,
        found,
        others,
        notes,
    };
    Ok(Done { report, failing, unasked })
}

/// Compiles the model under the schedule into memory.
fn in_memory(args: &Verify, job: &Job, terminal: &Terminal) -> Result<Code, Failure> {
    let cpu = args.cpu.or_else(environment::cpu).unwrap_or_default();
    let (nests, target) = job.nest(&args.schedule.values, terminal)?;
    let counts = calls::counts(rows_of(&nests));
    let compiled = compile(&job.model, nests, &KERNELS, &machines::of(cpu))?;
    // Rows count as expensive, so that even small calls use threads.
    let about = sched_llvm::EntryInfo {
        ns_per_row: 1e6,
        ..entry_info(&job.model, &compiled, &job.source.text, cpu, RowRules::default())
    };
    let exact = schedule_order(&about.info) == "exact";
    let (predictor, processor): (Box<dyn Predictor>, String) = if args.simulate {
        (Box::new(Simulator::new(Arc::clone(job.model.forest()), compiled.lir)), "the simulator".to_string())
    } else {
        (Box::new(into_memory(&compiled, &target, cpu, &about, &KERNELS)?), cpu.name().to_string())
    };
    Ok(Code { predictor, exact, counts, processor, schedule: job.source.text.clone() })
}

/// Numbers of rows at which a schedule changes its behaviour.
fn rows_of(nests: &Variants<Nest>) -> Vec<usize> {
    let bounds = nests.bounded().iter().map(|variant| variant.max_rows as usize);
    let vectors = nests.iter().flat_map(|(_, nest)| &nest.loops).filter_map(|this| {
        let lanes = this.annotations.vectorize.unwrap_or(1) as usize;
        let together = this.annotations.interleave.unwrap_or(1) as usize;
        (lanes * together > 1).then_some(lanes * together)
    });
    bounds.chain(vectors).collect()
}

/// Loads a library, and checks that it was built from the model.
fn library(args: &Verify, path: &Path, model: &Model) -> Result<Code, Failure> {
    let values = &args.schedule.values;
    let decided = [
        ("--schedule", args.schedule.schedule.is_some()),
        ("--set", !values.sets.is_empty()),
        ("--batch-size", values.batch_size.is_some()),
        ("--profile", values.profile.is_some()),
        ("--cpu", args.cpu.is_some()),
        ("--target", values.target.is_some()),
        ("--simulate", args.simulate),
    ];
    if let Some((option, _)) = decided.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(
            format!("{option} has no effect on {}, which is compiled", path.display()),
            "give the option to `schedc build`, or verify the model without the library",
        ));
    }
    if let Err(error) = std::fs::metadata(path) {
        let help = "name a library that `schedc build` has made of the model";
        return Err(Failure::unreadable(
            path.display(),
            format!("the library cannot be read: {error}"),
            help,
        ));
    }
    let library = Library::load(path, &args.name)?;
    let about: serde_json::Value = serde_json::from_str(&library.info()).unwrap_or_default();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_string();
    let built_of = text(&about["model"]["fingerprint"]);
    if built_of != model.fingerprint {
        return Err(Failure::new(
            sched_forest::codes::OTHER_MODEL,
            format!(
                "the library was built of a model with the fingerprint {built_of}, not of {}",
                model.fingerprint
            ),
            "name the model that it was built of",
        )
        .of(path.display()));
    }
    let schedule = text(&about["schedule"]);
    let options = sched_lang::Options {
        model: Some(model.facts()),
        supported: Supported::Compilable,
        ..sched_lang::Options::default()
    };
    // Options of the build are unknown here; if the schedule does not check without them, the usual numbers
    // of rows are used.
    let nests = sched_lang::check(&schedule, &options).nests;
    Ok(Code {
        exact: schedule_order(&library.info()) == "exact",
        counts: calls::counts(nests.as_ref().map(rows_of).unwrap_or_default()),
        processor: text(&about["target"]),
        schedule,
        predictor: Box::new(library),
    })
}

/// Compares with predictions of the trainer or of a file.
fn others(
    args: &Verify,
    model: &Model,
    given: &[Values],
    notes: &mut Vec<String>,
) -> Result<Vec<Comparison>, Failure> {
    let (rows, theirs) = if args.trainer {
        if args.reading.iterations.as_ref().is_some_and(|which| *which != sched_forest::Iterations::All) {
            let help = "leave out --iterations, or compare with predictions that you have by --against";
            return Err(Failure::usage("the trainer is asked for all iterations", help));
        }
        let rows = trainer::rows(model, given)?;
        let results = trainer::ask(model, &rows)?;
        notes.extend(results.notes);
        (rows, results.theirs)
    } else if let (Some(path), [rows]) = (&args.against, given) {
        (rows.clone(), vec![against(args, path, model, rows)?])
    } else {
        return Ok(Vec::new());
    };
    let forest = model.forest();
    let expected = match &rows {
        Values::F32(values) => Expected::new(forest, values),
        Values::F64(values) => Expected::new(forest, values),
    };
    let expected = expected.map_err(|error| Failure::new(internal::IMPOSSIBLE, error, internal::REPORT))?;
    Ok(theirs
        .into_iter()
        .map(|theirs| Comparison::new(forest, &rows, &expected, theirs, args.tolerance))
        .collect())
}

/// The predictions in a file, one for each row.
fn against(args: &Verify, path: &Path, model: &Model, rows: &Values) -> Result<Theirs, Failure> {
    let kind = args.output;
    let columns = kind.columns(&counts(model.forest()));
    if columns == 0 {
        let message = format!("the model has no output `{}`", kind.word());
        return Err(Failure::new(
            usage::NO_SUCH_OUTPUT,
            message,
            "choose another --output, for example value",
        ));
    }
    let expect = Expect::unnamed(columns).by_position(true);
    let found = read_rows(&Source::from_argument(path), expect)?;
    let count = match rows {
        Values::F32(values) => values.len(),
        Values::F64(values) => values.len(),
    } / model.forest().num_features.max(1);
    if found.rows != count {
        return Err(Failure::usage(
            format!("{} has {} predictions, and there are {count} rows", path.display(), found.rows),
            "give the predictions of these rows, in their order",
        ));
    }
    Ok(Theirs { who: path.display().to_string(), kind, values: found.values })
}
