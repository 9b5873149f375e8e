//! Arguments that say how rows are read.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What becomes of a category that the model does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Unseen {
    /// It is refused.
    Error,
    /// It is a missing value.
    Missing,
    /// It is a category that is in no set of the model.
    Other,
}

/// Rows, and what is known of them that the model's file does not say.
#[derive(Clone, Debug, Args)]
pub struct RowOptions {
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
}
