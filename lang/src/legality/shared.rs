//! Shared memory of a GPU block: cached rows, cached trees and shared partial sums together.

use std::collections::BTreeMap;

use super::find::layout_of;
use super::memory::{CompletedTrees, has_complete_trees};
use crate::device::Limits;
use crate::illegal::{Illegal, Problem, SharedMemoryUse};
use crate::lineage::{Annotation, DirectiveIndex, MAX_LANES, NestBuilder};
use sched_nest::{Axis, GpuLevel, Layout, LoopId, TreeOrder, margins_of_slot};

/// Smallest number of bytes of a partial sum.
const MIN_SUM_BYTES: u64 = 4;

pub(super) fn check(builder: &NestBuilder, limits: &Limits, problems: &mut Vec<Illegal>) {
    outside_launch(builder, problems);
    if builder.model().is_none() {
        return;
    }
    // Each outermost loop is a launch. Copies of a loop share memory.
    for root in builder.tree().roots() {
        let mut uses: BTreeMap<DirectiveIndex, (u64, LoopId)> = BTreeMap::new();
        for id in builder.tree().subtree(*root) {
            for (annotation, step) in &builder.node(id).annotations {
                let bytes = match (annotation, builder.node(id).axis) {
                    (Annotation::Cache, _) if !is_in_launch(builder, id) => None,
                    (Annotation::Cache, _) => working_set(builder, id),
                    (Annotation::SharedReduce, Axis::Tree) => partial_sums(builder, id),
                    _ => None,
                };
                let Some(bytes) = bytes else { continue };
                let most = uses.entry(*step).or_insert((0, id));
                if bytes > most.0 {
                    *most = (bytes, id);
                }
            }
        }
        let total = uses.values().map(|(bytes, _)| *bytes).fold(0, u64::saturating_add);
        let Some((step, (_, id))) =
            uses.iter().max_by_key(|(step, (bytes, _))| (*bytes, std::cmp::Reverse(**step)))
        else {
            continue;
        };
        let problem = if total > limits.gpu.shared_bytes {
            let uses = uses
                .iter()
                .map(|(step, (bytes, _))| SharedMemoryUse { step: *step, bytes: *bytes })
                .collect();
            Problem::SharedMemory {
                total,
                limit: limits.gpu.shared_bytes,
                uses,
                layout: complete_layout(builder, *id),
            }
        } else if total > limits.shared_everywhere {
            Problem::SharedMemoryUnsure { total, everywhere: limits.shared_everywhere }
        } else {
            continue;
        };
        problems.push(Illegal::argument(*step, 0, problem, vec![*id]));
    }
}

fn outside_launch(builder: &NestBuilder, problems: &mut Vec<Illegal>) {
    for id in builder.tree().loops() {
        let cached = builder.node(id).directive_of(|annotation| matches!(annotation, Annotation::Cache));
        if let Some(step) = cached.filter(|_| !is_in_launch(builder, id)) {
            problems.push(Illegal::argument(step, 0, Problem::CacheOutsideLaunch, vec![id]));
        }
    }
}

/// Smallest number of bytes that one iteration of `id` uses: rows of a row loop, trees of a tree loop. On a
/// GPU, all threads of the block count. `None` if unknown.
pub fn working_set(builder: &NestBuilder, id: LoopId) -> Option<u64> {
    let model = builder.model()?;
    let axis = builder.node(id).axis;
    let count = values(builder, id, axis)?;
    Some(match axis {
        // Sums have no loop that is cached.
        Axis::Unit | Axis::Feature => return None,
        Axis::Row if is_in_launch(builder, id) => {
            let features = if all_trees_read_copies(builder) { model.shared_features() } else { 1 };
            let bytes = |layout: Layout| match layout.compares_bins() {
                true => model.shared_bytes(layout),
                false => model.copied_value_bytes(layout).saturating_mul(features.into()),
            };
            count.saturating_mul(least_bytes(builder, id, bytes))
        }
        Axis::Row => count.saturating_mul(least_bytes(builder, id, |layout| model.copied_bytes(layout))),
        Axis::Tree => tree_bytes(builder, id, count, model.least_nodes(count)),
    })
}

/// Smallest number of bytes of the copied trees of an iteration of `id`, which walks `count` trees. For
/// layouts that store only existing nodes, the trees of an iteration are unknown, and the smallest ones, with
/// `nodes` nodes, give a lower bound. A copy of complete trees has room for the largest ones.
fn tree_bytes(builder: &NestBuilder, id: LoopId, count: u64, nodes: u64) -> u64 {
    let leaves: Vec<(LoopId, Layout)> = leaf_layouts(builder, id).collect();
    let complete = if leaves.iter().any(|(_, layout)| has_complete_trees(*layout)) {
        CompletedTrees::of(builder)
    } else {
        None
    };
    let bytes = |(leaf, layout): &(LoopId, Layout)| {
        let complete = complete.as_ref().filter(|_| has_complete_trees(*layout));
        let nodes = complete.map_or(nodes, |trees| trees.most_nodes(*leaf, *layout, count));
        nodes.saturating_mul(layout.node_bytes())
    };
    leaves.iter().map(bytes).min().unwrap_or(0)
}

