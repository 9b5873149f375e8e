//! What a leaf loop costs, roughly: cycles of one core for one row and one tree.
//!
//! The figures compare plans for one model with each other. They know no caches and no processor, and are no
//! promise of a time.

use super::traversal::WalkInfo;
use crate::quantize::fetch::{FetchStrategy, LARGEST};
use crate::repr::traverse::Traversal;
use sched_nest::Axis;

/// Instructions that a core finishes in a cycle.
const PER_CYCLE: f64 = 3.0;
/// Cycles from a node to its child: two loads, of which one waits for the other, a comparison and an address.
const STEP_LATENCY: f64 = 16.0;
/// Instructions of a step.
const STEP: f64 = 9.0;
/// Cycles from a tile of nodes to the next: four loads that wait for each other, and the tests.
const TILE_LATENCY: f64 = 34.0;
/// Instructions of a step of a vector, beside what it looks up or gathers.
const VECTOR_STEP: f64 = 6.0;
/// Instructions to test one node for a vector of bytes.
const SWEPT_NODE: f64 = 7.0;
/// Instructions to test one word of nodes, and to follow one bit of it.
const MASK_WORD: f64 = 12.0;
/// Lanes that an instruction works on.
const LANES: f64 = 16.0;

/// Cycles for one row and one tree, on average over the trees of the loop.
pub fn cycles(info: &WalkInfo, traversal: &Traversal) -> f64 {
    let walks = info.walks;
    let trees = &info.hir.forest.trees[walks.trees.clone()];
    let count = trees.len().max(1) as f64;
    let leaves = trees.iter().map(|tree| tree.leaves.len()).sum::<usize>() as f64 / count;
    let depths = &info.hir.depths[walks.trees.clone()];
    let deepest = depths.iter().map(|(deepest, _)| f64::from(*deepest)).sum::<f64>() / count;
    let steps = walks.steps.to_leaf().map_or(deepest, f64::from);
    let lanes = f64::from(walks.lanes);
    // Registers that hold all lanes.
    let registers = (lanes / LANES).ceil();
    let together = f64::from(walks.group);
    match traversal {
        Traversal::PointerChase | Traversal::PackedRows if walks.lanes == 1 => {
            steps * (STEP_LATENCY / together).max(STEP / PER_CYCLE)
        }
        Traversal::PointerChase | Traversal::PackedRows | Traversal::TreeLanes => {
            let gathers =
                if walks.over == Axis::Tree && info.row_table(traversal).is_some() { 1.0 } else { 2.0 };
            let gather = FetchStrategy::Gather.cost(0, 0, 16) as f64;
            steps * registers * (gathers * gather + VECTOR_STEP) / PER_CYCLE / lanes
        }
        Traversal::LevelLookup { fetch, .. } => {
            let level = |(level, fetch): (u32, &FetchStrategy)| {
                let nodes = 1u64 << level.min(LARGEST.ilog2());
                let columns = info.rows.columns.try_into().unwrap_or(u32::MAX);
                fetch.cost(nodes, columns, walks.lanes as u16) as f64 + VECTOR_STEP * registers
            };
            (0..).zip(fetch).map(level).sum::<f64>() / PER_CYCLE / lanes
        }
        Traversal::NodeSweep => {
            (leaves - 1.0).max(1.0) * SWEPT_NODE * (lanes / 64.0).ceil() / PER_CYCLE / lanes
        }
        Traversal::TestMask => ((leaves / 64.0).ceil() * MASK_WORD + STEP + steps) / PER_CYCLE,
        Traversal::NodeTiles => steps * (TILE_LATENCY / together).max(2.0 * STEP / PER_CYCLE),
    }
}
