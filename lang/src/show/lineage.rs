//! Prints the origins and successors of index variables.
//!
//! ```text
//! batch in 0..n_rows, consumed on line 1: tile(batch, b0, b1, 64)
//!   b0 in 0..n_rows step 64
//!   b1 in 0..64
//! tree in 0..N_t
//! ```

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use serde_json::{Value, json};

use crate::lineage::{DirectiveIndex, IndexRecord};
use crate::schedule::{DirectiveText, Lineage, StageLineage};
use sched_nest::show::{axis_name, range, show_variants, sym_value, variants_json};
use sched_nest::{StageKind, Variants};

/// Largest number of copies of one index that are named separately.
const MAX_NAMED_COPIES: usize = 4;
/// Largest number of indent levels.
const MAX_INDENT: usize = 60;

/// The lineage as a tree: below each index its successors. Copies with one range share a line.
pub fn show_lineage(lineage: &Lineage) -> String {
    let mut out = String::new();
    for stage in lineage.stages.iter().filter(|stage| is_shown(stage)) {
        let by = if stage.is_arranged { "" } else { " arranged by the compiler" };
        let _ = writeln!(out, "{}:{by}", stage.title);
        show_indices(lineage, &stage.indices, 1, &mut out);
    }
    show_indices(lineage, &lineage.indices, 0, &mut out);
    out
}

/// A line for each stage of columns that no variant of a schedule arranges, with its loops.
pub fn show_plain_stages(lineages: &Variants<Lineage>) -> String {
    let mut out = String::new();
    let is_plain = |name: &str| {
        let mut stages = lineages.iter().flat_map(|(_, lineage)| &lineage.stages);
        stages.all(|stage| stage.name != name || !stage.is_arranged)
    };
    let others = lineages.rest().stages.iter().filter(|stage| is_shown(stage) && is_plain(&stage.name));
    for stage in others {
        let ranges = stage.indices.iter().map(|index| line(lineages.rest(), &[index]));
        let ranges: Vec<String> = ranges.collect();
        let _ = writeln!(out, "{}: arranged by the compiler from {}", stage.title, ranges.join(", "));
    }
    out
}

/// Whether a stage is shown. Scores that the schedule does not arrange are trees of the last stage.
fn is_shown(stage: &StageLineage) -> bool {
    stage.is_arranged || StageKind::of_name(&stage.name) != Some(StageKind::Scores)
}

/// Adds the tree of some index variables.
fn show_indices(lineage: &Lineage, indices: &[IndexRecord], outer: usize, out: &mut String) {
    let groups = IndexGroups::new(indices);
    let mut stack: Vec<(usize, usize)> = groups.roots.iter().rev().map(|group| (*group, outer)).collect();
    while let Some((group, depth)) = stack.pop() {
        let members = groups.members.get(group).map_or(&[][..], Vec::as_slice);
        let indent = "  ".repeat(depth.min(MAX_INDENT));
        let _ = writeln!(out, "{indent}{}", line(lineage, members));
        let children = groups.children.get(group).map_or(&[][..], Vec::as_slice);
        stack.extend(children.iter().rev().map(|child| (*child, depth + 1)));
    }
}

/// Indices with one name, one origin and one range, which are copies of each other.
struct IndexGroups<'a> {
    members: Vec<Vec<&'a IndexRecord>>,
    /// Groups of the successors of a group.
    children: Vec<Vec<usize>>,
    roots: Vec<usize>,
}

