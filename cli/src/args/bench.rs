//! The arguments of `schedc bench`.

use super::numbers::whole;
use super::times::parse_time;
use super::{MOST_THREADS, ModelOptions, RowType, ScheduleValues, TimedRowOptions, cpu_help, parse_cpu};
use clap::Args;
use sched_llvm::Cpu;
use schedc_measure::ledger::{NumberSweep, SweepNumber};
use std::path::PathBuf;
use std::time::Duration;

/// Most rows per call that are timed.
const MOST_ROWS: u64 = 1 << 24;
/// Most samples of each point.
const MOST_SAMPLES: u64 = 1000;

/// Options that do not apply to --prefixes, --ablate and --sweep.
const NOT_OF_LEDGERS: [&str; 9] =
    ["load", "with", "compare", "exit_code", "save", "plot", "columns", "baseline", "peers"];

/// `schedc bench`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc bench model.json -s a.sched -s b.sched -i rows.npy --batch 1,64,1024 --threads 1,2
  schedc bench model.json -i rows.npy --save before.json
  schedc bench model.json -i rows.npy --compare before.json --exit-code
  schedc bench --load before.json --with peers.json --plot speed.svg
  schedc bench model.json -i rows.npy --peers
  schedc bench model.json -s a.sched --prefixes --ablate
  schedc bench model.json -s a.sched --sweep ROWS --sweep 7:15=16,32,64
Contenders take turns. Figures are medians; spreads are the quartiles around them; ratios are against \
the first contender.

Environment:
  PYTHON      the program that --peers runs [default: python3]")]
pub struct Bench {
    /// The model
    #[arg(required_unless_present = "load")]
    pub model: Option<PathBuf>,
    /// A schedule to time; may be repeated [default: schedc's choice]
    #[arg(short, long = "schedule", value_name = "FILE")]
    pub schedules: Vec<PathBuf>,
    #[command(flatten)]
    /// The model's reading.
    pub reading: ModelOptions,
    #[command(flatten)]
    /// Values for the schedules.
    pub values: ScheduleValues,
    #[command(flatten)]
    /// Rows of the timed calls.
    pub rows: TimedRowOptions,
    /// Type of the rows, f32 or f64 [default: the file's, or else the model's]
    #[arg(long, alias = "rows", value_enum, value_name = "TYPE", hide_possible_values = true)]
    pub row_type: Option<RowType>,
    /// Also time each schedule on column-major input of the same values
    #[arg(long, conflicts_with = "load")]
    pub columns: bool,
    /// Time the schedule after each of its directives: the gain of each where it stands
    #[arg(long, conflicts_with_all = NOT_OF_LEDGERS)]
    pub prefixes: bool,
    /// Slowdown when each directive (and its dependants) is removed
    #[arg(long, conflicts_with_all = NOT_OF_LEDGERS)]
    pub ablate: bool,
    /// Time other values of a `param`, or of the number at LINE:COLUMN [default: neighbouring values]; may be
    /// repeated
    #[arg(long, value_name = "NAME[=VALUES]", value_parser = parse_sweep)]
    #[arg(conflicts_with_all = NOT_OF_LEDGERS)]
    pub sweep: Vec<NumberSweep>,
    /// Also time the plain nest and schedc's choice; --prefixes, --ablate and --sweep always do
    #[arg(long, conflicts_with = "load")]
    pub baseline: bool,
    /// Also time the other engines that Python has, on one thread, and draw all points in peers.svg, or the
    /// file of --plot
    #[arg(long, conflicts_with_all = ["load", "columns", "iterations"])]
    pub peers: bool,
    /// Approximate time for each number of rows and threads, such as 500ms or 2s [default: 700ms with
    /// --prefixes, --ablate or --sweep; otherwise the time of all samples]
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with = "load")]
    pub budget: Option<Duration>,
    /// Rows per call [default: 1,64,1024,16384; with --prefixes, --ablate or --sweep the bound of each `when`
    /// block, and 1024]
    #[arg(long, value_delimiter = ',', value_name = "ROWS")]
    #[arg(value_parser = whole::<u64>(1..=MOST_ROWS), allow_negative_numbers = true)]
    pub batch: Vec<u64>,
    /// Threads per call
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = whole::<i32>(0..=MOST_THREADS))]
    pub threads: Vec<i32>,
    /// Samples of each contender for each number of rows and threads; the median counts
    #[arg(long, default_value_t = 15, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = whole::<u32>(1..=MOST_SAMPLES))]
    pub samples: u32,
    /// Processor
    #[arg(long, help = cpu_help("Processor", ""))]
    #[arg(default_value = "native", value_parser = parse_cpu)]
    pub cpu: Cpu,
    /// Show a saved run instead of timing
    #[arg(long, value_name = "RUN", conflicts_with_all = ["model", "schedules", "input"])]
    pub load: Option<PathBuf>,
    /// Add the points of a saved run of the same model, such as those of peers; may be repeated
    #[arg(long, value_name = "RUN")]
    pub with: Vec<PathBuf>,
    /// Compare with a saved run of the same model
    #[arg(long, value_name = "RUN")]
    pub compare: Option<PathBuf>,
    /// With --compare, exit with status 1 if a point is slower by more than the spread of both runs
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

impl Bench {
    /// Whether parts of a schedule are timed: directives or numbers.
    pub fn is_ledger(&self) -> bool {
        self.prefixes || self.ablate || !self.sweep.is_empty()
    }
}

/// `ROWS`, `ROWS=64,128`, `3:21` or `3:21=2,4`.
fn parse_sweep(text: &str) -> Result<NumberSweep, String> {
    let (name, values) = text.split_once('=').map_or((text, None), |(name, values)| (name, Some(values)));
    let value = |text: &str| text.trim().parse().map_err(|_| format!("`{text}` is not an integer"));
    let values = values.map(|values| values.split(',').map(value).collect::<Result<Vec<i64>, String>>());
    let place = name.split_once(':').map(|(line, column)| {
        let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number > 0);
        let wrong = || format!("`{name}` is no place; write it as LINE:COLUMN, for example 3:21");
        Ok::<_, String>(SweepNumber::At(number(line).ok_or_else(wrong)?, number(column).ok_or_else(wrong)?))
    });
    let number = place.transpose()?.unwrap_or_else(|| SweepNumber::Param(name.trim().to_string()));
    Ok(NumberSweep { number, values: values.transpose()?.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::parse_sweep;
    use schedc_measure::ledger::{NumberSweep, SweepNumber};

    #[test]
    fn sweeps_name_a_param_or_a_place() {
        let param = |name: &str, values: &[i64]| {
            Ok(NumberSweep { number: SweepNumber::Param(name.to_string()), values: values.to_vec() })
        };
        assert_eq!(parse_sweep("ROWS"), param("ROWS", &[]));
        assert_eq!(parse_sweep("ROWS=64, 128"), param("ROWS", &[64, 128]));
        assert_eq!(
            parse_sweep("3:21=2"),
            Ok(NumberSweep { number: SweepNumber::At(3, 21), values: vec![2] })
        );
        assert!(["3:", "0:1", "a:b", "ROWS=", "ROWS=x"].iter().all(|text| parse_sweep(text).is_err()));
    }
}
