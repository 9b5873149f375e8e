//! How often rows end in each leaf: what is likely in a forest.

use std::collections::BTreeMap;

use crate::forest::{Forest, Tree};
use crate::walk::{Real, WalkError, leaf_number};

/// How often each leaf of a forest was reached by some rows. Trees and leaves have the model's own numbers
/// ([`Tree::source`] and [`Leaf::source`](crate::Leaf::source)), so that a profile does not depend on how a forest lies in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Rows that were counted.
    pub rows: u64,
    /// For each tree, the hits of its leaves.
    pub trees: BTreeMap<u32, BTreeMap<u32, u64>>,
}

impl Profile {
    /// Walks every row down every tree and counts.
    ///
    /// # Errors
    /// [`WalkError::Ragged`] if the values are no whole number of rows.
    pub fn count<X: Real>(forest: &Forest, rows: &[X]) -> Result<Profile, WalkError> {
        let features = forest.num_features;
        if !rows.len().is_multiple_of(features) {
            return Err(WalkError::Ragged { values: rows.len(), features });
        }
        let mut trees = BTreeMap::new();
        for tree in &forest.trees {
            let mut hits = vec![0u64; tree.leaves.len()];
            for row in rows.chunks_exact(features) {
                hits[leaf_number(forest, tree, row) as usize] += 1;
            }
            let leaves = tree.leaves.iter().map(|leaf| leaf.source);
            trees.insert(tree.source, leaves.zip(hits).collect());
        }
        Ok(Profile { rows: (rows.len() / features) as u64, trees })
    }

    /// The hits of a tree's leaves, in the order of [`Tree::leaves`]; none if the profile does not have all of them.
    pub fn hits(&self, tree: &Tree) -> Option<Vec<u64>> {
        let leaves = self.trees.get(&tree.source)?;
        tree.leaves.iter().map(|leaf| leaves.get(&leaf.source).copied()).collect()
    }
}
