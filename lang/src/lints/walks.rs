//! Silly facts about walks.

use crate::illegal::{Illegal, Problem};
use crate::lineage::{Builder, Stated};
use crate::nest::LoopId;

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
    peel(builder, id, problems);
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
