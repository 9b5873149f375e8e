//! `representation` and `tileTrees`: layouts and walks, and whether they can hold tiles.

use super::find::find;
use crate::illegal::{Illegal, Problem};
use crate::lineage::{Annotation, DirectiveIndex, NestBuilder};
use crate::options::TargetKind;
use sched_nest::{Layout, LoopId, Tiles};

pub(super) fn check(
    builder: &NestBuilder,
    loops: &[LoopId],
    target: TargetKind,
    problems: &mut Vec<Illegal>,
) {
    let Some((_, tiles)) = builder.tile_trees.filter(|(tiles, _)| tiles.nodes > 1) else { return };
    let mut refuse = |step: DirectiveIndex, ids: Vec<LoopId>, problem: Problem| {
        problems.push(Illegal::at(step, problem, ids));
    };
    if let Some((layout, step)) = builder.layout.filter(|(layout, _)| holds_single_nodes(*layout, target)) {
        refuse(step, Vec::new(), Problem::LayoutNeedsSingleNodes { layout, tiles });
    }
    for id in loops {
        let layout = |annotation: &Annotation| match annotation {
            Annotation::Layout(layout) if holds_single_nodes(*layout, target) => Some(*layout),
            _ => None,
        };
        if let Some((layout, step)) = find(builder, *id, layout) {
            refuse(step, vec![*id], Problem::LayoutNeedsSingleNodes { layout, tiles });
        }
        let walks = |annotation: &Annotation| {
            let single = matches!(annotation, Annotation::Vectorize(_) | Annotation::SpeculateWalk(_));
            (single && target == TargetKind::Cpu).then_some(())
        };
        if let Some(((), step)) = find(builder, *id, walks) {
            refuse(step, vec![*id], Problem::WalkNeedsSingleNodes { tiles });
        }
    }
}

fn holds_single_nodes(layout: Layout, target: TargetKind) -> bool {
    match layout.tiles() {
        Tiles::Everywhere => false,
        Tiles::OnGpus => target == TargetKind::Cpu,
        Tiles::Nowhere => true,
    }
}
