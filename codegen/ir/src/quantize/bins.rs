//! Bins of a forest: small integers that replace thresholds and feature values in comparisons.
//!
//! The bin of a threshold is its index among the sorted distinct thresholds of its feature. The bin of
//! a feature value is the number of thresholds that it goes right of. So a value goes left of a
//! threshold exactly if its bin is at most the threshold's bin, and bins of 8 or 16 bits lose nothing.
//! A missing value has the lowest bin at nodes that send it left, and the highest bin at nodes that
//! send it right. A feature with nodes of both kinds has two columns of bins, and each node names the
//! column that it compares with.
//!
//! Bins are bytes if possible. Then a feature with more than 255 thresholds has a column for each run
//! of 255 of them, unless rows of 16-bit bins would be shorter.
//!
//! For vectors of rows, a binary search over each feature's thresholds finds the bins. For a single
//! row, smaller thresholds are counted in two passes: the last of each block first, then those of one
//! block. Features whose searches have the same depth form a group, which one loop quantizes.

use super::sets::{ClassSets, set_of};
use crate::bytes::{scalar, write_float};
use crate::codes;
use crate::error::CompileError;
use crate::fault::{Fault, seeded};
use crate::lir::{Cmp, Scalar};
use sched_forest::{Comparison, Forest, Inner, Predicate, Types};
use std::ops::Range;

/// Description of a forest's quantization: the columns of bins, and the thresholds that rows are searched by.
#[derive(Clone, Debug, PartialEq)]
pub struct BinMap {
    element: Scalar,
    types: Types,
    comparison: Comparison,
    /// Features that nodes test, divided into runs of thresholds, in the order of the groups.
    features: Vec<Feature>,
    /// For each feature of the model, the runs of its thresholds: the group and the index in `features` of
    /// each.
    feature_runs: Vec<Vec<(usize, usize)>>,
    groups: Vec<SearchGroup>,
    columns: u32,
    sets: ClassSets,
}

/// Size of a quantized row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuantizedRows {
    /// Number of bins.
    pub columns: u32,
    /// Whether each bin is a byte.
    pub in_bytes: bool,
    /// Steps of the binary searches for all bins of a row.
    pub search_steps: u32,
}

/// A feature that nodes test, or a run of its thresholds.
#[derive(Clone, Debug, Default, PartialEq)]
struct Feature {
    number: u32,
    /// Distinct thresholds in ascending order.
    thresholds: Vec<f64>,
    /// Whether missing values go left at some node.
    missing_left: bool,
    /// Whether missing values go right at some node.
    missing_right: bool,
}

impl Feature {
    /// Number of steps of the search for a value's bin, rounded up to one of [`SEARCH_DEPTHS`], so that there
    /// are fewer groups.
    fn depth(&self) -> u32 {
        let needed = (self.thresholds.len() as u64 + 1).next_power_of_two().ilog2();
        SEARCH_DEPTHS.into_iter().find(|depth| *depth >= needed).unwrap_or(needed)
    }

    /// The feature split into runs of at most `most` thresholds.
    fn runs(&self, most: usize) -> impl Iterator<Item = Feature> {
        self.thresholds.chunks(most).map(|run| Feature { thresholds: run.to_vec(), ..*self })
    }
}

/// Depths to which searches for bins of 8 bits are rounded up.
const SEARCH_DEPTHS: [u32; 5] = [1, 2, 4, 6, 8];

/// Features whose bins one loop finds. Their searches have the same depth, and they send missing values to
/// the same sides.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchGroup {
    /// Steps of the search.
    pub depth: u32,
    /// Range of the features in [`BinMap::features`].
    pub features: Range<usize>,
    /// Index of the group's first entry in the table of thresholds, where each feature has `2^depth`
    /// entries.
    pub first_threshold: u64,
    /// Index of the group's first entry in the table of ordered thresholds.
    pub first_ordered_threshold: u64,
    /// First column of bins with missing values to the left; feature `i` of the group has the column `i`
    /// columns later.
    pub first_missing_left: Option<u32>,
    /// First column of bins with missing values to the right, as above.
    pub first_missing_right: Option<u32>,
}

/// Number of thresholds that one vector comparison compares with a value of a single row.
pub const SEARCH_WIDTH: u32 = 16;

impl SearchGroup {
    /// Number of thresholds of a block in the ordered table. A feature's entries there start with the last
    /// threshold of each of its [`SEARCH_WIDTH`] blocks. `None` if one comparison covers all thresholds.
    pub fn block_size(&self) -> Option<u32> {
        (1u32 << self.depth > SEARCH_WIDTH).then(|| (1 << self.depth) / SEARCH_WIDTH)
    }

