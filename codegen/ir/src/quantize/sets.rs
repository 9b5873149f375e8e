//! Sets of classes: what nodes ask of a category whose class is in a row.
//!
//! A class is two bins of a row: the number of a byte, and a bit. Both are whole numbers from 0 on, and bins of such
//! numbers are the numbers themselves if there is a threshold below each but 0. A set is as many bytes as its feature's
//! classes need; the class is a member if the byte has the bit.

use sched_forest::{Forest, Inner, MOST_SET_BYTES, Predicate};
use std::collections::BTreeMap;

/// The sets of classes that nodes of a forest ask for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassSets {
    /// Bytes of the features' sets, by the feature that says the byte; the one behind it says the bit.
    features: BTreeMap<u32, u32>,
    /// Each set's bytes, without zeros behind the last.
    sets: Vec<Vec<u8>>,
}

/// The fewest bytes that are looked up at once.
const LEAST_BYTES: u32 = 16;

/// Values of bits.
const BITS: u32 = 1 << (u8::BITS - 1);

impl ClassSets {
    /// The sets of a forest.
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

    /// How many sets there are.
    pub fn count(&self) -> u32 {
        self.sets.len() as u32
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Whether the sets and features can be numbered and looked up.
    pub fn fit(&self) -> bool {
        self.features.len() <= 1 << u8::BITS && self.features.values().all(|bytes| *bytes <= MOST_SET_BYTES)
    }

    /// Bytes in which any set fits, a power of two.
    pub fn width(&self) -> u32 {
        self.features.values().copied().fold(LEAST_BYTES, u32::max).next_power_of_two()
    }

    /// Each set's bytes, by number. Behind them are zeros.
    pub fn sets(&self) -> impl Iterator<Item = &[u8]> {
        self.sets.iter().map(Vec::as_slice)
    }

    /// The features that say bytes, ascending.
    pub fn features(&self) -> impl Iterator<Item = u32> {
        self.features.keys().copied()
    }

    /// The place of a node's feature among those.
    pub fn place(&self, inner: &Inner) -> u64 {
        self.features.range(..inner.feature).count() as u64
    }

    /// The thresholds of the two features of each class, of which every number has its own bin.
    pub fn thresholds(&self) -> impl Iterator<Item = (u32, Vec<f64>)> {
        let below = |most: u32| (0..most).map(|number| f64::from(number) + 0.5).collect();
        self.features
            .iter()
            .flat_map(move |(feature, bytes)| [(*feature, below((*bytes).max(2) - 1)), (feature + 1, below(BITS))])
    }
}

/// The set that a node asks for, if it asks for one.
pub fn set_of(inner: &Inner) -> Option<u32> {
    match inner.predicate {
        Predicate::Member { set } => Some(set),
        _ => None,
    }
}
