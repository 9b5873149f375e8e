//! `atomicReduce`, `vectorReduce` and `sharedReduce`: how partial sums of parallel tree loops are combined.

use super::find::parallel;
use crate::illegal::{Illegal, Problem};
use crate::lineage::{Builder, Stated};
use sched_nest::{GpuLevel, LoopId, Sort};

pub(super) fn check(builder: &Builder, id: LoopId, problems: &mut Vec<Illegal>) {
    let node = builder.node(id);
    for (fact, step) in &node.facts {
        let problem = match fact {
            Stated::AtomicReduce | Stated::VectorReduce(_) if node.sort != Sort::Tree => Problem::NotTrees,
            Stated::AtomicReduce | Stated::VectorReduce(_) if parallel(builder, id).is_none() => {
                Problem::NotParallel
            }
            Stated::SharedReduce if node.sort != Sort::Tree || !on_block(builder, id) => {
                Problem::NotBlockTrees
            }
            _ => continue,
        };
        problems.push(Illegal::argument(*step, 0, problem, vec![id]));
    }
}

fn on_block(builder: &Builder, id: LoopId) -> bool {
    let is_block =
        |fact: &Stated| matches!(fact, Stated::Gpu(dimension) if dimension.level == GpuLevel::Block);
    builder.node(id).facts.iter().any(|(fact, _)| is_block(fact))
}
