//! What a leaf loop costs, roughly: cycles of one core for one row and one tree.
//!
//! The figures compare plans for one model with each other. They know no caches and no processor, and are no
//! promise of a time.

use super::traversal::{BYTE_LANES, WalkInfo};
use crate::bytes::scalar;
use crate::hir::Hir;
use crate::lir::Scalar;
use crate::mir::Walks;
use crate::quantize::fetch::{FetchStrategy, LARGEST};
use crate::repr::traverse::Traversal;
use crate::repr::{IN_REGISTERS, add_pieces};
use sched_nest::{Axis, RowVectors};

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
/// Instructions to make the test of a level, and to count it into node numbers.
const LEVEL_TEST: f64 = 5.0;
/// Instructions to test one word of nodes, and to follow one bit of it.
const MASK_WORD: f64 = 12.0;
/// Lanes that an instruction works on.
const LANES: f64 = 16.0;

/// Bytes of a register.
const REGISTER: u64 = 64;
/// Most leaves whose numbers are bytes.
const MOST_BYTES: u64 = 1 << 8;
/// Instructions to get the place of a row's leaf vector out of a vector of them.
const PLACE: u64 = 4;
/// Instructions to load, add and store.
const ADD: u64 = 3;

/// Whether a leaf loop over vectors of rows adds leaf vectors margin by margin. Of each margin a tree's leaves are looked up
/// in registers, if they fit there; else each row's vector is added by itself.
pub fn adds_by_margin(hir: &Hir, walks: &Walks) -> bool {
    let trees = &hir.forest.trees;
    let sweeps = walks.layout.row_vectors() == RowVectors::Sweep;
    let most = trees.iter().map(|tree| tree.leaves.len() as u64).max().unwrap_or(1).next_power_of_two();
    let complete = walks.steps.to_leaf().map(|steps| 1u64 << steps.min(40));
    let bytes = hir.bins.as_ref().is_some_and(|bins| bins.element() == Scalar::I8);
    let leaves = if sweeps { Some(most) } else { complete.filter(|_| bytes && walks.lanes >= BYTE_LANES) };
    let element = u64::from(scalar(hir.forest.types.accumulator).bytes());
    let fits = |leaves: &u64| (2..=MOST_BYTES).contains(leaves) && leaves * element <= IN_REGISTERS;
    let Some(leaves) = leaves.filter(fits).filter(|_| walks.layout.is_coded()) else { return false };
    let margins = hir.forest.num_margins as u64;
    // A shuffle takes two registers of leaves; what several find is chosen from.
    let shuffles = 2 * (leaves * element).div_ceil(2 * REGISTER) - 1;
    let rows = REGISTER / element;
    let pieces = add_pieces(margins as i64, element as u32).len() as u64;
    margins * (shuffles + ADD) <= rows * (PLACE + ADD * pieces)
}

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
        Traversal::LevelTests { bytes } => {
            let registers = if *bytes { (lanes / 64.0).ceil() } else { registers };
            steps * registers * LEVEL_TEST / PER_CYCLE / lanes
        }
        Traversal::NodeSweep => {
            (leaves - 1.0).max(1.0) * SWEPT_NODE * (lanes / 64.0).ceil() / PER_CYCLE / lanes
        }
        Traversal::TestMask => ((leaves / 64.0).ceil() * MASK_WORD + STEP + steps) / PER_CYCLE,
        Traversal::NodeTiles => steps * (TILE_LATENCY / together).max(2.0 * STEP / PER_CYCLE),
    }
}
