//! The names of one feature's categories, indexed for look-ups.

use std::collections::HashMap;

use crate::label::Label;
use crate::names::{Names, Naming, is_wide};

/// The categories of one feature, indexed by their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameIndex {
    pub(crate) names: Names,
    pub(crate) texts: HashMap<String, f64>,
    pub(crate) integers: HashMap<i64, f64>,
    /// Codes of names that are floating-point numbers. The key is [`bits`] of the number.
    pub(crate) numbers: HashMap<u64, f64>,
    /// The codes of false and of true.
    truths: [Option<f64>; 2],
    /// Whether some code needs double precision.
    pub(crate) wide: bool,
}

/// The bits of a number, the same for both zeros.
pub(crate) fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

impl NameIndex {
    pub(crate) fn new(names: Names) -> NameIndex {
        let mut index = NameIndex::default();
        for (place, label) in names.labels.iter().enumerate() {
            let code = names.code(place);
            index.wide |= is_wide(code);
            // Of equal names the first counts, as in trainers.
            match label {
                Label::Text(text) => index.texts.entry(text.clone()).or_insert(code),
                Label::Integer(number) => index.integers.entry(*number).or_insert(code),
                Label::Number(number) => index.numbers.entry(bits(*number)).or_insert(code),
                Label::Truth(truth) => index.truths[usize::from(*truth)].get_or_insert(code),
            };
        }
        index.names = names;
        index
    }

    /// Whether some name is a number.
    pub(crate) fn has_numbers(&self) -> bool {
        !self.integers.is_empty() || !self.numbers.is_empty()
    }

    /// The code of a truth value, if it is a name. CatBoost converts columns of truth values to numbers.
    pub(crate) fn truth(&self, truth: bool) -> Option<f64> {
        match self.names.naming {
            Naming::Spelled => self.texts.get(if truth { "1" } else { "0" }).copied(),
            Naming::Listed | Naming::Doubtful | Naming::Texts | Naming::TextsAndEmpty | Naming::Unread => {
                self.truths[usize::from(truth)]
            }
        }
    }

    /// Whether a truth value can be a name of this feature, known or unknown. Uncertain, and so false, in a
    /// CatBoost model with the names `True` and `False`: CatBoost reads a truth value as such a text only if
    /// the training data had a column of objects.
    pub(crate) fn takes_truths(&self) -> bool {
        let some = self.truth(false).or(self.truth(true)).is_some();
        let texts = ["False", "True"].iter().any(|text| self.texts.contains_key(*text));
        some || self.names.naming == Naming::Spelled && !texts
    }
}
