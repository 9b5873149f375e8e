//! `schedc verify`: compares the predictions of code with those of the reference walker, on rows that are
//! computed to reach every leaf and every boundary of a test.

mod other_versions;
mod text;
mod without_trainer;

use super::{load_job, refuse_for_library};
use crate::args::{Format, Verify};
use crate::environment;
use crate::model_rows::{precision_of, rows_of_file};
use crate::outputs::refuse_overwriting;
use crate::stdout::print;
use crate::terminal::Terminal;
use sched_forest::{Float, Iterations, fingerprint};
use sched_llvm::Library;
use schedc_data::{DataSource, Destination, Expect, FeatureValues, read_rows};
use schedc_driver::outputs::missing_output;
use schedc_driver::{CodeDestination, Failure, Job, Model, reason};
use schedc_verify::trainer::{self, TrainerError};
use schedc_verify::{ModelCode, OtherPredictions, OutputComparison, VerificationTask, VerifyReport, compare};
use std::path::Path;
use std::time::Instant;
use without_trainer::without_trainer;

/// Runs the command.
pub fn run(args: &Verify, terminal: &Terminal) -> Result<(), Failure> {
    environment::check()?;
    if let Some(failing) = &args.failing {
        let read = [Some(args.model.as_path()), args.input.as_deref(), args.against.as_deref()];
        refuse_overwriting(&read, failing)?;
        Destination::from_argument(failing).check(&[])?;
    }
    let cpu = args.cpu.or_else(environment::cpu).unwrap_or_default();
    let job = load_job(&args.model, &args.schedule, &args.reading, (cpu, CodeDestination::Memory))?;
    for note in &job.model.notes {
        terminal.say(&format!("note: {note}"));
    }
    let given = read_given_rows(args, &job.model, terminal)?;
    let (report, failing) = verify(args, &job, &given, terminal)?;
    if let (Some(path), Some(rows)) = (&args.failing, failing) {
        trainer::write_rows(path, &rows, job.model.forest().num_features)?;
        terminal.say(&format!("wrote {}", path.display()));
    }
    print(&match args.json || terminal.format() == Format::Json {
        true => format!("{:#}\n", report.to_json()),
        false => text::report_text(&report),
    })?;
    if report.is_equal() { Ok(()) } else { Err(Failure::Findings) }
}

/// The rows of the command line's input.
fn read_given_rows(args: &Verify, model: &Model, terminal: &Terminal) -> Result<Vec<FeatureValues>, Failure> {
    let Some(path) = &args.input else { return Ok(Vec::new()) };
    let rows = rows_of_file(path, args.columns, model)?;
    for note in &rows.notes {
        terminal.say(&format!("note: {note}"));
    }
    Ok(vec![match args.row_type {
        Some(float) => rows.values.in_precision(precision_of(float.into())),
        None => rows.values,
    }])
}

/// Verifies the code, and compares it with other programs and other versions if the arguments request that.
/// Returns the report, and the rows whose results differ.
fn verify(
    args: &Verify,
    job: &Job,
    given: &[FeatureValues],
    terminal: &Terminal,
) -> Result<(VerifyReport, Option<FeatureValues>), Failure> {
    let model = &job.model;
    let code = match &args.artefact {
        Some(path) => library(args, path, model)?,
        None => in_memory(args, job, terminal)?,
    };
    // First, since a missing library of the trainer ends the command.
    let mut notes = Vec::new();
    let others = compare_others(args, model, given, &mut notes)?;
    let progress = terminal.progress(None, "verifying");
    let row_type = args.row_type.map(Float::from);
    let (began, budget) = (Instant::now(), args.budget);
    let task = VerificationTask { model, code: &code, given, row_type, began, budget };
    let (mut report, failing) = schedc_verify::verify(&task, &mut |met| progress.advance(met))?;
    drop(progress);
    report.notes.extend(notes);
    report.others = others;
    if let Some(path) = &args.artefact {
        report.versions = other_versions::verify_others(args, path)?;
        report.artefact = Some((path.display().to_string(), fingerprint(&Model::bytes(path)?)));
    }
    Ok((report, failing))
}

/// Compiles the model under the schedule into memory.
fn in_memory(args: &Verify, job: &Job, terminal: &Terminal) -> Result<ModelCode, Failure> {
    let cpu = args.cpu.or_else(environment::cpu).unwrap_or_default();
    let values = &args.schedule.values;
    let mut job = job.clone();
    if let Some(rows) = args.row_type {
        job.set_row_type(rows.into(), values.target.as_ref(), (cpu, CodeDestination::Memory));
    }
    let (nests, target) = job.nest(values, terminal)?;
    ModelCode::in_memory(&job, nests, &target, cpu, args.simulate)
}

/// Loads a library, and checks that it was built from the model.
fn library(args: &Verify, path: &Path, model: &Model) -> Result<ModelCode, Failure> {
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
    refuse_for_library(path, &decided, "verify", "verify the model without the library")?;
    if let Err(error) = std::fs::metadata(path) {
        let help = "name a library that `schedc build` has made of the model";
        return Err(Failure::unreadable(
            path.display(),
            format!("the library cannot be read: {}", reason(&error)),
            help,
        ));
    }
    let library = Library::load(path, &args.name)?;
    ModelCode::of_library(library, model).map_err(|failure| failure.in_file(path.display()))
}

/// Compares with predictions of the trainer or of a file.
fn compare_others(
    args: &Verify,
    model: &Model,
    given: &[FeatureValues],
    notes: &mut Vec<String>,
) -> Result<Vec<OutputComparison>, Failure> {
    if args.trainer {
        if args.reading.iterations.as_ref().is_some_and(|which| *which != Iterations::All) {
            let help = "leave out --iterations, or compare with predictions that you have by --against";
            return Err(Failure::usage("the trainer predicts with all iterations", help));
        }
        let rows = trainer::rows(model, given);
        let python = std::env::var_os("PYTHON").filter(|name| !name.is_empty());
        let python = python.unwrap_or_else(|| "python3".into());
        let results = trainer::predict(model, &rows, &python).map_err(|error| match error {
            TrainerError::Unavailable { library, why } => without_trainer(model, &rows, library, &why),
            TrainerError::Failed(failure) => failure,
        })?;
        notes.extend(results.notes);
        return compare(model.forest(), &rows, results.outputs, args.tolerance);
    }
    match (&args.against, given) {
        (Some(path), [rows]) => {
            let predictions = predictions_of_file(args, path, model, rows)?;
            compare(model.forest(), rows, vec![predictions], args.tolerance)
        }
        _ => Ok(Vec::new()),
    }
}

/// The predictions in a file, one for each row.
fn predictions_of_file(
    args: &Verify,
    path: &Path,
    model: &Model,
    rows: &FeatureValues,
) -> Result<OtherPredictions, Failure> {
    let kind = args.output;
    let columns = model.forest().columns_of_output(kind);
    if columns == 0 {
        return Err(missing_output(kind.word(), |kind| model.forest().columns_of_output(kind) > 0));
    }
    let expect = Expect::unnamed(columns).by_position(true);
    let found = read_rows(&DataSource::from_argument(path), expect)?;
    let count = match rows {
        FeatureValues::F32(values) => values.len(),
        FeatureValues::F64(values) => values.len(),
    } / model.forest().num_features.max(1);
    if found.rows != count {
        return Err(Failure::usage(
            format!("{} has {} predictions, and there are {count} rows", path.display(), found.rows),
            "give the predictions of these rows, in their order",
        ));
    }
    Ok(OtherPredictions { source: path.display().to_string(), kind, values: found.values })
}
