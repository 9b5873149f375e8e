//! `schedc predict`: rows in, predictions out.

use super::Job;
use super::simulate::Simulator;
use crate::args::{Output, Predict, ScheduleOptions};
use crate::compile::{compile, facts, for_one_call_of, into_memory};
use crate::defaults::CodeDestination;
use crate::environment;
use crate::failure::Failure;
use crate::outputs::keep;
use crate::terminal::Terminal;
use sched_diagnostics::usage;
use sched_ir::lir::KernelKind;
use sched_llvm::runtime::Kind;
use sched_llvm::{Jit, Library, Output as Results, Rows};
use schedc_data::{
    Destination, Expect, Numbers, Rows as Input, Source, Table, Values, read_rows, write_table,
};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rows predicted between two looks at the clock, at most.
const PIECE: usize = 1 << 16;

/// Runs the command.
pub fn run(args: &Predict, terminal: &Terminal) -> Result<(), Failure> {
    let destination = Destination::from_argument(&args.out);
    destination.check()?;
    environment::check()?;
    terminal.expect_people(args.explain_schedule)?;
    let ScheduleOptions { schedule, values } = &args.schedule;
    let read =
        [Some(args.input.as_path()), Some(&args.model), schedule.as_deref(), values.profile.as_deref()];
    keep(&read, &args.out)?;
    if is_library(&args.model) {
        let library = load(args)?;
        if args.explain_schedule {
            terminal.say(schedule_of(&library).trim_end());
        }
        let names = names_of(&library);
        let rows = rows(args, rows_for(&library, names.as_deref()), terminal)?;
        return Run { args, terminal, destination }.predict(&library, &rows, Duration::ZERO);
    }
    let standard = |path: &Path| path.as_os_str() == "-";
    if standard(&args.input) && args.schedule.schedule.as_deref().is_some_and(standard) {
        let message = "the schedule and the rows cannot both come from standard input";
        return Err(Failure::usage(
            message,
            "name a file for one of them, for example the rows with --input",
        ));
    }
    let cpu = args.cpu.or_else(environment::cpu).unwrap_or_default();
    let job = Job::load(&args.model, &args.schedule, &args.reading, (cpu, CodeDestination::Memory))?;
    if args.explain_schedule {
        terminal.say(job.source.text.trim_end());
    }
    for note in job.model.notes.iter().filter(|_| !args.quiet) {
        terminal.say(&format!("note: {note}"));
    }
    let (nests, target) = job.nest(&args.schedule.values, terminal)?;
    let rows = rows(args, job.model.rows(), terminal)?;
    let since = Instant::now();
    let kernel = match args.output {
        Output::Leaf => KernelKind::Leaf,
        Output::Raw | Output::Value | Output::Class => KernelKind::Raw,
    };
    let compiled = compile(
        &job.model,
        for_one_call_of(nests, rows.rows),
        &[kernel, KernelKind::Value, KernelKind::Class],
    )?;
    if args.simulate {
        let simulator = Simulator::new(Arc::clone(&job.model.forest), compiled.lir);
        Run { args, terminal, destination }.predict(&simulator, &rows, since.elapsed())?;
        if !args.quiet {
            simulator.report(terminal);
        }
        return Ok(());
    }
    let about = facts(&job.model, &compiled, &job.source.text, cpu);
    let jit = into_memory(&compiled, &target, cpu, &about, &[kernel, KernelKind::Class])?;
    Run { args, terminal, destination }.predict(&jit, &rows, since.elapsed())
}

/// The rows to predict.
fn rows(args: &Predict, expect: Expect, terminal: &Terminal) -> Result<Input, Failure> {
    if args.input.as_os_str() == "-" && std::io::stdin().is_terminal() {
        terminal.say("note: reading rows from the terminal, up to Ctrl-D; --input names a file");
    }
    let rows = read_rows(&Source::from_argument(&args.input), expect.by_position(args.by_position))?;
    for note in &rows.notes {
        terminal.say(&format!("note: {note}"));
    }
    Ok(rows)
}

fn is_library(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "so")
}

