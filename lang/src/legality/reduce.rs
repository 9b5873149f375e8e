//! `atomicReduce`, `vectorReduce` and `sharedReduce`: how partial sums of parallel tree loops are combined.

use crate::illegal::{Illegal, Problem};
use crate::lineage::{Annotation, LoopNode, NestBuilder};
use sched_nest::{Axis, GpuLevel, LoopId};

pub(super) fn check(builder: &NestBuilder, id: LoopId, problems: &mut Vec<Illegal>) {
    let node = builder.node(id);
    for (annotation, step) in &node.annotations {
        let problem = match annotation {
            Annotation::AtomicReduce | Annotation::VectorReduce(_) if node.axis != Axis::Tree => {
                Problem::NotTrees
            }
            Annotation::AtomicReduce | Annotation::VectorReduce(_) if !is_parallel(node) => {
                Problem::NotParallel
            }
            Annotation::SharedReduce
                if node.axis != Axis::Tree || node.gpu_level() != Some(GpuLevel::Block) =>
            {
                Problem::NotBlockTrees
            }
            _ => continue,
        };
        problems.push(Illegal::argument(*step, 0, problem, vec![id]));
    }
}

/// Whether the loop's iterations are parallel, on the CPU or a GPU.
fn is_parallel(node: &LoopNode) -> bool {
    node.directive_of(|annotation| matches!(annotation, Annotation::Parallel | Annotation::Gpu(_))).is_some()
}
