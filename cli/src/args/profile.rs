//! The arguments of `schedc profile`.

use super::{ModelOptions, RowOptions};
use clap::Args;
use std::path::PathBuf;

/// `schedc profile`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc profile model.json -i rows.csv -o model.profile
  schedc build model.json -s likely.sched --profile model.profile
Use rows like those that you will predict.")]
pub struct ProfileCommand {
    /// A model file
    pub model: PathBuf,
    #[command(flatten)]
    /// Options of reading the model.
    pub reading: ModelOptions,
    #[command(flatten)]
    /// The rows.
    pub rows: RowOptions,
    /// The JSON file for the counts, or - for standard output
    #[arg(short, long = "out", default_value = "-", value_name = "FILE")]
    pub out: PathBuf,
}
