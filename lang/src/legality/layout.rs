//! `representation` and `tileTrees`: whether layouts hold the model's trees, and whether layouts and walks
//! support tiles.

use super::memory::{order, representation_of};
use super::shared::is_in_launch;
use crate::illegal::{Illegal, Problem};
use crate::lineage::{Annotation, DirectiveIndex, NestBuilder};
use crate::options::TargetKind;
use sched_nest::{Layout, LoopId, Shapes, walks};

pub(super) fn check(
    builder: &NestBuilder,
    loops: &[LoopId],
    target: TargetKind,
    problems: &mut Vec<Illegal>,
) {
    only_oblivious(builder, loops, problems);
    let Some((_, tiles)) = builder.forest().tile_trees().filter(|(tiles, _)| tiles.nodes > 1) else { return };
    let mut refuse = |step: DirectiveIndex, ids: Vec<LoopId>, problem: Problem| {
        problems.push(Illegal::at(step, problem, ids));
    };
    if let Some((layout, step)) =
        builder.forest().layout_setting().filter(|(layout, _)| !layout.holds_tiles())
    {
        refuse(step, Vec::new(), Problem::LayoutNeedsSingleNodes { layout, tiles });
    }
    for id in loops {
        let node = builder.node(*id);
        if let Some((layout, step)) = node.layout().filter(|(layout, _)| !layout.holds_tiles()) {
            refuse(step, vec![*id], Problem::LayoutNeedsSingleNodes { layout, tiles });
        }
        let walks = |annotation: &Annotation| {
            let single = matches!(annotation, Annotation::Vectorize(_) | Annotation::SpeculateWalk(_));
            single && (target == TargetKind::Cpu || !is_in_launch(builder, *id))
        };
        if let Some(step) = node.directive_of(walks) {
            refuse(step, vec![*id], Problem::WalkNeedsSingleNodes { tiles });
        }
    }
}

/// Refuses layouts of oblivious trees for other trees. Each `representation` reports the first such tree.
fn only_oblivious(builder: &NestBuilder, loops: &[LoopId], problems: &mut Vec<Illegal>) {
    let Some(model) = builder.model().filter(|model| model.oblivious.len() == model.depths.len()) else {
        return;
    };
    let oblivious = |layout: Layout| layout.shapes() == Shapes::Oblivious;
    let asks = |id: &LoopId| builder.node(*id).layout().is_some_and(|(layout, _)| oblivious(layout));
    let wanted = builder.forest().layout().is_some_and(oblivious) || loops.iter().any(asks);
    if !wanted || model.oblivious.iter().all(|tree| *tree) {
        return;
    }
    let order = order(model, builder.tree_order());
    let depths: Vec<u32> = order.iter().map(|tree| model.depths[*tree]).collect();
    let (nest, origin) = builder.nest();
    let layout = builder.forest().layout().unwrap_or(Layout::Sparse);
    let Ok(leaf_loops) = walks::leaf_loops(&nest, &depths, layout) else { return };
    let mut reported = Vec::new();
    for (leaf, leaf_loop) in leaf_loops.iter().filter(|(_, leaf_loop)| oblivious(leaf_loop.layout)) {
        let trees = order.get(leaf_loop.trees.clone()).unwrap_or_default();
        let Some(tree) = trees.iter().find(|tree| !model.oblivious[**tree]) else { continue };
        let Some((ids, step)) = representation_of(builder, origin[leaf.0 as usize]) else { continue };
        if !reported.contains(&step) {
            reported.push(step);
            problems.push(Illegal::at(step, Problem::NotOblivious { tree: *tree }, ids));
        }
    }
}
