//! The arguments of `schedc profile`.

use super::{ModelOptions, Unseen};
use clap::Args;
use std::path::PathBuf;

/// `schedc profile`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc profile model.json -i rows.csv -o model.profile
  schedc build model.json -s likely.sched --profile model.profile
Rows should be like those that will be predicted.")]
pub struct Profile {
    /// The model
    pub model: PathBuf,
    #[command(flatten)]
    /// The model's reading.
    pub reading: ModelOptions,
    /// Rows: a CSV, Parquet, Arrow, .npy or .npz file, a folder of them, or - for standard input
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    pub input: PathBuf,
    /// Take the columns in the model's order, whatever their names are
    #[arg(long)]
    pub by_position: bool,
    /// Text that is no category of the model [default: as its trainer does]
    #[arg(long, value_enum, value_name = "RULE")]
    pub unseen: Option<Unseen>,
    /// A number that stands for missing values, as `missing` of XGBoost's constructors, which the model's file lacks
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    pub missing: Option<f64>,
    /// Where the profile goes, or - for standard output
    #[arg(short, long = "out", default_value = "-", value_name = "FILE")]
    pub out: PathBuf,
}
