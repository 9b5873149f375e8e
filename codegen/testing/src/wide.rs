//! Forests that test few of many features.

use crate::schedules::Rng;
use sched_forest::{ComputedColumns, Forest};

/// The forest on rows of `features` features: feature `n` becomes feature `place(n)`, and the others are not
/// tested. The forest computes no columns.
pub fn with_features_at(forest: Forest, features: usize, place: impl Fn(u32) -> u32) -> Forest {
    let mut parts = forest.into_parts();
    parts.num_features = features;
    let nodes = parts.trees.iter_mut().flat_map(|tree| &mut tree.inner);
    nodes.for_each(|node| node.feature = place(node.feature));
    let terms = parts.linear.iter_mut().flatten().flat_map(|leaf| &mut leaf.terms);
    terms.for_each(|(feature, _)| *feature = place(*feature));
    Forest::new(parts).expect("the features are in range")
}

/// The forest, in some cases with features between those that it tests or adds. Forests with computed columns
/// stay unchanged. The random choices depend on `seed` alone, so that the other generators' cases stay
/// unchanged.
pub fn with_untested_features(seed: u64, forest: Forest) -> Forest {
    let rng = &mut Rng(seed.wrapping_mul(0x9e6c_63d0_876a_9a7b) ^ 0x2545_f491_4f6c_dd1d);
    if forest.computed != ComputedColumns::default() || rng.one_in(2) {
        return forest;
    }
    let most = [2, 3, 9][rng.below(3)];
    let mut features = rng.below(most);
    let places: Vec<u32> = (0..forest.num_features)
        .map(|_| {
            let place = features as u32;
            features += 1 + rng.below(most);
            place
        })
        .collect();
    with_features_at(forest, features, |feature| places[feature as usize])
}
