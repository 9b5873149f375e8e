//! Differences of two loop nests, independent of the texts of their schedules.
//!
//! Loops are matched by name. Loops without a partner are matched by place and range, as renamed. A loop has
//! moved if its nearest unmoved outer loop differs. Tiling a loop around it does not move it.

mod json;
mod pair;
mod variants;

use sched_nest::{Accumulation, Layout, Loop, LoopId, Nest, TreeOrder};
use std::collections::BTreeSet;
use std::fmt::Write;

use pair::{Pairs, preorder};
use sched_nest::show::{annotations, range};
pub use variants::{BoundChange, RowsChange, diff_by_rows, diff_by_rows_json, show_diff_by_rows};

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A loop that only the second nest has, and the loop around it.
    Added {
        /// The loop's name.
        name: String,
        /// Range and annotations.
        range: String,
        /// The loop around the new one; `None` if that is outermost.
        inside: Option<String>,
    },
    /// A loop that only the first nest has.
    Removed {
        /// The loop's name.
        name: String,
        /// Range and annotations.
        range: String,
    },
    /// A loop with another name.
    Renamed {
        /// The loop's name in the first nest.
        from: String,
        /// The loop's name in the second nest.
        to: String,
    },
    /// A loop that is inside another loop than before.
    Moved {
        /// The loop's name in the second nest.
        name: String,
        /// The loop around the moved one in the first nest.
        from: Option<String>,
        /// The loop around the moved one in the second nest.
        to: Option<String>,
    },
    /// A property of one loop, or of the whole nest if there is no name.
    Changed {
        /// The loop's name in the second nest.
        name: Option<String>,
        /// The property: `range`, `limit`, `facts`, `order of accumulation` and so on.
        property: &'static str,
        /// Old value.
        from: String,
        /// New value.
        to: String,
    },
}

/// All differences: loops in the order of the second nest, then removed loops, then the whole nest; for each
/// stage of columns in turn, and for the trees at last.
pub fn diff(a: &Nest, b: &Nest) -> Vec<Change> {
    let names: BTreeSet<&str> =
        a.stages.iter().chain(&b.stages).map(|stage| stage.stage.name.as_str()).collect();
    let mut changes: Vec<Change> = names.into_iter().flat_map(|name| stage(a, b, name)).collect();
    changes.extend(of_loops(a, b));
    changes
}

/// The differences of a stage of columns, whose loops have its name before theirs.
fn stage(a: &Nest, b: &Nest, stage: &str) -> Vec<Change> {
    let find = |nest: &Nest| {
        let found = nest.stages.iter().find(|other| other.stage.name == stage);
        found.map(|found| found.nest.clone())
    };
    let arranged = |is_arranged: bool| if is_arranged { "the schedule" } else { "the compiler" }.to_owned();
    match (find(a), find(b)) {
        (Some(a), Some(b)) => of_loops(&a, &b).into_iter().map(|change| change.of_stage(stage)).collect(),
        (a, b) => vec![Change::Changed {
            name: Some(stage.to_owned()),
            property: "loops arranged by",
            from: arranged(a.is_some()),
            to: arranged(b.is_some()),
        }],
    }
}

impl Change {
    /// The change with the name of a stage before those of loops.
    fn of_stage(self, stage: &str) -> Change {
        let of = |name: String| format!("{stage}.{name}");
        match self {
            Change::Added { name, range, inside } => {
                Change::Added { name: of(name), range, inside: inside.map(of) }
            }
            Change::Removed { name, range } => Change::Removed { name: of(name), range },
            Change::Renamed { from, to } => Change::Renamed { from: of(from), to: of(to) },
            Change::Moved { name, from, to } => {
                Change::Moved { name: of(name), from: from.map(of), to: to.map(of) }
            }
            Change::Changed { name, property, from, to } => {
                Change::Changed { name: name.map(of), property, from, to }
            }
        }
    }
}

