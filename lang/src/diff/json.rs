//! Differences for programs.

use serde_json::{Value, json};

use super::Change;

/// The differences as a JSON array, in the order of [`super::show_diff`].
pub fn diff_json(changes: &[Change]) -> Value {
    changes.iter().map(change_json).collect()
}

fn change_json(change: &Change) -> Value {
    match change {
        Change::Added { name, range, inside } => {
            json!({ "change": "added", "loop": name, "range": range, "inside": inside })
        }
        Change::Removed { name, range } => json!({ "change": "removed", "loop": name, "range": range }),
        Change::Renamed { from, to } => json!({ "change": "renamed", "loop": to, "from": from, "to": to }),
        Change::Moved { name, from, to } => {
            json!({ "change": "moved", "loop": name, "from": from, "to": to })
        }
        Change::Changed { name, what, from, to } => {
            json!({ "change": "changed", "loop": name, "what": what, "from": from, "to": to })
        }
    }
}
