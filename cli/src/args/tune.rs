//! The arguments of `schedc tune` and `schedc calibrate`.

use super::numbers::whole;
use super::times::parse_time;
use super::{
    MOST_THREADS, ModelOptions, RowMemoryOption, RowType, TimedRowOptions, ValueOptions, cpu_help, parse_cpu,
};
use clap::{Args, ValueEnum};
use sched_llvm::Cpu;
use schedc_tune::Strategy;
use std::path::PathBuf;
use std::time::Duration;

/// Most rows per call that `--batch` accepts.
const MOST_ROWS: u64 = 1 << 24;

/// `schedc tune`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc tune model.json -o fast.sched
  schedc tune model.json -i rows.npy --batch 1,64,1024 --threads 1,0 --budget 30s -o fast.sched
  schedc tune model.json -s mine.sched -o better.sched
  schedc tune model.json --target 'gpu(sm_90)' --batch 1024,16384 --budget 20s -o fast.sched
  schedc tune model.json --target gpu --rows-in device --batch 1024,16384 -o fast.sched
  schedc tune model.json --lock schedc.lock -o fast.sched
  schedc tune model.json --save search.json --budget 1m -o fast.sched
  schedc tune model.json --resume search.json --budget 1m -o fast.sched
Ctrl-C ends the search and writes the best schedule so far; a second Ctrl-C ends the program.")]
pub struct Tune {
    /// A model file
    pub model: PathBuf,
    #[command(flatten)]
    /// Options of reading the model.
    pub reading: ModelOptions,
    #[command(flatten)]
    /// Values for the params and properties of schedules.
    pub values: ValueOptions,
    /// A schedule whose params the search varies, while its directives stay [default: the search also varies
    /// the directives]
    #[arg(short, long, value_name = "FILE")]
    pub schedule: Option<PathBuf>,
    #[command(flatten)]
    /// Rows of the timed calls.
    pub rows: TimedRowOptions,
    /// Floating-point type of the rows, f32 or f64 [default: that of --input, or else that of the model]
    #[arg(long, value_enum, ignore_case = true, value_name = "TYPE", hide_possible_values = true)]
    pub row_type: Option<RowType>,
    /// Memory that has the rows of the timed calls on a GPU: host (whole calls, with transfers) or device
    /// (the kernels alone)
    #[arg(long, value_enum, default_value = "host", value_name = "MEMORY", hide_possible_values = true)]
    pub rows_in: RowMemoryOption,
    /// Rows per call to tune for: numbers, separated by commas. Each has an equal part of the budget
    #[arg(long, value_delimiter = ',', default_value = "1,64,1024", value_name = "ROWS")]
    #[arg(value_parser = whole::<u64>(1..=MOST_ROWS), allow_negative_numbers = true)]
    pub batch: Vec<u64>,
    /// Threads per call: numbers, separated by commas; 0 for all usable cores. A schedule is rated by the
    /// mean time over all of them
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = whole::<i32>(0..=MOST_THREADS))]
    pub threads: Vec<i32>,
    /// Time of the whole search, such as 10s or 2m
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "10s")]
    pub budget: Duration,
    /// Processor that the code is compiled for.
    #[arg(long, help = cpu_help("Processor that the code is compiled for", ""))]
    #[arg(default_value = "native", value_parser = parse_cpu)]
    pub cpu: Cpu,
    /// Strategy of a search for a GPU: neighbours (common schedules, then variations of the best two) or
    /// silvanforge (algorithm 1 of the paper SilvanForge)
    #[arg(long, value_enum, default_value = "neighbours", value_name = "NAME", hide_possible_values = true)]
    pub strategy: GpuStrategy,
    /// For a GPU, compare schedules by the predictions of the cost model instead of by timing; the default on
    /// a machine without a GPU
    #[arg(long)]
    pub by_counts: bool,
    /// Write the best schedule that the search finds, even if the one that schedc chooses without a search is
    /// faster
    #[arg(long)]
    pub allow_slower: bool,
    /// The file for the schedule, or - for standard output
    #[arg(short, long = "out", default_value = "-", value_name = "FILE")]
    pub out: PathBuf,
    /// Also store the schedule in this lock. `build` and `predict` read the lock schedc.lock in the model's
    /// folder
    #[arg(long, value_name = "FILE")]
    pub lock: Option<PathBuf>,
    /// Save the times of all schedules in this file, to continue the search with --resume
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Continue the search whose times --save wrote to this file
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Print the schedule and its times as JSON
    #[arg(long)]
    pub json: bool,
}

/// A search strategy for GPUs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum GpuStrategy {
    /// Common schedules, then variations of the best two.
    Neighbours,
    /// Algorithm 1 of the paper SilvanForge.
    Silvanforge,
}

impl From<GpuStrategy> for Strategy {
    fn from(strategy: GpuStrategy) -> Strategy {
        match strategy {
            GpuStrategy::Neighbours => Strategy::Neighbours,
            GpuStrategy::Silvanforge => Strategy::Silvanforge,
        }
    }
}

/// `schedc calibrate`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc calibrate          measures the costs of instructions and memory, and stores them for this user
  schedc calibrate --json   prints the measured costs")]
pub struct Calibrate {
    /// Level of instruction sets that is measured.
    #[arg(long, help = cpu_help("Instructions to measure", ". Others than native need --json"))]
    #[arg(default_value = "native", value_parser = parse_cpu)]
    pub cpu: Cpu,
    /// Print the measured costs as JSON instead of storing them
    #[arg(long)]
    pub json: bool,
}