/// Loads a library, in which everything is decided that these options choose for a model.
fn load(args: &Predict) -> Result<Library, Failure> {
    let path = args.model.display();
    if let Err(error) = std::fs::metadata(&args.model) {
        let help = "name a model, or a library that `schedc build` has made";
        return Err(Failure::unreadable(path, format!("the library cannot be read: {error}"), help));
    }
    let values = &args.schedule.values;
    let decided = [
        ("--schedule", args.schedule.schedule.is_some()),
        ("--set", !values.sets.is_empty()),
        ("--batch-size", values.batch_size.is_some()),
        ("--profile", values.profile.is_some()),
        ("--iterations", args.reading.iterations.is_some()),
        ("--cpu", args.cpu.is_some()),
        ("--target", values.target.is_some()),
        ("--simulate", args.simulate),
    ];
    if let Some((option, _)) = decided.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(
            format!("{option} has no effect on {path}, which is compiled"),
            "give the option to `schedc build`, or predict with the model instead of the library",
        ));
    }
    Ok(Library::load(&args.model, &args.name)?)
}

/// What a library says of its model and its making.
fn about(library: &Library) -> serde_json::Value {
    serde_json::from_str(&library.info()).unwrap_or_default()
}

/// The schedule that a library was built with.
fn schedule_of(library: &Library) -> String {
    about(library)["schedule"].as_str().unwrap_or_default().to_string()
}

/// The names of the features of a library's model; libraries of early releases do not hold them.
fn names_of(library: &Library) -> Option<Vec<String>> {
    serde_json::from_value(about(library)["model"]["feature_names"].take()).ok()
}

/// What a library wants of its rows.
fn rows_for<'a>(library: &Library, names: Option<&'a [String]>) -> Expect<'a> {
    match names {
        None => Expect::untold(library.num_features()),
        Some(names) if names.len() == library.num_features() => Expect::named(names),
        Some(_) => Expect::unnamed(library.num_features()),
    }
}

/// Something that predicts: code in memory or a library.
pub trait Predictor {
    /// Columns of a row.
    fn num_features(&self) -> usize;
    /// Columns of an output; 0 if the model has none of the kind.
    fn num_outputs(&self, kind: Kind) -> usize;
    /// Predicts packed rows.
    fn predict(&self, kind: Kind, rows: Rows, n: usize, out: Results, threads: i32) -> Result<(), String>;
}

impl Predictor for Jit {
    fn num_features(&self) -> usize {
        usize::try_from(self.model().num_features).unwrap_or(0)
    }

    fn num_outputs(&self, kind: Kind) -> usize {
        usize::try_from(sched_llvm::runtime::num_outputs(self.model(), kind)).unwrap_or(0)
    }

    fn predict(&self, kind: Kind, rows: Rows, n: usize, out: Results, threads: i32) -> Result<(), String> {
        Jit::predict(self, kind, rows, n, out, threads).map_err(|status| status.to_string())
    }
}

impl Predictor for Library {
    fn num_features(&self) -> usize {
        Library::num_features(self)
    }

    fn num_outputs(&self, kind: Kind) -> usize {
        Library::num_outputs(self, kind)
    }

    fn predict(&self, kind: Kind, rows: Rows, n: usize, out: Results, threads: i32) -> Result<(), String> {
        Library::predict(self, kind, rows, n, out, threads)
    }
}

/// One run of the command, once there is something that predicts.
struct Run<'a> {
    args: &'a Predict,
    terminal: &'a Terminal,
    destination: Destination,
}

