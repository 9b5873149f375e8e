//! `atomicReduce`, `vectorReduce` and `sharedReduce`: how partial sums of parallel tree loops are combined.

use super::find::parallel;
use crate::illegal::{Illegal, Problem};
use crate::lineage::{Annotation, NestBuilder};
use sched_nest::{Axis, GpuLevel, LoopId};

pub(super) fn check(builder: &NestBuilder, id: LoopId, problems: &mut Vec<Illegal>) {
    let node = builder.node(id);
    for (annotation, step) in &node.annotations {
        let problem = match annotation {
            Annotation::AtomicReduce | Annotation::VectorReduce(_) if node.axis != Axis::Tree => {
                Problem::NotTrees
            }
            Annotation::AtomicReduce | Annotation::VectorReduce(_) if parallel(builder, id).is_none() => {
                Problem::NotParallel
            }
            Annotation::SharedReduce if node.axis != Axis::Tree || !on_block(builder, id) => {
                Problem::NotBlockTrees
            }
            _ => continue,
        };
        problems.push(Illegal::argument(*step, 0, problem, vec![id]));
    }
}

fn on_block(builder: &NestBuilder, id: LoopId) -> bool {
    let is_block = |annotation: &Annotation| match annotation {
        Annotation::Gpu(dimension) => dimension.level == GpuLevel::Block,
        _ => false,
    };
    builder.node(id).annotations.iter().any(|(annotation, _)| is_block(annotation))
}
