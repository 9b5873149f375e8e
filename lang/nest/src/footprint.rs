//! Memory of a model's trees, as far as their depths determine it. The checker refuses schedules by these
//! numbers. The code generator would refuse the same ones, by the same numbers.

use std::collections::BTreeMap;

use crate::ModelInfo;
use crate::walks::LeafLoop;
use crate::{LoopId, TileTrees};

/// Largest number of bytes of all tables of a model, unless the caller of the code generator sets another.
pub const MAX_TABLE_BYTES: u64 = 1 << 30;
/// Estimated bytes of one node of padding, in any layout.
pub const PADDED_NODE_BYTES: u64 = 16;
/// Estimated bytes of one tile of padding, in any layout.
pub const PADDED_TILE_BYTES: u64 = 64;
/// Bytes of the smallest record of a node.
pub const MIN_RECORD_BYTES: u64 = 8;

/// Most complete levels of a tree in `hybrid`: the last of these levels has 64 nodes of 16 bits, which all
/// banks of a GPU's shared memory, or a line of its first-level cache, deliver at once.
pub const MOST_TOP_LEVELS: u32 = 7;

/// Number of complete levels at the top of `trees` trees with `leaves` leaves in all, in `hybrid`: those of a
/// complete tree with no more leaves than the mean tree has, at most [`MOST_TOP_LEVELS`].
pub fn top_levels(trees: u64, leaves: u64) -> u32 {
    let mean = leaves / trees.max(1);
    mean.checked_ilog2().unwrap_or(0).min(MOST_TOP_LEVELS)
}

/// Number of records of a complete tree of this depth, including one unused record.
pub fn complete_nodes(depth: u32) -> u64 {
    1_u64.checked_shl(depth.saturating_add(1)).unwrap_or(u64::MAX)
}

/// Number of nodes added by padding a tree to `depth`. `leaves` yields depths and the number of leaves there.
/// Each leaf above `depth` becomes a complete subtree.
pub fn padding(leaves: impl IntoIterator<Item = (u32, u64)>, depth: u32) -> u64 {
    let added = |(leaf, count): (u32, u64)| match depth.saturating_sub(leaf) {
        0 => 0,
        levels => (complete_nodes(levels) - 2).saturating_mul(count),
    };
    leaves.into_iter().map(added).fold(0, u64::saturating_add)
}

/// Depth to which each of `trees` trees is padded for straight-line walks: the largest that any leaf loop
/// requests.
pub fn padded_depths(leaf_loops: &BTreeMap<LoopId, LeafLoop>, trees: usize) -> Vec<u32> {
    let mut wanted = vec![0; trees];
    for leaf_loop in leaf_loops.values() {
        for depth in wanted.get_mut(leaf_loop.trees.clone()).into_iter().flatten() {
            *depth = leaf_loop.unrolled_steps.max(*depth);
        }
    }
    wanted
}

/// Lower bound for the steps from tile to tile to the deepest leaf of a tree with `leaves` leaves. `depth` is
/// the tree's depth in nodes.
pub fn least_steps(tiles: TileTrees, depth: u32, leaves: u64) -> u32 {
    let nodes = tiles.nodes.max(1);
    // A step passes at most all nodes of a tile, whose children are at most one more than its nodes.
    let mut steps = depth.div_ceil(nodes).max(1);
    while (u64::from(nodes) + 1).saturating_pow(steps) < leaves {
        steps += 1;
    }
    steps
}

/// Upper bound for the steps from tile to tile to a leaf at `depth` nodes below the root.
pub fn most_steps(tiles: TileTrees, depth: u32) -> u32 {
    // A uniform tile contains all nodes of the levels that fit. A step may pass only the root of a likely
    // tile.
    let levels = if tiles.by_probability { 1 } else { tiles.nodes.saturating_add(1).ilog2().max(1) };
    depth.div_ceil(levels).max(1)
}

impl ModelInfo {
    /// Lower bound for the steps from tile to tile to the deepest leaf of a tree.
    pub fn least_steps(&self, tree: usize, tiles: TileTrees) -> u32 {
        let depth = self.depths.get(tree).copied().unwrap_or(0);
        least_steps(tiles, depth, self.nodes(tree) / 2 + 1)
    }

    /// Lower bound for the tiles added by padding a tree to `steps` steps. The exact number depends on the
    /// tree's shape.
    pub fn tile_padding(&self, tree: usize, tiles: TileTrees, steps: u32) -> u64 {
        let missing = |depth: u32| u64::from(steps.saturating_sub(most_steps(tiles, depth)));
        if let Some(leaves) = self.leaves.get(tree) {
            let each =
                leaves.iter().zip(0..).map(|(count, depth)| missing(depth).saturating_mul((*count).into()));
            return each.fold(0, u64::saturating_add);
        }
        // The tree has one leaf more than levels, and none is deeper.
        self.depths.get(tree).map_or(0, |depth| missing(*depth).saturating_mul(u64::from(*depth) + 1))
    }

    /// Number of nodes added by padding a tree to `depth`; a lower bound if only the tree's depth is known.
    pub fn padding(&self, tree: usize, depth: u32) -> u64 {
        if let Some(leaves) = self.leaves.get(tree) {
            return padding(
                leaves.iter().enumerate().map(|(at, count)| (at as u32, u64::from(*count))),
                depth,
            );
        }
        match self.depths.get(tree) {
            // A tree has at most the leaves of a complete one. Any other tree needs more padding.
            Some(own) if *own <= depth => complete_nodes(depth).saturating_sub(complete_nodes(*own)),
            _ => 0,
        }
    }

    /// Number of nodes of a tree, leaves included; a lower bound if only its depth is known.
    pub fn nodes(&self, tree: usize) -> u64 {
        match self.leaves.get(tree) {
            Some(leaves) => {
                let leaves: u64 = leaves.iter().map(|count| u64::from(*count)).sum();
                leaves.saturating_mul(2).saturating_sub(1)
            }
            None => self.depths.get(tree).map_or(0, |depth| u64::from(*depth) * 2 + 1),
        }
    }
}
