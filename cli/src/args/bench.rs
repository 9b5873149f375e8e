//! The arguments of `schedc bench`.

use super::numbers::{integer, whole};
use super::times::parse_time;
use super::{
    MOST_THREADS, ModelOptions, RowMemoryOption, RowType, TimedRowOptions, ValueOptions, cpu_help, parse_cpu,
};
use clap::Args;
use sched_llvm::Cpu;
use schedc_measure::ledger::{NumberSweep, SweepNumber};
use std::path::PathBuf;
use std::time::Duration;

/// Most rows per call that `--batch` accepts.
const MOST_ROWS: u64 = 1 << 24;
/// Most samples that `--samples` accepts.
const MOST_SAMPLES: u64 = 1000;

/// Options that cannot be combined with --prefixes, --ablate and --sweep.
const OPTIONS_WITHOUT_LEDGERS: [&str; 10] =
    ["load", "with", "compare", "exit_code", "save", "plot", "columns", "baseline", "peers", "rows_in"];

/// `schedc bench`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc bench model.json -s a.sched -s b.sched -i rows.npy --batch 1,64,1024 --threads 1,2
  schedc bench model.json -i rows.npy --save before.json
  schedc bench model.json -i rows.npy --compare before.json --exit-code
  schedc bench --load before.json --with peers.json --plot speed.svg
  schedc bench model.json -i rows.npy --peers
  schedc bench model.json -s a.sched -s b.sched --target gpu --rows-in device
  schedc bench model.json -s a.sched --prefixes --ablate
  schedc bench model.json -s a.sched --sweep ROWS --sweep 7:15=16,32,64
The schedules are timed in turns. A figure is the median of the samples, its spread the two quartiles,
and a ratio is the time over that of the first schedule.

Environment:
  PYTHON      the program that --peers runs [default: python3]")]
pub struct Bench {
    /// A model file, or a schedule that names one
    #[arg(required_unless_present = "load")]
    pub model: Option<PathBuf>,
    /// A schedule to time; may be repeated to compare several [default: the one that schedc chooses]
    #[arg(short, long = "schedule", value_name = "FILE")]
    pub schedules: Vec<PathBuf>,
    #[command(flatten)]
    /// Options of reading the model.
    pub reading: ModelOptions,
    #[command(flatten)]
    /// Values for the params and properties of the schedules.
    pub values: ValueOptions,
    #[command(flatten)]
    /// Rows of the timed calls.
    pub rows: TimedRowOptions,
    /// Floating-point type of the rows, f32 or f64 [default: that of --input, or else that of the model]
    #[arg(long, value_enum, ignore_case = true, value_name = "TYPE", hide_possible_values = true)]
    pub row_type: Option<RowType>,
    /// Memory that has the rows of the timed calls on a GPU: host (whole calls, with transfers, and the
    /// kernels beside them) or device (the kernels alone)
    #[arg(long, value_enum, default_value = "host", value_name = "MEMORY", hide_possible_values = true)]
    #[arg(conflicts_with = "load")]
    pub rows_in: RowMemoryOption,
    /// Also time each schedule on the same rows in column-major order, as calls with Arrow columns pass them
    #[arg(long, conflicts_with = "load")]
    pub columns: bool,
    /// Print the gain of each directive: time the schedule up to its first directive, up to its second, and
    /// so on
    #[arg(long, conflicts_with_all = OPTIONS_WITHOUT_LEDGERS)]
    pub prefixes: bool,
    /// Print the slowdown without each directive: time the schedule without it and those that depend on it
    #[arg(long, conflicts_with_all = OPTIONS_WITHOUT_LEDGERS)]
    pub ablate: bool,
    /// Time the schedule with other values of a `param`, or of the number at LINE:COLUMN of its text; may be
    /// repeated [default values: those after `in`, or else powers of two near the present value]
    #[arg(long, value_name = "NAME[=VALUES]", value_parser = parse_sweep)]
    #[arg(conflicts_with_all = OPTIONS_WITHOUT_LEDGERS)]
    pub sweep: Vec<NumberSweep>,
    /// Also time the schedule without directives (the plain nest) and the one that schedc chooses.
    /// --prefixes, --ablate and --sweep always do
    #[arg(long, conflicts_with = "load")]
    pub baseline: bool,
    /// Also time the other engines that are installed in Python, such as XGBoost or ONNX Runtime, on one
    /// thread. Draw all results in peers.svg, or in the file of --plot
    #[arg(long, conflicts_with_all = ["load", "columns", "iterations"])]
    pub peers: bool,
    /// Approximate time to measure at each pair of --batch and --threads, such as 500ms or 2s [default: 700ms
    /// with --prefixes, --ablate or --sweep; otherwise until all samples are taken]
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with = "load")]
    pub budget: Option<Duration>,
    /// Rows per call: numbers, separated by commas [default: 1,64,1024,16384; with --prefixes, --ablate or
    /// --sweep the bound of each `when` block, and 1024]
    #[arg(long, value_delimiter = ',', value_name = "ROWS")]
    #[arg(value_parser = whole::<u64>(1..=MOST_ROWS), allow_negative_numbers = true)]
    pub batch: Vec<u64>,
    /// Threads per call: numbers, separated by commas; 0 for all usable cores
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = whole::<i32>(0..=MOST_THREADS))]
    pub threads: Vec<i32>,
    /// Number of timings of each schedule at each pair of --batch and --threads; the result is their median
    #[arg(long, default_value_t = 15, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = whole::<u32>(1..=MOST_SAMPLES))]
    pub samples: u32,
    /// Processor that the code is compiled for.
    #[arg(long, help = cpu_help("Processor that the code is compiled for", ""))]
    #[arg(default_value = "native", value_parser = parse_cpu)]
    pub cpu: Cpu,
    /// Show the results of this file, which --save wrote, instead of timing anything
    #[arg(long, value_name = "RUN", conflicts_with_all = ["model", "schedules", "input"])]
    pub load: Option<PathBuf>,
    /// Add the results of this file, which --save wrote for the same model, such as those of other engines;
    /// may be repeated
    #[arg(long, value_name = "RUN")]
    pub with: Vec<PathBuf>,
    /// Compare each result with that of this file, which --save wrote for the same model
    #[arg(long, value_name = "RUN")]
    pub compare: Option<PathBuf>,
    /// With --compare, exit with status 1 if a result is slower and the spreads of both runs do not overlap
    #[arg(long, requires = "compare")]
    pub exit_code: bool,
    /// Save the results as JSON, for --compare, --with and --load
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Draw microseconds per row over rows per call in an SVG file
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

/// Parses a value of `--sweep`: `ROWS`, `ROWS=64,128`, `3:21` or `3:21=2,4`.
fn parse_sweep(text: &str) -> Result<NumberSweep, String> {
    let (name, values) = text.split_once('=').map_or((text, None), |(name, values)| (name, Some(values)));
    let values = values.map(|values| values.split(',').map(integer).collect::<Result<Vec<i64>, String>>());
    let place = name.split_once(':').map(|(line, column)| {
        let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number > 0);
        let wrong = || format!("`{name}` is no position in a text; write LINE:COLUMN, for example 3:21");
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
    fn sweeps_name_a_param_or_a_position() {
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
