//! How much code a schedule asks for: no schedule may make compilation endless.

use crate::illegal::{Illegal, Problem};
use crate::lineage::{Builder, Inside, Stated, Step};
use sched_nest::LoopId;

/// Most walks that may be written out.
const WALKS: u64 = 65_536;
/// Most hops of walks that may be written out.
const HOPS: u64 = 262_144;

pub(super) fn check(builder: &Builder, problems: &mut Vec<Illegal>) {
    let mut largest: Option<(u64, Step, LoopId)> = None;
    let (mut walks, mut hops) = (0_u64, 0_u64);
    // Loops to visit, with how often the code around them is repeated and how many hops each walk writes out.
    let mut stack: Vec<(LoopId, u64, u64)> = builder.roots.iter().map(|id| (*id, 1, 1)).collect();
    while let Some((id, mut copies, mut depth)) = stack.pop() {
        let node = builder.node(id);
        for (fact, step) in &node.facts {
            let factor = match fact {
                Stated::Unroll if matches!(node.inside, Inside::Seq(_)) => {
                    let factor =
                        builder.trips(id).and_then(|trips| u64::try_from(trips).ok()).unwrap_or(1).max(1);
                    copies = copies.saturating_mul(factor);
                    factor
                }
                Stated::Interleave(_) => {
                    let factor = builder.facts(id).interleave.unwrap_or(1).into();
                    copies = copies.saturating_mul(factor);
                    factor
                }
                Stated::UnrollWalk(n) | Stated::PeelWalk(n) => {
                    let deepest = builder.deepest.map_or(*n, |deepest| deepest.min(*n));
                    depth = u64::from(deepest).max(1);
                    depth
                }
                _ => continue,
            };
            if largest.is_none_or(|(most, ..)| factor > most) {
                largest = Some((factor, *step, id));
            }
        }
        if node.inside.is_leaf() {
            walks = walks.saturating_add(copies);
            hops = hops.saturating_add(copies.saturating_mul(depth));
        }
        stack.extend(node.inside.children().map(|child| (child, copies, depth)));
    }
    let Some((_, step, id)) = largest else { return };
    if walks > WALKS {
        problems.push(Illegal::at(step, Problem::CodeTooLarge { size: walks, limit: WALKS }, vec![id]));
    } else if hops > HOPS {
        problems.push(Illegal::at(step, Problem::CodeTooLarge { size: hops, limit: HOPS }, vec![id]));
    }
}
