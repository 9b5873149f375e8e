//! Differences for programs.

use serde_json::{Value, json};

use super::Change;

/// A difference as a JSON object.
pub(super) fn change_json(change: &Change) -> Value {
    match change {
        Change::Added { name, range, inside } => {
            json!({ "change": "added", "loop": name, "range": range, "inside": inside })
        }
        Change::Removed { name, range } => json!({ "change": "removed", "loop": name, "range": range }),
        Change::Renamed { from, to } => json!({ "change": "renamed", "loop": to, "from": from, "to": to }),
        Change::Moved { name, from, to } => {
            json!({ "change": "moved", "loop": name, "from": from, "to": to })
        }
        Change::Changed { name, property, from, to } => {
            json!({ "change": "changed", "loop": name, "what": property, "from": from, "to": to })
        }
    }
}
