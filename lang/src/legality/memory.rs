//! Whether the model's tables fit in memory: padding for `unrollWalk` and complete trees for `representation`.

use std::collections::BTreeMap;

use super::find::find;
use crate::illegal::{Illegal, Problem};
use crate::lineage::{Builder, Stated, Step};
use sched_nest::footprint::{LEAST_RECORD, PADDED_NODE, PADDED_TILE, TABLES, complete_nodes, padded_depths};
use sched_nest::walks::{self, Site};
use sched_nest::{Layout, LoopId, ModelFacts, Nodes, TileTrees, TreeOrder};

type Sites = BTreeMap<LoopId, Site>;

pub(super) fn check(builder: &Builder, loops: &[LoopId], problems: &mut Vec<Illegal>) {
    let (Some(model), Some(deepest)) = (&builder.model, builder.deepest) else { return };
    let tiles = builder.tile_trees.map(|(tiles, _)| tiles).filter(|tiles| tiles.nodes > 1);
    let trees = Trees { model, order: order(model, builder.order), tiles };
    if !may_be_large(builder, loops, &trees, deepest) {
        return;
    }
    let (nest, origin) = builder.nest();
    // Where no layout is chosen the compiler takes one that fits.
    let layout = builder.layout().filter(|layout| layout.is_lowered()).unwrap_or(Layout::Sparse);
    let depths: Vec<u32> = (0..trees.order.len()).map(|at| trees.depth(at)).collect();
    let Ok(sites) = walks::collect(&nest, &depths, layout) else { return };
    // Complete trees hold no tiles, which has been said.
    if tiles.is_some() && sites.values().any(|site| site.layout.is_straight()) {
        return;
    }
    let padded = padded_depths(&sites, depths.len());
    let bytes = trees.padding(0..depths.len(), |at| padded[at]);
    if bytes > TABLES {
        problems.extend(too_much_padding(builder, &trees, &sites, &origin, bytes));
    } else if tiles.is_none() {
        let complete = |at: usize| complete_nodes(padded[at].max(depths[at])).saturating_mul(LEAST_RECORD);
        problems.extend(too_large_arrays(builder, &depths, &sites, &origin, complete));
    }
}

/// The trees of a model, in the order of the nest, and what padding them takes.
struct Trees<'m> {
    model: &'m ModelFacts,
    /// The number of each tree in the model.
    order: Vec<usize>,
    tiles: Option<TileTrees>,
}

fn order(model: &ModelFacts, order: TreeOrder) -> Vec<usize> {
    let mut trees: Vec<usize> = (0..model.depths.len()).collect();
    if order == TreeOrder::ByDepth {
        trees.sort_by_key(|tree| model.depths[*tree]);
    }
    trees
}

impl Trees<'_> {
    /// Hops to the deepest leaf of the tree at a position; where there are tiles, at least so many.
    fn depth(&self, at: usize) -> u32 {
        let tree = self.order[at];
        self.tiles.map_or_else(|| self.model.depths[tree], |tiles| self.model.least_hops(tree, tiles))
    }

    /// Bytes that are added when the trees at some positions are padded to so many hops.
    fn padding(&self, positions: impl IntoIterator<Item = usize>, hops: impl Fn(usize) -> u32) -> u64 {
        let bytes = |at: usize| {
            let (tree, hops) = (self.order[at], hops(at));
            match self.tiles {
                Some(tiles) => self.model.tile_padding(tree, tiles, hops).saturating_mul(PADDED_TILE),
                None => self.model.padding(tree, hops).saturating_mul(PADDED_NODE),
            }
        };
        positions.into_iter().map(bytes).fold(0, u64::saturating_add)
    }

    /// The largest number of hops that all walks may ask for, by what is known of the trees.
    fn most_hops(&self, sites: &Sites) -> u32 {
        let fits = |hops: u32| {
            let mut sites = sites.clone();
            sites.values_mut().for_each(|site| site.unroll = site.unroll.min(hops));
            let padded = padded_depths(&sites, self.order.len());
            self.padding(0..padded.len(), |at| padded[at]) <= TABLES
        };
        (1..=crate::lineage::MAX_HOPS).take_while(|hops| fits(*hops)).last().unwrap_or(0)
    }
}

