//! Arguments of reading rows.

use clap::{Args, ValueEnum};
use sched_categories as categories;
use std::path::PathBuf;

/// The treatment of a category that the model does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Unseen {
    /// An error.
    Error,
    /// A missing value.
    Missing,
    /// A category that no tree tests.
    Other,
}

/// The meaning of plain numbers in columns of categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NumbersAs {
    /// Names of categories.
    Names,
    /// Codes: positions in the model's list of names, from 0.
    Codes,
}

/// The meaning of cells in columns of categories.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct CategoryOptions {
    /// Treatment of categories that the model does not know [default: the trainer's]
    #[arg(long, value_enum, value_name = "RULE")]
    pub unseen: Option<Unseen>,
    /// Meaning of numbers in columns of named categories [default: names in tables, codes in arrays]
    #[arg(long, value_enum, value_name = "MEANING")]
    pub categories: Option<NumbersAs>,
}

impl CategoryOptions {
    /// Converts the options to the type that the look-up of categories takes.
    pub fn choices(self) -> categories::Choices {
        categories::Choices {
            unseen: self.unseen.map(|unseen| match unseen {
                Unseen::Error => categories::Unseen::Error,
                Unseen::Missing => categories::Unseen::Missing,
                Unseen::Other => categories::Unseen::Other,
            }),
            numbers: self.categories.map(|numbers| match numbers {
                NumbersAs::Names => categories::NumbersAs::Names,
                NumbersAs::Codes => categories::NumbersAs::Codes,
            }),
        }
    }
}

/// Rows, and facts about them that the model's file lacks.
#[derive(Clone, Debug, Args)]
pub struct RowOptions {
    /// Rows: a CSV, Parquet, Arrow, .npy or .npz file, a folder of them, or - for standard input
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    pub input: PathBuf,
    /// Take the columns in the model's order, whatever their names are
    #[arg(long)]
    pub by_position: bool,
    #[command(flatten)]
    /// The categories.
    pub categories: CategoryOptions,
    /// A number that stands for missing values, like `missing` of XGBoost's constructors; model files do not
    /// record it
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    pub missing: Option<f64>,
}

/// The columns of the rows that `--input` names.
#[derive(Clone, Copy, Debug, Args)]
pub struct ColumnOptions {
    /// Take the columns of these rows in the model's order, whatever their names are
    #[arg(long, requires = "input")]
    pub by_position: bool,
    #[command(flatten)]
    /// The categories.
    pub categories: CategoryOptions,
}

/// Rows of timed calls.
#[derive(Clone, Debug, Args)]
pub struct TimedRowOptions {
    /// Rows: a CSV, Parquet, Arrow, .npy or .npz file, or a folder of them [default: random rows between the
    /// model's thresholds]
    #[arg(short, long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    #[command(flatten)]
    /// Their columns.
    pub columns: ColumnOptions,
}
