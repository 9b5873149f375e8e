//! Names of categories, and the codes that stand for them in rows.

use std::collections::HashMap;

use super::Batch;
use super::columns::near::near;
use crate::codes;
use crate::error::{DataError, shorten};
use sched_diagnostics::Code;

/// What a model calls a category.
#[derive(Clone, Debug, PartialEq)]
pub enum CategoryName {
    /// A whole number.
    Integer(i64),
    /// Another number.
    Number(f64),
    /// A text.
    Text(String),
}

/// What becomes of a category that the model does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unseen {
    /// It is an error (XGBoost from release 3.1 on).
    #[default]
    Error,
    /// It is missing (LightGBM).
    Missing,
    /// It is a category that is in no set.
    Other,
}

/// The code of a category that is in no set, whatever the trainer's rule: all of them refuse negative numbers.
const OTHER: f64 = -1.0;

/// The names of the categories of a model's features.
#[derive(Clone, Debug, Default)]
pub struct Categories {
    /// Empty for features whose values are numbers.
    features: Vec<Known>,
    unseen: Unseen,
}

impl Categories {
    /// For each feature the names of its categories, in the order of their codes; none for a feature whose values are
    /// numbers.
    pub fn new(names: impl IntoIterator<Item = Vec<CategoryName>>, unseen: Unseen) -> Self {
        Categories { features: names.into_iter().map(Known::new).collect(), unseen }
    }

    /// How the categories of a feature get their codes, if it has some.
    pub(super) fn of(&self, feature: usize) -> Option<Lookup<'_>> {
        let known = self.features.get(feature).filter(|known| known.count > 0)?;
        Some(Lookup { known, unseen: self.unseen })
    }

    /// Refuses numbers in rows that are no codes and are names, where the model's categories are numbers: whoever wrote
    /// them took them for names.
    pub(super) fn check(&self, batch: &Batch, columns: usize, name: &str) -> Result<(), DataError> {
        let suspects = self.features.iter().enumerate().filter(|(_, known)| known.may_be_confused());
        for (feature, known) in suspects {
            if let Some(number) = known.confused(batch.feature(feature, columns)) {
                let message = format!(
                    "{number} in the column of feature {feature} (from 0) is the name of a category, and plain numbers are \
                     codes, here from 0 to {}",
                    known.count - 1
                );
                return Err(DataError::new(codes::AMBIGUOUS_CATEGORY, name, message).help(
                    "save the column as pandas' category in Parquet or Arrow, which are found by their names, or write codes",
                ));
            }
        }
        Ok(())
    }
}

/// The categories of one feature.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    texts: HashMap<String, f64>,
    integers: HashMap<i64, f64>,
    /// By their bits.
    numbers: HashMap<u64, f64>,
    count: usize,
}

/// The bits of a number, the same for both zeros.
fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

impl Known {
    fn new(names: Vec<CategoryName>) -> Self {
        let mut known = Known { count: names.len(), ..Known::default() };
        for (code, name) in names.into_iter().enumerate() {
            let code = code as f64;
            // The first one of equal names, as trainers find them.
            match name {
                CategoryName::Text(text) => known.texts.entry(text).or_insert(code),
                CategoryName::Integer(number) => known.integers.entry(number).or_insert(code),
                CategoryName::Number(number) => known.numbers.entry(bits(number)).or_insert(code),
            };
        }
        known
    }

    /// The code of a number that is a name.
    fn of_number(&self, number: f64) -> Option<f64> {
        const MOST: f64 = 9_223_372_036_854_775_808.0;
        let whole = number == number.trunc() && (-MOST..MOST).contains(&number);
        let as_integer = || self.integers.get(&(number as i64)).filter(|_| whole);
        self.numbers.get(&bits(number)).or_else(as_integer).copied()
    }

    /// Whether names are numbers other than their own codes.
    fn may_be_confused(&self) -> bool {
        self.integers.iter().any(|(name, code)| *name as f64 != *code)
            || self.numbers.iter().any(|(name, code)| *name != bits(*code))
    }

    /// The first number that is a name and no code.
    fn confused(&self, mut values: impl Iterator<Item = f64>) -> Option<f64> {
        let codes = 0.0..self.count as f64;
        values.find(|value| *value >= 0.0 && !codes.contains(value) && self.of_number(*value).is_some())
    }
}

/// How the categories of one feature get their codes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lookup<'a> {
    known: &'a Known,
    unseen: Unseen,
}

impl Lookup<'_> {
    /// The code of a text.
    pub(super) fn of_text(&self, text: &str) -> Option<f64> {
        let number = || self.known.of_number(text.trim().parse().ok()?);
        self.of_letters(text).or_else(number)
    }

    /// The code of a text among names that are texts.
    fn of_letters(&self, text: &str) -> Option<f64> {
        let texts = &self.known.texts;
        texts.get(text).or_else(|| texts.get(text.trim())).copied()
    }

    /// The code of an integer that is a name.
    pub(super) fn of_integer(&self, number: i64) -> Option<f64> {
        let wide =
            || Some(number as f64).filter(|&x| x as i64 == number).and_then(|x| self.known.of_number(x));
        self.known.integers.get(&number).copied().or_else(wide)
    }

    /// The code of a number that is a name.
    pub(super) fn of_number(&self, number: f64) -> Option<f64> {
        self.known.of_number(number)
    }

    /// The code of a truth value.
    pub(super) fn of_truth(&self, truth: bool) -> Option<f64> {
        self.of_letters(if truth { "True" } else { "False" })
    }

    /// What stands for a category that is unknown; `None` where that is an error.
    pub(super) fn unseen(&self) -> Option<f64> {
        match self.unseen {
            Unseen::Error => None,
            Unseen::Missing => Some(f64::NAN),
            Unseen::Other => Some(OTHER),
        }
    }

    /// The value of a cell of text: a name's code, even of one that looks like a number or a missing value; `value` of
    /// other cells; and else what stands for unknown categories. `None` where there is no one answer.
    pub(super) fn of_cell(&self, cell: &[u8], value: impl FnOnce(&[u8]) -> Option<f64>) -> Option<f64> {
        let empty = cell.trim_ascii().is_empty();
        let code = str::from_utf8(cell).ok().and_then(|text| self.of_letters(text));
        match code {
            Some(_) if empty => None,
            Some(code) => Some(code),
            None => value(cell).or_else(|| self.unseen()),
        }
    }

    /// Whether a cell has a name among the categories.
    pub(super) fn is_known(&self, cell: &str) -> bool {
        self.of_letters(cell).is_some()
    }

    /// The code, the words and the help of the error of a text that has no code.
    pub(super) fn refusal(&self, text: &str) -> (Code, String, String) {
        if text.trim().is_empty() && self.is_known(text) {
            return (
                codes::AMBIGUOUS_CATEGORY,
                "the cell is empty, and the model has a category of this name".to_owned(),
                "save the rows as Parquet or Arrow, in which an empty text is not missing".to_owned(),
            );
        }
        let names: Vec<&str> = self.known.texts.keys().map(String::as_str).collect();
        let meant = near(text, &names).map(|name| format!("\"{}\" may be meant; ", shorten(name)));
        (
            codes::UNSEEN_CATEGORY,
            format!("\"{}\" is no category that the model knows", shorten(text.trim())),
            format!(
                "{}--unseen missing takes such values as missing, and --unseen other as a category that is in no set",
                meant.unwrap_or_default()
            ),
        )
    }
}
