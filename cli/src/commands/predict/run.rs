//! Predicts rows with a library, compiled code, the walker or the simulator, batch by batch, so that memory
//! does not grow with the number of rows.

use super::base_margin::{BaseMargin, BatchBaseMargin};
use super::labels::{ClassLabels, Labels};
use crate::args::Predict;
use crate::terminal::Terminal;
use sched_llvm::column::{Column, ColumnValues};
use sched_llvm::runtime::{Dtype, OutputKind};
use sched_llvm::{PackedResults, PackedRows, PredictOptions};
use schedc_data::{Batch, Destination, FeatureValues, NumberType, ResultNumbers, RowStream, TableWriter};
use schedc_driver::outputs::missing_output;
use schedc_driver::{Failure, Predictor, help_for_status};
use std::time::{Duration, Instant};

/// Most numbers in the rows of a batch, and in its results. Larger batches take more memory.
const MOST_NUMBERS: usize = 1 << 23;

/// Rows of a batch: at most `call`, the limit of the predicting code, and at most `MOST_NUMBERS` values in
/// rows and in results.
pub fn rows_of_batch(call: usize, features: usize, outputs: usize) -> usize {
    (MOST_NUMBERS / features.max(outputs).max(1)).clamp(1, call.max(1))
}

/// Preparation of a predictor before its first call.
#[derive(Clone, Copy)]
pub enum Preparation {
    /// A library was loaded.
    Loaded,
    /// A model was compiled in this time.
    Compiled(Duration),
    /// None, since the trees of the model are walked.
    Walker,
}

/// The batch after the first one.
pub enum SecondBatch {
    /// Not read yet.
    Unknown,
    /// Read: a batch, or the end of the rows.
    Known(Option<Batch>),
}

/// The rows of a run.
pub struct PredictInput<'a> {
    /// The stream of the rows.
    pub stream: RowStream<'a>,
    /// The first batch, which is read already; `None` if there are no rows.
    pub first: Option<Batch>,
    /// The second batch, if it was read already.
    pub second: SecondBatch,
    /// The base margin, if there is one.
    pub base_margin: Option<BaseMargin>,
}

impl PredictInput<'_> {
    /// Whether the first batch is of single precision.
    pub fn are_narrow(&self) -> bool {
        self.first.as_ref().is_some_and(Batch::is_narrow)
    }

    /// Whether the first batch is column-major.
    pub fn are_columns(&self) -> bool {
        self.first.as_ref().is_some_and(Batch::has_columns)
    }

    /// The number of all rows, if known.
    pub fn all(&self) -> Option<usize> {
        let is_all = self.stream.rows().is_some() || matches!(self.second, SecondBatch::Known(None));
        is_all.then(|| self.rows())
    }

    /// The number of all rows; if unknown, the number of rows that were read.
    pub fn rows(&self) -> usize {
        let read = self.first.as_ref().map_or(0, |batch| batch.rows);
        self.stream.rows().and_then(|rows| usize::try_from(rows).ok()).unwrap_or(read)
    }
}

/// A run of `schedc predict`: the arguments, and the destinations of messages and results.
pub struct PredictRun<'a> {
    /// The arguments of the command.
    pub args: &'a Predict,
    /// The destination of messages.
    pub terminal: &'a Terminal,
    /// The destination of results.
    pub destination: Destination,
    /// Labels of classes.
    pub labels: Labels,
}

