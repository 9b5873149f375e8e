//! How much memory the trees of a model take, as far as depths tell: the checker refuses with these numbers what code
//! generation would refuse later, and code generation uses the same ones.

use std::collections::BTreeMap;

use crate::ModelInfo;
use crate::walks::LeafLoop;
use crate::{LoopId, TileTrees};

/// Most bytes of all tables of a model together, unless the caller of the code generator says otherwise.
pub const TABLES: u64 = 1 << 30;
/// Bytes that one padded node is reckoned at, whatever the layout.
pub const PADDED_NODE: u64 = 16;
/// Bytes that one tile of padding is reckoned at, whatever the layout.
pub const PADDED_TILE: u64 = 64;
/// Bytes of the smallest record of a node.
pub const LEAST_RECORD: u64 = 8;

/// How many records a complete tree of this depth takes, one that is not used included.
pub fn complete_nodes(depth: u32) -> u64 {
    1_u64.checked_shl(depth.saturating_add(1)).unwrap_or(u64::MAX)
}

/// How many nodes are added when a tree with so many leaves at each depth is padded to `depth`: each leaf above it
/// becomes a complete subtree.
pub fn padding(leaves: impl IntoIterator<Item = (u32, u64)>, depth: u32) -> u64 {
    let added = |(leaf, count): (u32, u64)| match depth.saturating_sub(leaf) {
        0 => 0,
        levels => (complete_nodes(levels) - 2).saturating_mul(count),
    };
    leaves.into_iter().map(added).fold(0, u64::saturating_add)
}

/// The depth to which each of so many trees is padded for straight-line walks: the largest that a walk of it asks for.
pub fn padded_depths(leaf_loops: &BTreeMap<LoopId, LeafLoop>, trees: usize) -> Vec<u32> {
    let mut wanted = vec![0; trees];
    for leaf_loop in leaf_loops.values() {
        for depth in wanted.get_mut(leaf_loop.trees.clone()).into_iter().flatten() {
            *depth = leaf_loop.unroll.max(*depth);
        }
    }
    wanted
}

/// Steps from tile to tile to the deepest leaf of any tree that has this depth in nodes and so many leaves, at least.
pub fn least_steps(tiles: TileTrees, depth: u32, leaves: u64) -> u32 {
    let nodes = tiles.nodes.max(1);
    // Every step passes at most all nodes of a tile, and leads to at most one child more than it has nodes.
    let mut steps = depth.div_ceil(nodes).max(1);
    while (u64::from(nodes) + 1).saturating_pow(steps) < leaves {
        steps += 1;
    }
    steps
}

/// Steps from tile to tile to a leaf at this depth in nodes, at most.
pub fn most_steps(tiles: TileTrees, depth: u32) -> u32 {
    // A uniform tile has every node of the levels for which it has room; a likely one may pass by all but its root.
    let levels = if tiles.by_probability { 1 } else { tiles.nodes.saturating_add(1).ilog2().max(1) };
    depth.div_ceil(levels).max(1)
}

impl ModelInfo {
    /// Steps from tile to tile to the deepest leaf of a tree, at least.
    pub fn least_steps(&self, tree: usize, tiles: TileTrees) -> u32 {
        let depth = self.depths.get(tree).copied().unwrap_or(0);
        least_steps(tiles, depth, self.nodes(tree) / 2 + 1)
    }

    /// How many tiles padding a tree to so many steps adds, at least: how tiles lie depends on the tree's shape.
    pub fn tile_padding(&self, tree: usize, tiles: TileTrees, steps: u32) -> u64 {
        let missing = |depth: u32| u64::from(steps.saturating_sub(most_steps(tiles, depth)));
        if let Some(leaves) = self.leaves.get(tree) {
            let each =
                leaves.iter().zip(0..).map(|(count, depth)| missing(depth).saturating_mul((*count).into()));
            return each.fold(0, u64::saturating_add);
        }
        // It has one leaf more than levels, and none is deeper.
        self.depths.get(tree).map_or(0, |depth| missing(*depth).saturating_mul(u64::from(*depth) + 1))
    }

    /// How many nodes padding a tree to `depth` adds; at least so many where only the tree's depth is known.
    pub fn padding(&self, tree: usize, depth: u32) -> u64 {
        if let Some(leaves) = self.leaves.get(tree) {
            return padding(
                leaves.iter().enumerate().map(|(at, count)| (at as u32, u64::from(*count))),
                depth,
            );
        }
        match self.depths.get(tree) {
            // A tree has at most the leaves of a complete one, and every other one needs more.
            Some(own) if *own <= depth => complete_nodes(depth).saturating_sub(complete_nodes(*own)),
            _ => 0,
        }
    }

    /// How many nodes a tree has, leaves included; at least so many where only its depth is known.
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
