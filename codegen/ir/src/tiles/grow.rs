//! Growth of tiles from their roots: chooses the nodes of each tile.

use sched_forest::{NodeRef, Tree};
use std::collections::VecDeque;

/// Percentage of a tree's hits that its most frequent leaves must have for the tree to be biased.
pub const LIKELY_HITS_PERCENT: u64 = 90;
/// Largest percentage of a biased tree's leaves that have [`LIKELY_HITS_PERCENT`] percent of the hits.
pub const LIKELY_LEAVES_PERCENT: u64 = 10;

/// Growth order of the tiles of a tree.
pub enum Growth {
    /// In level order.
    Uniform,
    /// Towards the child with most hits. Holds the hits of each inner node.
    Likely(Vec<u64>),
}

impl Growth {
    /// Growth by the number of rows that end at each leaf: towards the likely leaves if the tree is biased,
    /// else uniform.
    pub fn by_hits(tree: &Tree, hits: &[u64]) -> Growth {
        if !is_biased(hits) {
            return Growth::Uniform;
        }
        let mut passed = vec![0u64; tree.inner.len()];
        // Children come after their parents.
        for (at, inner) in tree.inner.iter().enumerate().rev() {
            let below = [inner.left, inner.right].map(|child| match child {
                NodeRef::Leaf(leaf) => hits.get(leaf as usize).copied().unwrap_or(0),
                NodeRef::Inner(inner) => passed.get(inner as usize).copied().unwrap_or(0),
            });
            passed[at] = below[0].saturating_add(below[1]);
        }
        Growth::Likely(passed)
    }

    /// The at most `most_nodes` nodes of the tile with this root, in level order.
    pub fn tile(&self, tree: &Tree, root: u32, most_nodes: usize) -> Vec<u32> {
        match self {
            Growth::Uniform => in_level_order(tree, root, most_nodes, |_| true),
            Growth::Likely(passed) => {
                let chosen = most_hit_nodes(tree, root, most_nodes, passed);
                in_level_order(tree, root, most_nodes, |node| chosen.contains(&node))
            }
        }
    }
}

/// Whether [`LIKELY_LEAVES_PERCENT`] percent of the leaves have [`LIKELY_HITS_PERCENT`] percent of the hits.
fn is_biased(hits: &[u64]) -> bool {
    let sum = |hits: &[u64]| hits.iter().map(|hits| u128::from(*hits)).sum::<u128>();
    let few = hits.len() * LIKELY_LEAVES_PERCENT as usize / 100;
    let mut most = hits.to_vec();
    most.sort_unstable_by_key(|hits| std::cmp::Reverse(*hits));
    let all = sum(hits);
    all > 0 && sum(&most[..few]) * 100 >= all * u128::from(LIKELY_HITS_PERCENT)
}

/// The inner children of a node, left to right.
fn inner_children(tree: &Tree, node: u32) -> impl Iterator<Item = u32> {
    let children = tree.inner.get(node as usize).map(|inner| [inner.left, inner.right]);
    children.into_iter().flatten().filter_map(|child| match child {
        NodeRef::Inner(inner) => Some(inner),
        NodeRef::Leaf(_) => None,
    })
}

/// The first `most_nodes` nodes from a root on, level by level. Children for which `test` is false are left
/// out, with their subtrees.
fn in_level_order(tree: &Tree, root: u32, most_nodes: usize, test: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut tile = Vec::with_capacity(most_nodes);
    let mut next = VecDeque::from([root]);
    while let Some(node) = next.pop_front().filter(|_| tile.len() < most_nodes) {
        tile.push(node);
        next.extend(inner_children(tree, node).filter(|child| test(*child)));
    }
    tile
}

/// At most `most_nodes` nodes from a root on: each time the child of chosen nodes with most hits; of equal
/// candidates, the one found first.
fn most_hit_nodes(tree: &Tree, root: u32, most_nodes: usize, hits: &[u64]) -> Vec<u32> {
    let mut tile = Vec::with_capacity(most_nodes);
    let mut open = vec![root];
    while tile.len() < most_nodes {
        let weight = |at: &usize| hits.get(open[*at] as usize).copied().unwrap_or(0);
        let Some(at) = (0..open.len()).max_by_key(|at| (weight(at), std::cmp::Reverse(*at))) else { break };
        let node = open.remove(at);
        tile.push(node);
        open.extend(inner_children(tree, node));
    }
    tile
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_leaves_with_most_hits_are_a_bias() {
        let one_of_ten = |hit: u64, others: u64| {
            let mut hits = vec![others; 10];
            hits[3] = hit;
            is_biased(&hits)
        };
        assert!(one_of_ten(1, 0));
        assert!(one_of_ten(81, 1), "exactly nine tenths");
        assert!(!one_of_ten(80, 1));
        assert!(!one_of_ten(0, 0), "nothing was counted");
        assert!(!is_biased(&[100, 0]), "one leaf of two is not few");
        assert!(is_biased(&[u64::MAX, 0, 0, 0, 0, 0, 0, 0, 0, 0, u64::MAX / 20]));
    }
}
