//! `schedc predict`: rows in, predictions out.

use super::numbers::whole;
use super::{
    CompileOptions, LockOptions, MOST_THREADS, ModelOptions, RowOptions, ScheduleOptions, cpu_help, parse_cpu,
};
use clap::Args;
use sched_llvm::Cpu;
use sched_llvm::runtime::Kind;
use schedc_data::Shard;
use std::path::PathBuf;

/// `schedc predict`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc predict model.json -i rows.csv -o predictions.csv
  schedc predict model.json -s fast.sched -i rows.npy -o predictions.npy --output raw
  cat rows.csv | schedc predict model.so
  schedc predict model.json -i renamed.csv --by-position
  schedc predict model.so -i renamed.csv --by-position
  schedc predict model.json -i rows.parquet -o predictions.parquet --keep user_id,day
  schedc predict model.json -i rows.parquet -o part3.parquet --shard 3/16
Rows are CSV, Parquet, Arrow, .npy or .npz, recognised by content, or a folder of such files. An
empty CSV field, null and NaN are missing values. Named columns match the model's features by name.

Environment:
  SCHEDC_NUM_THREADS  threads of a call without --threads
  SCHEDC_CPU          highest processor level that code may use, such as x86-64-v3")]
pub struct Predict {
    /// A model file, a schedule that names one, or a library made by `schedc build`
    pub model: PathBuf,
    #[command(flatten)]
    /// The schedule.
    pub schedule: ScheduleOptions,
    #[command(flatten)]
    /// The lock.
    pub lock: LockOptions,
    #[command(flatten)]
    /// The model.
    pub reading: ModelOptions,
    #[command(flatten)]
    /// The rows.
    pub rows: RowOptions,
    /// Initial sums, which replace XGBoost's base_score: columns of the input, or a .npy file with one row
    /// per input row
    #[arg(long, value_name = "COLUMN|FILE")]
    pub base_margin: Option<String>,
    /// The array of a .npz archive that holds the rows, if it holds several
    #[arg(long, value_name = "NAME")]
    pub array: Option<String>,
    /// Input columns to copy to the predictions, separated by commas
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub keep: Vec<String>,
    /// Predict one part of the rows, such as 3/16 of 0/16 to 15/16: by row groups of Parquet, record batches
    /// of Arrow, rows of .npy. All parts together, in order, are the whole
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// The predictions to write: a .csv, .parquet, .arrow, .npy or .npz file, or - for standard output as CSV
    #[arg(short, long = "out", default_value = "-", value_name = "FILE")]
    pub out: PathBuf,
    /// The kind of prediction
    #[arg(long, value_parser = super::output(), default_value = Kind::Value.word())]
    pub output: Kind,
    /// Largest number of threads; a call uses no more than the machine has processors. 0: SCHEDC_NUM_THREADS,
    /// or else the cores that this process may use
    #[arg(long, default_value_t = 0, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = whole::<i32>(0..=MOST_THREADS))]
    pub threads: i32,
    /// Prefix of the library's C functions, if `build` had a --name
    #[arg(long, default_value = "schedc", value_name = "PREFIX")]
    pub name: String,
    #[command(flatten)]
    /// Compiling.
    pub compiling: CompileOptions,
    /// Compile the model however few rows there are; otherwise schedc walks its trees without compiling
    /// if that takes less time, with the same results
    #[arg(long)]
    pub compile: bool,
    /// Processor
    #[arg(long, help = cpu_help("Processor", " [default: native]"))]
    #[arg(value_parser = parse_cpu)]
    pub cpu: Option<Cpu>,
    /// Run the code in a simulator: GPU schedules without a GPU. Checks for races and counts the cost of
    /// accesses
    #[arg(long)]
    pub simulate: bool,
    /// Write the simulator's counts as JSON: launches with their grids, blocks, shared memory, barriers
    /// and accesses
    #[arg(long, value_name = "FILE", requires = "simulate")]
    pub report: Option<PathBuf>,
    /// Print the schedule in use
    #[arg(long)]
    pub explain_schedule: bool,
    /// Print neither timings nor notes on the model
    #[arg(short, long)]
    pub quiet: bool,
}
