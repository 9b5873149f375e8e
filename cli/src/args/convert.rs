//! The arguments of `schedc convert`.

use super::ModelOptions;
use clap::Args;
use std::path::PathBuf;

/// `schedc convert`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  schedc convert model.json -o model.treelite
  schedc convert model.txt --iterations 0..100 -o model.treelite
schedc refuses, by name, models that Treelite cannot represent. Treelite adds base scores after the
trees, so sums may differ in the last digit.")]
pub struct Convert {
    /// The model
    pub model: PathBuf,
    #[command(flatten)]
    /// The model's reading.
    pub reading: ModelOptions,
    /// The model to write: a .treelite or .tl file, a checkpoint of Treelite 4
    #[arg(short, long = "out", value_name = "FILE")]
    pub out: PathBuf,
}
