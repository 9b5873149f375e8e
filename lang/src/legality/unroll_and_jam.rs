//! `unrollAndJam`: a loop over trees around vectors of rows that advance together.

use crate::illegal::{Illegal, Problem, UnrollAndJamNeeds};
use crate::lineage::{Annotation, LoopBody, NestBuilder};
use sched_nest::{Axis, LoopId};

pub(super) fn check(builder: &NestBuilder, id: LoopId, problems: &mut Vec<Illegal>) {
    let asks = |annotation: &Annotation| matches!(annotation, Annotation::UnrollAndJam);
    let Some(step) = builder.node(id).directive_of(asks) else { return };
    let problem = match builder.node(id).axis {
        Axis::Row | Axis::Unit | Axis::Feature => Some(Problem::NotTrees),
        Axis::Tree => need(builder, id).map(Problem::CannotUnrollAndJam),
    };
    problems.extend(problem.map(|problem| Illegal::argument(step, 0, problem, vec![id])));
}

/// Unmet need of a loop over trees.
fn need(builder: &NestBuilder, id: LoopId) -> Option<UnrollAndJamNeeds> {
    let inside = &builder.tree().inside(id);
    let leaf = inside.only().filter(|leaf| {
        let over_rows = builder.node(*leaf).axis == Axis::Row && builder.tree().inside(*leaf).is_leaf();
        over_rows && matches!(inside, LoopBody::Seq(_))
    });
    let Some(leaf) = leaf else {
        let below = builder.tree().subtree(id).into_iter();
        let rows =
            below.filter(|id| builder.node(*id).axis == Axis::Row && builder.tree().inside(*id).is_leaf());
        return Some(UnrollAndJamNeeds::Rows { leaves: rows.take(4).map(|id| builder.name(id)).collect() });
    };
    let name = builder.name(leaf);
    // Such a leaf loop runs in parts. The sums of other trees must not be added between them.
    let parts = |annotation: &Annotation| {
        matches!(
            annotation,
            Annotation::Parallel | Annotation::Unroll | Annotation::Cache | Annotation::Gpu(_)
        )
    };
    if let Some(by) = builder.node(leaf).directive_of(parts) {
        return Some(UnrollAndJamNeeds::Whole { leaf: name, by });
    }
    if let Some(stride) = builder.node(leaf).step.as_int().filter(|step| *step != 1) {
        return Some(UnrollAndJamNeeds::Adjacent { leaf: name, stride });
    }
    let stated = builder.node(leaf).effective_annotations();
    let has_vectors = stated.vectorize.is_some_and(|lanes| lanes > 1);
    let is_interleaved = stated.interleave.is_some_and(|vectors| vectors > 1);
    (!has_vectors || !is_interleaved).then_some(UnrollAndJamNeeds::Vectors {
        leaf: name,
        has_vectors,
        is_interleaved,
    })
}
