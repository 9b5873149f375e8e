//! Prints for people what the checker knows beside the nest: lineages, and the nest as a line leaves it.

mod lineage;
pub(crate) mod until;

pub use lineage::{lineage_json, lineages_json, show_lineage, show_lineages};
pub use until::{Until, until_line};
