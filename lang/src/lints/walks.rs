//! Pointless annotations of walks.

use crate::illegal::{Illegal, Problem};
use crate::legality::stage::MOST_LANES;
use crate::legality::{innermost, layout_of};
use crate::lineage::{Annotation, DirectiveIndex, LoopNode, NestBuilder};
use sched_nest::{Axis, Layout, LoopId, RowVectors};

pub(super) fn check(builder: &NestBuilder, id: LoopId, problems: &mut Vec<Illegal>) {
    let deepest = builder.deepest();
    for (annotation, step) in &builder.node(id).annotations {
        let problem = match (annotation, deepest) {
            (Annotation::Interleave(Some(1)), _) => Problem::InterleaveOfOne,
            (Annotation::Vectorize(Some(lanes)), _) => match builder.node(id).trips() {
                Some(trips) if trips < i64::from(*lanes) => Problem::EmptyLanes { lanes: *lanes, trips },
                _ => continue,
            },
            (Annotation::UnrollWalk(depth), Some(deepest)) if *depth > deepest => {
                Problem::UnrollBeyond { depth: *depth, deepest }
            }
            _ => continue,
        };
        problems.push(Illegal::argument(*step, 1, problem, vec![id]));
    }
    if deepest == Some(0) {
        return no_nodes(builder, id, problems);
    }
    match node_sweep_of(builder, id) {
        Some(layout) => no_steps(builder, id, layout, problems),
        None => peel(builder, id, problems),
    }
}

/// Vectors of a stage's loop that are never full, and vectors of terms with more lanes than such vectors
/// have. A vector of units may have lanes up to the next power of two, in which the stage's constants are
/// zeros.
pub(super) fn empty_lanes_of_stage(builder: &NestBuilder, id: LoopId) -> Vec<Illegal> {
    let node = builder.node(id);
    let problem = |lanes: u32| {
        let trips = builder.node(id).trips()?;
        let is_too_wide = node.axis == Axis::Feature && lanes > MOST_LANES;
        let most = match node.axis {
            Axis::Unit => u32::try_from(trips.max(1)).map_or(u32::MAX, u32::next_power_of_two),
            _ => u32::try_from(trips).unwrap_or(u32::MAX),
        };
        (lanes > most || is_too_wide).then_some(Problem::EmptyLanes { lanes, trips })
    };
    let lanes = node.annotations.iter().filter_map(|(annotation, step)| match annotation {
        Annotation::Vectorize(Some(lanes)) => Some((problem(*lanes)?, *step)),
        _ => None,
    });
    lanes.map(|(problem, step)| Illegal::argument(step, 1, problem, vec![id])).collect()
}

/// Reports a loop's annotations of nodes, in a model whose trees are single leaves.
fn no_nodes(builder: &NestBuilder, id: LoopId, problems: &mut Vec<Illegal>) {
    for (annotation, step) in &builder.node(id).annotations {
        if matches!(
            annotation,
            Annotation::PeelWalk(_) | Annotation::SpeculateWalk(_) | Annotation::Layout(_)
        ) {
            problems.push(Illegal::at(*step, Problem::NoNodes, vec![id]));
        }
    }
}

/// Reports annotations of the whole forest's nodes, if its trees are single leaves.
pub(super) fn check_forest(builder: &NestBuilder, problems: &mut Vec<Illegal>) {
    if builder.deepest() != Some(0) {
        return;
    }
    let layout = builder.forest().layout_setting().map(|(_, step)| step);
    let tiles = builder.forest().tile_trees().map(|(_, step)| step);
    let steps = layout.into_iter().chain(tiles);
    problems.extend(steps.map(|step| Illegal::at(step, Problem::NoNodes, Vec::new())));
}

/// Reports annotations about steps on walks of a layout that takes no steps.
fn no_steps(
    builder: &NestBuilder,
    id: LoopId,
    (layout, chosen): (Layout, DirectiveIndex),
    problems: &mut Vec<Illegal>,
) {
    for (annotation, step) in &builder.node(id).annotations {
        if matches!(
            annotation,
            Annotation::UnrollWalk(_) | Annotation::PeelWalk(_) | Annotation::SpeculateWalk(_)
        ) {
            problems.push(Illegal::at(*step, Problem::NoSteps { layout, chosen }, vec![id]));
        }
    }
}

/// The layout of a loop's walks and its directive, if all walks are vectors of rows that test all nodes of a
/// tree.
fn node_sweep_of(builder: &NestBuilder, id: LoopId) -> Option<(Layout, DirectiveIndex)> {
    let around = layout_of(builder, id);
    let mut chosen = None;
    let mut stack = vec![(id, around)];
    while let Some((id, around)) = stack.pop() {
        let node = builder.node(id);
        let layout = node.layout().or(around);
        if builder.tree().inside(id).is_leaf() {
            let in_vectors = node.directive_of(|annotation| matches!(annotation, Annotation::Vectorize(_)));
            let of_rows = in_vectors.is_some() && node.axis == Axis::Row;
            chosen = Some(layout.filter(|(layout, _)| of_rows && layout.row_vectors() == RowVectors::Sweep)?);
        }
        stack.extend(builder.tree().inside(id).children().map(|child| (child, layout)));
    }
    chosen
}

/// A `peelWalk` of steps that an `unrollWalk` makes straight-line in every walk that it concerns.
fn peel(builder: &NestBuilder, id: LoopId, problems: &mut Vec<Illegal>) {
    let unrolls = |node: &LoopNode| {
        node.find(|annotation| match annotation {
            Annotation::UnrollWalk(n) => Some(*n),
            _ => None,
        })
    };
    let peels = |on: LoopId| {
        builder.node(on).find(|annotation| match annotation {
            Annotation::PeelWalk(n) => Some(*n),
            _ => None,
        })
    };
    let Some((peeled, step)) = peels(id) else { return };
    let peeled = builder.deepest().map_or(peeled, |deepest| peeled.min(deepest));
    let around = innermost(builder, id, unrolls).map(|(_, unroll)| unroll);
    let mut unroll = None;
    let mut stack = vec![(id, around)];
    while let Some((on, around)) = stack.pop() {
        if on != id && peels(on).is_some() {
            continue;
        }
        let around = unrolls(builder.node(on)).or(around);
        if builder.tree().inside(on).is_leaf() {
            match around {
                Some((n, by)) if n >= peeled => unroll = Some(by),
                _ => return,
            }
        }
        stack.extend(builder.tree().inside(on).children().map(|child| (child, around)));
    }
    if let Some(unroll) = unroll {
        problems.push(Illegal::argument(step, 1, Problem::PeelPointless { unroll }, vec![id]));
    }
}
