//! Options of reading rows.

use clap::{Args, ValueEnum};
use sched_categories as categories;
use schedc_driver::RowMemory;
use std::path::PathBuf;

/// The treatment of a category that the model does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UnseenOption {
    /// Stop with an error.
    Error,
    /// Treat it as a missing value.
    Missing,
    /// Treat it as a category that no tree tests.
    Other,
}

/// The meaning of numbers in columns whose categories have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NumbersAsOption {
    /// A number is the name of a category.
    Names,
    /// A number is the position of a category in the model's list of names, from 0.
    Codes,
}

/// Options about cells in columns of categories.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct CategoryOptions {
    /// Treatment of a category that the model's file does not list [default: as the model's trainer treats
    /// it]
    #[arg(long, value_enum, value_name = "RULE")]
    pub unseen: Option<UnseenOption>,
    /// Meaning of numbers in columns whose categories have names [default: names in CSV, Parquet and Arrow,
    /// codes in .npy and .npz]
    #[arg(long, value_enum, value_name = "MEANING")]
    pub categories: Option<NumbersAsOption>,
}

impl CategoryOptions {
    /// Converts the options to the type that the look-up of categories takes.
    pub fn choices(self) -> categories::Choices {
        categories::Choices {
            unseen: self.unseen.map(|unseen| match unseen {
                UnseenOption::Error => categories::Unseen::Error,
                UnseenOption::Missing => categories::Unseen::Missing,
                UnseenOption::Other => categories::Unseen::Other,
            }),
            numbers: self.categories.map(|numbers| match numbers {
                NumbersAsOption::Names => categories::NumbersAs::Names,
                NumbersAsOption::Codes => categories::NumbersAs::Codes,
            }),
        }
    }
}

/// The rows, and their properties that a model file does not record.
#[derive(Clone, Debug, Args)]
pub struct RowOptions {
    /// The rows: a CSV, Parquet, Arrow, .npy or .npz file, a folder of such files, or - for standard input
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    pub input: PathBuf,
    /// Take the first column for the model's first feature, and so on, and ignore names [default: columns
    /// match features by name, if both have names]
    #[arg(long)]
    pub by_position: bool,
    #[command(flatten)]
    /// Options about categories.
    pub categories: CategoryOptions,
    /// A number that counts as a missing value, like `missing` of XGBoost's DMatrix. Set it if training did:
    /// model files do not record it [default: none; NaN and empty cells are always missing]
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    pub missing: Option<f64>,
}

/// Options about the columns of `--input`.
#[derive(Clone, Copy, Debug, Args)]
pub struct ColumnOptions {
    /// With --input, take the first column for the model's first feature, and so on, and ignore names
    /// [default: columns match features by name, if both have names]
    #[arg(long, requires = "input")]
    pub by_position: bool,
    #[command(flatten)]
    /// Options about categories.
    pub categories: CategoryOptions,
}

/// The memory of the rows of timed calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RowMemoryOption {
    /// Host memory.
    Host,
    /// The memory of a GPU.
    Device,
}

impl From<RowMemoryOption> for RowMemory {
    fn from(option: RowMemoryOption) -> RowMemory {
        match option {
            RowMemoryOption::Host => RowMemory::Host,
            RowMemoryOption::Device => RowMemory::Device,
        }
    }
}

/// Rows of timed calls.
#[derive(Clone, Debug, Args)]
pub struct TimedRowOptions {
    /// The rows of the timed calls: a CSV, Parquet, Arrow, .npy or .npz file, or a folder of such files
    /// [default: random rows between the model's thresholds]
    #[arg(short, long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    #[command(flatten)]
    /// Options about the columns of these rows.
    pub columns: ColumnOptions,
}
