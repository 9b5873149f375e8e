//! Whether the facts fit the final nest: one file for each family of directives.

mod gpu;
mod layout;
mod memory;
mod reduce;
mod shared;
mod size;
mod walks;

pub(crate) use shared::working_set;
pub use size::Size;
pub(crate) use size::large as large_code;

use crate::device::Limits;
use crate::illegal::Illegal;
use crate::lineage::{Annotation, DirectiveIndex, NestBuilder};
use crate::options::TargetKind;
use sched_nest::LoopId;

/// All problems of the final nest, as plain data. Empty means that it is legal for the target.
pub fn check(builder: &NestBuilder, limits: &Limits) -> Vec<Illegal> {
    let target = limits.kind;
    let loops = builder.loops();
    let mut problems = Vec::new();
    for id in &loops {
        walks::check(builder, *id, target, &mut problems);
        reduce::check(builder, *id, &mut problems);
        gpu::check(builder, *id, limits, &mut problems);
    }
    layout::check(builder, &loops, target, &mut problems);
    memory::check(builder, &loops, &mut problems);
    if target == TargetKind::Gpu {
        shared::check(builder, limits, &mut problems);
    }
    size::check(builder, &mut problems);
    problems
}

/// The operation that stated a fact for which `test` holds, with its value.
fn find<T>(
    builder: &NestBuilder,
    id: LoopId,
    test: impl Fn(&Annotation) -> Option<T>,
) -> Option<(T, DirectiveIndex)> {
    builder
        .node(id)
        .annotations
        .iter()
        .find_map(|(annotation, step)| test(annotation).map(|value| (value, *step)))
}

/// The operation that made the iterations parallel, on the CPU or a GPU.
fn parallel(builder: &NestBuilder, id: LoopId) -> Option<DirectiveIndex> {
    find(builder, id, |annotation| {
        matches!(annotation, Annotation::Parallel | Annotation::Gpu(_)).then_some(())
    })
    .map(|(_, step)| step)
}
