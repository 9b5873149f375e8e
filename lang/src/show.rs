//! Prints lineages, and the nest after a line of a schedule.

mod lineage;
pub(crate) mod until;

pub use lineage::{lineage_json, lineages_json, show_lineage, show_lineages, show_plain_stages};
pub use until::{TruncatedSchedule, until_line};
