//! Parallel loops inside parallel loops, and those with a single iteration.

use std::collections::HashMap;

use crate::device::Limits;
use crate::illegal::{Illegal, Problem};
use crate::lineage::{Annotation, DirectiveIndex, NestBuilder};
use sched_nest::LoopId;
use sched_nest::sym::Property;

/// Number of iterations that keeps all threads of a large machine busy.
const ENOUGH_FOR_ALL_THREADS: i64 = 64;
/// Number of rows worth sharing among threads, for any model.
const MIN_SHARED_ROWS: u64 = 512;

pub(super) fn check(builder: &NestBuilder, id: LoopId, problems: &mut Vec<Illegal>) {
    let Some(step) = parallel(builder, id) else { return };
    let path = builder.tree().path(id);
    let outer = path.iter().filter(|on| **on != id).find_map(|on| {
        let step = parallel(builder, *on)?;
        fills_the_machine(builder, *on).then_some((*on, step))
    });
    if let Some((on, earlier)) = outer {
        let problem = Problem::NestedParallel { outer: builder.name(on), earlier };
        problems.push(Illegal::argument(step, 0, problem, vec![on, id]));
    }
}

/// Reports `parallel` directives all of whose loops have a single iteration.
pub(super) fn one_blocks(builder: &NestBuilder, loops: &[LoopId], limits: &Limits) -> Vec<Illegal> {
    let mut found: HashMap<DirectiveIndex, Option<Illegal>> = HashMap::new();
    for id in loops.iter().copied() {
        let Some(step) = parallel(builder, id) else { continue };
        let problem = one_block(builder, id, limits);
        let illegal = problem.map(|problem| Illegal::argument(step, 0, problem, vec![id]));
        let known = found.entry(step).or_insert_with(|| illegal.clone());
        if illegal.is_none() {
            *known = None;
        }
    }
    found.into_values().flatten().collect()
}

/// A problem if the loop has one iteration, always or in all calls.
fn one_block(builder: &NestBuilder, id: LoopId, limits: &Limits) -> Option<Problem> {
    let node = builder.node(id);
    if let Some(trips) = builder.node(id).trips() {
        return (trips == 1).then_some(Problem::OneBlock { rows: None });
    }
    let (most, step) = (limits.max_rows?, node.step.as_int()?);
    let counts_rows =
        node.start.as_int() == Some(0) && node.stop.mentions(&|property| property == Property::Rows);
    let is_one = counts_rows && most >= MIN_SHARED_ROWS && i64::try_from(most).is_ok_and(|most| most <= step);
    is_one.then_some(Problem::OneBlock { rows: Some((most, step)) })
}

fn parallel(builder: &NestBuilder, id: LoopId) -> Option<DirectiveIndex> {
    builder.node(id).directive_of(|annotation| matches!(annotation, Annotation::Parallel))
}

/// Whether all threads have work: many iterations, or an unlimited number of blocks of a few rows.
fn fills_the_machine(builder: &NestBuilder, id: LoopId) -> bool {
    let node = builder.node(id);
    match builder.node(id).trips() {
        Some(trips) => trips >= ENOUGH_FOR_ALL_THREADS,
        None => {
            node.stop.mentions(&|property| property == Property::Rows)
                && node.step.as_int().is_some_and(|step| step <= ENOUGH_FOR_ALL_THREADS)
        }
    }
}
