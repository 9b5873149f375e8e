//! `interleave` and `vectorize`: facts about leaf loops.

use crate::illegal::{Illegal, Problem};
use crate::lineage::{Builder, Stated};
use crate::options::TargetKind;
use sched_nest::LoopId;

pub(super) fn check(builder: &Builder, id: LoopId, target: TargetKind, problems: &mut Vec<Illegal>) {
    let node = builder.node(id);
    for (fact, step) in &node.facts {
        if !matches!(fact, Stated::Interleave(_) | Stated::Vectorize(_)) {
            continue;
        }
        if !node.inside.is_leaf() {
            let below = builder.subtree(id);
            let leaves: Vec<LoopId> =
                below.into_iter().filter(|id| builder.node(*id).inside.is_leaf()).take(4).collect();
            let names = leaves.iter().map(|id| builder.name(*id)).collect();
            problems.push(Illegal::argument(*step, 0, Problem::NotLeaf { leaves: names }, vec![id]));
        }
        if matches!(fact, Stated::Vectorize(_)) && target == TargetKind::Gpu {
            problems.push(Illegal::argument(*step, 0, Problem::VectorOnGpu, vec![id]));
        }
    }
}
