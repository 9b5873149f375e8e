//! What is stated of a loop, and by which operation.

use crate::lineage::{Builder, Stated, Step};
use sched_nest::LoopId;

/// The operation that stated a fact for which `test` holds, with its value.
pub(super) fn find<T>(
    builder: &Builder,
    id: LoopId,
    test: impl Fn(&Stated) -> Option<T>,
) -> Option<(T, Step)> {
    builder.node(id).facts.iter().find_map(|(fact, step)| test(fact).map(|value| (value, *step)))
}

/// The operation that made the iterations parallel, on the CPU or a GPU.
pub(super) fn parallel(builder: &Builder, id: LoopId) -> Option<Step> {
    find(builder, id, |fact| matches!(fact, Stated::Parallel | Stated::Gpu(_)).then_some(()))
        .map(|(_, step)| step)
}
