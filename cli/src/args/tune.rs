//! The arguments of `schedc tune` and `schedc calibrate`.

use super::numbers::whole;
use super::times::parse_time;
use super::{MOST_THREADS, ModelOptions, RowType, ScheduleValues, TimedRowOptions, cpu_help, parse_cpu};
use clap::{Args, ValueEnum};
use sched_llvm::Cpu;
use schedc_tune::Strategy;
use std::path::PathBuf;
use std::time::Duration;

/// Most rows per call that are timed.
const MOST_ROWS: u64 = 1 << 24;

/// `schedc tune`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc tune model.json -o fast.sched
  schedc tune model.json -i rows.npy --batch 1,64,1024 --threads 1,0 --budget 30s -o fast.sched
  schedc tune model.json -s mine.sched -o better.sched
  schedc tune model.json --target 'gpu(sm_90)' --batch 1024,16384 --budget 20s -o fast.sched
  schedc tune model.json --lock schedc.lock -o fast.sched
  schedc tune model.json --save search.json --budget 1m -o fast.sched
  schedc tune model.json --resume search.json --budget 1m -o fast.sched
An interrupt ends the search and writes the best schedule so far; a second one ends the program.")]
pub struct Tune {
    /// The model
    pub model: PathBuf,
    #[command(flatten)]
    /// The model's reading.
    pub reading: ModelOptions,
    #[command(flatten)]
    /// Values for schedules.
    pub values: ScheduleValues,
    /// A schedule whose params are varied; its directives stay
    #[arg(short, long, alias = "start", value_name = "FILE")]
    pub schedule: Option<PathBuf>,
    #[command(flatten)]
    /// Rows of the timed calls.
    pub rows: TimedRowOptions,
    /// Type of the rows, f32 or f64 [default: the file's, or else the model's]
    #[arg(long, value_enum, value_name = "TYPE", hide_possible_values = true)]
    pub row_type: Option<RowType>,
    /// Rows per call to tune for; each size has an equal share of the budget
    #[arg(long, alias = "rows", value_delimiter = ',', default_value = "1,64,1024", value_name = "ROWS")]
    #[arg(value_parser = whole::<u64>(1..=MOST_ROWS), allow_negative_numbers = true)]
    pub batch: Vec<u64>,
    /// Threads per call; 0 leaves the number to the library. Several numbers have equal weight
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = whole::<i32>(0..=MOST_THREADS))]
    pub threads: Vec<i32>,
    /// Time of the search, such as 10s or 2m
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "10s")]
    pub budget: Duration,
    /// Processor
    #[arg(long, help = cpu_help("Processor", ""))]
    #[arg(default_value = "native", value_parser = parse_cpu)]
    pub cpu: Cpu,
    /// Search on GPUs: neighbours (candidates of all forms, then variations of the best) or silvanforge
    /// (algorithm 1 of SilvanForge)
    #[arg(long, value_enum, default_value = "neighbours", value_name = "NAME", hide_possible_values = true)]
    pub strategy: GpuStrategy,
    /// On GPUs, compare the cost model's counts instead of times; the default without a GPU
    #[arg(long)]
    pub by_counts: bool,
    /// Write the best schedule that the search finds, even if schedc's own choice is faster
    #[arg(long)]
    pub allow_slower: bool,
    /// The schedule to write, or - for standard output
    #[arg(short, long = "out", default_value = "-", value_name = "FILE")]
    pub out: PathBuf,
    /// Keep the schedule in a lock; `build` and `predict` use schedc.lock beside the model
    #[arg(long, value_name = "FILE")]
    pub lock: Option<PathBuf>,
    /// Save the timings, for --resume
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Continue a saved search
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// A search strategy for GPUs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum GpuStrategy {
    /// Candidates of all forms, and neighbours of the best ones.
    Neighbours,
    /// Algorithm 1 of SilvanForge.
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
    /// Processor
    #[arg(long, help = cpu_help("Processor", "; only costs of native are stored"))]
    #[arg(default_value = "native", value_parser = parse_cpu)]
    pub cpu: Cpu,
    /// Print the measured costs as JSON instead of storing them
    #[arg(long)]
    pub json: bool,
}