impl Run<'_> {
    fn predict(&self, predictor: &impl Predictor, rows: &Input, compiling: Duration) -> Result<(), Failure> {
        let kind = kind(self.args.output);
        let columns = predictor.num_outputs(kind);
        if columns == 0 {
            return Err(Failure::new(
                usage::NO_SUCH_OUTPUT,
                format!("the model has no `{}` output", heading(self.args.output)),
                "use --output value for the prediction, or --output raw for the margin",
            ));
        }
        let n = rows.rows;
        let since = Instant::now();
        let results = match &rows.values {
            Values::F32(values) => self.pieces(predictor, kind, Rows::F32(values), n, columns)?,
            Values::F64(values) => self.pieces(predictor, kind, Rows::F64(values), n, columns)?,
        };
        let spent = since.elapsed();
        let values = match &results {
            Predictions::Floats(values) => Numbers::F32(values),
            Predictions::Integers(values) => Numbers::I32(values),
        };
        write_table(&Table { values, columns, heading: heading(self.args.output) }, &self.destination)?;
        if !self.args.quiet {
            self.terminal.say(&timing(n, spent, compiling));
        }
        Ok(())
    }

    /// Predicts piece by piece, so that progress can be shown.
    fn pieces(
        &self,
        predictor: &impl Predictor,
        kind: Kind,
        rows: Rows,
        n: usize,
        columns: usize,
    ) -> Result<Predictions, Failure> {
        let features = predictor.num_features();
        let mut results = match kind {
            Kind::Leaf => Predictions::Integers(filled(0, n, columns)?),
            _ => Predictions::Floats(filled(0.0, n, columns)?),
        };
        let progress = self.terminal.progress(n as u64, "predicting");
        let mut first = 0;
        while first < n {
            let count = PIECE.min(n - first);
            let (from, to) = (first * features, (first + count) * features);
            let piece = match rows {
                Rows::F32(values) => Rows::F32(&values[from..to]),
                Rows::F64(values) => Rows::F64(&values[from..to]),
            };
            let place = first * columns..(first + count) * columns;
            let out = match &mut results {
                Predictions::Floats(values) => Results::F32(&mut values[place]),
                Predictions::Integers(values) => Results::I32(&mut values[place]),
            };
            predictor.predict(kind, piece, count, out, self.args.threads).map_err(|status| {
                Failure::new(
                    sched_llvm::codes::PREDICTION,
                    format!("prediction failed: {status}"),
                    "build for the machine that runs the code, or predict fewer rows at a time; --simulate runs the code of a GPU \
                     without one",
                )
            })?;
            progress.advance(count as u64);
            first += count;
        }
        // Classes come as floats from the code, and are written as the numbers that they are.
        Ok(match results {
            Predictions::Floats(values) if kind == Kind::Class => {
                Predictions::Integers(values.into_iter().map(|class| class as i32).collect())
            }
            results => results,
        })
    }
}

/// Room for all results: leaves of many trees can need far more memory than the rows.
fn filled<T: Copy>(value: T, rows: usize, columns: usize) -> Result<Vec<T>, Failure> {
    let mut values = Vec::new();
    let size = rows.saturating_mul(columns);
    values.try_reserve_exact(size).map_err(|_| {
        Failure::new(
            schedc_data::codes::TOO_LARGE,
            format!("{rows} rows of {columns} results do not fit into memory"),
            "predict fewer rows at a time",
        )
    })?;
    values.resize(size, value);
    Ok(values)
}

enum Predictions {
    Floats(Vec<f32>),
    Integers(Vec<i32>),
}

fn kind(output: Output) -> Kind {
    match output {
        Output::Value => Kind::Value,
        Output::Raw => Kind::Raw,
        Output::Class => Kind::Class,
        Output::Leaf => Kind::Leaf,
    }
}

fn heading(output: Output) -> &'static str {
    match output {
        Output::Value => "prediction",
        Output::Raw => "margin",
        Output::Class => "class",
        Output::Leaf => "leaf",
    }
}

fn timing(rows: usize, spent: Duration, compiling: Duration) -> String {
    let noun = if rows == 1 { "row" } else { "rows" };
    let mut text = format!("{rows} {noun} in {:.3} ms", spent.as_secs_f64() * 1e3);
    if rows > 0 {
        text += &format!(", {:.2} µs per row", spent.as_secs_f64() * 1e6 / rows as f64);
    }
    if compiling > Duration::ZERO {
        text += &format!("; compiled in {:.0} ms", compiling.as_secs_f64() * 1e3);
    }
    text
}