impl<'a> IndexGroups<'a> {
    fn new(indices: &'a [IndexRecord]) -> Self {
        let mut known: HashMap<(&str, Option<DirectiveIndex>, String), usize> = HashMap::new();
        let mut members: Vec<Vec<&IndexRecord>> = Vec::new();
        let mut group_of = Vec::with_capacity(indices.len());
        for index in indices {
            let key = (index.name.as_str(), index.made_by, range(&index.start, &index.stop, &index.step));
            let group = *known.entry(key).or_insert_with(|| {
                members.push(Vec::new());
                members.len() - 1
            });
            group_of.push(group);
            if let Some(list) = members.get_mut(group) {
                list.push(index);
            }
        }
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); members.len()];
        let mut has_parent = vec![false; members.len()];
        for (index, parent) in indices.iter().zip(&group_of) {
            for child in index.successors.iter().filter_map(|at| group_of.get(*at)) {
                if let (Some(seen), Some(list)) = (has_parent.get_mut(*child), children.get_mut(*parent))
                    && !*seen
                {
                    *seen = true;
                    list.push(*child);
                }
            }
        }
        let roots = (0..members.len()).filter(|group| has_parent.get(*group) == Some(&false)).collect();
        IndexGroups { members, children, roots }
    }
}

/// `b1 in 0..64, 2 copies: first.b1, second.b1, consumed on line 4: split(b1, x, y, 8)`
fn line(lineage: &Lineage, members: &[&IndexRecord]) -> String {
    let Some(first) = members.first() else { return String::new() };
    let mut text = format!("{} in {}", first.name, range(&first.start, &first.stop, &first.step));
    if members.len() > 1 {
        let _ = write!(text, ", {} copies: {}", members.len(), names(members));
    }
    let mut fates: BTreeMap<Option<DirectiveIndex>, Vec<&IndexRecord>> = BTreeMap::new();
    for member in members {
        fates.entry(member.consumed_by).or_default().push(member);
    }
    let is_mixed = fates.len() > 1;
    for (step, who) in &fates {
        let Some(event) = step.and_then(|step| lineage.directive(step)) else { continue };
        let which = if is_mixed { format!("; {} ", names(who)) } else { ", ".to_owned() };
        let _ = write!(text, "{which}consumed on line {}: {}", event.line, event.text);
    }
    text
}

fn names(members: &[&IndexRecord]) -> String {
    let mut names: Vec<&str> =
        members.iter().take(MAX_NAMED_COPIES).map(|index| index.path.as_str()).collect();
    if members.len() > MAX_NAMED_COPIES {
        names.push("...");
    }
    names.join(", ")
}

/// The lineage as JSON: a list of indices with number, range, and the directives that made and consumed them.
pub fn lineage_json(lineage: &Lineage) -> Value {
    let mut value = json!({ "indices": indices_json(lineage, &lineage.indices) });
    if !lineage.stages.is_empty() {
        let stages = lineage.stages.iter().map(|stage| {
            let indices = indices_json(lineage, &stage.indices);
            json!({ "name": stage.name, "arranged": stage.is_arranged, "indices": indices })
        });
        value["stages"] = stages.collect();
    }
    value
}

fn indices_json(lineage: &Lineage, indices: &[IndexRecord]) -> Value {
    let event =
        |step: Option<DirectiveIndex>| step.and_then(|step| lineage.directive(step)).map(directive_json);
    let all = indices.iter().enumerate().map(|(id, index)| {
        json!({
            "id": id,
            "name": index.name,
            "path": index.path,
            "sort": axis_name(index.axis),
            "start": sym_value(&index.start),
            "stop": sym_value(&index.stop),
            "step": sym_value(&index.step),
            "made_by": event(index.made_by),
            "consumed_by": event(index.consumed_by),
            "successors": index.successors,
        })
    });
    all.collect()
}

/// [`show_lineage`] for each variant.
pub fn show_lineages(lineages: &Variants<Lineage>) -> String {
    show_variants(lineages, show_lineage)
}

/// [`lineage_json`] with the lineages of all variants.
pub fn lineages_json(lineages: &Variants<Lineage>) -> Value {
    variants_json(lineages, "lineage", lineage_json)
}

fn directive_json(event: &DirectiveText) -> Value {
    json!({ "line": event.line, "start": event.span.start, "end": event.span.end, "text": event.text })
}
