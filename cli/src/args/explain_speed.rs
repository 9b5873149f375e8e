//! The arguments of `schedc explain-speed`.

use super::numbers::whole;
use super::times::parse_time;
use super::{MOST_THREADS, ModelOptions, RowType, ScheduleOptions, TimedRowOptions, cpu_help, parse_cpu};
use clap::Args;
use sched_llvm::Cpu;
use schedc_measure::caches::Caches;
use std::path::PathBuf;
use std::time::Duration;

/// `schedc explain-speed`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc explain-speed model.json
  schedc explain-speed fast.sched -i rows.npy --batch 64
  schedc explain-speed model.json -s fast.sched --threads 8 --static
  schedc explain-speed model.json --target 'gpu(sm_90)' --batch 16384 --static")]
pub struct ExplainSpeed {
    /// A model file, or a schedule that names one
    pub model: PathBuf,
    #[command(flatten)]
    /// The schedule.
    pub schedule: ScheduleOptions,
    #[command(flatten)]
    /// Options of reading the model.
    pub reading: ModelOptions,
    #[command(flatten)]
    /// Rows of the timed calls.
    pub rows: TimedRowOptions,
    /// Floating-point type of the rows, f32 or f64 [default: that of --input, or else that of the model]
    #[arg(long, value_enum, ignore_case = true, value_name = "TYPE", hide_possible_values = true)]
    pub row_type: Option<RowType>,
    /// Rows per call for which the speed is explained
    #[arg(long, default_value_t = 1024, value_name = "ROWS", allow_negative_numbers = true)]
    #[arg(value_parser = whole::<u64>(1..=1 << 24))]
    pub batch: u64,
    /// Threads per call; 0 for all usable cores
    #[arg(long, default_value_t = 1, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = whole::<i32>(0..=MOST_THREADS))]
    pub threads: i32,
    /// Processor that the code is compiled for.
    #[arg(long, help = cpu_help("Processor that the code is compiled for", ""))]
    #[arg(default_value = "native", value_parser = parse_cpu)]
    pub cpu: Cpu,
    /// Predict by schedc's cost model of the processor or GPU only, without timing anything
    #[arg(long = "static", conflicts_with_all = ["budget", "input"])]
    pub only_static: bool,
    /// Approximate time to measure, such as 500ms or 2s
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_time)]
    pub budget: Duration,
    /// Sizes of the data caches to assume, L1 first, such as 32K,1M,32M [default: this machine's]
    #[arg(long, value_name = "SIZES")]
    pub caches: Option<Caches>,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}