impl PredictRun<'_> {
    /// Predicts all rows.
    pub fn predict(
        &self,
        predictor: &impl Predictor,
        input: PredictInput<'_>,
        preparation: Preparation,
    ) -> Result<(), Failure> {
        let kind = self.args.output;
        let columns = predictor.num_outputs(kind);
        if columns == 0 {
            return Err(missing_output(kind.word(), |kind| predictor.num_outputs(kind) > 0));
        }
        let number = if self.labels.are_classes(kind) {
            NumberType::I32
        } else {
            number_of(predictor.output_type(kind))
        };
        let PredictInput { mut stream, first, mut second, mut base_margin } = input;
        let layout = self.labels.layout(kind, columns, number, stream.kept());
        // The first results create the file, so a failed run leaves none.
        let mut writer = None;
        let progress = self.terminal.progress(stream.rows(), "predicting");
        let most = rows_of_batch(predictor.rows_of_call(), predictor.num_features(), columns);
        let (mut rows, mut spent) = (0, Duration::ZERO);
        let mut next = first;
        while let Some(batch) = next {
            let since = Instant::now();
            let begin =
                base_margin.as_mut().map(|base| base.next(&batch, predictor.output_type(OutputKind::Raw)));
            let begin = begin.transpose()?.filter(|_| !kind.walks_itself());
            let results = self.batch(predictor, kind, &batch, begin.as_ref(), columns)?;
            spent += since.elapsed();
            rows += batch.rows;
            progress.advance(batch.rows as u64);
            let writer = match &mut writer {
                Some(writer) => writer,
                none => none.insert(TableWriter::create(&self.destination, &layout)?),
            };
            if !writer.write(results.numbers(), &batch)? {
                break;
            }
            drop(batch);
            next = match std::mem::replace(&mut second, SecondBatch::Unknown) {
                SecondBatch::Known(batch) => batch,
                SecondBatch::Unknown => stream.next(most)?,
            };
            print_notes(&mut stream, self.terminal);
        }
        drop(progress);
        if let Some(base) = &mut base_margin {
            base.finish()?;
        }
        match writer {
            Some(writer) => writer.finish()?,
            None => TableWriter::create(&self.destination, &layout)?.finish()?,
        }
        if !self.args.quiet {
            self.terminal.say(&timing(rows, spent, preparation));
        }
        Ok(())
    }

    fn batch(
        &self,
        predictor: &impl Predictor,
        kind: OutputKind,
        batch: &Batch,
        begin: Option<&BatchBaseMargin>,
        columns: usize,
    ) -> Result<Predictions, Failure> {
        let n = batch.rows;
        let mut results = match predictor.output_type(kind) {
            Dtype::F32 => Predictions::F32(filled(0.0, n, columns)?),
            Dtype::F64 => Predictions::F64(filled(0.0, n, columns)?),
            Dtype::I32 => Predictions::I32(filled(0, n, columns)?),
        };
        let columns: Vec<Column> = batch.columns.iter().map(column).collect();
        let rows = match &batch.values {
            _ if !columns.is_empty() => PackedRows::Columns(&columns),
            FeatureValues::F32(values) => PackedRows::F32(values),
            FeatureValues::F64(values) => PackedRows::F64(values),
        };
        let out = match &mut results {
            Predictions::F32(values) => PackedResults::F32(values),
            Predictions::F64(values) => PackedResults::F64(values),
            Predictions::I32(values) => PackedResults::I32(values),
            Predictions::I64(_) | Predictions::Label(_) => PackedResults::I32(&mut []),
        };
        let extras = PredictOptions {
            threads: self.args.threads,
            base_margin: begin.map(BatchBaseMargin::as_rows),
            stride: 0,
        };
        predictor.predict(kind, rows, n, out, extras).map_err(|error| {
            let help = help_for_status(error.status);
            Failure::new(sched_llvm::codes::PREDICTION, format!("prediction failed: {error}"), help)
        })?;
        // Code returns classes as floats; they are written as numbers or labels.
        Ok(match results {
            Predictions::F32(values) if self.labels.are_classes(kind) => {
                self.classes(values.into_iter().map(f64::from).collect())?
            }
            Predictions::F64(values) if self.labels.are_classes(kind) => self.classes(values)?,
            Predictions::F32(values) if self.labels.are_labels(kind) => {
                Predictions::I64(values.into_iter().map(|label| label as i64).collect())
            }
            Predictions::F64(values) if self.labels.are_labels(kind) => {
                Predictions::I64(values.into_iter().map(|label| label as i64).collect())
            }
            results => results,
        })
    }

    /// The labels of numbers of classes, or the numbers if the model has no labels.
    fn classes(&self, numbers: Vec<f64>) -> Result<Predictions, Failure> {
        Ok(match self.labels.of_classes(&numbers)? {
            None => Predictions::I32(numbers.into_iter().map(|class| class as i32).collect()),
            Some(ClassLabels::Integers(values)) => Predictions::I64(values),
            Some(ClassLabels::Numbers(values)) => Predictions::F64(values),
            Some(ClassLabels::Texts(values)) => Predictions::Label(values),
        })
    }
}

/// Prints the notes of the reader of rows.
pub fn print_notes(stream: &mut RowStream<'_>, terminal: &Terminal) {
    for note in stream.notes() {
        terminal.say(&format!("note: {note}"));
    }
}

/// The number type of an element type.
fn number_of(element: Dtype) -> NumberType {
    match element {
        Dtype::F32 => NumberType::F32,
        Dtype::F64 => NumberType::F64,
        Dtype::I32 => NumberType::I32,
    }
}

/// The input column of one feature's values in a batch.
fn column(values: &FeatureValues) -> Column<'_> {
    Column::of(match values {
        FeatureValues::F32(values) => ColumnValues::F32(values),
        FeatureValues::F64(values) => ColumnValues::F64(values),
    })
}

/// Memory for the results of a batch.
fn filled<T: Copy>(value: T, rows: usize, columns: usize) -> Result<Vec<T>, Failure> {
    let mut values = Vec::new();
    let size = rows.saturating_mul(columns);
    values.try_reserve_exact(size).map_err(|_| {
        Failure::new(
            schedc_data::codes::TOO_LARGE,
            format!("{rows} rows of {columns} results do not fit into memory"),
            "predict parts of the rows, as with --shard 0/2",
        )
    })?;
    values.resize(size, value);
    Ok(values)
}

/// The results of a batch.
enum Predictions {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    Label(Vec<u32>),
}

impl Predictions {
    fn numbers(&self) -> ResultNumbers<'_> {
        match self {
            Predictions::F32(values) => ResultNumbers::F32(values),
            Predictions::F64(values) => ResultNumbers::F64(values),
            Predictions::I32(values) => ResultNumbers::I32(values),
            Predictions::I64(values) => ResultNumbers::I64(values),
            Predictions::Label(values) => ResultNumbers::Label(values),
        }
    }
}

fn timing(rows: usize, spent: Duration, preparation: Preparation) -> String {
    let noun = if rows == 1 { "row" } else { "rows" };
    let mut text = format!("{rows} {noun} in {:.3} ms", spent.as_secs_f64() * 1e3);
    if rows > 0 {
        text += &format!(", {:.2} µs per row", spent.as_secs_f64() * 1e6 / rows as f64);
    }
    match preparation {
        Preparation::Loaded => {}
        Preparation::Compiled(time) => text += &format!("; compiled in {:.0} ms", time.as_secs_f64() * 1e3),
        Preparation::Walker => text += "; not compiled: too few rows",
    }
    text
}
