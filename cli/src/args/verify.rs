//! The arguments of `schedc verify`.

use super::times::parse_time;
use super::{CPU_HELP_END, ColumnOptions, ModelOptions, RowType, ScheduleOptions, cpu_help, parse_cpu};
use clap::Args;
use sched_llvm::Cpu;
use sched_llvm::runtime::OutputKind;
use std::path::PathBuf;
use std::time::Duration;

/// `schedc verify`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc verify model.json                          with schedc's choice of a schedule
  schedc verify model.json -s fast.sched
  schedc verify model.json libmodel.so              a library that `schedc build` made
  schedc verify model.json --trainer                against the trainer's library, such as XGBoost
  schedc verify model.json -i rows.csv --against predictions.npy
  schedc verify model.json --failing rows.npy --json > report.json
schedc constructs the rows: each node tests its threshold, the neighbouring values, zeros,
denormals, infinities and NaN; each set of categories tests members and others; some row reaches
each leaf. The code runs in calls of many sizes, with both types of rows, strides and several
threads. Leaves must be equal. Margins must be equal in all bits, or nearly equal if the schedule
adds in another order. The code of a pipeline must also predict what the steps of its file predict
before schedc folds them.

Exit status: 0 no difference; 1 a difference; 2 an error, such as a missing library of the trainer.

Environment:
  PYTHON      the program that --trainer runs [default: python3]
  SCHEDC_CPU  of a library for several processors, the one whose version to verify [default: all]")]
pub struct Verify {
    /// A model file, or a schedule that names one
    pub model: PathBuf,
    /// A library that `schedc build` made of this model [default: schedc compiles the model into memory]
    pub artefact: Option<PathBuf>,
    #[command(flatten)]
    /// The schedule.
    pub schedule: ScheduleOptions,
    #[command(flatten)]
    /// Options of reading the model.
    pub reading: ModelOptions,
    /// Rows to verify in addition to the constructed ones: a CSV, Parquet, Arrow, .npy or .npz file, or a
    /// folder of such files
    #[arg(short, long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    #[command(flatten)]
    /// Options about the columns of `--input`.
    pub columns: ColumnOptions,
    /// Verify only calls with this floating-point type of the rows, f32 or f64, under code that is compiled
    /// for it; rows of --input are rounded or widened to it [default: calls with both types]
    #[arg(long, value_enum, ignore_case = true, value_name = "TYPE", hide_possible_values = true)]
    pub row_type: Option<RowType>,
    /// Also compare with another program's predictions of the rows of --input: a .npy, CSV or Parquet file
    /// with one row for each of them
    #[arg(long, value_name = "FILE", requires = "input", conflicts_with = "trainer")]
    pub against: Option<PathBuf>,
    /// The kind of predictions in the file of --against
    #[arg(
        long,
        value_parser = super::output(),
        default_value = OutputKind::Value.word(),
        requires = "against"
    )]
    pub output: OutputKind,
    /// Also compare with the library that trained the model, which Python runs. If Python lacks it, write the
    /// rows and a script that predicts them elsewhere
    #[arg(long)]
    pub trainer: bool,
    /// Largest relative difference to the results of --trainer or --against; 0 demands equal bits [default:
    /// 1e-6 for results in single precision, 1e-9 in double]
    #[arg(long, value_name = "SIZE", value_parser = parse_tolerance)]
    pub tolerance: Option<f64>,
    /// Time for constructing and running rows, such as 10s or 2m; the report lists what was left out
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "1m")]
    pub budget: Duration,
    /// Write the rows whose results differ to this .npy file
    #[arg(long, value_name = "FILE")]
    pub failing: Option<PathBuf>,
    /// The prefix of the library's C functions, if it was built with `schedc build --name`
    #[arg(long, default_value = "schedc", value_name = "PREFIX")]
    pub name: String,
    /// Processor that the code is compiled for; libraries are compiled already.
    #[arg(long, help = cpu_help("Processor that the code is compiled for", CPU_HELP_END))]
    #[arg(value_parser = parse_cpu)]
    pub cpu: Option<Cpu>,
    /// Run the code in a slow simulator, which needs no GPU for GPU schedules
    #[arg(long)]
    pub simulate: bool,
    /// Print the report as JSON instead of text, as --format json does
    #[arg(long)]
    pub json: bool,
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|size: &f64| (0.0..1.0).contains(size))
        .ok_or_else(|| "write a number from 0 up to 1, such as 1e-6".to_string())
}
