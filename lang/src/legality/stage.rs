//! Whether the loops of a stage whose results are columns are legal.
//!
//! A stage's nest is a chain. Terms, and leaf values of trees, are added in their order, each sum rounded
//! once, so that the result of a row does not depend on the schedule. Rows and units may be in lanes. So may
//! terms if no later step compares the sums; each lane then has a sum of its own.

use crate::illegal::{Illegal, Problem, StageLanesFault, TensorFault, TermOrderFault};
use crate::lineage::{Annotation, DirectiveIndex, NestBuilder};
use crate::options::TargetKind;
use crate::stages::acts_on_stages;
use sched_nest::{Axis, LoopId, StageInfo};

/// Largest number of rows whose sums a stage computes together. Their columns are in memory at once.
pub const MOST_ROWS: i64 = 1024;

/// Largest number of terms that unrolled loops write out. More of them would take seconds to compile.
const MOST_EXPANDED_TERMS: i64 = 4096;

/// Largest number of rows or terms in the lanes of a vector. Wider vectors become several of them.
pub(crate) const MOST_LANES: u32 = 16;

/// Largest number of vectors of sums that a loop over terms keeps in registers. Each has separate code.
const MOST_SUM_VECTORS: i64 = 32;

/// Terms that tensor cores add in one step, and fewest units of a stage that they compute: more than half of
/// a tile of eight.
const TENSOR_TERMS: u32 = 4;
const LEAST_TENSOR_UNITS: u32 = 5;

/// Lanes of the narrowest vector. Without a number in the schedule, the compiler chooses as many lanes as
/// fit, at least these.
const LEAST_LANES: u32 = 2;

/// Largest number of lanes, or of interleaved iterations, without a number in the schedule.
const MOST_DEFAULT: u32 = 16;

/// All problems of the final nest of a stage.
pub(crate) fn check(builder: &NestBuilder, info: &StageInfo, target: TargetKind) -> Vec<Illegal> {
    let stage = info.name.as_str();
    let chain = builder.tree().loops();
    let is_term = |id: &LoopId| builder.node(*id).axis == Axis::Feature;
    let outside_of_terms = chain.iter().position(is_term).unwrap_or(chain.len());
    let mut problems = Vec::new();
    let mut lanes: Option<(LoopId, DirectiveIndex)> = None;
    for (at, id) in chain.iter().enumerate() {
        let node = builder.node(*id);
        for (annotation, step) in &node.annotations {
            let refuse = |problem| Illegal::argument(*step, 0, problem, vec![*id]);
            if !acts_on_stages(annotation.op()) {
                let problem = Problem::NotInStage { stage: stage.to_owned(), of_trees: Vec::new() };
                problems.push(refuse(problem));
                continue;
            }
            if let Annotation::Vectorize(width) = annotation {
                problems.extend(match lanes {
                    Some(other) => Some(second_vector(builder, [other, (*id, *step)])),
                    None => lanes_fault(builder, &chain, *id, width.unwrap_or(LEAST_LANES))
                        .map(|fault| refuse(Problem::StageLanes(fault))),
                });
                lanes = lanes.or(Some((*id, *step)));
                problems.extend(width.filter(|width| !width.is_power_of_two()).map(|width| {
                    let problem = Problem::NotPowerOfTwo { width: width.into() };
                    Illegal::argument(*step, 1, problem, vec![*id])
                }));
            }
            let place = (target, at < outside_of_terms);
            problems.extend(axis_problem(node.axis, annotation, info, place).map(refuse));
            // Walks of a group come one after the other, so a group must have adjacent trees.
            let inner = chain[at + 1..].iter().find(|inner| is_summed(builder, **inner));
            if let (Axis::Tree, Annotation::Interleave(_), Some(inner)) = (node.axis, annotation, inner) {
                let problem = Problem::TermsOutOfOrder(TermOrderFault::Directive);
                problems.push(Illegal::argument(*step, 0, problem, vec![*id, *inner]));
            }
        }
    }
    if target == TargetKind::Gpu && problems.is_empty() {
        problems.extend(tensor_problem(builder, &chain));
    }
    problems.extend(order_problems(builder, stage));
    problems.extend(expansion_problem(builder, &chain));
    problems
}

/// The problems of the order of a stage's loops.
pub(crate) fn order_problems(builder: &NestBuilder, stage: &str) -> Vec<Illegal> {
    let chain = builder.tree().loops();
    out_of_order(builder, &chain).into_iter().chain(rows_problem(builder, &chain, stage)).collect()
}

