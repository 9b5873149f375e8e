//! Whether the model's tables fit in memory: padding for `unrollWalk` and complete trees for
//! `representation`.

use std::collections::BTreeMap;

use super::find::innermost;
use crate::illegal::{Illegal, Problem};
use crate::lineage::{Annotation, DirectiveIndex, LoopNode, NestBuilder};
use sched_nest::footprint::{
    MAX_TABLE_BYTES, MIN_RECORD_BYTES, PADDED_NODE_BYTES, PADDED_TILE_BYTES, complete_nodes, padded_depths,
};
use sched_nest::walks::{self, LeafLoop};
use sched_nest::{Layout, LoopId, ModelInfo, Nodes, TileTrees, TreeOrder};

type LeafLoops = BTreeMap<LoopId, LeafLoop>;

pub(super) fn check(builder: &NestBuilder, loops: &[LoopId], problems: &mut Vec<Illegal>) {
    let (Some(model), Some(deepest)) = (builder.model(), builder.deepest()) else { return };
    let tiles = builder.forest().tile_trees().map(|(tiles, _)| tiles).filter(|tiles| tiles.nodes > 1);
    let trees = PaddedTrees { model, order: order(model, builder.tree_order()), tiles };
    if !may_be_large(builder, loops, &trees, deepest) {
        return;
    }
    let (nest, origin) = builder.nest();
    // Without an annotation, the compiler chooses a layout that fits.
    let layout = builder.forest().layout().unwrap_or(Layout::Sparse);
    let depths: Vec<u32> = (0..trees.order.len()).map(|at| trees.depth(at)).collect();
    let Ok(leaf_loops) = walks::leaf_loops(&nest, &depths, layout) else { return };
    // Another rule refuses complete trees with tiles.
    if tiles.is_some() && leaf_loops.values().any(|leaf_loop| leaf_loop.layout.has_straight_line_walks()) {
        return;
    }
    let padded = padded_depths(&leaf_loops, depths.len());
    let bytes = trees.padding(0..depths.len(), |at| padded[at]);
    if bytes > MAX_TABLE_BYTES {
        problems.extend(too_much_padding(builder, &trees, &leaf_loops, &origin, bytes));
    } else if tiles.is_none() {
        let complete =
            |at: usize| complete_nodes(padded[at].max(depths[at])).saturating_mul(MIN_RECORD_BYTES);
        problems.extend(too_large_arrays(builder, &depths, &leaf_loops, &origin, complete));
    }
}

/// Trees of a model in the order of the nest, and the memory of their padding.
struct PaddedTrees<'m> {
    model: &'m ModelInfo,
    /// Index of each tree in the model.
    order: Vec<usize>,
    tiles: Option<TileTrees>,
}

pub(super) fn order(model: &ModelInfo, order: TreeOrder) -> Vec<usize> {
    let mut trees: Vec<usize> = (0..model.depths.len()).collect();
    if order == TreeOrder::ByDepth {
        trees.sort_by_key(|tree| model.depths[*tree]);
    }
    trees
}

impl PaddedTrees<'_> {
    /// Steps to the deepest leaf of the tree at a position; a lower bound if there are tiles.
    fn depth(&self, at: usize) -> u32 {
        let tree = self.order[at];
        self.tiles.map_or_else(|| self.model.depths[tree], |tiles| self.model.least_steps(tree, tiles))
    }

    /// Bytes added by padding the trees at some positions to `steps` steps.
    fn padding(&self, positions: impl IntoIterator<Item = usize>, steps: impl Fn(usize) -> u32) -> u64 {
        let bytes = |at: usize| {
            let (tree, steps) = (self.order[at], steps(at));
            match self.tiles {
                Some(tiles) => self.model.tile_padding(tree, tiles, steps).saturating_mul(PADDED_TILE_BYTES),
                None => self.model.padding(tree, steps).saturating_mul(PADDED_NODE_BYTES),
            }
        };
        positions.into_iter().map(bytes).fold(0, u64::saturating_add)
    }

    /// Largest number of straight-line steps whose padding fits in memory; walks with fewer steps keep
    /// theirs.
    fn most_steps(&self, leaf_loops: &LeafLoops) -> u32 {
        let fits = |steps: u32| {
            let mut leaf_loops = leaf_loops.clone();
            leaf_loops
                .values_mut()
                .for_each(|leaf_loop| leaf_loop.unrolled_steps = leaf_loop.unrolled_steps.min(steps));
            let padded = padded_depths(&leaf_loops, self.order.len());
            self.padding(0..padded.len(), |at| padded[at]) <= MAX_TABLE_BYTES
        };
        (1..=crate::lineage::MAX_STEPS).take_while(|steps| fits(*steps)).last().unwrap_or(0)
    }
}

