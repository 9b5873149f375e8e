//! Whether the loops of a stage of sums are legal.
//!
//! A stage's nest is a chain. Terms are added in their order, one rounding each, so that the result of a row
//! does not depend on the schedule. Rows and units may be in lanes.

use crate::illegal::{Illegal, Problem, StageLanesFault};
use crate::lineage::{Annotation, DirectiveIndex, NestBuilder};
use crate::stages::acts;
use sched_nest::{Axis, LoopId};

/// Largest number of rows whose sums a stage computes together. Their columns are in memory at once.
pub const MOST_ROWS: i64 = 1024;

/// All problems of the final nest of the stage with this name.
pub(crate) fn check(builder: &NestBuilder, stage: &str) -> Vec<Illegal> {
    let chain = builder.tree().loops();
    let mut problems = Vec::new();
    let mut lanes: Option<LoopId> = None;
    for id in &chain {
        let node = builder.node(*id);
        for (annotation, step) in &node.annotations {
            let refuse = |problem| Illegal::argument(*step, 0, problem, vec![*id]);
            if !acts(annotation.op()) {
                problems.push(refuse(Problem::NotInStage { stage: stage.to_owned() }));
                continue;
            }
            if let Annotation::Vectorize(width) = annotation {
                let fault = match lanes {
                    Some(other) => Some(StageLanesFault::Second { other: builder.name(other) }),
                    None => lanes_fault(builder, &chain, *id, width.unwrap_or(1)),
                };
                lanes = lanes.or(Some(*id));
                problems.extend(fault.map(|fault| refuse(Problem::StageLanes(fault))));
                problems.extend(width.filter(|width| !width.is_power_of_two()).map(|width| {
                    let problem = Problem::NotPowerOfTwo { width: width.into() };
                    Illegal::argument(*step, 1, problem, vec![*id])
                }));
            }
            problems.extend(axis_problem(node.axis, annotation, stage).map(refuse));
        }
    }
    problems.extend(out_of_order(builder, &chain));
    problems.extend(rows_problem(builder, &chain));
    problems
}

/// The problem of an annotation of a loop over units or terms.
fn axis_problem(axis: Axis, annotation: &Annotation, stage: &str) -> Option<Problem> {
    match (axis, annotation) {
        (Axis::Feature, Annotation::Vectorize(_) | Annotation::Interleave(_)) => {
            Some(Problem::TermsOutOfOrder { outer: None })
        }
        (Axis::Feature, Annotation::Parallel) => Some(Problem::TermsOutOfOrder { outer: None }),
        (Axis::Unit | Axis::Feature, Annotation::Parallel | Annotation::Cache | Annotation::Gpu(_)) => {
            Some(Problem::NotInStage { stage: stage.to_owned() })
        }
        _ => None,
    }
}

/// The fault of a vector of `width` lanes over the iterations of a loop.
fn lanes_fault(builder: &NestBuilder, chain: &[LoopId], id: LoopId, width: u32) -> Option<StageLanesFault> {
    let node = builder.node(id);
    if node.step.as_int() != Some(1) {
        return Some(StageLanesFault::Strided);
    }
    if node.axis != Axis::Unit {
        return None;
    }
    let step_of = |other: LoopId| builder.node(other).step.as_int().unwrap_or(0);
    let is_unaligned = |other: LoopId| {
        let is_unit = other != id && builder.node(other).axis == Axis::Unit;
        is_unit && step_of(other) % i64::from(width.max(1)) != 0
    };
    let outer = chain.iter().copied().find(|other| is_unaligned(*other))?;
    Some(StageLanesFault::Unaligned { outer: builder.name(outer), step: step_of(outer), lanes: width })
}

/// The problem of a part of the terms that is outside of the part around it in lineage.
fn out_of_order(builder: &NestBuilder, chain: &[LoopId]) -> Option<Illegal> {
    let terms: Vec<LoopId> =
        chain.iter().copied().filter(|id| builder.node(*id).axis == Axis::Feature).collect();
    let pair = terms.windows(2).find(|pair| builder.node(pair[0]).place > builder.node(pair[1]).place)?;
    let step = last_step(builder, pair)?;
    let outer = Some(builder.name(pair[1]));
    Some(Illegal::at(step, Problem::TermsOutOfOrder { outer }, pair.to_vec()))
}

/// The directive that made the loops of a pair.
fn last_step(builder: &NestBuilder, loops: &[LoopId]) -> Option<DirectiveIndex> {
    loops.iter().filter_map(|id| builder.node(*id).made_by).max()
}

/// The problem of rows inside of the first loop over units or terms: they are computed together.
fn rows_problem(builder: &NestBuilder, chain: &[LoopId]) -> Option<Illegal> {
    let is_row = |id: &LoopId| builder.node(*id).axis == Axis::Row;
    let inner: Vec<LoopId> = chain.iter().copied().skip_while(is_row).filter(is_row).collect();
    let trips = inner.iter().map(|id| builder.node(*id).trips());
    let rows =
        trips.collect::<Option<Vec<i64>>>().map(|trips| trips.into_iter().fold(1, i64::saturating_mul));
    if rows.is_some_and(|rows| rows <= MOST_ROWS) {
        return None;
    }
    let step = inner.iter().find_map(|id| builder.node(*id).made_by).unwrap_or(DirectiveIndex(0));
    Some(Illegal::at(step, Problem::StageRows { rows, limit: MOST_ROWS }, inner))
}
