//! The features that copies of rows hold, if these are not all features.
//!
//! Transposed copies hold the features that some tree tests which reads such a copy. So do copies of values
//! in the shared memory of a GPU, if some feature is not tested: a row of 2000 features of which 300 are
//! tested takes 1,200 bytes instead of 8,000, and a block has room for more rows. The nodes of trees that
//! read such copies name columns of the copy.

use super::CopyPlan;
use crate::hir::Hir;
use crate::mir::{CacheId, WalkedRows, Walks};
use crate::rows::features::FeatureSubset;
use std::collections::{BTreeMap, BTreeSet};

/// Features that the `used` trees test, and features that linear leaves add if these read the rows of walks.
/// A feature may occur several times.
fn features_read(hir: &Hir, used: &[bool]) -> Vec<u32> {
    let mut read = FeatureSubset::tested(&hir.forest, used);
    if hir.linear_leaves_read_walked_rows() {
        let terms = hir.forest.linear.iter().flatten().flat_map(|leaf| &leaf.terms);
        read.extend(terms.map(|(feature, _)| *feature));
    }
    read
}

/// Lets shared copies of values hold all features, in the order of the input, if the walks that read these
/// copies read all features.
pub fn hold_all_if_all_are_read(hir: &Hir, loops: &[&Walks], copies: &mut BTreeMap<CacheId, CopyPlan>) {
    let holds_tested = |id: &CacheId| copies.get(id).is_some_and(|copy| copy.holds_tested);
    let mut used = vec![false; hir.forest.trees.len()];
    for walks in loops {
        if matches!(&walks.rows, WalkedRows::Cached(id) if holds_tested(id)) {
            used[walks.trees.clone()].fill(true);
        }
    }
    let read: BTreeSet<u32> = features_read(hir, &used).into_iter().collect();
    if read.len() >= hir.forest.num_features {
        copies.values_mut().for_each(|copy| copy.holds_tested = false);
    }
}

/// The features of copies that do not hold all features: those that the `used` trees test and that linear
/// leaves add. Transposed copies have them in pieces of adjacent features, shared copies one by one.
pub fn subset_of_copies(hir: &Hir, used: &[bool], are_shared: bool) -> FeatureSubset {
    let features = u32::try_from(hir.forest.num_features).unwrap_or(u32::MAX);
    // All computed columns are tested by some tree.
    if hir.columns.is_some() {
        return FeatureSubset::all(features);
    }
    let read = features_read(hir, used);
    if are_shared { FeatureSubset::single(features, read) } else { FeatureSubset::of(features, read) }
}
