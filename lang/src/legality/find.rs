//! Annotations that apply to a loop because of a loop around it.

use crate::lineage::{DirectiveIndex, LoopNode, NestBuilder};
use sched_nest::{Layout, LoopId};

/// Applies `test` to a loop and the loops around it, innermost first. Returns the first value, with its loop.
pub(crate) fn innermost<T>(
    builder: &NestBuilder,
    id: LoopId,
    test: impl Fn(&LoopNode) -> Option<T>,
) -> Option<(LoopId, T)> {
    let outwards = builder.tree().path(id).into_iter().rev();
    outwards.map(|on| (on, test(builder.node(on)))).find_map(|(on, value)| Some((on, value?)))
}

/// Layout of the trees of a leaf loop, if the schedule has one, and its directive.
pub(crate) fn layout_of(builder: &NestBuilder, leaf: LoopId) -> Option<(Layout, DirectiveIndex)> {
    let named = innermost(builder, leaf, LoopNode::layout).map(|(_, layout)| layout);
    named.or_else(|| builder.forest().layout_setting())
}
