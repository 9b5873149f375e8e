//! Unrolled loops with many iterations.

use crate::illegal::{Illegal, Problem};
use crate::legality::is_large_code;
use crate::lineage::{Annotation, DirectiveIndex, NestBuilder};
use sched_nest::LoopId;

/// Copies of a walk from which there is a remark. They are no faster than a loop, and compile many times
/// slower.
const MANY_COPIES: i64 = 64;

/// Reports unrolled loops that make `MANY_COPIES` copies of the code inside, or more. Code that compiles
/// slowly has another lint.
pub(super) fn many_copies(builder: &NestBuilder, loops: &[LoopId]) -> Vec<Illegal> {
    let mut problems = Vec::new();
    if loops.iter().all(|id| unroll_of(builder, *id).is_none()) {
        return problems;
    }
    let mut stack: Vec<(LoopId, i64)> = builder.tree().roots().iter().map(|id| (*id, 1)).collect();
    while let Some((id, around)) = stack.pop() {
        let (mut copies, unrolled) = (around, unroll_of(builder, id));
        if let (Some(_), Some(trips)) = (unrolled, builder.node(id).trips()) {
            copies = around.saturating_mul(trips.max(1));
        }
        match unrolled {
            Some(step) if copies >= MANY_COPIES && around < MANY_COPIES => {
                problems.push(Illegal::at(step, Problem::UnrolledFar { copies }, vec![id]));
            }
            _ => {}
        }
        stack.extend(builder.tree().inside(id).children().map(|child| (child, copies)));
    }
    if !problems.is_empty() && is_large_code(builder) {
        problems.clear();
    }
    problems
}

fn unroll_of(builder: &NestBuilder, id: LoopId) -> Option<DirectiveIndex> {
    builder.node(id).directive_of(|annotation| matches!(annotation, Annotation::Unroll))
}
