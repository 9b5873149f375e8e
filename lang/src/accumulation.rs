//! Infers in which order each row's sum adds the trees.
//!
//! The order is the model's when the trees are, when no tree loop runs in parallel, and when on every path the tree
//! loops stand in lineage order: the outer loop of each tile outside its inner one, recursively. Halves of a split are
//! siblings in order wherever they are. A loop that iterates once cannot disturb the order, unless it is part of one that
//! iterates more often.

use crate::lineage::{Annotation, NestBuilder};
use sched_nest::{Accumulation, Axis, LoopId, TreeOrder};

/// The order of accumulation of the nest as it stands.
pub(crate) fn infer(builder: &NestBuilder) -> Accumulation {
    if builder.order == TreeOrder::ByDepth {
        return Accumulation::Reassociated("`sortTrees` changes the order of the trees.".to_owned());
    }
    let mut stack: Vec<(LoopId, Option<LoopId>)> = builder.roots.iter().map(|id| (*id, None)).collect();
    while let Some((id, outer)) = stack.pop() {
        let node = builder.node(id);
        let mut outermost = outer;
        if node.axis == Axis::Tree {
            if node
                .annotations
                .iter()
                .any(|(annotation, _)| matches!(annotation, Annotation::Parallel | Annotation::Gpu(_)))
            {
                let name = builder.name(id);
                let why =
                    format!("`{name}` runs over trees in parallel, so partial sums are added up separately.");
                return Accumulation::Reassociated(why);
            }
            if builder.trips(id) != Some(1) || node.is_part {
                if let Some(outer) = outer
                    && builder.node(outer).place > node.place
                {
                    let (outer, inner) = (builder.name(outer), builder.name(id));
                    let why = format!(
                        "`{outer}` runs outside `{inner}`, so trees are not added in the model's order."
                    );
                    return Accumulation::Reassociated(why);
                }
                outermost = Some(id);
            }
        }
        stack.extend(node.inside.children().map(|child| (child, outermost)));
    }
    Accumulation::Exact
}
