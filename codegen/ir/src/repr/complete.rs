//! Complete trees: what layouts share whose nodes are numbered level by level and whose leaves all have one depth.
//!
//! The root is 1, the children of `n` are `2n` and `2n + 1`. A node's entry is its number.

use super::Request;
use super::entries::Entries;
use super::packed::level_order;
use crate::error::CompileError;
use sched_forest::{Forest, Inner, NodeRef};
use std::ops::Deref;

/// Entries of a tree at least: wide vectors look up so many at once.
pub const SMALLEST: u64 = 16;

/// The entries of complete trees.
pub struct Complete {
    entries: Entries,
    /// The depth of each used tree; none for others.
    depths: Vec<Option<u32>>,
}

impl Deref for Complete {
    type Target = Entries;

    fn deref(&self) -> &Entries {
        &self.entries
    }
}

impl Complete {
    /// The used trees, behind so many tables of nodes.
    ///
    /// # Errors
    ///
    /// When 31 bits do not count the entries.
    pub fn new(request: &Request, first_table: usize) -> Result<Complete, CompileError> {
        let trees = request.used.iter().zip(request.depths);
        let depths: Vec<Option<u32>> = trees.map(|(used, (depth, _))| used.then_some(*depth)).collect();
        let size = |depth: u32| 1u64.checked_shl(depth).unwrap_or(u64::MAX).max(SMALLEST);
        let sizes = depths.iter().map(|depth| depth.map_or(0, size));
        Ok(Complete { entries: Entries::new(request, first_table, sizes)?, depths })
    }

    /// Edges to the deepest leaf.
    pub fn deepest(&self) -> u32 {
        self.depths.iter().flatten().max().copied().unwrap_or(0)
    }

    /// Builds the tables of leaves, and calls `write` with each inner node and its entry.
    pub fn encode(&self, forest: &Forest, mut write: impl FnMut(usize, &Inner)) -> [Vec<u8>; 3] {
        self.entries.encode(forest, |tree, at, start| {
            let first_leaf = self.depths[at].map_or(1, |depth| 1u64 << depth);
            let mut leaves = Vec::with_capacity(tree.leaves.len());
            for (number, node, _) in level_order(tree, 1, |n| (2 * n, 2 * n + 1)) {
                match node {
                    NodeRef::Inner(inner) => write(start + number as usize, &tree.inner[inner as usize]),
                    NodeRef::Leaf(leaf) => leaves.push((start + (number - first_leaf) as usize, leaf)),
                }
            }
            leaves
        })
    }

    /// The number of the first leaf, so many hops from the root if that is known.
    pub fn first_leaf(&self, hops: Option<u32>) -> i64 {
        1i64 << hops.unwrap_or_else(|| self.deepest()).min(40)
    }
}
