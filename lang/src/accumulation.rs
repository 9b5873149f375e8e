//! Infers the order in which each row's sum adds the trees.
//!
//! The order is exact if the trees have the model's order and the tree loops on every path have lineage
//! order. Lineage order means that the outer loop of each tile is outside its inner loop, recursively. Halves
//! of a split are always siblings in order. A loop that iterates once does not affect the order, unless it is
//! a part of a split loop.
//!
//! Iterations of a parallel tree loop have separate sums. They are added in the order of the iterations,
//! after the outermost parallel loop around them ([`ParallelRegion`]). That is the model's order if each of
//! these sums is a single tree.
//!
//! A stage's sums add their terms in order, unless the loop over the terms is vectorized.

use crate::legality::stage::MOST_LANES;
use crate::lineage::{Annotation, LoopNode, NestBuilder};
use sched_nest::{Accumulation, Axis, GpuLevel, LoopId, TreeOrder};

/// Loops around a point of the nest.
#[derive(Clone, Copy, Default)]
struct EnclosingLoops {
    /// Innermost tree loop that iterates more than once.
    outer: Option<LoopId>,
    /// The parallel region around the point.
    concurrent: Option<ParallelRegion>,
}

/// State inside the outermost parallel loop.
#[derive(Clone, Copy, Default)]
struct ParallelRegion {
    /// The outermost parallel tree loop.
    trees: Option<LoopId>,
    /// Whether a loop on the path is mapped to threads of a block.
    on_block: bool,
    /// Whether a serial tree loop with several iterations is on the path. Outside of the loops over threads,
    /// it makes blocks add up their shared sums once in each of its iterations, which keeps the order.
    repeated_in_grid: bool,
    /// Whether a serial tree loop with several iterations is inside a loop over threads or a parallel tree
    /// loop, or is a part of a split loop.
    repeated: bool,
    /// Whether a parallel tree loop is mapped to blocks of the grid.
    trees_on_grid: bool,
    /// Whether the threads of a block add up sums in shared memory.
    shared: bool,
}

/// Execution of a loop's iterations.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Execution {
    Serial,
    Parallel,
    On(GpuLevel),
}

/// The order of accumulation of the current nest.
pub(crate) fn infer(builder: &NestBuilder) -> Accumulation {
    if builder.tree_order() == TreeOrder::ByDepth {
        return Accumulation::Reassociated("`sortTrees` changes the order of the trees.".to_owned());
    }
    if let Some(terms) = builder.tree().loops().into_iter().find(|id| has_terms_in_lanes(builder, *id)) {
        let name = builder.name(terms);
        return Accumulation::Reassociated(format!(
            "`{name}` is vectorized, so each lane adds up terms of its own."
        ));
    }
    let mut stack: Vec<(LoopId, EnclosingLoops)> =
        builder.tree().roots().iter().map(|id| (*id, EnclosingLoops::default())).collect();
    while let Some((id, mut path)) = stack.pop() {
        let node = builder.node(id);
        let several = node.axis == Axis::Tree && (builder.node(id).trips() != Some(1) || node.is_part);
        if several {
            if let Some(outer) = path.outer
                && builder.node(outer).lineage_path > node.lineage_path
            {
                let (outer, inner) = (builder.name(outer), builder.name(id));
                let why =
                    format!("`{outer}` runs outside `{inner}`, so trees are not added in the model's order.");
                return Accumulation::Reassociated(why);
            }
            path.outer = Some(id);
        }
        let run = run(node);
        path.concurrent = match (path.concurrent, run) {
            (None, Execution::Serial) => None,
            (around, _) => match enter_loop(around, builder, id, (run, several)) {
                Ok(inside) => Some(inside),
                Err(why) => return Accumulation::Reassociated(why),
            },
        };
        stack.extend(builder.tree().inside(id).children().map(|child| (child, path)));
    }
    Accumulation::Exact
}

/// Whether a loop has the terms of a stage's sums in the lanes of vectors.
fn has_terms_in_lanes(builder: &NestBuilder, id: LoopId) -> bool {
    let node = builder.node(id);
    // Fewer terms than lanes are added one by one. Wide vectors become several shorter ones.
    let most = builder.most_trips(id).unwrap_or(i64::MAX);
    let in_lanes = |(annotation, _): &(Annotation, _)| match annotation {
        Annotation::Vectorize(Some(lanes)) => *lanes > 1 && i64::from((*lanes).min(MOST_LANES)) <= most,
        Annotation::Vectorize(None) => true,
        _ => false,
    };
    node.axis == Axis::Feature && node.annotations.iter().any(in_lanes)
}

fn run(node: &LoopNode) -> Execution {
    let runs = |annotation: &Annotation| match annotation {
        Annotation::Gpu(dimension) => Some(Execution::On(dimension.level)),
        Annotation::Parallel => Some(Execution::Parallel),
        _ => None,
    };
    node.annotations.iter().find_map(|(annotation, _)| runs(annotation)).unwrap_or(Execution::Serial)
}

/// The reason for another order of additions: the sums of a parallel tree loop are not single trees, or are
/// not added in order.
fn partial_sums(builder: &NestBuilder, trees: LoopId) -> String {
    let name = builder.name(trees);
    format!("`{name}` runs over trees in parallel, so partial sums are added up separately.")
}

/// Extends the path by a loop at or inside a parallel one.
///
/// # Errors
/// The reason why the loops of the path do not add trees in the model's order.
fn enter_loop(
    around: Option<ParallelRegion>,
    builder: &NestBuilder,
    id: LoopId,
    (run, several): (Execution, bool),
) -> Result<ParallelRegion, String> {
    let node = builder.node(id);
    let mut path = around.unwrap_or_default();
    let on_block = path.on_block || run == Execution::On(GpuLevel::Block);
    if node.axis == Axis::Tree && run != Execution::Serial {
        let is = |wanted: fn(&Annotation) -> bool| {
            node.annotations.iter().any(|(annotation, _)| wanted(annotation))
        };
        if is(|annotation| matches!(annotation, Annotation::AtomicReduce)) {
            let name = builder.name(id);
            return Err(format!(
                "`{name}` adds atomically, so the order of additions may differ from run to run."
            ));
        }
        // Walks of a group share one sum.
        let groups =
            is(|annotation| matches!(annotation, Annotation::Interleave(_) | Annotation::Vectorize(_)));
        // The sums of this loop are added after the outermost parallel loop, so after all parts inside that.
        let among_parts = around.is_some() && node.is_part;
        let nested = path.trees.is_some() && run == Execution::Parallel;
        path.shared |= is(|annotation| matches!(annotation, Annotation::SharedReduce));
        path.trees_on_grid |= run == Execution::On(GpuLevel::Grid);
        path.trees = path.trees.or(Some(id));
        if groups || among_parts || nested {
            return Err(partial_sums(builder, id));
        }
    } else if several {
        path.repeated |= path.on_block || path.trees.is_some() || node.is_part;
        path.repeated_in_grid = true;
    }
    path.on_block = on_block;
    let in_order = if path.shared {
        !path.repeated && !path.trees_on_grid
    } else {
        !path.repeated && !path.repeated_in_grid
    };
    let ends = builder.tree().inside(id).children().next().is_none();
    match path.trees.filter(|_| ends && !in_order) {
        Some(trees) => Err(partial_sums(builder, trees)),
        None => Ok(path),
    }
}
