//! Prints for people what the checker knows beside the nest: lineages, and the nest as a line leaves it.

mod lineage;
mod until;

pub use lineage::{lineage_json, show_lineage};
pub use until::until_line;
