//! The arguments of `schedc bench`.

use super::{MOST_THREADS, ModelOptions, RowType, ScheduleValues, parse_cpu};
use clap::Args;
use sched_llvm::Cpu;
use std::path::PathBuf;

/// Most rows per call that are timed.
const MOST_ROWS: u64 = 1 << 24;
/// Most samples of each point.
const MOST_SAMPLES: i64 = 1000;

/// `schedc bench`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc bench model.json -s a.sched -s b.sched -i rows.npy --batch 1,64,1024 --threads 1,2
  schedc bench model.json -i rows.npy --save before.json
  schedc bench model.json -i rows.npy --compare before.json --exit-code
  schedc bench --load before.json --with peers.json --plot speed.svg
Contenders take turns; figures are medians, spreads the quartiles around them, ratios are against the first contender.")]
pub struct Bench {
    /// The model
    #[arg(required_unless_present = "load")]
    pub model: Option<PathBuf>,
    /// A schedule to time; may be repeated. Without one, the schedule that would be chosen
    #[arg(short, long = "schedule", value_name = "FILE")]
    pub schedules: Vec<PathBuf>,
    #[command(flatten)]
    /// The model's reading.
    pub reading: ModelOptions,
    #[command(flatten)]
    /// Values for the schedules.
    pub values: ScheduleValues,
    /// Rows: a .npy or CSV file; without one, rows are drawn whose values lie between the model's thresholds
    #[arg(short, long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// The type of the rows, f32 or f64, which the code is made for [default: that of the file, or the one that the model reads]
    #[arg(long, value_enum, value_name = "TYPE", hide_possible_values = true)]
    pub rows: Option<RowType>,
    /// Time each schedule on columns, too, beside the same values as rows
    #[arg(long, conflicts_with = "load")]
    pub columns: bool,
    /// Rows per call
    #[arg(long, value_delimiter = ',', default_value = "1,64,1024,16384", value_name = "ROWS")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=MOST_ROWS), allow_negative_numbers = true)]
    pub batch: Vec<u64>,
    /// Threads per call
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(i32).range(0..=MOST_THREADS))]
    pub threads: Vec<i32>,
    /// Samples of each contender at each point, of which the median counts
    #[arg(long, default_value_t = 15, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_SAMPLES))]
    pub samples: u32,
    /// Processor: native, x86-64-v2, x86-64-v3 or x86-64-v4
    #[arg(long, default_value = "native", value_parser = parse_cpu)]
    pub cpu: Cpu,
    /// Show a run that was saved, instead of timing
    #[arg(long, value_name = "RUN", conflicts_with_all = ["model", "schedules", "input"])]
    pub load: Option<PathBuf>,
    /// Add the points of a saved run of the same model, such as those of peers; may be repeated
    #[arg(long, value_name = "RUN")]
    pub with: Vec<PathBuf>,
    /// Compare with a saved run of the same model
    #[arg(long, value_name = "RUN")]
    pub compare: Option<PathBuf>,
    /// With --compare, exit with status 1 if something is slower, beyond the spread of both runs
    #[arg(long, requires = "compare")]
    pub exit_code: bool,
    /// Save the run as JSON, for --compare, --with and --load
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Plot microseconds per row over rows per call, as SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}
