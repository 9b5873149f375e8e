//! `representation` and `tileTrees`: layouts and what they can hold.

use super::find;
use crate::directives::LayoutName;
use crate::illegal::{Illegal, Problem};
use crate::lineage::{Builder, Stated, Step};
use crate::nest::LoopId;

pub(super) fn check(builder: &Builder, loops: &[LoopId], problems: &mut Vec<Illegal>) {
    let Some((_, tiled_by)) = builder.tile_trees.filter(|(tiles, _)| tiles.nodes > 1) else { return };
    let mut refuse = |step: Step, ids: Vec<LoopId>| {
        problems.push(Illegal::at(step, Problem::LayoutNeedsSingleNodes { tiles: tiled_by }, ids));
    };
    if let Some((LayoutName::Reorg, step)) = builder.layout {
        refuse(step, Vec::new());
    }
    for id in loops {
        let reorg = |fact: &Stated| matches!(fact, Stated::Layout(LayoutName::Reorg)).then_some(());
        if let Some((_, step)) = find(builder, *id, reorg) {
            refuse(step, vec![*id]);
        }
    }
}
