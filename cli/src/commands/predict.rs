//! `schedc predict`: rows in, predictions out.

use super::Job;
use crate::args::{Output, Predict};
use crate::compile::{compile, facts};
use crate::failure::Failure;
use crate::terminal::Terminal;
use sched_ir::lir::Kernel;
use sched_llvm::runtime::Kind;
use sched_llvm::{Cpu, Jit, Library, Output as Results, Rows};
use schedc_data::{Destination, Expect, Numbers, Source, Table, Values, read_rows, write_table};
use std::path::Path;
use std::time::{Duration, Instant};

/// Rows predicted between two looks at the clock, at most.
const PIECE: usize = 1 << 16;

/// Runs the command.
pub fn run(args: &Predict, terminal: &Terminal) -> Result<(), Failure> {
    let destination = Destination::from_argument(&args.out);
    destination.check()?;
    if is_library(&args.model) {
        let library = Library::load(&args.model, &args.name)?;
        return Run { args, terminal, destination }.predict(&library, None, Duration::ZERO);
    }
    // A schedule named on the command line is checked before anything large is read.
    let job = Job::load(&args.model, &args.schedule, &args.reading, None)?;
    if args.explain_schedule {
        terminal.say(job.source.text.trim_end());
    }
    for note in &job.model.notes {
        terminal.say(&format!("note: {note}"));
    }
    let since = Instant::now();
    let nest = job.nest(&args.schedule.values, terminal)?;
    let kernel = match args.output {
        Output::Leaf => Kernel::Leaf,
        Output::Raw | Output::Value | Output::Class => Kernel::Raw,
    };
    let compiled = compile(&job.model, nest, &[kernel, Kernel::Value, Kernel::Class])?;
    let about = facts(&job.model, &compiled, &job.source.text, Cpu::Native.name());
    let jit = Jit::compile(&compiled.lir, Cpu::Native, &about, &[kernel, Kernel::Class])?;
    let names = &job.model.forest.feature_names;
    let names = (!names.is_empty()).then_some(names.as_slice());
    Run { args, terminal, destination }.predict(&jit, names, since.elapsed())
}

fn is_library(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "so")
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
    fn predict(
        &self,
        predictor: &impl Predictor,
        names: Option<&[String]>,
        compiling: Duration,
    ) -> Result<(), Failure> {
        let kind = kind(self.args.output);
        let columns = predictor.num_outputs(kind);
        if columns == 0 {
            return Err(Failure::unusable(
                format!("the model has no `{}` output", heading(self.args.output)),
                "use --output value for the prediction, or --output raw for the margin",
            ));
        }
        let features = predictor.num_features();
        let expect = Expect { columns: features, names };
        let rows = read_rows(&Source::from_argument(&self.args.input), expect)?;
        let n = rows.rows;
        let since = Instant::now();
        let results = match rows.values {
            Values::F32(values) => self.pieces(predictor, kind, Rows::F32(&values), n, columns)?,
            Values::F64(values) => self.pieces(predictor, kind, Rows::F64(&values), n, columns)?,
        };
        let spent = since.elapsed();
        let values = match &results {
            Predictions::Floats(values) => Numbers::F32(values),
            Predictions::Leaves(values) => Numbers::I32(values),
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
            Kind::Leaf => Predictions::Leaves(vec![0; n * columns]),
            _ => Predictions::Floats(vec![0.0; n * columns]),
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
                Predictions::Leaves(values) => Results::I32(&mut values[place]),
            };
            predictor.predict(kind, piece, count, out, self.args.threads).map_err(|status| {
                Failure::unusable(
                    format!("prediction failed: {status}"),
                    "build for the processor that runs the code, or predict fewer rows at a time",
                )
            })?;
            progress.advance(count as u64);
            first += count;
        }
        Ok(results)
    }
}

enum Predictions {
    Floats(Vec<f32>),
    Leaves(Vec<i32>),
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
    let per_row = spent.as_secs_f64() * 1e6 / rows.max(1) as f64;
    let mut text = format!("{rows} rows in {:.3} ms, {per_row:.2} µs per row", spent.as_secs_f64() * 1e3);
    if compiling > Duration::ZERO {
        text += &format!("; compiled in {:.0} ms", compiling.as_secs_f64() * 1e3);
    }
    text
}
