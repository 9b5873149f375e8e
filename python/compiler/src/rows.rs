//! Rows for comparing a compiled model with its object.

use sched_forest::{Boundary, BoundaryOptions, Float, Forest, Predicate};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of rows on and beside thresholds.
const SOLVED_ROWS: usize = 24;
/// Maximum number of mixed rows: solved rows with more missing values. Features with sets of categories have
/// a member of any set, a value outside of all sets, or no value.
const MIXED_ROWS: usize = 24;
/// Maximum number of values in all rows together. Bounds the memory for models with very many features.
const MOST_VALUES: usize = 1 << 22;
/// Maximum number of inner nodes of the trees for which rows are solved, about 5 ms of work. Of larger
/// models, only every n-th tree is used.
const MOST_NODES: usize = 1 << 13;
/// Maximum number of members that are collected from a feature's sets of categories.
const MOST_MEMBERS: usize = 1 << 12;
/// Largest magnitude of values if leaves are linear. Products with larger values could overflow.
const MAX_LINEAR_VALUE: f64 = 1e6;

/// Rows for a comparison, and a bound of the magnitude of sums.
pub struct Probes {
    /// The values in row-major order.
    pub values: Vec<f64>,
    /// The sum over the trees of each tree's largest leaf, plus the largest base value.
    pub magnitude: f64,
}

impl Probes {
    /// Makes rows of a type for a forest. Values are finite, or NaN for missing ones.
    pub fn new(forest: &Forest, rows: Float) -> Probes {
        let features = forest.num_features;
        let count = (MOST_VALUES / features.max(1)).clamp(2, SOLVED_ROWS + MIXED_ROWS);
        let solved = solved(&sample_trees(forest), rows, count.div_ceil(2));
        let choices = mixed_values(forest);
        let mut values = solved.concat();
        for (number, row) in (0..count / 2).zip(solved.iter().cycle()) {
            values.extend(row.iter().enumerate().map(
                |(feature, value)| match choices.get(&(feature as u32)) {
                    Some(choices) => choices[(number + feature) % choices.len()],
                    None if (number + feature).is_multiple_of(4) => f64::NAN,
                    None => *value,
                },
            ));
        }
        if forest.has_linear_leaves() {
            values.iter_mut().for_each(|x| *x = x.clamp(-MAX_LINEAR_VALUE, MAX_LINEAR_VALUE));
        }
        Probes { values, magnitude: magnitude(forest) }
    }
}

/// Rows that [`Boundary`] solves; rows of zeros for a forest without tests.
fn solved(forest: &Forest, rows: Float, count: usize) -> Vec<Vec<f64>> {
    let mut boundary = Boundary::new(forest, BoundaryOptions { rows, finite: true });
    let mut made = Vec::with_capacity(count);
    for _ in 0..count {
        let mut row = vec![0.0; forest.num_features];
        if !boundary.next_row(&mut row) {
            row.fill(0.0);
        }
        made.push(row);
    }
    made
}

/// The forest, or a sample of its trees if it has too many nodes.
fn sample_trees(forest: &Forest) -> Cow<'_, Forest> {
    let nodes: usize = forest.trees.iter().map(|tree| tree.inner.len()).sum();
    if nodes <= MOST_NODES {
        return Cow::Borrowed(forest);
    }
    let mut fewer = forest.clone();
    let step = nodes.div_ceil(MOST_NODES);
    fewer.trees = std::mem::take(&mut fewer.trees).into_iter().step_by(step).collect();
    Cow::Owned(fewer)
}

/// For each feature with sets of categories, the values that mixed rows cycle through: members, a number
/// outside of all sets, and NaN.
fn mixed_values(forest: &Forest) -> BTreeMap<u32, Vec<f64>> {
    let mut members: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for node in forest.trees.iter().flat_map(|tree| &tree.inner) {
        if let Predicate::Member { set } = node.predicate {
            let known = members.entry(node.feature).or_default();
            let set = forest.sets.get(set as usize).map_or(&[][..], |set| set.members());
            known.extend(set.iter().take(MOST_MEMBERS.saturating_sub(known.len())));
        }
    }
    let of_feature = |known: &BTreeSet<u32>| {
        let step = known.len().div_ceil(MIXED_ROWS - 2).max(1);
        let mut values: Vec<f64> = known.iter().step_by(step).map(|it| f64::from(*it)).collect();
        values.push(known.last().map_or(0.0, |last| f64::from(*last) + 1.0));
        values.push(f64::NAN);
        values
    };
    members.iter().map(|(feature, known)| (*feature, of_feature(known))).collect()
}

fn magnitude(forest: &Forest) -> f64 {
    let largest = |values: &mut dyn Iterator<Item = f64>| values.map(f64::abs).fold(0.0, f64::max);
    let trees = forest.trees.iter().map(|tree| {
        let mut values = tree.leaves.iter().flat_map(|leaf| leaf.values.iter().copied());
        largest(&mut values)
    });
    trees.sum::<f64>() + largest(&mut forest.base.iter().copied())
}
