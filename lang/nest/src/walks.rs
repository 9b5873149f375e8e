//! The walks of a nest: the trees of each leaf loop, and how the schedule walks them.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::sym::Sym;
use crate::{Annotations, Axis, Body, Layout, LoopId, Nest};

/// Properties of the walks of a leaf loop. Annotations of enclosing loops are resolved: the innermost wins.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafLoop {
    /// A range of tree positions that covers every tree walked here.
    pub trees: Range<usize>,
    /// Number of straight-line steps; trees are padded to this depth.
    pub unrolled_steps: u32,
    /// Number of steps to peel.
    pub peeled_steps: u32,
    /// Number of levels whose nodes are all tested; at most `unrolled_steps`.
    pub speculated_levels: u32,
    /// Walks, or vectors of walks, advanced together.
    pub group: u32,
    /// Walks in one vector; 1 for none.
    pub lanes: u32,
    /// The layout of the trees walked here.
    pub layout: Layout,
    /// Largest number of nodes of a tile, which one step passes; 1 for single nodes.
    pub tile_nodes: u32,
}

/// A tree-loop bound that is still symbolic, so the range of trees is unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct UnknownBound(pub Sym);

fn constant(sym: &Sym) -> Result<i64, UnknownBound> {
    sym.as_int().ok_or_else(|| UnknownBound(sym.clone()))
}

/// All walks of a nest by leaf loop. `deepest` holds the depth of each tree in the order of the nest.
/// `layout` is the layout of walks without an annotation.
///
/// # Errors
/// When a bound of a tree loop is unknown.
pub fn leaf_loops(
    nest: &Nest,
    deepest: &[u32],
    layout: Layout,
) -> Result<BTreeMap<LoopId, LeafLoop>, UnknownBound> {
    let mut collector = Collector { nest, deepest, leaf_loops: BTreeMap::new() };
    let wanted = WalkAnnotations { unroll: None, peel: None, speculate: None, layout };
    for root in &nest.roots {
        collector.visit(*root, &mut Vec::new(), wanted)?;
    }
    straighten_levels(&mut collector.leaf_loops, deepest);
    Ok(collector.leaf_loops)
}

/// Extends the walks of some layouts ([`Layout::has_straight_line_walks`]) to straight-line code down to the
/// leaf. All trees of such a leaf loop are padded to the depth of the deepest one. Leaf loops may share
/// trees, so padding repeats until no depth changes.
fn straighten_levels(leaf_loops: &mut BTreeMap<LoopId, LeafLoop>, deepest: &[u32]) {
    let mut depths = deepest.to_vec();
    for leaf_loop in leaf_loops.values() {
        // Padding for other walks deepens trees too.
        depths[leaf_loop.trees.clone()]
            .iter_mut()
            .for_each(|depth| *depth = leaf_loop.unrolled_steps.max(*depth));
    }
    loop {
        let mut changed = false;
        for leaf_loop in
            leaf_loops.values_mut().filter(|leaf_loop| leaf_loop.layout.has_straight_line_walks())
        {
            let most = depths[leaf_loop.trees.clone()].iter().copied().max().unwrap_or(0);
            changed |= leaf_loop.unrolled_steps != most;
            leaf_loop.unrolled_steps = most;
            depths[leaf_loop.trees.clone()].fill(most);
        }
        if !changed {
            return;
        }
    }
}

/// Annotations of the loops around a walk; inner loops override outer ones.
#[derive(Clone, Copy)]
struct WalkAnnotations {
    /// Steps as straight-line code with padding.
    unroll: Option<u32>,
    /// Steps as straight-line code without padding.
    peel: Option<u32>,
    /// Levels whose nodes are tested at once.
    speculate: Option<u32>,
    layout: Layout,
}

impl WalkAnnotations {
    /// The annotations inside one more loop.
    fn refined(self, annotations: &Annotations) -> WalkAnnotations {
        WalkAnnotations {
            unroll: annotations.unroll_walk.or(self.unroll),
            peel: annotations.peel_walk.or(self.peel),
            speculate: annotations.speculate_walk.or(self.speculate),
            layout: annotations.representation.unwrap_or(self.layout),
        }
    }
}

struct Collector<'a> {
    nest: &'a Nest,
    deepest: &'a [u32],
    leaf_loops: BTreeMap<LoopId, LeafLoop>,
}

/// An enclosing loop and, in one case of a specialized loop, the value of the loop.
type EnclosingLoop = (LoopId, Option<i64>);

impl Collector<'_> {
    fn visit(
        &mut self,
        id: LoopId,
        path: &mut Vec<EnclosingLoop>,
        wanted: WalkAnnotations,
    ) -> Result<(), UnknownBound> {
        let this = self.nest.get(id);
        let wanted = wanted.refined(&this.annotations);
        path.push((id, None));
        match &this.body {
            Body::Walk => {
                let trees = self.tree_range(path)?;
                let deepest = self.deepest[trees.clone()].iter().copied().max().unwrap_or(0);
                let speculated_levels = wanted.speculate.unwrap_or(0).min(deepest);
                let leaf_loop = LeafLoop {
                    unrolled_steps: wanted.unroll.unwrap_or(0).min(deepest).max(speculated_levels),
                    peeled_steps: wanted.peel.unwrap_or(0).min(deepest),
                    speculated_levels,
                    group: this.annotations.interleave.unwrap_or(1).max(1),
                    lanes: this.annotations.vectorize.unwrap_or(1).max(1),
                    layout: wanted.layout,
                    tile_nodes: self.nest.tiles().map_or(1, |tiles| tiles.nodes),
                    trees,
                };
                self.leaf_loops.insert(id, leaf_loop);
            }
            Body::Seq(inner) => {
                for child in inner {
                    self.visit(*child, path, wanted)?;
                }
            }
            Body::Cases(cases) => {
                let (start, step) = (constant(&this.start)?, constant(&this.step)?);
                for (k, case) in cases.iter().enumerate() {
                    path.pop();
                    path.push((id, Some(start + step * k as i64)));
                    for child in case {
                        self.visit(*child, path, wanted)?;
                    }
                }
            }
        }
        path.pop();
        Ok(())
    }

    /// The hull of the tree numbers at the end of a path: from the sum of the smallest values to the sum of
    /// the largest ones, cut by the constraints on the path.
    fn tree_range(&self, path: &[EnclosingLoop]) -> Result<Range<usize>, UnknownBound> {
        let (mut low, mut high) = (0i64, 1i64);
        let mut on_path = BTreeMap::new();
        for (id, fixed) in path {
            let this = self.nest.get(*id);
            if this.axis != Axis::Tree {
                continue;
            }
            let (start, stop, step) = (constant(&this.start)?, constant(&this.stop)?, constant(&this.step)?);
            let last = if stop > start { start + (stop - 1 - start) / step * step } else { start };
            let (least, most) = fixed.map_or((start, last), |value| (value, value));
            on_path.insert(*id, least);
            low = low.saturating_add(least);
            high = high.saturating_add(most);
        }
        for constraint in &self.nest.constraints {
            let within = constraint.loops.iter().all(|id| on_path.contains_key(id));
            if within && constraint.loops.len() == on_path.len() {
                high = high.min(constant(&constraint.bound)?);
            }
        }
        let clamp = |n: i64| usize::try_from(n.max(0)).unwrap_or(usize::MAX).min(self.deepest.len());
        let (low, high) = (clamp(low), clamp(high));
        Ok(low..high.max(low))
    }
}
