//! Silly facts about walks.

use crate::illegal::{Illegal, Problem};
use crate::lineage::{Builder, Stated, Step};
use sched_nest::{Layout, LoopId, Sort};

pub(super) fn check(builder: &Builder, id: LoopId, problems: &mut Vec<Illegal>) {
    let deepest = builder.deepest;
    for (fact, step) in &builder.node(id).facts {
        let problem = match (fact, deepest) {
            (Stated::Interleave(Some(1)), _) => Problem::InterleaveOfOne,
            (Stated::Vectorize(Some(lanes)), _) => match builder.trips(id) {
                Some(trips) if trips < i64::from(*lanes) => Problem::EmptyLanes { lanes: *lanes, trips },
                _ => continue,
            },
            (Stated::UnrollWalk(depth), Some(deepest)) if *depth > deepest => {
                Problem::UnrollBeyond { depth: *depth, deepest }
            }
            _ => continue,
        };
        problems.push(Illegal::argument(*step, 1, problem, vec![id]));
    }
    match sweeps(builder, id) {
        Some(layout) => no_hops(builder, id, layout, problems),
        None => peel(builder, id, problems),
    }
}

/// What shapes hops, where there are none.
fn no_hops(builder: &Builder, id: LoopId, layout: Step, problems: &mut Vec<Illegal>) {
    for (fact, step) in &builder.node(id).facts {
        if matches!(fact, Stated::UnrollWalk(_) | Stated::PeelWalk(_) | Stated::SpeculateWalk(_)) {
            problems.push(Illegal::at(*step, Problem::NoHops { layout }, vec![id]));
        }
    }
}

/// Whether all walks in a loop are made by vectors of rows that test all nodes of a tree; what chose the layout.
fn sweeps(builder: &Builder, id: LoopId) -> Option<Step> {
    let on = |id: LoopId| {
        builder.node(id).facts.iter().find_map(|(fact, step)| match fact {
            Stated::Layout(layout) => Some((*layout, *step)),
            _ => None,
        })
    };
    let around = builder.path(id).into_iter().rev().find_map(on).or(builder.layout);
    let mut chosen = None;
    let mut stack = vec![(id, around)];
    while let Some((id, around)) = stack.pop() {
        let layout = on(id).or(around);
        let node = builder.node(id);
        if node.inside.is_leaf() {
            let in_vectors = node.facts.iter().any(|(fact, _)| matches!(fact, Stated::Vectorize(_)));
            let (_, step) = layout
                .filter(|(layout, _)| *layout == Layout::Preorder && in_vectors && node.sort == Sort::Row)?;
            chosen = Some(step);
        }
        stack.extend(node.inside.children().map(|child| (child, layout)));
    }
    chosen
}

/// A `peelWalk` of hops that an `unrollWalk` makes straight-line in every walk that it concerns.
fn peel(builder: &Builder, id: LoopId, problems: &mut Vec<Illegal>) {
    let hops = |on: LoopId| {
        let facts = &builder.node(on).facts;
        facts.iter().find_map(|(fact, step)| match fact {
            Stated::UnrollWalk(n) => Some((*n, *step)),
            _ => None,
        })
    };
    let peels = |on: LoopId| {
        let facts = &builder.node(on).facts;
        facts.iter().find_map(|(fact, step)| match fact {
            Stated::PeelWalk(n) => Some((*n, *step)),
            _ => None,
        })
    };
    let Some((peeled, step)) = peels(id) else { return };
    let peeled = builder.deepest.map_or(peeled, |deepest| peeled.min(deepest));
    let around = builder.path(id).into_iter().rev().find_map(hops);
    let mut unroll = None;
    let mut stack = vec![(id, around)];
    while let Some((on, around)) = stack.pop() {
        if on != id && peels(on).is_some() {
            continue;
        }
        let around = hops(on).or(around);
        if builder.node(on).inside.is_leaf() {
            match around {
                Some((n, by)) if n >= peeled => unroll = Some(by),
                _ => return,
            }
        }
        stack.extend(builder.node(on).inside.children().map(|child| (child, around)));
    }
    if let Some(unroll) = unroll {
        problems.push(Illegal::argument(step, 1, Problem::PeelPointless { unroll }, vec![id]));
    }
}