/// Depths of trees in layouts of complete trees.
pub(super) struct CompletedTrees {
    /// Depth of each tree in the order of the nest, after padding for straight-line walks.
    depths: Vec<u32>,
    /// Leaf loops with the trees that they walk.
    leaf_loops: Vec<(LoopId, LeafLoop)>,
}

impl CompletedTrees {
    /// Depths for the present nest. `None` if the trees of a loop are unknown, or if nodes are tiles, which
    /// no layout of complete trees has.
    pub(super) fn of(builder: &NestBuilder) -> Option<CompletedTrees> {
        let model = builder.model()?;
        if builder.forest().tile_trees().is_some_and(|(tiles, _)| tiles.nodes > 1) {
            return None;
        }
        let order = order(model, builder.tree_order());
        let mut depths: Vec<u32> = order.into_iter().map(|tree| model.depths[tree]).collect();
        let (nest, origin) = builder.nest();
        let layout = builder.forest().layout().unwrap_or(Layout::Sparse);
        let leaf_loops = walks::leaf_loops(&nest, &depths, layout).ok()?;
        let padded = padded_depths(&leaf_loops, depths.len());
        depths.iter_mut().zip(padded).for_each(|(depth, padded)| *depth = padded.max(*depth));
        let leaf_loops =
            leaf_loops.into_iter().map(|(leaf, leaf_loop)| (origin[leaf.0 as usize], leaf_loop)).collect();
        Some(CompletedTrees { depths, leaf_loops })
    }

    /// Largest number of nodes of `count` consecutive trees that `leaf` walks in this layout.
    pub(super) fn most_nodes(&self, leaf: LoopId, layout: Layout, count: u64) -> u64 {
        let walked = self.leaf_loops.iter().filter(|(on, _)| *on == leaf);
        walked.map(|(_, walked)| self.most_nodes_in(walked, layout, count)).max().unwrap_or(0)
    }

    fn most_nodes_in(&self, walked: &LeafLoop, layout: Layout, count: u64) -> u64 {
        let depths = &self.depths[walked.trees.clone()];
        let count = usize::try_from(count).unwrap_or(usize::MAX).clamp(1, depths.len().max(1));
        let deepest = depths.iter().copied().max().filter(|_| layout.has_adjacent_trees());
        let nodes = |depth: &u32| complete_nodes(deepest.unwrap_or(*depth)) - 1;
        depths
            .windows(count)
            .map(|trees| trees.iter().map(nodes).fold(0, u64::saturating_add))
            .max()
            .unwrap_or(0)
    }
}

/// Refuses padding of `bytes`, at the directive that causes most of it.
fn too_much_padding(
    builder: &NestBuilder,
    trees: &PaddedTrees,
    leaf_loops: &LeafLoops,
    origin: &[LoopId],
    bytes: u64,
) -> Option<Illegal> {
    let (leaf, leaf_loop) = leaf_loops.iter().max_by_key(|(_, leaf_loop)| {
        (
            trees.padding(leaf_loop.trees.clone(), |_| leaf_loop.unrolled_steps),
            std::cmp::Reverse(leaf_loop.trees.start),
        )
    })?;
    let leaf = origin[leaf.0 as usize];
    if leaf_loop.layout.has_straight_line_walks() {
        // Without an `unrollWalk`, a straight layout asks for the padding: its walks are always
        // straight-line.
        let (ids, step) = representation_of(builder, leaf)?;
        return Some(Illegal::at(step, Problem::LayoutTooLarge { bytes, limit: MAX_TABLE_BYTES }, ids));
    }
    let (id, step) = unroll_walk_of(builder, leaf)?;
    let problem =
        Problem::PaddingTooLarge { bytes, limit: MAX_TABLE_BYTES, most: trees.most_steps(leaf_loops) };
    Some(Illegal::argument(step, 1, problem, vec![id]))
}

