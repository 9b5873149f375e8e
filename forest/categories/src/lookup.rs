//! Look-up of categories: from a cell to the category's code.

use crate::choices::{CellOrigin, Choices, NumbersAs, Unseen};
use crate::name_index::{NameIndex, bits};
use crate::names::{EXACT_INTEGERS_END, Naming};
use crate::refusal::Refusal;

/// A cell of a column with a type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// A missing value.
    Missing,
    /// A text.
    Text(&'a str),
    /// A whole number.
    Integer(i64),
    /// A whole number without a sign.
    Unsigned(u64),
    /// A floating-point number; NaN is missing.
    Number(f64),
    /// A truth value.
    Truth(bool),
}

/// The form in which a column holds cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellForm {
    /// Each cell holds its value.
    Plain,
    /// A dictionary (pandas: a category). Its entries are names of categories, also if they are numbers.
    Dictionary,
}

/// The look-up of one feature's categories.
#[derive(Clone, Copy, Debug)]
pub struct Lookup<'a> {
    index: &'a NameIndex,
    unseen: Unseen,
    choices: Choices,
    origin: CellOrigin,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(
        index: &'a NameIndex,
        choices: Choices,
        unseen: Unseen,
        origin: CellOrigin,
    ) -> Lookup<'a> {
        Lookup { index, unseen, choices, origin }
    }

    /// Whether some code needs double precision.
    pub fn is_wide(&self) -> bool {
        self.index.wide
    }

    /// Whether plain numbers in this kind of input are codes, so that a numeric column needs no look-up.
    pub fn takes_codes(&self) -> bool {
        let chosen = self.choices.numbers;
        let codes = chosen.unwrap_or(match self.origin {
            CellOrigin::Table => NumbersAs::Names,
            CellOrigin::Array => NumbersAs::Codes,
        });
        codes == NumbersAs::Codes && self.index.names.naming != Naming::Spelled
    }

    /// Names that are texts, in arbitrary order.
    pub fn texts(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.index.texts.keys().map(String::as_str)
    }

    /// The code of a cell's category; NaN for a missing cell.
    ///
    /// # Errors
    /// A [`Refusal`] if it is not certain which category the cell means.
    pub fn code(&self, cell: Cell<'_>, form: CellForm) -> Result<f64, Refusal> {
        match cell {
            Cell::Missing => Ok(f64::NAN),
            Cell::Number(number) if number.is_nan() => Ok(f64::NAN),
            Cell::Text(text) => self.of_text(text),
            Cell::Truth(truth) => self.of_truth(truth),
            Cell::Integer(_) | Cell::Unsigned(_) | Cell::Number(_) => match self.index.names.naming {
                Naming::Spelled => self.of_spelled_number(cell),
                _ if form == CellForm::Plain && self.takes_codes() => self.of_code(cell),
                naming => {
                    let doubtful = naming == Naming::Doubtful && form == CellForm::Plain;
                    if doubtful && self.choices.numbers.is_none() {
                        return Err(Refusal::Doubtful(text_of(cell)));
                    }
                    self.of_number(cell, form)
                }
            },
        }
    }

    /// The code of a cell without a type, as in CSV. `value` parses the cell: `None` if it is not a number,
    /// NaN if it is missing. It is called at most once, and only if the cell is not the name of a category.
    ///
    /// # Errors
    /// A [`Refusal`] if it is not certain which category the cell means.
    pub fn code_of_untyped(&self, cell: &str, value: impl FnOnce() -> Option<f64>) -> Result<f64, Refusal> {
        let plain = cell.trim();
        // If numbers are codes, a cell that looks like a number is a code, even if it is a name too.
        if self.takes_codes()
            && let Ok(number) = plain.parse::<f64>()
            && !number.is_nan()
        {
            return self.code(plain.parse().map_or(Cell::Number(number), Cell::Integer), CellForm::Plain);
        }
        if let Some(code) = self.index.texts.get(cell).copied() {
            let number = plain.parse().ok().and_then(|number| self.number_name(Cell::Number(number)));
            return match number.filter(|number| *number != code && self.index.names.naming != Naming::Spelled)
            {
                _ if plain.is_empty() => Err(Refusal::Empty),
                Some(_) => Err(Refusal::TextAndNumber(cell.to_owned())),
                None => Ok(code),
            };
        }
        let is = |word: &str| plain.eq_ignore_ascii_case(word);
        if self.index.takes_truths() && (is("true") || is("false")) {
            return self.of_truth(is("true"));
        }
        match value() {
            Some(value) if value.is_nan() => Ok(f64::NAN),
            Some(_) if self.index.names.naming == Naming::Spelled => self.of_unknown(plain),
            Some(_) if self.index.names.naming.is_of_texts() => self.of_unknown(cell),
            Some(_) if is("true") || is("false") => self.of_unknown(plain),
            Some(value) => {
                let whole = plain.parse().ok().map(Cell::Integer);
                match self.code(whole.unwrap_or(Cell::Number(value)), CellForm::Plain) {
                    Err(Refusal::Unseen(_)) => self.of_unknown(plain),
                    found => found,
                }
            }
            None => self.of_unknown(cell),
        }
    }

    /// Whether a text is exactly the name of a category.
    pub fn is_name(&self, text: &str) -> bool {
        self.index.texts.contains_key(text)
    }

    fn of_text(&self, text: &str) -> Result<f64, Refusal> {
        match self.index.texts.get(text).copied() {
            Some(code) => Ok(code),
            None if text.is_empty() && self.index.names.naming == Naming::Texts => Ok(f64::NAN),
            None if self.index.names.labels.is_empty() => Err(Refusal::NoNames(text.to_owned())),
            None if self.index.texts.is_empty() => Err(Refusal::TextAmongOthers(text.to_owned())),
            None => self.of_unknown(text),
        }
    }

    fn of_truth(&self, truth: bool) -> Result<f64, Refusal> {
        if self.index.names.labels.is_empty() {
            return Err(Refusal::NoNames(truth.to_string()));
        }
        match self.index.truth(truth) {
            Some(code) => Ok(code),
            None if self.index.integers.contains_key(&i64::from(truth)) => Err(Refusal::NumberOrTruth(truth)),
            None if self.index.takes_truths() => self.of_unknown(if truth { "True" } else { "False" }),
            None => Err(Refusal::Truth(truth)),
        }
    }

    /// The code of a number if names are texts: the digits of a whole number may be a name.
    fn of_spelled_number(&self, number: Cell<'_>) -> Result<f64, Refusal> {
        let name = match number {
            Cell::Number(number) if number.fract() != 0.0 || number.is_infinite() => {
                return Err(Refusal::Fraction(number));
            }
            Cell::Number(number) if number.abs() >= EXACT_INTEGERS_END as f64 => {
                return Err(Refusal::Inexact(number));
            }
            // Both zeros are spelled alike.
            Cell::Number(number) => (number as i64).to_string(),
            _ => text_of(number),
        };
        match self.index.texts.get(&name) {
            Some(code) => Ok(*code),
            None => self.of_unknown(&name),
        }
    }

    /// The code of a number that is read as a name.
    fn of_number(&self, number: Cell<'_>, form: CellForm) -> Result<f64, Refusal> {
        if let Cell::Number(value) = number
            && value.abs() >= EXACT_INTEGERS_END as f64
            && self.index.integers.keys().any(|name| name.unsigned_abs() >= EXACT_INTEGERS_END)
        {
            return Err(Refusal::Inexact(value));
        }
        if let Some(code) = self.number_name(number) {
            return Ok(code);
        }
        let index = self.index;
        // In Python, 1 equals True. For schedc they are two names, so such a cell is uncertain.
        let truth = [("0", false), ("1", true)].into_iter().find(|(text, _)| text_of(number) == *text);
        if let Some((_, truth)) = truth
            && index.truth(truth).is_some()
        {
            return Err(Refusal::NumberOrTruth(truth));
        }
        // A number may be an unknown name if some names are numbers, or if the user chose a treatment of
        // unknown names.
        let may_be_name =
            index.has_numbers() || form == CellForm::Dictionary || self.choices.unseen.is_some();
        match index.names.naming {
            _ if may_be_name || index.names.labels.is_empty() => self.of_unknown(&text_of(number)),
            naming if naming.is_of_texts() => Err(Refusal::NumberForText(text_of(number))),
            _ => Err(Refusal::NumberAmongOthers(text_of(number))),
        }
    }

    /// The code of a number that is a name. Numbers are compared by value, whatever their types.
    fn number_name(&self, number: Cell<'_>) -> Option<f64> {
        let index = self.index;
        let by_value = |number: f64| {
            const BOUND: f64 = 9_223_372_036_854_775_808.0;
            let whole = number == number.trunc() && (-BOUND..BOUND).contains(&number);
            let as_integer = || index.integers.get(&(number as i64)).filter(|_| whole);
            index.numbers.get(&bits(number)).or_else(as_integer).copied()
        };
        match number {
            Cell::Integer(number) => {
                let exact = index.integers.get(&number).copied();
                exact.or_else(|| Some(number as f64).filter(|&x| x as i64 == number).and_then(by_value))
            }
            Cell::Unsigned(number) => match i64::try_from(number) {
                Ok(number) => self.number_name(Cell::Integer(number)),
                // XGBoost's names from 2^63 on are kept as text.
                Err(_) => index.texts.get(&number.to_string()).copied(),
            },
            Cell::Number(number) => by_value(number),
            _ => None,
        }
    }

    /// The number itself, if it is a code. A number that is a name but not a code is refused, since the user
    /// probably meant the name. Any other number is passed on, as trainers do, unless the user chose a
    /// treatment of unknown categories.
    fn of_code(&self, number: Cell<'_>) -> Result<f64, Refusal> {
        let value = match number {
            Cell::Integer(number) => number as f64,
            Cell::Unsigned(number) => number as f64,
            Cell::Number(number) => number,
            _ => f64::NAN,
        };
        let count = self.index.names.labels.len();
        if value == -1.0 && self.origin == CellOrigin::Table {
            return Err(Refusal::MissingCode);
        }
        let is_code = (0.0..count as f64).contains(&value);
        let chosen = self.choices.numbers.is_some();
        let may_be_name = chosen || self.index.names.naming == Naming::Listed;
        if !is_code && may_be_name && self.number_name(number).is_some() {
            return Err(Refusal::NameAmongCodes(value, count));
        }
        match is_code || count == 0 || self.choices.unseen.is_none() {
            true => Ok(value),
            false => self.of_unknown(&text_of(number)),
        }
    }

    /// The code of an unknown category.
    fn of_unknown(&self, name: &str) -> Result<f64, Refusal> {
        if self.index.names.labels.is_empty() {
            return Err(Refusal::NoNames(name.to_owned()));
        }
        // Blanks around a name are most likely a mistake; a trainer would treat the text as an unknown name.
        if self.choices.unseen.is_none() && name.trim() != name && self.index.texts.contains_key(name.trim())
        {
            return Err(Refusal::Blanks(name.to_owned()));
        }
        match self.unseen {
            Unseen::Error => Err(Refusal::Unseen(name.to_owned())),
            Unseen::Missing => Ok(f64::NAN),
            Unseen::Other => Ok(self.index.names.other()),
        }
    }
}

/// A number as text, for messages and for comparison with names.
fn text_of(number: Cell<'_>) -> String {
    match number {
        Cell::Integer(number) => number.to_string(),
        Cell::Unsigned(number) => number.to_string(),
        Cell::Number(number) => number.to_string(),
        _ => String::new(),
    }
}