/// What is said of padding that takes so many bytes, where the most of it is asked for.
fn too_much_padding(
    builder: &Builder,
    trees: &Trees,
    sites: &Sites,
    origin: &[LoopId],
    bytes: u64,
) -> Option<Illegal> {
    let (leaf, site) = sites.iter().max_by_key(|(_, site)| {
        (trees.padding(site.trees.clone(), |_| site.unroll), std::cmp::Reverse(site.trees.start))
    })?;
    let leaf = origin[leaf.0 as usize];
    if site.layout.is_straight() {
        // Its walks go straight to the leaf whatever they are asked for.
        let (ids, step) = laid_out(builder, leaf)?;
        return Some(Illegal::at(step, Problem::LayoutTooLarge { bytes, limit: TABLES }, ids));
    }
    let (id, step) = unrolled(builder, leaf)?;
    let problem = Problem::PaddingTooLarge { bytes, limit: TABLES, most: trees.most_hops(sites) };
    Some(Illegal::argument(step, 1, problem, vec![id]))
}

/// What is said of complete trees that take too many bytes, where the deepest are asked for.
fn too_large_arrays(
    builder: &Builder,
    depths: &[u32],
    sites: &Sites,
    origin: &[LoopId],
    complete: impl Fn(usize) -> u64,
) -> Option<Illegal> {
    let mut in_array = vec![false; depths.len()];
    let arrays = sites.iter().filter(|(_, site)| site.layout == Layout::Array);
    for (_, site) in arrays.clone() {
        in_array[site.trees.clone()].fill(true);
    }
    let bytes = (0..depths.len()).filter(|at| in_array[*at]).map(complete).fold(0, u64::saturating_add);
    if bytes <= TABLES {
        return None;
    }
    let (leaf, _) = arrays.max_by_key(|(leaf, site)| {
        (depths[site.trees.clone()].iter().max().copied(), std::cmp::Reverse(leaf.0))
    })?;
    let (ids, step) = laid_out(builder, origin[leaf.0 as usize])?;
    Some(Illegal::at(step, Problem::LayoutTooLarge { bytes, limit: TABLES }, ids))
}

/// A quick look whether the exact reckoning is worth while: for nearly all models it is not.
fn may_be_large(builder: &Builder, loops: &[LoopId], trees: &Trees, deepest: u32) -> bool {
    let count = trees.order.len() as u64;
    let bytes = match trees.tiles {
        // A tree has no more leaves than nodes, and a leaf needs at most one tile for each hop.
        Some(_) => {
            let nodes = trees.model.least_nodes(count);
            nodes.saturating_mul(deepest.into()).saturating_mul(PADDED_TILE)
        }
        None => count.saturating_mul(complete_nodes(deepest)).saturating_mul(PADDED_NODE),
    };
    if bytes <= TABLES {
        return false;
    }
    let asks = |id: &LoopId| {
        let facts = &builder.node(*id).facts;
        facts.iter().any(|(fact, _)| match fact {
            Stated::UnrollWalk(_) => true,
            Stated::Layout(layout) => has_complete_trees(*layout),
            _ => false,
        })
    };
    builder.layout().is_some_and(has_complete_trees) || loops.iter().any(asks)
}

fn has_complete_trees(layout: Layout) -> bool {
    layout.nodes() == Nodes::Complete
}

/// The `unrollWalk` that holds for a leaf loop: the innermost around it.
fn unrolled(builder: &Builder, leaf: LoopId) -> Option<(LoopId, Step)> {
    let asks = |fact: &Stated| matches!(fact, Stated::UnrollWalk(_)).then_some(());
    innermost(builder, leaf, asks)
}

/// The `representation` that holds for a leaf loop, and its loop if it names one.
fn laid_out(builder: &Builder, leaf: LoopId) -> Option<(Vec<LoopId>, Step)> {
    let asks = |fact: &Stated| matches!(fact, Stated::Layout(_)).then_some(());
    innermost(builder, leaf, asks)
        .map(|(id, step)| (vec![id], step))
        .or_else(|| builder.layout.map(|(_, step)| (Vec::new(), step)))
}

fn innermost(
    builder: &Builder,
    leaf: LoopId,
    asks: impl Fn(&Stated) -> Option<()>,
) -> Option<(LoopId, Step)> {
    let path = builder.path(leaf);
    path.iter().rev().find_map(|id| find(builder, *id, &asks).map(|((), step)| (*id, step)))
}
