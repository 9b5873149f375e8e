//! Random linear models: forests whose trees are single linear leaves.

use crate::forests::leaf_value;
use crate::schedules::Rng;
use sched_forest::{Forest, LinearLeaf, LinearMissing, NodeRef};

/// Most terms of a leaf whose features are random: enough that some leaves get a loop over terms instead of
/// unrolled code.
const MOST_TERMS: usize = 90;

/// The forest, in some cases with a linear leaf in place of each tree. The random choices depend on `seed`
/// alone, so that the other generators' cases stay unchanged.
pub fn with_linear_models(seed: u64, forest: Forest) -> Forest {
    let rng = &mut Rng(seed.wrapping_mul(0xa076_1d64_78bd_642f) ^ 0x2545_f491_4f6c_dd1d);
    let vectors = forest.has_leaf_vectors();
    if vectors || !rng.one_in(8) {
        return forest;
    }
    let mut parts = forest.into_parts();
    let (features, float) = (parts.num_features, parts.types.accumulator);
    let shared = rng.below(4);
    let drawn = |rng: &mut Rng| -> Vec<u32> {
        let most = [2, 7, 20, MOST_TERMS][rng.below(4)];
        (0..rng.below(most)).map(|_| rng.below(features) as u32).collect()
    };
    let common: Vec<u32> = match shared {
        0 => drawn(rng),
        1 => (0..MOST_TERMS).map(|term| (term % features) as u32).collect(),
        _ => (0..features as u32).collect(),
    };
    let differ = rng.one_in(3);
    parts.linear = Vec::with_capacity(parts.trees.len());
    for tree in &mut parts.trees {
        tree.inner.clear();
        tree.leaves.truncate(1);
        tree.root = NodeRef::Leaf(0);
        let terms = if differ { drawn(rng) } else { common.clone() };
        let constant = leaf_value(rng, float);
        let terms = terms.into_iter().map(|feature| (feature, leaf_value(rng, float))).collect();
        let leaf = LinearLeaf { constant, terms };
        parts.linear.push(if differ && rng.one_in(5) { Vec::new() } else { vec![leaf] });
    }
    parts.linear_missing = if rng.one_in(2) { LinearMissing::Nan } else { LinearMissing::LeafValue };
    Forest::new(parts).expect("the generator keeps the promises of a forest")
}
