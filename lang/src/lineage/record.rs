//! The lineage as plain data: all index variables of a schedule with the directives that made and consumed
//! them.

use super::names::bare;
use super::{DirectiveIndex, IndexNames, LoopNode, NestBuilder};
use sched_nest::Axis;
use sched_nest::sym::Sym;

/// An index variable: one copy of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexRecord {
    /// Name with all qualifiers, as in `first.b1`.
    pub path: String,
    /// Name without qualifiers: `b1`, `v[0]`.
    pub name: String,
    /// Rows or trees.
    pub axis: Axis,
    /// First value.
    pub start: Sym,
    /// Exclusive end, before constraints.
    pub stop: Sym,
    /// Distance between values.
    pub step: Sym,
    /// Operation that made the index; `None` for a root.
    pub made_by: Option<DirectiveIndex>,
    /// Operation that consumed the index; `None` while it is in the nest.
    pub consumed_by: Option<DirectiveIndex>,
    /// Successors: positions in the list of all index variables.
    pub successors: Vec<usize>,
}

/// All index variables of a nest in the order in which they were made; the two roots come first.
pub fn record(nest: &NestBuilder) -> Vec<IndexRecord> {
    nest.indices().iter().map(|(_, node)| index(nest.names(), node)).collect()
}

fn index(names: IndexNames<'_>, node: &LoopNode) -> IndexRecord {
    IndexRecord {
        name: bare(node).to_string(),
        path: names.full(node).to_string(),
        axis: node.axis,
        start: node.start.clone(),
        stop: node.stop.clone(),
        step: node.step.clone(),
        made_by: node.made_by,
        consumed_by: node.consumed_by,
        successors: node.successors.iter().map(|id| id.0 as usize).collect(),
    }
}
