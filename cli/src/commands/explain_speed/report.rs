//! Parts of the reports about processors and about GPUs.

/// Version of the JSON of both reports: increased if a field is removed or changes its meaning.
pub const FORMAT: u32 = 1;

/// A number of things, as text.
pub fn count(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
