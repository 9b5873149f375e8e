//! The categories of all features of a model, and the user's choices.

use std::collections::HashMap;

use crate::label::Label;
use crate::lookup::Lookup;
use crate::names::{Names, Naming, is_wide};

/// The treatment of a category that the model does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unseen {
    /// An error (XGBoost from release 3.1 on).
    #[default]
    Error,
    /// A missing value (LightGBM, scikit-learn).
    Missing,
    /// A category that is in no set of the model (CatBoost).
    Other,
}

impl Unseen {
    /// The treatment by a trainer; `trainer` is a name from `Source::trainer`.
    pub fn of_trainer(trainer: &str) -> Unseen {
        match trainer {
            "LightGBM" | "scikit-learn" => Unseen::Missing,
            "CatBoost" => Unseen::Other,
            _ => Unseen::Error,
        }
    }

    /// The word for the treatment in options and in descriptions of libraries.
    pub fn word(self) -> &'static str {
        match self {
            Unseen::Error => "error",
            Unseen::Missing => "missing",
            Unseen::Other => "other",
        }
    }

    /// The treatment with this word, if there is one.
    pub fn of_word(word: &str) -> Option<Unseen> {
        [Unseen::Error, Unseen::Missing, Unseen::Other].into_iter().find(|unseen| unseen.word() == word)
    }
}

/// The meaning of plain numbers in columns of categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumbersAs {
    /// A number is the name of a category.
    Names,
    /// A number is the code of a category.
    Codes,
}

impl NumbersAs {
    /// The meaning with this word, `names` or `codes`, if there is one.
    pub fn of_word(word: &str) -> Option<NumbersAs> {
        match word {
            "names" => Some(NumbersAs::Names),
            "codes" => Some(NumbersAs::Codes),
            _ => None,
        }
    }
}

/// The kind of input that contains the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A table: CSV, Parquet, Arrow or a data frame, whose columns have types and names of their own.
    Table,
    /// An array of numbers: NumPy, or rows of the C interface.
    Array,
}

/// The user's choices. `None` selects the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// The treatment of unknown categories; by default the trainer's.
    pub unseen: Option<Unseen>,
    /// The meaning of plain numbers; by default names in tables and codes in arrays.
    pub numbers: Option<NumbersAs>,
}

/// The names of the categories of a model's features, indexed for look-ups.
#[derive(Clone, Debug, Default)]
pub struct Categories {
    features: Vec<Known>,
    choices: Choices,
    /// The treatment of unknown categories if the user chose none.
    of_trainer: Unseen,
}

impl Categories {
    /// Indexes the names of each feature's categories.
    pub fn new(names: impl IntoIterator<Item = Names>, choices: Choices, of_trainer: Unseen) -> Categories {
        Categories { features: names.into_iter().map(Known::new).collect(), choices, of_trainer }
    }

    /// The look-up of a feature's categories; `None` if its values are plain numbers or codes.
    pub fn lookup(&self, feature: usize, origin: Origin) -> Option<Lookup<'_>> {
        let known = self.features.get(feature).filter(|known| !known.names.are_codes())?;
        Some(Lookup::new(known, self.choices, self.choices.unseen.unwrap_or(self.of_trainer), origin))
    }
}

/// The categories of one feature, indexed by their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) names: Names,
    pub(crate) texts: HashMap<String, f64>,
    pub(crate) integers: HashMap<i64, f64>,
    /// Codes of numbers that are names, by the result of [`bits`].
    pub(crate) numbers: HashMap<u64, f64>,
    /// The codes of false and of true.
    truths: [Option<f64>; 2],
    /// Whether single precision cannot represent some code.
    pub(crate) wide: bool,
}

/// The bits of a number, the same for both zeros.
pub(crate) fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

impl Known {
    fn new(names: Names) -> Known {
        let mut known = Known::default();
        for (place, label) in names.labels.iter().enumerate() {
            let code = names.code(place);
            known.wide |= is_wide(code);
            // If names are equal, the first counts, as for trainers.
            match label {
                Label::Text(text) => known.texts.entry(text.clone()).or_insert(code),
                Label::Integer(number) => known.integers.entry(*number).or_insert(code),
                Label::Number(number) => known.numbers.entry(bits(*number)).or_insert(code),
                Label::Truth(truth) => known.truths[usize::from(*truth)].get_or_insert(code),
            };
        }
        known.names = names;
        known
    }

    /// Whether some names are numbers.
    pub(crate) fn has_numbers(&self) -> bool {
        !self.integers.is_empty() || !self.numbers.is_empty()
    }

    /// The code of a truth value, if it is a name. CatBoost converts columns of truth values to numbers.
    pub(crate) fn truth(&self, truth: bool) -> Option<f64> {
        match self.names.naming {
            Naming::Spelled => self.texts.get(if truth { "1" } else { "0" }).copied(),
            Naming::Listed | Naming::Doubtful => self.truths[usize::from(truth)],
        }
    }

    /// Whether a truth value is a name, or may be an unknown name. In a CatBoost model with the names `True`
    /// and `False` this is uncertain: it depends on whether the training data had a column of objects or of
    /// truth values.
    pub(crate) fn takes_truths(&self) -> bool {
        let some = self.truth(false).or(self.truth(true)).is_some();
        let texts = ["False", "True"].iter().any(|text| self.texts.contains_key(*text));
        some || self.names.naming == Naming::Spelled && !texts
    }
}