/// Layout of complete trees of a cached loop over trees.
fn complete_layout(builder: &NestBuilder, id: LoopId) -> Option<Layout> {
    let mut layouts = leaf_layouts(builder, id).map(|(_, layout)| layout);
    layouts.find(|layout| builder.node(id).axis == Axis::Tree && has_complete_trees(*layout))
}

/// Smallest value of `bytes` over the layouts of the walks below a loop.
fn least_bytes(builder: &NestBuilder, id: LoopId, bytes: impl Fn(Layout) -> u64) -> u64 {
    leaf_layouts(builder, id).map(|(_, layout)| bytes(layout)).min().unwrap_or(0)
}

/// Leaf loops below a loop, with the layouts of their trees. Without an annotation, the compiler chooses a
/// layout whose nodes are records. Trees without nodes compare no bins: their rows are values.
fn leaf_layouts(builder: &NestBuilder, id: LoopId) -> impl Iterator<Item = (LoopId, Layout)> {
    let leaves = builder
        .tree()
        .subtree(id)
        .into_iter()
        .filter(|on| builder.tree().inside(*on).children().next().is_none());
    let has_nodes = builder.deepest() != Some(0);
    leaves.map(move |leaf| {
        let layout = layout_of(builder, leaf).map(|(layout, _)| layout);
        let layout = layout.filter(|layout| has_nodes || !layout.compares_bins());
        (leaf, layout.unwrap_or(Layout::Sparse))
    })
}

/// Whether all walks read copies of values, which then hold all tested features. If other walks read bins or
/// the rows themselves, the features that the remaining trees test are unknown.
fn all_trees_read_copies(builder: &NestBuilder) -> bool {
    let is_copied = |on: LoopId| {
        let is_cached = builder.node(on).directive_of(|annotation| matches!(annotation, Annotation::Cache));
        builder.node(on).axis == Axis::Row && is_cached.is_some()
    };
    let reads_copy = |(leaf, layout): (LoopId, Layout)| {
        let path = builder.tree().path(leaf);
        path.into_iter().any(is_copied) && !layout.compares_bins()
    };
    builder.tree().roots().iter().all(|root| leaf_layouts(builder, *root).all(reads_copy))
}

/// Whether a loop is part of a launch.
pub(super) fn is_in_launch(builder: &NestBuilder, id: LoopId) -> bool {
    builder.tree().path(id).into_iter().any(|on| builder.node(on).gpu_level() == Some(GpuLevel::Grid))
}

/// Number of rows or trees of all threads of a block in one iteration of `id`; `None` if unknown.
fn values(builder: &NestBuilder, id: LoopId, axis: Axis) -> Option<u64> {
    let mut sums = most_below(builder, id, axis)?;
    for on in builder.tree().path(id) {
        if builder.node(on).axis == axis && builder.node(on).gpu_level() == Some(GpuLevel::Block) {
            sums = sums.and(builder, on)?;
        }
    }
    sums.count()
}

/// Bounds on the number of different sums of loop values: their range, and the number of combinations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SumBounds {
    span: i64,
    combinations: i64,
}

impl SumBounds {
    const ONE: SumBounds = SumBounds { span: 0, combinations: 1 };

    fn and(self, builder: &NestBuilder, id: LoopId) -> Option<SumBounds> {
        Some(SumBounds {
            span: self.span.checked_add(last_offset(builder, id)?)?,
            combinations: self.combinations.saturating_mul(builder.node(id).trips()?.max(1)),
        })
    }

    fn count(self) -> Option<u64> {
        u64::try_from(self.span.checked_add(1)?.min(self.combinations)).ok()
    }
}

/// Largest bounds of the loops of this axis below `id`, over all paths.
fn most_below(builder: &NestBuilder, id: LoopId, axis: Axis) -> Option<SumBounds> {
    let mut most = SumBounds::ONE;
    let mut stack: Vec<(LoopId, SumBounds)> =
        builder.tree().inside(id).children().map(|child| (child, SumBounds::ONE)).collect();
    while let Some((at, mut sums)) = stack.pop() {
        if builder.node(at).axis == axis {
            sums = sums.and(builder, at)?;
        }
        most = most.max(sums);
        stack.extend(builder.tree().inside(at).children().map(|child| (child, sums)));
    }
    Some(most)
}

