//! Names and codes of one feature's categories.

use crate::label::Label;

/// The rule that gives each name its code in rows. Trainers have different rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// The code of a name is its position in the list (LightGBM, XGBoost).
    #[default]
    Listed,
    /// As `Listed`, but the model's file does not say which feature the list belongs to (LightGBM). Plain
    /// numbers in a table may be names or codes, so the look-up refuses them until the user chooses.
    Doubtful,
    /// Every name is a text, and a whole number stands for the name with the same digits (CatBoost). The code
    /// of such a name is the number itself, also in rows of numbers.
    Spelled,
    /// As `Listed`, but the model's own input holds texts, never codes (pipelines of ONNX). A cell of CSV is
    /// a text, even if it looks like a number. The empty text is a missing value, since ONNX has no other
    /// missing text.
    Texts,
    /// As `Texts`, but the empty text is a name like others (pipelines compiled from Python objects).
    TextsAndEmpty,
    /// No names: the model's file declares the feature, and none of its steps reads it (pipelines of ONNX). A
    /// table may lack its column. Readers of rows skip its cells, which may hold anything.
    Unread,
}

impl Naming {
    /// Whether the model's own input holds texts.
    pub fn is_of_texts(self) -> bool {
        matches!(self, Naming::Texts | Naming::TextsAndEmpty)
    }
}

/// The names of one feature's categories. The default has no names: the feature's values are numbers or
/// codes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    /// The names, in the order of the model's file. If two are equal, the first counts.
    pub labels: Vec<Label>,
    /// The rule that gives each name its code.
    pub naming: Naming,
}

/// Bound of the absolute values of whole numbers that double precision represents exactly.
pub(crate) const EXACT_INTEGERS_END: u64 = 1 << 53;

impl Names {
    /// Names whose positions in the list are their codes.
    pub fn listed(labels: Vec<Label>) -> Names {
        Names { labels, naming: Naming::Listed }
    }

    /// Names for a model whose own input holds texts.
    pub fn texts(labels: Vec<Label>) -> Names {
        Names { labels, naming: Naming::Texts }
    }

    /// Names of a CatBoost model.
    pub fn spelled(names: impl IntoIterator<Item = String>) -> Names {
        Names { labels: names.into_iter().map(Label::Text).collect(), naming: Naming::Spelled }
    }

    /// Categories whose names the model's file omits or states unreliably.
    pub fn unknown() -> Names {
        Names { labels: Vec::new(), naming: Naming::Doubtful }
    }

    /// A feature that no step of the model reads.
    pub fn unread() -> Names {
        Names { labels: Vec::new(), naming: Naming::Unread }
    }

    /// Whether every value is a plain number or a code, since there are no names.
    pub fn are_codes(&self) -> bool {
        self.labels.is_empty() && self.naming == Naming::Listed
    }

    /// Whether a cell of the feature can be the name of a category.
    pub fn are_names(&self) -> bool {
        !self.are_codes() && self.naming != Naming::Unread
    }

    /// The code, in rows, of the name at position `place`.
    ///
    /// Names that are not whole numbers below 2^53 get codes that differ from all whole numbers: -0.5, -1.5,
    /// -2.5 and so on.
    pub fn code(&self, place: usize) -> f64 {
        match (self.naming, self.labels.get(place)) {
            (Naming::Spelled, Some(Label::Text(name))) => {
                spelled_number(name).map_or(-(place as f64 + 0.5), |number| number as f64)
            }
            _ => place as f64,
        }
    }

    /// A code that is in no set that a tree tests, for unknown names. -1 is no category in LightGBM, XGBoost
    /// and ONNX, and no name of CatBoost has the code -0.25.
    pub fn other(&self) -> f64 {
        match self.naming {
            Naming::Spelled => -0.25,
            Naming::Listed | Naming::Doubtful | Naming::Texts | Naming::TextsAndEmpty | Naming::Unread => {
                -1.0
            }
        }
    }

    /// Each name as text with its code, for look-ups by text alone. A floating-point name without a fraction
    /// is listed twice, as `3.0` and as `3`.
    pub fn spellings(&self) -> Vec<(String, f64)> {
        let mut all = Vec::with_capacity(self.labels.len());
        for (place, label) in self.labels.iter().enumerate() {
            if let Label::Number(number) = label
                && number.fract() == 0.0
            {
                all.push((format!("{number:.1}"), self.code(place)));
            }
            all.push((label.to_string(), self.code(place)));
        }
        all
    }
}

/// The whole number that a name spells, if its absolute value is below 2^53 and the name has neither leading
/// zeros nor a plus sign.
pub(crate) fn spelled_number(name: &str) -> Option<i64> {
    let number: i64 = name.parse().ok()?;
    (number.unsigned_abs() < EXACT_INTEGERS_END && number.to_string() == name).then_some(number)
}

/// Whether single precision cannot distinguish a code from all other codes.
pub fn is_wide(code: f64) -> bool {
    const SINGLE: f64 = 16_777_216.0;
    code.abs() >= SINGLE || f64::from(code as f32) != code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_names_have_their_places_as_codes() {
        let names = Names::listed(vec![Label::Integer(7), Label::Text("a".into())]);
        assert_eq!([names.code(0), names.code(1)], [0.0, 1.0]);
        assert_eq!(names.other(), -1.0);
    }

    #[test]
    fn spelled_numbers_stand_for_themselves() {
        let names = ["5", "05", "1.0", "red", "-3", "-0", "+1", "99999999", "9007199254740992", ""];
        let names = Names::spelled(names.map(String::from));
        let codes: Vec<f64> = (0..names.labels.len()).map(|place| names.code(place)).collect();
        assert_eq!(codes, [5.0, -1.5, -2.5, -3.5, -3.0, -5.5, -6.5, 99_999_999.0, -8.5, -9.5]);
        assert!(codes.iter().all(|code| *code != names.other()));
    }

    #[test]
    fn codes_beyond_single_precision_are_wide() {
        assert!(![0.0, -0.5, 16_777_215.0, -16_777_215.0].into_iter().any(is_wide));
        assert!([16_777_216.0, 16_777_217.0, -16_777_216.0, 0.1].into_iter().all(is_wide));
    }

    #[test]
    fn spellings_have_points_where_numbers_have() {
        let labels = vec![Label::Number(3.0), Label::Number(2.5), Label::Integer(4)];
        let spellings = Names::listed(labels).spellings();
        let wanted = [("3.0", 0.0), ("3", 0.0), ("2.5", 1.0), ("4", 2.0)];
        assert_eq!(spellings, wanted.map(|(text, code)| (text.to_owned(), code)));
    }
}