    /// Number of entries of a feature in the ordered table. `None` if the feature has too many thresholds for
    /// two comparisons.
    pub fn ordered_entries(&self) -> Option<u32> {
        let blocks = self.block_size().map_or(0, |block| block * SEARCH_WIDTH);
        (1u32 << self.depth <= SEARCH_WIDTH * SEARCH_WIDTH).then_some(SEARCH_WIDTH + blocks)
    }
}

impl BinMap {
    /// Finds the bins for all nodes of a forest. The forest must have no padding, whose nodes have no
    /// thresholds. Thresholds must not be wider than the values of rows.
    ///
    /// # Errors
    ///
    /// If there are more columns than 16 bits can number.
    pub fn of(forest: &Forest) -> Result<BinMap, CompileError> {
        let (types, comparison) = (forest.types, forest.comparison);
        let mut features: Vec<Feature> = (0..forest.num_features)
            .map(|number| Feature { number: number as u32, ..Feature::default() })
            .collect();
        for inner in forest.trees.iter().flat_map(|tree| &tree.inner) {
            let (Some(feature), Predicate::Numeric { threshold }) =
                (features.get_mut(inner.feature as usize), &inner.predicate)
            else {
                continue;
            };
            feature.thresholds.push(*threshold);
            feature.missing_left |= inner.missing_left;
            feature.missing_right |= !inner.missing_left;
        }
        let sets = ClassSets::of(forest);
        for (number, thresholds) in sets.thresholds() {
            if let Some(feature) = features.get_mut(number as usize) {
                (feature.thresholds, feature.missing_right) = (thresholds, true);
            }
        }
        features.retain(|feature| !feature.thresholds.is_empty());
        for feature in &mut features {
            feature.thresholds.sort_unstable_by(f64::total_cmp);
            // Zeros of both signs compare equal, so they are one threshold.
            feature.thresholds.dedup();
        }
        let element = element_for(&features);
        let most = (1 << (8 * element.bytes())) - 1;
        let mut features: Vec<Feature> = features.iter().flat_map(|feature| feature.runs(most)).collect();
        features.sort_by_key(|feature| {
            (feature.depth(), feature.missing_left, feature.missing_right, feature.number)
        });
        let columns: usize = features
            .iter()
            .map(|feature| usize::from(feature.missing_left) + usize::from(feature.missing_right))
            .sum();
        if columns > usize::from(u16::MAX) {
            return Err(CompileError::new(
                codes::LAYOUT_BUDGET,
                format!("quantized rows would have {columns} columns of bins; the limit is 65535"),
                "use representation(levels) or representation(sparse), which compare the thresholds \
                 themselves",
            ));
        }
        let mut bins = BinMap {
            element,
            types,
            comparison,
            features,
            feature_runs: vec![Vec::new(); forest.num_features],
            groups: Vec::new(),
            columns: 0,
            sets,
        };
        bins.group_features();
        Ok(bins)
    }

    /// Groups the sorted features and assigns their columns.
    fn group_features(&mut self) {
        let (mut first_threshold, mut first_ordered_threshold) = (0, 0);
        let mut start = 0;
        let alike = |a: &Feature, b: &Feature| {
            (a.depth(), a.missing_left, a.missing_right) == (b.depth(), b.missing_left, b.missing_right)
        };
        for group in self.features.chunk_by(alike) {
            let (Some(first), count) = (group.first(), group.len()) else { continue };
            let mut columns = |wanted: bool| {
                let column = self.columns;
                wanted.then(|| self.columns += count as u32).map(|()| column)
            };
            let first_missing_left = columns(first.missing_left);
            let first_missing_right = columns(first.missing_right);
            for (at, feature) in group.iter().enumerate() {
                self.feature_runs[feature.number as usize].push((self.groups.len(), start + at));
            }
            let (depth, features) = (first.depth(), start..start + count);
            let group = SearchGroup {
                depth,
                features,
                first_threshold,
                first_ordered_threshold,
                first_missing_left,
                first_missing_right,
            };
            first_ordered_threshold +=
                group.ordered_entries().map_or(0, |each| count as u64 * u64::from(each));
            self.groups.push(group);
            first_threshold += (count as u64) << depth;
            start += count;
        }
    }

