//! Parallel loops inside parallel loops.

use crate::illegal::{Illegal, Problem};
use crate::lineage::{Annotation, DirectiveIndex, NestBuilder};
use sched_nest::LoopId;
use sched_nest::sym::Property;

/// Iterations that keep every thread of a large machine busy.
const PLENTY: i64 = 64;

pub(super) fn check(builder: &NestBuilder, id: LoopId, problems: &mut Vec<Illegal>) {
    let Some(step) = parallel(builder, id) else { return };
    let path = builder.path(id);
    let outer = path.iter().filter(|on| **on != id).find_map(|on| {
        let step = parallel(builder, *on)?;
        fills_the_machine(builder, *on).then_some((*on, step))
    });
    if let Some((on, earlier)) = outer {
        let problem = Problem::NestedParallel { outer: builder.name(on), earlier };
        problems.push(Illegal::argument(step, 0, problem, vec![on, id]));
    }
}

fn parallel(builder: &NestBuilder, id: LoopId) -> Option<DirectiveIndex> {
    let annotations = &builder.node(id).annotations;
    annotations
        .iter()
        .find(|(annotation, _)| matches!(annotation, Annotation::Parallel))
        .map(|(_, step)| *step)
}

/// Whether there is work for every thread: many iterations, or one for each few of any number of rows.
fn fills_the_machine(builder: &NestBuilder, id: LoopId) -> bool {
    let node = builder.node(id);
    match builder.trips(id) {
        Some(trips) => trips >= PLENTY,
        None => {
            node.stop.mentions(&|property| property == Property::Rows)
                && node.step.as_int().is_some_and(|step| step <= PLENTY)
        }
    }
}
