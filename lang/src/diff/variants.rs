//! Differences of schedules with variants, matched by their bounds.

use std::fmt::Write;

use serde_json::{Value, json};

use super::json::change_json;
use super::{Change, diff, show_diff};
use sched_nest::show::show_rows;
use sched_nest::{Nest, Variants};

/// Changes for the calls of one bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowsChange {
    /// The bound; `None` for calls that no bound covers.
    pub max_rows: Option<u32>,
    /// Whether one schedule alone has the bound.
    pub bound_change: BoundChange,
    /// Changes between the two nests that serve the calls of the bound.
    pub changes: Vec<Change>,
}

/// The schedules that have a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundChange {
    /// Both schedules have the bound.
    Shared,
    /// Only the second schedule has the bound. In the first one, a larger bound or `rest` serves its calls.
    Added,
    /// Only the first schedule has the bound.
    Removed,
}

/// All differences in ascending order of the bounds; calls without a bound come last. Unchanged shared bounds
/// are left out.
pub fn diff_by_rows(a: &Variants<Nest>, b: &Variants<Nest>) -> Vec<RowsChange> {
    let mut bounds: Vec<u32> = a.bounded().iter().chain(b.bounded()).map(|one| one.max_rows).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let mut all = Vec::new();
    for max_rows in bounds {
        let has = |nests: &Variants<Nest>| nests.bounded().iter().any(|one| one.max_rows == max_rows);
        let bound_change = match (has(a), has(b)) {
            (true, false) => BoundChange::Removed,
            (false, true) => BoundChange::Added,
            _ => BoundChange::Shared,
        };
        let rows = max_rows as usize;
        let changes = diff(a.for_rows(rows), b.for_rows(rows));
        all.push(RowsChange { max_rows: Some(max_rows), bound_change, changes });
    }
    all.push(RowsChange {
        max_rows: None,
        bound_change: BoundChange::Shared,
        changes: diff(a.rest(), b.rest()),
    });
    all.retain(|one| one.bound_change != BoundChange::Shared || !one.changes.is_empty());
    all
}

/// Differences, one a line: `+` added, `-` removed, `~` changed, below a line for their calls. That line is
/// missing if only calls without a bound differ.
pub fn show_diff_by_rows(all: &[RowsChange]) -> String {
    if let [RowsChange { max_rows: None, changes, .. }] = all {
        return show_diff(changes);
    }
    let mut out = String::new();
    for RowsChange { max_rows, bound_change, changes } in all {
        let mark = match bound_change {
            BoundChange::Shared => "~",
            BoundChange::Added => "+",
            BoundChange::Removed => "-",
        };
        let _ = writeln!(out, "{mark} {}:", show_rows(*max_rows));
        for line in show_diff(changes).lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}

/// Differences as a JSON array. Those for small calls have their `max_rows`. An added or removed bound is a
/// separate change before those of the nest.
pub fn diff_by_rows_json(all: &[RowsChange]) -> Value {
    let mut out = Vec::new();
    for RowsChange { max_rows, bound_change, changes } in all {
        match bound_change {
            BoundChange::Shared => {}
            BoundChange::Added => out.push(json!({ "change": "schedule added", "max_rows": max_rows })),
            BoundChange::Removed => out.push(json!({ "change": "schedule removed", "max_rows": max_rows })),
        }
        for change in changes {
            let mut change = change_json(change);
            if let (Value::Object(object), Some(rows)) = (&mut change, max_rows) {
                object.insert("max_rows".to_owned(), json!(rows));
            }
            out.push(change);
        }
    }
    Value::Array(out)
}