/// The problem of an annotation of a loop over units, terms or trees, for a target and whether the loop is
/// outside of all loops over terms: there, threads of a CPU may share units.
fn axis_problem(
    axis: Axis,
    annotation: &Annotation,
    stage: &StageInfo,
    (target, is_outside): (TargetKind, bool),
) -> Option<Problem> {
    match (axis, annotation) {
        (Axis::Unit, Annotation::Parallel) if target == TargetKind::Cpu && is_outside => None,
        (Axis::Row, Annotation::Parallel) if target == TargetKind::Gpu => {
            Some(Problem::NotInStage { stage: stage.name.clone(), of_trees: Vec::new() })
        }
        (Axis::Feature, Annotation::Vectorize(_)) if stage.is_ordered => {
            let (stage, long_sum) = (stage.name.clone(), stage.long_sum());
            Some(Problem::TermsOutOfOrder(TermOrderFault::Ordered { stage, long_sum }))
        }
        (Axis::Feature, Annotation::Vectorize(lanes)) if target == TargetKind::Gpu => {
            let fault = tensor_fault(stage, *lanes)?;
            Some(Problem::TermsOutOfOrder(TermOrderFault::OnGpu(fault)))
        }
        (Axis::Feature, Annotation::Interleave(_)) => {
            Some(Problem::TermsOutOfOrder(TermOrderFault::Directive))
        }
        (Axis::Feature | Axis::Tree, Annotation::Parallel) | (Axis::Tree, Annotation::Vectorize(_)) => {
            Some(Problem::TermsOutOfOrder(TermOrderFault::Directive))
        }
        (
            Axis::Unit | Axis::Feature | Axis::Tree,
            Annotation::Parallel | Annotation::Cache | Annotation::Gpu(_),
        ) => Some(Problem::NotInStage { stage: stage.name.clone(), of_trees: Vec::new() }),
        _ => None,
    }
}

/// The reason why tensor cores cannot compute vectors of `lanes` terms of a stage, apart from its other
/// directives.
fn tensor_fault(stage: &StageInfo, lanes: Option<u32>) -> Option<TensorFault> {
    // Without a model, neither the kind of sums nor their number is known.
    let fits = stage.units == 0 || (stage.in_doubles && stage.units >= LEAST_TENSOR_UNITS);
    match lanes {
        _ if !stage.kind.has_products() || !fits => Some(TensorFault::Sums),
        Some(lanes) if lanes != TENSOR_TERMS => Some(TensorFault::Lanes),
        _ => None,
    }
}

/// The problem of a stage that tensor cores compute and whose loops other directives arrange.
fn tensor_problem(builder: &NestBuilder, chain: &[LoopId]) -> Option<Illegal> {
    let axis = |id: &LoopId| builder.node(*id).axis;
    let of_terms = |id: &LoopId| {
        builder.node(*id).directive_of(|annotation| matches!(annotation, Annotation::Vectorize(_)))
    };
    let terms = chain.iter().copied().find(|id| axis(id) == Axis::Feature && of_terms(id).is_some())?;
    let inner: Vec<LoopId> = chain.iter().copied().filter(|id| axis(id) != Axis::Row).collect();
    let vector = of_terms(&terms)?;
    let annotations = inner.iter().flat_map(|id| &builder.node(*id).annotations);
    let mut others = annotations.map(|(_, step)| *step).filter(|step| *step != vector);
    let other = others.next();
    let is_in_order = inner.iter().map(axis).eq([Axis::Unit, Axis::Feature]);
    if is_in_order && other.is_none() {
        return None;
    }
    let moves = inner.iter().filter_map(|id| builder.node(*id).moved_by.or(builder.node(*id).made_by));
    let other = other.or(moves.max());
    let problem = Problem::TermsOutOfOrder(TermOrderFault::OnGpu(TensorFault::Arranged { other }));
    Some(Illegal::argument(vector, 0, problem, vec![terms]))
}

