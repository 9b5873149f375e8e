//! `schedc predict`: rows in, predictions out.

use super::numbers::whole;
use super::{
    CPU_HELP_END, CompileOptions, LockOptions, MOST_THREADS, ModelOptions, RowOptions, RowType,
    ScheduleOptions, cpu_help, parse_cpu,
};
use clap::Args;
use sched_llvm::Cpu;
use sched_llvm::runtime::OutputKind;
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
    /// Options about the lock.
    pub lock: LockOptions,
    #[command(flatten)]
    /// Options of reading the model.
    pub reading: ModelOptions,
    #[command(flatten)]
    /// Options of reading the rows.
    pub rows: RowOptions,
    /// A start value of each row's sum, in place of XGBoost's base_score: columns of the input, separated by
    /// commas, or a .npy file with one row for each row of the input
    #[arg(long, value_name = "COLUMN|FILE")]
    pub base_margin: Option<String>,
    /// The name of the array that holds the rows, for a .npz archive with several arrays
    #[arg(long, value_name = "NAME")]
    pub array: Option<String>,
    /// Floating-point type of the rows that the code reads, f32 or f64; values of the input are rounded or
    /// widened to it [default: that of --input]
    #[arg(long, value_enum, ignore_case = true, value_name = "TYPE", hide_possible_values = true)]
    pub row_type: Option<RowType>,
    /// Columns of the input to copy to the output, separated by commas, such as an identifier of each row
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub keep: Vec<String>,
    /// Predict part I of N parts of the rows, I from 0 to N-1, to share the work among processes. Needs
    /// Parquet, Arrow files or .npy; the outputs of all parts in order are that of the whole
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// The file for the predictions: .csv, .parquet, .arrow, .npy or .npz, or - for CSV on standard output
    #[arg(short, long = "out", default_value = "-", value_name = "FILE")]
    pub out: PathBuf,
    /// The output to compute for each row
    #[arg(long, value_parser = super::output(), default_value = OutputKind::Value.word())]
    pub output: OutputKind,
    /// Largest number of threads that a call uses; 0 for SCHEDC_NUM_THREADS, or else all usable cores
    #[arg(long, default_value_t = 0, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = whole::<i32>(0..=MOST_THREADS))]
    pub threads: i32,
    /// The prefix of the library's C functions, if it was built with `schedc build --name`
    #[arg(long, default_value = "schedc", value_name = "PREFIX")]
    pub name: String,
    #[command(flatten)]
    /// Options of compiling.
    pub compiling: CompileOptions,
    /// Always compile the model. By default, schedc walks the trees of the model without compiling if that is
    /// faster for the number of rows; the results are the same
    #[arg(long)]
    pub compile: bool,
    /// Processor that the code is compiled for.
    #[arg(long, help = cpu_help("Processor that the code is compiled for", CPU_HELP_END))]
    #[arg(value_parser = parse_cpu)]
    pub cpu: Option<Cpu>,
    /// Run the code in a slow simulator, which needs no GPU for GPU schedules. It reports races between
    /// threads, and counts memory accesses
    #[arg(long)]
    pub simulate: bool,
    /// With --simulate, write its counts for each kernel to this JSON file: blocks, threads, shared memory,
    /// barriers and accesses
    #[arg(long, value_name = "FILE", requires = "simulate")]
    pub report: Option<PathBuf>,
    /// Print the schedule that the code is compiled with, to standard error
    #[arg(long)]
    pub explain_schedule: bool,
    /// Print no timings and no notes about the model or the columns
    #[arg(short, long)]
    pub quiet: bool,
}
