//! Lists the entries of a lock.

use schedc_driver::lock::{Figures, LockEntry, LockFile};
use serde_json::{Value, json};
use std::fmt::Write;

/// The entries in the order in which people read them.
fn sorted(lock: &LockFile) -> Vec<&LockEntry> {
    let mut entries: Vec<&LockEntry> = lock.entries().iter().collect();
    entries.sort_by(|one, other| one.for_people(other));
    entries
}

/// A table with a line for each entry.
pub fn text(lock: &LockFile) -> String {
    let heads = ["entry", "µs/row", "default", "gain", "processor", "schedc", "date"].map(String::from);
    let line = |entry: &&LockEntry| {
        [
            entry.key.to_string(),
            figures(entry.measured.schedule),
            figures(entry.measured.default),
            format!("{:.2}x", entry.gain()),
            entry.processor.clone(),
            format!("{} ({})", entry.schedc, entry.epoch),
            entry.date.clone(),
        ]
    };
    let lines: Vec<[String; 7]> = std::iter::once(heads).chain(sorted(lock).iter().map(line)).collect();
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let mut text = String::new();
    for cells in &lines {
        let padded =
            cells.iter().enumerate().map(|(column, cell)| format!("{cell:<width$}", width = width(column)));
        let _ = writeln!(text, "{}", padded.collect::<Vec<_>>().join("  ").trim_end());
    }
    text
}

/// The median with the quartiles around it.
fn figures(figures: Figures) -> String {
    format!("{} [{}, {}]", figures.median, figures.low, figures.high)
}

/// The entries as JSON, with all their fields.
pub fn json(lock: &LockFile) -> String {
    let entries: Vec<Value> = sorted(lock).into_iter().map(entry).collect();
    format!("{:#}\n", json!({ "format": schedc_driver::lock::FORMAT_VERSION, "entries": entries }))
}

fn entry(entry: &LockEntry) -> Value {
    let times =
        |figures: Figures| json!({ "median": figures.median, "low": figures.low, "high": figures.high });
    json!({
        "name": entry.key.to_string(),
        "target": entry.key.target,
        "model": entry.key.model,
        "rows": entry.key.rows,
        "threads": entry.key.threads,
        "structure": entry.structure,
        "triple": entry.triple,
        "processor": entry.processor,
        "features": entry.features,
        "caches": entry.caches,
        "schedc": entry.schedc,
        "epoch": entry.epoch,
        "nest": entry.nest,
        "us_per_row": times(entry.measured.schedule),
        "default_us_per_row": times(entry.measured.default),
        "rows_in": entry.key.rows_in.word(),
        "seed": entry.measured.seed,
        "budget_ms": u64::try_from(entry.measured.budget.as_millis()).unwrap_or(u64::MAX),
        "date": entry.date,
        "schedule": entry.schedule,
        "is_edited": entry.is_edited,
    })
}
