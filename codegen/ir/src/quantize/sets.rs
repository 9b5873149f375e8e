//! Sets of classes. Nodes test whether the class of a row's category is in a set.
//!
//! Two features of a row hold a class: the index of a byte, and a bit. Both are small whole numbers. They get
//! a threshold below each number but 0, so that the bin of a number is the number itself. A set is a string
//! of bytes, one bit for each class of its feature. A class is in the set if its bit is set in its byte.

use sched_forest::{Forest, Inner, Predicate};
use sched_pipeline::MOST_SET_BYTES;
use std::collections::BTreeMap;

/// Sets of classes that nodes of a forest test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassSets {
    /// Number of bytes of each feature's largest set, by the feature that holds the byte index. The next
    /// feature holds the bit.
    features: BTreeMap<u32, u32>,
    /// Bytes of each set, without trailing zeros.
    sets: Vec<Vec<u8>>,
}

/// Fewest bytes that a look-up in a set reads.
const LEAST_LOOKUP_BYTES: u32 = 16;

/// Number of bytes of which the size of sets is a multiple.
const SET_BYTES_MULTIPLE: u32 = 8;

/// Largest number that a feature with a class's bit has: the value of the highest bit of a byte.
const LARGEST_BIT: u32 = 1 << (u8::BITS - 1);

impl ClassSets {
    /// Collects the sets of a forest.
    pub fn of(forest: &Forest) -> ClassSets {
        let bytes = |members: &[u32]| {
            let mut bytes: Vec<u8> = Vec::new();
            for class in members {
                let at = (class / u8::BITS) as usize;
                bytes.resize(bytes.len().max(at + 1), 0);
                bytes[at] |= 1 << (class % u8::BITS);
            }
            bytes
        };
        let mut all = ClassSets::default();
        for inner in forest.trees.iter().flat_map(|tree| &tree.inner) {
            let Some(set) = set_of(inner) else { continue };
            if all.sets.is_empty() {
                all.sets = forest.sets.iter().map(|set| bytes(set.members())).collect();
            }
            let bytes = all.sets.get(set as usize).map_or(0, Vec::len) as u32;
            let most = all.features.entry(inner.feature).or_default();
            *most = bytes.max(*most);
        }
        all
    }

    /// Number of sets.
    pub fn count(&self) -> u32 {
        self.sets.len() as u32
    }

    /// Whether there are no sets.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Whether a byte can number the features with classes, and a look-up in registers covers each set.
    pub fn can_be_looked_up(&self) -> bool {
        self.features.len() <= 1 << u8::BITS && self.features.values().all(|bytes| *bytes <= MOST_SET_BYTES)
    }

    /// Size of each set in bytes, which is the same for all sets. It is as small as possible, so that more
    /// sets fit the caches.
    pub fn set_bytes(&self) -> u32 {
        self.features.values().copied().fold(1, u32::max).next_multiple_of(SET_BYTES_MULTIPLE)
    }

    /// Number of bytes that a look-up in a set reads, a power of two.
    pub fn lookup_bytes(&self) -> u32 {
        self.set_bytes().next_power_of_two().max(LEAST_LOOKUP_BYTES)
    }

    /// Bytes of each set, by number, without trailing zeros.
    pub fn sets(&self) -> impl Iterator<Item = &[u8]> {
        self.sets.iter().map(Vec::as_slice)
    }

    /// Features that hold byte indices, ascending. The feature after each holds the bit.
    pub fn features(&self) -> impl Iterator<Item = u32> {
        self.features.keys().copied()
    }

    /// Index of a node's feature in [`ClassSets::features`].
    pub fn feature_index(&self, inner: &Inner) -> u64 {
        self.features.range(..inner.feature).count() as u64
    }

    /// Thresholds of the two features of each class, which give every number its own bin.
    pub fn thresholds(&self) -> impl Iterator<Item = (u32, Vec<f64>)> {
        let below = |most: u32| (0..most).map(|number| f64::from(number) + 0.5).collect();
        self.features.iter().flat_map(move |(feature, bytes)| {
            [(*feature, below((*bytes).max(2) - 1)), (feature + 1, below(LARGEST_BIT))]
        })
    }
}

/// The set that a node tests, if it tests one.
pub fn set_of(inner: &Inner) -> Option<u32> {
    match inner.predicate {
        Predicate::Member { set } => Some(set),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lir::Scalar;
    use crate::quantize::BinMap;
    use sched_forest::{ForestParts, Leaf, NodeRef, Tree, TreeTarget};
    use sched_pipeline::{PreparedForest, SetTests};

    /// One stump for each of `count` sets; set `n` has the categories `n..count`.
    fn stumps(count: u32) -> Forest {
        let stump = |source: u32| {
            let leaf = |source| Leaf { source, values: [1.0].into() };
            let inner = Inner {
                feature: 0,
                predicate: Predicate::Member { set: source },
                missing_left: source == 1,
                left: NodeRef::Leaf(0),
                right: NodeRef::Leaf(1),
            };
            let (inner, leaves) = (vec![inner], vec![leaf(1), leaf(2)]);
            Tree { root: NodeRef::Inner(0), inner, leaves, target: TreeTarget::One(0), source }
        };
        let sets = (0..count).map(|first| (first..count).collect()).collect();
        let parts = ForestParts { trees: (0..count).map(stump).collect(), sets, ..ForestParts::default() };
        let forest = Forest::new(parts).expect("a valid forest");
        let prepared = PreparedForest::of(&forest, SetTests::OfClasses).expect("small tables");
        Forest::clone(&prepared.expect("sets").forest)
    }

    #[test]
    fn sets_are_bits_of_classes() {
        let sets = ClassSets::of(&stumps(14));
        // Class 0 is missing, class 1 in no set, and category `n` has class `n + 2`.
        let bytes: Vec<&[u8]> = sets.sets().take(3).collect();
        assert_eq!(
            bytes,
            [[0b1111_1100, 0b1111_1111], [0b1111_1001, 0b1111_1111], [0b1111_0000, 0b1111_1111]]
        );
        assert_eq!((sets.count(), sets.lookup_bytes()), (14, 16));
        assert_eq!(sets.features().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn the_bin_of_a_class_is_its_number() {
        for (categories, bytes) in [(5, 1), (14, 2), (300, 38)] {
            let bins = BinMap::of(&stumps(categories)).expect("few columns");
            assert!(bins.holds_sets() && bins.element() == Scalar::I8);
            let thresholds: Vec<usize> =
                bins.sets().thresholds().map(|(_, thresholds)| thresholds.len()).collect();
            assert_eq!(thresholds, [bytes.max(2) - 1, 128]);
            let [byte, bit] = bins.class_columns(0);
            assert!(byte != bit && byte.max(bit) < bins.columns().into());
        }
    }

    #[test]
    fn large_sets_are_as_wide_as_look_ups() {
        for (categories, width) in [(126, 16), (127, 32), (254, 32), (600, 128), (2038, 256)] {
            assert_eq!(ClassSets::of(&stumps(categories)).lookup_bytes(), width, "{categories}");
        }
    }
}
