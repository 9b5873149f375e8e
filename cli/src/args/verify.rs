//! The arguments of `schedc verify`.

use super::numbers::whole;
use super::{ColumnOptions, ModelOptions, ScheduleOptions, cpu_help, parse_cpu};
use clap::Args;
use sched_llvm::Cpu;
use sched_llvm::runtime::Kind;
use std::path::PathBuf;

/// `schedc verify`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc verify model.json                          with schedc's choice of a schedule
  schedc verify model.json -s fast.sched
  schedc verify model.json libmodel.so              a library that `schedc build` made
  schedc verify model.json --trainer                against XGBoost, LightGBM, ... itself
  schedc verify model.json -i rows.csv --against predictions.npy
  schedc verify model.json --failing rows.npy --json > report.json
Rows are constructed, not random: each node meets its threshold, the neighbouring values, zeros,
denormals, infinities and NaN; each set of categories meets members and others; rows reach each
leaf. All code runs, with many numbers of rows, both types of rows, strides and threads. Leaves must
be equal; margins too, bit by bit, or nearly if the schedule adds in another order.

Exit status: 0 all is equal, 1 a difference was found.

Environment:
  PYTHON      the program that --trainer runs [default: python3]
  SCHEDC_CPU  the version of a library to verify [default: all of them]")]
pub struct Verify {
    /// A model file, or a schedule that names one
    pub model: PathBuf,
    /// A library of this model from `schedc build` [default: code in memory]
    pub artefact: Option<PathBuf>,
    #[command(flatten)]
    /// The schedule.
    pub schedule: ScheduleOptions,
    #[command(flatten)]
    /// The model.
    pub reading: ModelOptions,
    /// More rows: a CSV, Parquet, Arrow, .npy or .npz file, or a folder of them
    #[arg(short, long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    #[command(flatten)]
    /// The columns of the rows.
    pub columns: ColumnOptions,
    /// Predictions of these rows by another program, to compare with: a .npy, CSV or Parquet file
    #[arg(long, value_name = "FILE", requires = "input", conflicts_with = "trainer")]
    pub against: Option<PathBuf>,
    /// The kind of these predictions
    #[arg(long, value_parser = super::output(), default_value = Kind::Value.word(), requires = "against")]
    pub output: Kind,
    /// Compare with the library that trained the model, through Python; if Python lacks it, write rows and a
    /// script that predicts them
    #[arg(long)]
    pub trainer: bool,
    /// Relative tolerance for values and margins of other programs [default: 1e-6 for results in single
    /// precision, 1e-9 in double]; 0 demands equal bits
    #[arg(long, value_name = "SIZE", value_parser = parse_tolerance)]
    pub tolerance: Option<f64>,
    /// Time limit in seconds for constructing and running rows; the rest is reported as skipped
    #[arg(long, default_value_t = 60, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX))]
    pub seconds: u64,
    /// A .npy file for the rows with differences
    #[arg(long, value_name = "FILE")]
    pub failing: Option<PathBuf>,
    /// Prefix of the library's C functions, if `build` had a --name
    #[arg(long, default_value = "schedc", value_name = "PREFIX")]
    pub name: String,
    /// Processor for code in memory
    #[arg(long, help = cpu_help("Processor for code in memory", " [default: native]"))]
    #[arg(value_parser = parse_cpu)]
    pub cpu: Option<Cpu>,
    /// Run code in a simulator, as `schedc predict --simulate` does: GPU schedules without a GPU
    #[arg(long)]
    pub simulate: bool,
    /// Print the report as JSON, as --format json does
    #[arg(long)]
    pub json: bool,
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|size: &f64| (0.0..1.0).contains(size))
        .ok_or_else(|| "it is a number from 0 up to 1, such as 1e-6".to_string())
}
