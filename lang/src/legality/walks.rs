//! `interleave` and `vectorize`: annotations of leaf loops.

use super::find::layout_of;
use crate::illegal::{Illegal, Problem};
use crate::lineage::{Annotation, NestBuilder};
use crate::options::TargetKind;
use sched_nest::{Axis, LoopId};

pub(super) fn check(builder: &NestBuilder, id: LoopId, target: TargetKind, problems: &mut Vec<Illegal>) {
    let node = builder.node(id);
    for (annotation, step) in &node.annotations {
        if !matches!(annotation, Annotation::Interleave(_) | Annotation::Vectorize(_)) {
            continue;
        }
        if !builder.tree().inside(id).is_leaf() {
            let below = builder.tree().subtree(id);
            let leaves: Vec<LoopId> =
                below.into_iter().filter(|id| builder.tree().inside(*id).is_leaf()).take(4).collect();
            let names = leaves.iter().map(|id| builder.name(*id)).collect();
            problems.push(Illegal::argument(*step, 0, Problem::NotLeaf { leaves: names }, vec![id]));
        }
        if let (Annotation::Vectorize(width), TargetKind::Gpu) = (annotation, target) {
            let lanes = gpu_lanes(builder, id);
            if lanes.is_none() || *width != lanes {
                problems.push(Illegal::argument(*step, 0, Problem::VectorOnGpu { lanes }, vec![id]));
            }
        }
    }
}

/// Rows of a vector on a GPU, whose bins share a register; `None` if the loop has no such vectors.
fn gpu_lanes(builder: &NestBuilder, id: LoopId) -> Option<u32> {
    let lanes = layout_of(builder, id).map_or(1, |(layout, _)| layout.gpu_lanes());
    (builder.node(id).axis == Axis::Row && lanes > 1).then_some(lanes)
}