/// Refuses complete trees of `bytes`, at the directive with the deepest trees.
fn too_large_arrays(
    builder: &NestBuilder,
    depths: &[u32],
    leaf_loops: &LeafLoops,
    origin: &[LoopId],
    complete: impl Fn(usize) -> u64,
) -> Option<Illegal> {
    let mut in_array = vec![false; depths.len()];
    let arrays = leaf_loops.iter().filter(|(_, leaf_loop)| completes_each_tree(leaf_loop.layout));
    for (_, leaf_loop) in arrays.clone() {
        in_array[leaf_loop.trees.clone()].fill(true);
    }
    let bytes = (0..depths.len()).filter(|at| in_array[*at]).map(complete).fold(0, u64::saturating_add);
    if bytes <= MAX_TABLE_BYTES {
        return None;
    }
    let (leaf, _) = arrays.max_by_key(|(leaf, leaf_loop)| {
        (depths[leaf_loop.trees.clone()].iter().max().copied(), std::cmp::Reverse(leaf.0))
    })?;
    let (ids, step) = representation_of(builder, origin[leaf.0 as usize])?;
    Some(Illegal::at(step, Problem::LayoutTooLarge { bytes, limit: MAX_TABLE_BYTES }, ids))
}

/// Whether the exact count is worthwhile. For most models it is not.
fn may_be_large(builder: &NestBuilder, loops: &[LoopId], trees: &PaddedTrees, deepest: u32) -> bool {
    let count = trees.order.len() as u64;
    let bytes = match trees.tiles {
        // A tree has no more leaves than nodes, and a leaf needs at most one tile for each step.
        Some(_) => {
            let nodes = trees.model.least_nodes(count);
            nodes.saturating_mul(deepest.into()).saturating_mul(PADDED_TILE_BYTES)
        }
        None => count.saturating_mul(complete_nodes(deepest)).saturating_mul(PADDED_NODE_BYTES),
    };
    if bytes <= MAX_TABLE_BYTES {
        return false;
    }
    let asks = |id: &LoopId| {
        let annotations = &builder.node(*id).annotations;
        annotations.iter().any(|(annotation, _)| match annotation {
            Annotation::UnrollWalk(_) => true,
            Annotation::Layout(layout) => has_complete_trees(*layout),
            _ => false,
        })
    };
    builder.forest().layout().is_some_and(has_complete_trees) || loops.iter().any(asks)
}

/// Whether the layout completes each tree to the tree's depth. Straight layouts complete all trees to one
/// depth, which counts as padding.
fn completes_each_tree(layout: Layout) -> bool {
    has_complete_trees(layout) && !layout.has_straight_line_walks()
}

pub(super) fn has_complete_trees(layout: Layout) -> bool {
    layout.nodes() == Nodes::Complete
}

/// The `unrollWalk` that applies to a leaf loop: the innermost around it.
fn unroll_walk_of(builder: &NestBuilder, leaf: LoopId) -> Option<(LoopId, DirectiveIndex)> {
    let unrolls = |annotation: &Annotation| matches!(annotation, Annotation::UnrollWalk(_));
    innermost(builder, leaf, |node| node.directive_of(unrolls))
}

/// The `representation` that applies to a leaf loop, and its loop if it names one.
pub(super) fn representation_of(
    builder: &NestBuilder,
    leaf: LoopId,
) -> Option<(Vec<LoopId>, DirectiveIndex)> {
    innermost(builder, leaf, LoopNode::layout)
        .map(|(id, (_, step))| (vec![id], step))
        .or_else(|| builder.forest().layout_setting().map(|(_, step)| (Vec::new(), step)))
}
