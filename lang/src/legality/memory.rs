//! Whether the model's tables fit in memory: padding for `unrollWalk` and complete trees for `representation`.

use super::find;
use crate::directives::LayoutName;
use crate::footprint::{LEAST_RECORD, PADDED_NODE, TABLES, complete_nodes, padded_depths};
use crate::illegal::{Illegal, Problem};
use crate::lineage::{Builder, Stated, Step};
use crate::nest::{Layout, LoopId, TreeOrder};
use crate::options::ModelFacts;
use crate::walks;

pub(super) fn check(builder: &Builder, loops: &[LoopId], problems: &mut Vec<Illegal>) {
    let (Some(model), Some(deepest)) = (&builder.model, builder.deepest) else { return };
    // Padding a tree of tiles takes one tile a hop, and how many hops there are is known when there are tiles.
    if builder.tile_trees.is_some_and(|(tiles, _)| tiles.nodes > 1) {
        return;
    }
    if !may_be_large(builder, loops, model, deepest) {
        return;
    }
    let (nest, origin) = builder.nest();
    // Where no layout is chosen the compiler takes one that fits.
    let layout = match builder.layout() {
        Some(LayoutName::Array) => Layout::Array,
        Some(LayoutName::Levels) => Layout::Levels,
        Some(LayoutName::Quantized) => Layout::Quantized,
        Some(LayoutName::Sparse | LayoutName::Reorg) | None => Layout::Sparse,
    };
    let mut order: Vec<usize> = (0..model.depths.len()).collect();
    if builder.order == TreeOrder::ByDepth {
        order.sort_by_key(|tree| model.depths[*tree]);
    }
    let depths: Vec<u32> = order.iter().map(|tree| model.depths[*tree]).collect();
    let Ok(sites) = walks::collect(&nest, &depths, layout) else { return };
    let padded = padded_depths(&sites, depths.len());
    let bytes_of = |positions: &mut dyn Iterator<Item = usize>, bytes: &dyn Fn(usize) -> u64| {
        positions.map(bytes).fold(0_u64, u64::saturating_add)
    };
    let padding = |at: usize| model.padding(order[at], padded[at]).saturating_mul(PADDED_NODE);
    let bytes = bytes_of(&mut (0..depths.len()), &padding);
    if bytes > TABLES {
        let widest = sites.iter().max_by_key(|(_, site)| {
            let all = bytes_of(&mut site.trees.clone(), &|at| model.padding(order[at], site.unroll));
            (all, std::cmp::Reverse(site.trees.start))
        });
        let Some((leaf, site)) = widest else { return };
        let leaf = origin[leaf.0 as usize];
        if site.layout.is_complete() {
            // Its walks go straight to the leaf whatever they are asked for.
            if let Some((ids, step)) = laid_out(builder, leaf) {
                problems.push(Illegal::at(step, Problem::LayoutTooLarge { bytes, limit: TABLES }, ids));
            }
        } else if let Some((id, step)) = unrolled(builder, leaf) {
            let most = most_hops(&sites, model, &order);
            let problem = Problem::PaddingTooLarge { bytes, limit: TABLES, most };
            problems.push(Illegal::argument(step, 1, problem, vec![id]));
        }
        return;
    }
    let mut in_array = vec![false; depths.len()];
    let arrays = sites.iter().filter(|(_, site)| site.layout == Layout::Array);
    for (_, site) in arrays.clone() {
        in_array[site.trees.clone()].fill(true);
    }
    let complete = |at: usize| complete_nodes(padded[at].max(depths[at])).saturating_mul(LEAST_RECORD);
    let bytes = bytes_of(&mut (0..depths.len()).filter(|at| in_array[*at]), &complete);
    if bytes > TABLES {
        let largest = arrays.max_by_key(|(leaf, site)| {
            (depths[site.trees.clone()].iter().max().copied(), std::cmp::Reverse(leaf.0))
        });
        let stated = largest.and_then(|(leaf, _)| laid_out(builder, origin[leaf.0 as usize]));
        if let Some((ids, step)) = stated {
            problems.push(Illegal::at(step, Problem::LayoutTooLarge { bytes, limit: TABLES }, ids));
        }
    }
}

/// A quick look whether the exact reckoning is worth while: for nearly all models it is not.
fn may_be_large(builder: &Builder, loops: &[LoopId], model: &ModelFacts, deepest: u32) -> bool {
    let trees = model.depths.len() as u64;
    let node = complete_nodes(deepest).saturating_mul(PADDED_NODE);
    if trees.saturating_mul(node) <= TABLES {
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

fn has_complete_trees(layout: LayoutName) -> bool {
    matches!(layout, LayoutName::Array | LayoutName::Levels | LayoutName::Quantized)
}

/// The largest number of hops that all walks may ask for, by what is known of the trees.
fn most_hops(
    sites: &std::collections::BTreeMap<LoopId, walks::Site>,
    model: &ModelFacts,
    order: &[usize],
) -> u32 {
    let fits = |hops: u32| {
        let mut sites = sites.clone();
        sites.values_mut().for_each(|site| site.unroll = site.unroll.min(hops));
        let padded = padded_depths(&sites, order.len());
        let nodes = order.iter().zip(padded).map(|(tree, depth)| model.padding(*tree, depth));
        nodes.fold(0_u64, u64::saturating_add).saturating_mul(PADDED_NODE) <= TABLES
    };
    (1..=crate::lineage::MAX_HOPS).take_while(|hops| fits(*hops)).last().unwrap_or(0)
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
