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
An error names what Treelite cannot represent. Treelite adds base scores after the trees, so
sums may differ in the last digit.")]
pub struct Convert {
    /// A model file
    pub model: PathBuf,
    #[command(flatten)]
    /// Options of reading the model.
    pub reading: ModelOptions,
    /// The file to write, with the ending .treelite or .tl: a checkpoint of Treelite 4
    #[arg(short, long = "out", value_name = "FILE")]
    pub out: PathBuf,
}
