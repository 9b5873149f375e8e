//! How much memory the trees of a model take, as far as depths tell: the checker refuses with these numbers what code
//! generation would refuse later, and code generation uses the same ones.

use std::collections::BTreeMap;

use crate::nest::LoopId;
use crate::options::ModelFacts;
use crate::walks::Site;

/// Most bytes of all tables of a model together, unless the caller of the code generator says otherwise.
pub const TABLES: u64 = 1 << 30;
/// Bytes that one padded node is reckoned at, whatever the layout.
pub const PADDED_NODE: u64 = 16;
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
pub fn padded_depths(sites: &BTreeMap<LoopId, Site>, trees: usize) -> Vec<u32> {
    let mut wanted = vec![0; trees];
    for site in sites.values() {
        for depth in wanted.get_mut(site.trees.clone()).into_iter().flatten() {
            *depth = site.unroll.max(*depth);
        }
    }
    wanted
}

impl ModelFacts {
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
