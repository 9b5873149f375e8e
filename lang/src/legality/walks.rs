//! `interleave` and `vectorize`: facts about leaf loops.

use crate::illegal::{Illegal, Problem};
use crate::lineage::{Annotation, NestBuilder};
use crate::options::TargetKind;
use sched_nest::LoopId;

pub(super) fn check(builder: &NestBuilder, id: LoopId, target: TargetKind, problems: &mut Vec<Illegal>) {
    let node = builder.node(id);
    for (annotation, step) in &node.annotations {
        if !matches!(annotation, Annotation::Interleave(_) | Annotation::Vectorize(_)) {
            continue;
        }
        if !node.inside.is_leaf() {
            let below = builder.subtree(id);
            let leaves: Vec<LoopId> =
                below.into_iter().filter(|id| builder.node(*id).inside.is_leaf()).take(4).collect();
            let names = leaves.iter().map(|id| builder.name(*id)).collect();
            problems.push(Illegal::argument(*step, 0, Problem::NotLeaf { leaves: names }, vec![id]));
        }
        if matches!(annotation, Annotation::Vectorize(_)) && target == TargetKind::Gpu {
            problems.push(Illegal::argument(*step, 0, Problem::VectorOnGpu, vec![id]));
        }
    }
}
