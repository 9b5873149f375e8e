//! The domain of a feature: the values that keep a row on the paths chosen so far.

use super::keys::{KeyRange, NAN_KEY, OrderKey};
use smallvec::SmallVec;

/// A subset of a list, one bit for each entry.
pub(super) type ListSubset = SmallVec<[u64; 2]>;

/// Whether a bit is set.
pub(super) fn has_bit(bits: &[u64], at: usize) -> bool {
    bits.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
}

/// The index of the first bit that is set in both bit sets.
pub(super) fn first_of_both(one: &[u64], other: &[u64]) -> Option<usize> {
    let both = one.iter().zip(other).map(|(one, other)| one & other);
    both.enumerate().find(|(_, word)| *word != 0).map(|(at, word)| at * 64 + word.trailing_zeros() as usize)
}

/// A numeric test in terms of keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cut {
    /// The last key that goes left; below all keys if none does.
    pub last_left: OrderKey,
    /// Whether missing values go left.
    pub missing_left: bool,
    /// Whether values that are nearly zero are missing.
    pub zero_is_missing: bool,
}

/// A set of values of a feature.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Domain {
    /// Values of a feature whose tests are all numeric.
    Ordered(Ordered),
    /// Values of a feature with tests that are not numeric, as a subset of
    /// [`TestedFeature::listed`](super::tested_features::TestedFeature).
    Listed(ListSubset),
}

/// A set of values of a feature whose tests are all numeric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ordered {
    /// Whether the set contains NaN.
    pub nan: bool,
    /// Intervals: values below the nearly zero ones, nearly zero values, and values above. If no test takes
    /// zeros for missing, the first interval has all values.
    pub parts: [KeyRange; 3],
}

impl Ordered {
    /// All values.
    pub fn all(keys: KeyRange, zeros: Option<KeyRange>) -> Ordered {
        let parts = match zeros {
            None => [keys, KeyRange::NONE, KeyRange::NONE],
            Some(zeros) => [
                KeyRange { last: zeros.first - 1, ..keys },
                zeros,
                KeyRange { first: zeros.last + 1, ..keys },
            ],
        };
        Ordered { nan: true, parts }
    }

    /// The members that a test sends to the left, or to the right.
    pub fn on_side(&self, cut: Cut, left: bool) -> Ordered {
        let missing = cut.missing_left == left;
        let mut rest = *self;
        rest.nan &= missing;
        for (at, part) in rest.parts.iter_mut().enumerate() {
            match (at, left) {
                (1, _) if cut.zero_is_missing => *part = if missing { *part } else { KeyRange::NONE },
                (_, true) => part.last = part.last.min(cut.last_left),
                (_, false) => part.first = part.first.max(cut.last_left.saturating_add(1)),
            }
        }
        rest
    }

    /// The set that holds this key alone, if it is a member.
    pub fn only(&self, key: OrderKey) -> Ordered {
        let parts = self.parts.map(|part| match part.contains(key) {
            true => KeyRange { first: key, last: key },
            false => KeyRange::NONE,
        });
        Ordered { nan: key == NAN_KEY, parts: if key == NAN_KEY { [KeyRange::NONE; 3] } else { parts } }
    }

    /// Whether the set contains a value.
    pub fn contains(&self, key: OrderKey) -> bool {
        if key == NAN_KEY { self.nan } else { self.parts.iter().any(|part| part.contains(key)) }
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        !self.nan && self.parts.iter().all(|part| part.is_empty())
    }
}

impl Domain {
    /// Whether the domain is empty.
    pub fn is_empty(&self) -> bool {
        match self {
            Domain::Ordered(ordered) => ordered.is_empty(),
            Domain::Listed(bits) => bits.iter().all(|word| *word == 0),
        }
    }
}

/// The members of a subset that a test sends to the left, or to the right; `goes_left` has the bits of the
/// listed values that go left.
pub(super) fn on_side(bits: &[u64], goes_left: &[u64], left: bool) -> ListSubset {
    let side = |word: u64| if left { word } else { !word };
    bits.iter().zip(goes_left).map(|(bits, word)| bits & side(*word)).collect()
}