/// Distance from a loop's first value to its last one.
fn last_offset(builder: &NestBuilder, id: LoopId) -> Option<i64> {
    let stride = builder.node(id).step.as_int()?;
    builder.node(id).trips()?.checked_sub(1)?.max(0).checked_mul(stride)
}

/// Bytes of partial sums: one slot for each iteration of the tree loops over threads, with a sum for each row
/// of the block and each margin of a slot.
fn partial_sums(builder: &NestBuilder, id: LoopId) -> Option<u64> {
    let model = builder.model()?;
    let on_block = |on: &LoopId| shares_trees(builder, *on);
    let shares = |on: &LoopId| {
        let is = |annotation: &Annotation| matches!(annotation, Annotation::SharedReduce);
        *on != id && on_block(on) && builder.node(*on).directive_of(is).is_some()
    };
    if builder.tree().path(id).iter().any(shares) {
        // The outer loop has slots for both.
        return None;
    }
    let around = builder.tree().path(id).into_iter().filter(on_block);
    let mut slots = 1_u64;
    for on in around {
        slots = slots.saturating_mul(slots_of_loop(builder, on)?);
    }
    let mut most_inside = 1;
    for (leaf, _) in leaf_layouts(builder, id) {
        let path = builder.tree().path(leaf).into_iter();
        let inside = path.skip_while(|on| *on != id).skip(1).filter(on_block);
        let trips: Option<Vec<u64>> =
            inside.map(|on| u64::try_from(builder.node(on).trips()?).ok()).collect();
        most_inside = most_inside.max(trips?.into_iter().fold(1, u64::saturating_mul));
    }
    slots = slots.saturating_mul(most_inside);
    // Serial loops over rows around the threads run one after the other.
    let is_thread = |on: &LoopId| builder.node(*on).gpu_level() == Some(GpuLevel::Block);
    let outermost = builder.tree().path(id).into_iter().find(is_thread)?;
    let rows = values(builder, outermost, Axis::Row)?;
    let margins = margins_of_slots(builder, id).unwrap_or(model.num_classes.max(1).into());
    let bytes = u64::from(model.sum_bytes).max(MIN_SUM_BYTES);
    Some(slots.saturating_mul(rows).saturating_mul(margins).saturating_mul(bytes))
}

/// Least number of slots of a loop over trees whose iterations are threads of a block.
fn slots_of_loop(builder: &NestBuilder, id: LoopId) -> Option<u64> {
    let trips = u64::try_from(builder.node(id).trips()?).ok()?;
    let together = builder.node(id).annotations.iter().map(|(annotation, _)| match annotation {
        Annotation::Interleave(count) | Annotation::Vectorize(count) => count.unwrap_or(MAX_LANES),
        _ => 1,
    });
    let together = together.map(|count| u64::from(count.max(1))).fold(1, u64::saturating_mul);
    Some(trips.div_ceil(together))
}

/// Whether the iterations of a loop over trees are threads of a block.
fn shares_trees(builder: &NestBuilder, id: LoopId) -> bool {
    builder.node(id).axis == Axis::Tree && builder.node(id).gpu_level() == Some(GpuLevel::Block)
}

/// Margins of the slots of a loop whose iterations are threads of a block, if trees add to the margins in
/// turn: most of those on the paths to its leaf loops. `None` if a bound is unknown, if a loop over trees
/// does not begin at a multiple of the margins, or if an iteration of a thread has several trees.
fn margins_of_slots(builder: &NestBuilder, id: LoopId) -> Option<u64> {
    let model = builder.model().filter(|model| model.takes_margins_in_turn)?;
    let is_sorted = model.depths.iter().is_sorted();
    if builder.tree_order() != TreeOrder::Model && !is_sorted {
        return None;
    }
    let margins = u64::from(model.num_classes.max(1));
    let has_several = |on: &LoopId| {
        let is = |annotation: &Annotation| {
            matches!(annotation, Annotation::Interleave(_) | Annotation::Vectorize(_))
        };
        builder.node(*on).directive_of(is).is_some()
    };
    let mut most = 1;
    for (leaf, _) in leaf_layouts(builder, id) {
        let (mut slots, mut others) = (Vec::new(), Vec::new());
        for on in builder.tree().path(leaf).into_iter().filter(|on| builder.node(*on).axis == Axis::Tree) {
            let node = builder.node(on);
            let start = u64::try_from(node.start.as_int()?).ok().filter(|start| start % margins == 0);
            let step = u64::try_from(node.step.as_int()?).ok().filter(|_| start.is_some())?;
            match shares_trees(builder, on) {
                true if has_several(&on) => return None,
                true => slots.push((step, u64::try_from(node.trips()?).ok()?)),
                false if node.trips() == Some(1) => {}
                false => others.push(step),
            }
        }
        most = most.max(margins_of_slot(margins, &slots, &others));
    }
    Some(most)
}