/// The differences of two nests without those of their stages.
fn of_loops(a: &Nest, b: &Nest) -> Vec<Change> {
    let pairs = Pairs::new(a, b);
    let mut changes = Vec::new();
    for id in preorder(b) {
        let this = b.get(id);
        match pairs.of_second(id) {
            None => changes.push(Change::Added {
                name: this.name.clone(),
                range: range_and_annotations(this),
                inside: pairs.second.parent(id).map(|outer| b.get(outer).name.clone()),
            }),
            Some(before) => compare(a, b, before, id, &pairs, &mut changes),
        }
    }
    for id in preorder(a).into_iter().filter(|id| pairs.of_first(*id).is_none()) {
        let this = a.get(id);
        changes.push(Change::Removed { name: this.name.clone(), range: range_and_annotations(this) });
    }
    whole(a, b, &mut changes);
    changes
}

/// `0..64 step 8 [parallel]`
fn range_and_annotations(this: &Loop) -> String {
    let range = range(&this.start, &this.stop, &this.step);
    let annotations = annotations(&this.annotations).join(", ");
    if annotations.is_empty() { range } else { format!("{range} [{annotations}]") }
}

/// Adds the changes of a loop that both nests have.
fn compare(a: &Nest, b: &Nest, before: LoopId, after: LoopId, pairs: &Pairs, changes: &mut Vec<Change>) {
    let (old, new) = (a.get(before), b.get(after));
    let name = Some(new.name.clone());
    if old.name != new.name {
        changes.push(Change::Renamed { from: old.name.clone(), to: new.name.clone() });
    }
    if pairs.moved.contains(&after) {
        let from = pairs.first.parent(before).map(|id| a.get(id).name.clone());
        let to = pairs.second.parent(after).map(|id| b.get(id).name.clone());
        changes.push(Change::Moved { name: new.name.clone(), from, to });
    }
    let mut changed = |property: &'static str, from: String, to: String| {
        if from != to {
            changes.push(Change::Changed { name: name.clone(), property, from, to });
        }
    };
    changed("range", range(&old.start, &old.stop, &old.step), range(&new.start, &new.stop, &new.step));
    changed("limit", pairs.limit_of_first(a, before), pairs.limit_of_second(b, after));
    changed(
        "annotations",
        annotations(&old.annotations).join(", "),
        annotations(&new.annotations).join(", "),
    );
}

/// Adds the changes of the whole nest.
fn whole(a: &Nest, b: &Nest, changes: &mut Vec<Change>) {
    let mut changed = |property: &'static str, words: fn(&Nest) -> String| {
        let (from, to) = (words(a), words(b));
        if from != to {
            changes.push(Change::Changed { name: None, property, from, to });
        }
    };
    changed("representation", |nest| nest.representation.map_or("", Layout::word).to_owned());
    changed("tiles of nodes", |nest| match nest.tile_trees {
        None => String::new(),
        Some(tiles) if tiles.by_probability => format!("at most {} by probability", tiles.nodes),
        Some(tiles) => format!("at most {}", tiles.nodes),
    });
    changed("order of trees", |nest| match nest.tree_order {
        TreeOrder::Model => "as in the model".to_owned(),
        TreeOrder::ByDepth => "by depth".to_owned(),
    });
    changed("rows in one run", |nest| nest.batch_size.map_or(String::new(), |rows| rows.to_string()));
    changed("order of accumulation", |nest| match &nest.accumulation {
        Accumulation::Exact => "exact".to_owned(),
        Accumulation::Reassociated(why) => format!("reassociated ({})", why.trim_end_matches('.')),
    });
}

/// The differences, one a line: `+` added, `-` removed, `~` changed. Empty if there is none.
pub fn show_diff(changes: &[Change]) -> String {
    let mut out = String::new();
    for change in changes {
        let _ = match change {
            Change::Added { name, range, inside } => {
                writeln!(out, "+ {name} in {range}, {}", place(inside.as_deref()))
            }
            Change::Removed { name, range } => writeln!(out, "- {name} in {range}"),
            Change::Renamed { from, to } => writeln!(out, "~ {from} renamed to {to}"),
            Change::Moved { name, from, to } => {
                let (from, to) = (place(from.as_deref()), place(to.as_deref()));
                writeln!(out, "~ {name} moved: {from} -> {to}")
            }
            Change::Changed { name, property, from, to } => {
                let name = name.as_ref().map_or(String::new(), |name| format!("{name}: "));
                writeln!(out, "~ {name}{property}: {} -> {}", or_none(from), or_none(to))
            }
        };
    }
    out
}

fn place(outer: Option<&str>) -> String {
    outer.map_or_else(|| "outermost".to_owned(), |outer| format!("inside {outer}"))
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}