/// The problem of two vectorized loops, at the later one of their directives.
fn second_vector(builder: &NestBuilder, loops: [(LoopId, DirectiveIndex); 2]) -> Illegal {
    let [first, second] = if loops[0].1 <= loops[1].1 { loops } else { [loops[1], loops[0]] };
    let fault = StageLanesFault::Second { other: builder.name(first.0) };
    Illegal::argument(second.1, 0, Problem::StageLanes(fault), vec![second.0])
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

/// Whether a loop counts terms or trees, whose values are added up.
fn is_summed(builder: &NestBuilder, id: LoopId) -> bool {
    matches!(builder.node(id).axis, Axis::Feature | Axis::Tree)
}

/// The problem of two loops over terms or trees, made by tiles, whose inner one is around the outer one.
fn out_of_order(builder: &NestBuilder, chain: &[LoopId]) -> Option<Illegal> {
    let terms: Vec<LoopId> = chain.iter().copied().filter(|id| is_summed(builder, *id)).collect();
    let pair = terms
        .windows(2)
        .find(|pair| builder.node(pair[0]).lineage_path > builder.node(pair[1]).lineage_path)?;
    let step = pair.iter().filter_map(|id| builder.node(*id).moved_by).max().unwrap_or(DirectiveIndex(0));
    let fault = TermOrderFault::Tile { outer: builder.name(pair[1]) };
    Some(Illegal::at(step, Problem::TermsOutOfOrder(fault), pair.to_vec()))
}

/// The problem of rows that are computed together: those inside of the first loop over units or terms, and
/// those of a group of vectors of an outer loop over rows. An unknown number of rows is the fault of the
/// directive that moved their loop inside.
fn rows_problem(builder: &NestBuilder, chain: &[LoopId], stage: &str) -> Option<Illegal> {
    let is_row = |id: &LoopId| builder.node(*id).axis == Axis::Row;
    let outer = chain.iter().take_while(|id| is_row(id)).count();
    let group = chain[..outer].iter().position(|id| group_rows(builder, *id) > 1);
    let (of_group, inside) = match group {
        Some(at) => (group_rows(builder, chain[at]), at + 1),
        None => (1, outer),
    };
    let inner: Vec<LoopId> = chain[inside..].iter().copied().filter(is_row).collect();
    let trips = inner.iter().map(|id| builder.most_trips(*id));
    let rows = trips
        .collect::<Option<Vec<i64>>>()
        .map(|trips| trips.into_iter().fold(of_group, i64::saturating_mul));
    if rows.is_some_and(|rows| rows <= MOST_ROWS) {
        return None;
    }
    let unlimited = inner.iter().copied().find(|id| builder.most_trips(*id).is_none());
    let mover = unlimited.and_then(|id| builder.node(id).moved_by);
    let made = || inner.iter().find_map(|id| builder.node(*id).made_by);
    let step = mover.or_else(made).unwrap_or(DirectiveIndex(0));
    let unlimited = unlimited.map(|id| builder.name(id));
    let problem = Problem::StageRows { stage: stage.to_owned(), rows, unlimited, limit: MOST_ROWS };
    Some(Illegal::at(step, problem, inner))
}

/// Number of iterations of a loop over rows that are computed together: the lanes of interleaved vectors; 1
/// without `vectorize` and `interleave`.
fn group_rows(builder: &NestBuilder, id: LoopId) -> i64 {
    let number = |annotation: &Annotation| match annotation {
        Annotation::Vectorize(n) | Annotation::Interleave(n) => i64::from(n.unwrap_or(MOST_DEFAULT)),
        _ => 1,
    };
    let annotations = builder.node(id).annotations.iter();
    annotations.map(|(annotation, _)| number(annotation)).fold(1, i64::saturating_mul)
}

/// The problem of unrolled loops with too much code: the terms of all their iterations, for each vector of
/// sums in registers.
fn expansion_problem(builder: &NestBuilder, chain: &[LoopId]) -> Option<Illegal> {
    let unrolled = |id: LoopId| {
        let of = builder.node(id).directive_of(|annotation| *annotation == Annotation::Unroll);
        Some((id, of?, builder.node(id).trips()?))
    };
    let all: Vec<(LoopId, DirectiveIndex, i64)> = chain.iter().filter_map(|id| unrolled(*id)).collect();
    let product = |trips: &mut dyn Iterator<Item = i64>| trips.fold(1, i64::saturating_mul);
    let is_term = |id: &LoopId| builder.node(*id).axis == Axis::Feature;
    let sums: Vec<LoopId> =
        chain.iter().copied().skip_while(|id| !is_term(id)).filter(|id| !is_term(id)).collect();
    let vectors_of_sums = product(&mut sums.iter().map(|id| vectors(builder, *id)));
    // Sums in registers are written out, and loops over sums in memory are not.
    let in_registers = if vectors_of_sums <= MOST_SUM_VECTORS { sums } else { Vec::new() };
    let written_out = |id: &LoopId| match in_registers.contains(id) {
        true => vectors(builder, *id),
        false if all.iter().any(|(other, ..)| other == id) => vectors(builder, *id),
        false => 1,
    };
    let trips = product(&mut chain.iter().map(written_out));
    if trips <= MOST_EXPANDED_TERMS {
        return None;
    }
    let (id, step, _) = all.iter().copied().max_by_key(|(.., trips)| *trips)?;
    Some(Illegal::argument(step, 0, Problem::TripsHuge { trips, limit: MOST_EXPANDED_TERMS }, vec![id]))
}

/// Largest number of vectors that a loop's iterations fill; 1 if it is unknown.
fn vectors(builder: &NestBuilder, id: LoopId) -> i64 {
    let node = builder.node(id);
    let lanes = node.find(|annotation| match annotation {
        Annotation::Vectorize(lanes) => *lanes,
        _ => None,
    });
    let most = if node.axis == Axis::Unit { u32::MAX } else { MOST_LANES };
    let lanes = lanes.map_or(1, |(lanes, _)| i64::from(lanes.clamp(1, most)));
    builder.most_trips(id).map_or(1, |trips| trips / lanes + i64::from(trips % lanes != 0)).max(1)
}
