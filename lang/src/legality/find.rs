//! Facts of a loop, with their operations.

use crate::lineage::{Annotation, DirectiveIndex, NestBuilder};
use sched_nest::LoopId;

/// The operation that made an annotation for which `test` holds, with its value.
pub(super) fn find<T>(
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
pub(super) fn parallel(builder: &NestBuilder, id: LoopId) -> Option<DirectiveIndex> {
    find(builder, id, |annotation| {
        matches!(annotation, Annotation::Parallel | Annotation::Gpu(_)).then_some(())
    })
    .map(|(_, step)| step)
}
