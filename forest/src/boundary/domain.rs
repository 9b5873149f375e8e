//! The domain of a feature: its values that send a row along the chosen paths.

use super::keys::{Key, Keys, NAN};
use smallvec::SmallVec;

/// Members of a list, one bit each.
pub(super) type Bits = SmallVec<[u64; 2]>;

/// Whether a bit is set.
pub(super) fn has(bits: &[u64], at: usize) -> bool {
    bits.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
}

/// The first bit that is set in both.
pub(super) fn first_of_both(one: &[u64], other: &[u64]) -> Option<usize> {
    let both = one.iter().zip(other).map(|(one, other)| one & other);
    both.enumerate().find(|(_, word)| *word != 0).map(|(at, word)| at * 64 + word.trailing_zeros() as usize)
}

/// A numeric test, in keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cut {
    /// The last key that goes left; below all keys if none does.
    pub last_left: Key,
    /// The side of missing values.
    pub missing_left: bool,
    /// Whether values that are nearly zero are missing.
    pub zero_is_missing: bool,
}

/// Values of a feature.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Domain {
    /// Of a feature whose tests are numeric.
    Ordered(Ordered),
    /// Of a feature with other tests: those of a list.
    Listed(Bits),
}

/// The values of a feature whose tests are numeric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ordered {
    /// Whether NaN is among them.
    pub nan: bool,
    /// The values below those that are nearly zero, the nearly zero ones, and the values above. If no test
    /// treats zeros specially, the first part has all values.
    pub parts: [Keys; 3],
}

impl Ordered {
    /// All values.
    pub fn all(keys: Keys, zeros: Option<Keys>) -> Ordered {
        let parts = match zeros {
            None => [keys, Keys::NONE, Keys::NONE],
            Some(zeros) => {
                [Keys { last: zeros.first - 1, ..keys }, zeros, Keys { first: zeros.last + 1, ..keys }]
            }
        };
        Ordered { nan: true, parts }
    }

    /// The values that go to one side.
    pub fn on_side(&self, cut: Cut, left: bool) -> Ordered {
        let missing = cut.missing_left == left;
        let mut rest = *self;
        rest.nan &= missing;
        for (at, part) in rest.parts.iter_mut().enumerate() {
            match (at, left) {
                (1, _) if cut.zero_is_missing => *part = if missing { *part } else { Keys::NONE },
                (_, true) => part.last = part.last.min(cut.last_left),
                (_, false) => part.first = part.first.max(cut.last_left.saturating_add(1)),
            }
        }
        rest
    }

    /// The one value, which is among them.
    pub fn only(&self, key: Key) -> Ordered {
        let parts = self.parts.map(|part| match part.contains(key) {
            true => Keys { first: key, last: key },
            false => Keys::NONE,
        });
        Ordered { nan: key == NAN, parts: if key == NAN { [Keys::NONE; 3] } else { parts } }
    }

    /// Whether a value is among them.
    pub fn contains(&self, key: Key) -> bool {
        if key == NAN { self.nan } else { self.parts.iter().any(|part| part.contains(key)) }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        !self.nan && self.parts.iter().all(|part| part.is_empty())
    }
}

impl Domain {
    /// Whether there are no values left.
    pub fn is_empty(&self) -> bool {
        match self {
            Domain::Ordered(ordered) => ordered.is_empty(),
            Domain::Listed(bits) => bits.iter().all(|word| *word == 0),
        }
    }
}

/// The members of a list that go to one side.
pub(super) fn on_side(bits: &[u64], goes_left: &[u64], left: bool) -> Bits {
    let side = |word: u64| if left { word } else { !word };
    bits.iter().zip(goes_left).map(|(bits, word)| bits & side(*word)).collect()
}