    /// Error for a quantized layout whose forest has no bins.
    pub fn no_bins_error() -> CompileError {
        CompileError::ill_formed("the model's features have no bins")
    }

    /// Number and width of the bins of a quantized row, and the steps that find them.
    pub fn quantized_rows(&self) -> QuantizedRows {
        let search_steps = self.features.iter().map(Feature::depth).sum();
        QuantizedRows { columns: self.columns, in_bytes: self.element == Scalar::I8, search_steps }
    }

    /// Element type of bins and of threshold bins.
    pub fn element(&self) -> Scalar {
        self.element
    }

    /// Number of bins of a row.
    pub fn columns(&self) -> u32 {
        self.columns
    }

    /// Bytes of a quantized row.
    pub fn row_bytes(&self) -> u64 {
        u64::from(self.columns) * u64::from(self.element.bytes())
    }

    /// Element in which values and thresholds are compared.
    pub fn compared_element(&self) -> Scalar {
        scalar(self.types.input)
    }

    /// Comparison `threshold ? value` that holds if the value goes right of the threshold.
    pub fn threshold_cmp(&self) -> Cmp {
        let ties = (self.comparison == Comparison::Less) != seeded(Fault::BinsFlipTies);
        if ties { Cmp::OLe } else { Cmp::OLt }
    }

    /// Groups of features, in the order of the tables.
    pub fn groups(&self) -> &[SearchGroup] {
        &self.groups
    }

    /// Sets of classes that nodes test.
    pub fn sets(&self) -> &ClassSets {
        &self.sets
    }

    /// Whether layouts can store nodes that test sets of classes: bins are bytes, a byte numbers all features
    /// with classes, and a look-up in registers covers each set.
    pub fn holds_sets(&self) -> bool {
        self.element == Scalar::I8 && self.sets.can_be_looked_up()
    }

    /// Columns of bins that hold a class's byte and bit. `feature` is the feature that holds the byte.
    pub fn class_columns(&self, feature: u32) -> [u64; 2] {
        [feature, feature + 1].map(|feature| {
            let run = self.feature_runs.get(feature as usize).and_then(|runs| runs.first());
            run.map_or(0, |(group, at)| self.column(&self.groups[*group], *at, false))
        })
    }

    /// Threshold bin of a node, and the column of bins that it is compared with; arbitrary for padding. For a
    /// node that tests a set: the index of its feature among the features with classes, and the number of
    /// columns plus the set's number.
    pub fn threshold_bin_and_column(&self, inner: &Inner) -> (u64, u64) {
        if let Some(set) = set_of(inner) {
            return (self.sets.feature_index(inner), u64::from(self.columns) + u64::from(set));
        }
        let Predicate::Numeric { threshold } = inner.predicate else { return (0, 0) };
        let runs = self.feature_runs.get(inner.feature as usize).into_iter().flatten();
        // Runs are disjoint, so at most one of them holds the threshold.
        let place = runs.copied().find_map(|(group, at)| {
            let thresholds = &self.features[at].thresholds;
            let threshold_bin = thresholds.partition_point(|other| *other < threshold);
            (thresholds.get(threshold_bin) == Some(&threshold)).then_some((group, at, threshold_bin))
        });
        let Some((group, at, threshold_bin)) = place else { return (0, 0) };
        (threshold_bin as u64, self.column(&self.groups[group], at, inner.missing_left))
    }

    /// Column of bins of a feature, or of a run of its thresholds, for nodes that send missing values left or
    /// right.
    fn column(&self, group: &SearchGroup, at: usize, left: bool) -> u64 {
        let first = if left {
            group.first_missing_left.or(group.first_missing_right)
        } else {
            group.first_missing_right.or(group.first_missing_left)
        };
        first.map_or(0, |first| u64::from(first) + (at - group.features.start) as u64)
    }

    /// Size in bytes of the tables that quantize rows.
    pub fn footprint(&self) -> u64 {
        let thresholds: u64 =
            self.groups.iter().map(|group| (group.features.len() as u64) << group.depth).sum();
        // The ordered table holds the thresholds again, and the last threshold of each block.
        let ordered = 2 * thresholds + u64::from(SEARCH_WIDTH) * self.features.len() as u64;
        (thresholds + ordered) * u64::from(self.compared_element().bytes()) + self.features.len() as u64 * 8
    }

    /// Thresholds of each feature as a complete tree in level order, with the root at index 1. Unused
    /// entries are infinite.
    pub fn thresholds(&self) -> Vec<u8> {
        let element = self.compared_element();
        let size = element.bytes() as usize;
        let mut bytes = Vec::new();
        for feature in &self.features {
            let depth = feature.depth();
            for node in 0..1u64 << depth {
                let level = node.max(1).ilog2();
                let place = node.max(1) - (1 << level);
                let at = ((2 * place + 1) << (depth - level - 1)) - 1;
                let threshold = feature.thresholds.get(at as usize).copied().unwrap_or(f64::INFINITY);
                let from = bytes.len();
                bytes.resize(from + size, 0);
                write_float(&mut bytes[from..], element, threshold);
            }
        }
        bytes
    }

    /// The ordered table: thresholds of each feature in ascending order, after the last threshold of each
    /// block ([`SearchGroup::block_size`]). Unused entries are NaN, of which no value goes right.
    pub fn ordered_thresholds(&self) -> Vec<u8> {
        let element = self.compared_element();
        let size = element.bytes() as usize;
        let mut bytes = Vec::new();
        for group in &self.groups {
            let (Some(entries), block) = (group.ordered_entries(), group.block_size()) else { continue };
            for feature in &self.features[group.features.clone()] {
                let last = |at: u32| block.map_or(at, |block| at * block + block - 1);
                let places = (0..SEARCH_WIDTH).map(last).chain(0..entries - SEARCH_WIDTH);
                for place in places {
                    let threshold = feature.thresholds.get(place as usize).copied().unwrap_or(f64::NAN);
                    let from = bytes.len();
                    bytes.resize(from + size, 0);
                    write_float(&mut bytes[from..], element, threshold);
                }
            }
        }
        bytes
    }

    /// Number in the model of each quantized feature, once for each run.
    pub fn features(&self) -> impl Iterator<Item = u32> {
        self.features.iter().map(|feature| feature.number)
    }
}

/// Element type of bins: bytes, unless features divided into runs would make rows longer than 16-bit bins.
fn element_for(features: &[Feature]) -> Scalar {
    let runs = features.iter().map(|feature| feature.thresholds.len().div_ceil(u8::MAX.into()));
    if runs.sum::<usize>() <= 2 * features.len() { Scalar::I8 } else { Scalar::I16 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_forest::{ForestParts, Leaf, NodeRef, Tree, TreeTarget};

    /// A forest of `thresholds` stumps on one feature, each with its own threshold.
    fn stumps(thresholds: u32) -> Option<Forest> {
        let stump = |source: u32| {
            let leaf = |source| Leaf { source, values: [1.0].into() };
            let inner = Inner {
                feature: 0,
                predicate: Predicate::Numeric { threshold: f64::from(source) },
                missing_left: false,
                left: NodeRef::Leaf(0),
                right: NodeRef::Leaf(1),
            };
            let (inner, leaves) = (vec![inner], vec![leaf(1), leaf(2)]);
            Tree { root: NodeRef::Inner(0), inner, leaves, target: TreeTarget::One(0), source }
        };
        let trees = (0..thresholds).map(stump).collect();
        Forest::new(ForestParts { trees, num_features: 1, base: vec![0.0], ..ForestParts::default() }).ok()
    }

    #[test]
    fn bins_are_as_narrow_as_thresholds_allow() {
        let bins = |thresholds| {
            let bins = stumps(thresholds).and_then(|forest| BinMap::of(&forest).ok());
            bins.map(|bins| (bins.element(), bins.columns()))
        };
        assert_eq!(bins(255), Some((Scalar::I8, 1)));
        assert_eq!(bins(256), Some((Scalar::I8, 2)));
        assert_eq!(bins(510), Some((Scalar::I8, 2)));
        assert_eq!(bins(511), Some((Scalar::I16, 1)));
        assert_eq!(bins(65535), Some((Scalar::I16, 1)));
        assert_eq!(bins(65536), Some((Scalar::I16, 2)));
    }

    #[test]
    fn runs_of_thresholds_have_columns_of_their_own() {
        let forest = stumps(300);
        let bins = forest.as_ref().and_then(|forest| BinMap::of(forest).ok());
        let place = |tree: usize| {
            Some(bins.as_ref()?.threshold_bin_and_column(forest.as_ref()?.trees[tree].inner.first()?))
        };
        // The search of the shorter run has fewer steps, so its group comes first.
        let places = [place(0), place(254), place(255), place(299)];
        assert_eq!(places, [Some((0, 1)), Some((254, 1)), Some((0, 0)), Some((44, 0))]);
    }
}
