//! Refusals: cells whose category is unknown or uncertain, with messages and help.

/// The reason why a cell has no code.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// A name that the model does not know.
    Unseen(String),
    /// An empty cell of text, if the model has a category with an empty name.
    Empty,
    /// A number, if none of the feature's names is a number.
    NumberAmongOthers(String),
    /// A number, if the model's own input holds texts in this column.
    NumberForText(String),
    /// A text, if none of the feature's names is a text.
    TextAmongOthers(String),
    /// A truth value, if none of the feature's names is a truth value.
    Truth(bool),
    /// A number that may be a name or a code, because the model's file does not say to which feature its
    /// names belong.
    Doubtful(String),
    /// A text that is a name once the blanks around it are removed.
    Blanks(String),
    /// A cell without a type that is one name as a text, and another name as a number.
    TextAndNumber(String),
    /// A name, if the model's file has no reliable names.
    NoNames(String),
    /// A number that is a name but not a code, in a column whose numbers are codes. The second field is the
    /// number of codes.
    NameAmongCodes(f64, usize),
    /// A number with a fraction, for CatBoost, whose names are whole numbers and texts.
    Fraction(f64),
    /// The number 0 or 1 if only the truth value is a name, or a truth value if only the number is.
    NumberOrTruth(bool),
    /// The number -1 among codes of a table, which pandas writes for a missing value.
    MissingCode,
    /// A floating-point number so large that it may stand for several whole numbers.
    Inexact(f64),
}

/// The form in which help writes the user's choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceSyntax {
    /// Options of a command: `--categories codes`.
    Options,
    /// Arguments of Python: `categories="codes"`.
    Arguments,
}

impl ChoiceSyntax {
    /// A choice as the user writes it.
    fn choice(self, option: &str, value: &str) -> String {
        match self {
            ChoiceSyntax::Options => format!("--{option} {value}"),
            ChoiceSyntax::Arguments => format!("{option}=\"{value}\""),
        }
    }
}

impl Refusal {
    /// The message, without the cell's position. `quote` shortens names and makes them printable.
    pub fn message(&self, quote: impl Fn(&str) -> String) -> String {
        match self {
            Refusal::Unseen(name) => format!("{} is not a category of the model", quote(name)),
            Refusal::Empty => "the cell is empty, and the empty text is a category of the model".to_owned(),
            Refusal::NumberAmongOthers(number) => {
                format!(
                    "{} is a number, and no category of this column has a number as its name",
                    quote(number)
                )
            }
            Refusal::NumberForText(number) => {
                format!("{} is a number, and the model reads texts in this column", quote(number))
            }
            Refusal::TextAmongOthers(text) => {
                format!("{} is text, and no category of this column has a text as its name", quote(text))
            }
            Refusal::Truth(truth) => {
                format!("{truth} is a truth value, and no category of this column has one as its name")
            }
            Refusal::Doubtful(number) => format!(
                "{} may be a name or a code: the model's file lists names without saying which feature \
                 they belong to",
                quote(number)
            ),
            Refusal::Blanks(name) => {
                format!("{} has blanks around it; without them it is the name of a category", quote(name))
            }
            Refusal::TextAndNumber(cell) => {
                format!(
                    "{} is the name of one category as a text and of another one as a number",
                    quote(cell)
                )
            }
            Refusal::NoNames(name) => {
                format!(
                    "{} is a name, and the model's file has no reliable names for the categories of this \
                     column",
                    quote(name)
                )
            }
            Refusal::NameAmongCodes(number, count) => format!(
                "{number} is the name of a category, and numbers of this column are codes, from 0 to {}",
                count.saturating_sub(1)
            ),
            Refusal::NumberOrTruth(truth) => {
                format!(
                    "the cell may be the number {} or the truth value {truth}, and only one of them is a \
                     category",
                    u8::from(*truth)
                )
            }
            Refusal::MissingCode => "-1 is not a code; pandas writes it for a missing value".to_owned(),
            Refusal::Fraction(number) => {
                format!("{number} is not a category: CatBoost's categories are whole numbers and texts")
            }
            Refusal::Inexact(number) => {
                format!(
                    "{number} may stand for several whole numbers, since a floating-point number of this \
                     size is not exact"
                )
            }
        }
    }

    /// Advice on how to correct the cell or the call.
    pub fn help(&self, words: ChoiceSyntax) -> String {
        let (names, codes) = (words.choice("categories", "names"), words.choice("categories", "codes"));
        let other = words.choice("unseen", "other");
        match self {
            Refusal::Unseen(_) => format!(
                "{} takes such values as missing, and {other} as a category that no tree tests",
                words.choice("unseen", "missing")
            ),
            Refusal::Empty => {
                "save the rows as Parquet or Arrow, in which an empty text is not missing".to_owned()
            }
            Refusal::NumberAmongOthers(_) => format!(
                "write the names that the model was trained on; or use {codes} if the numbers are positions \
                 in the model's list of names, from 0 on, or {other} if they are unknown names"
            ),
            Refusal::NumberForText(_) => format!(
                "give the column as text, as it was in training; or use {other}, which takes numbers as an \
                 unknown category"
            ),
            Refusal::TextAmongOthers(_) => {
                "save the column as numbers or truth values, as it was in training".to_owned()
            }
            Refusal::Truth(_) => "write the names that the model was trained on".to_owned(),
            Refusal::Doubtful(_) => {
                format!("use {codes} if the model was trained on these numbers, or {names} if they are names")
            }
            Refusal::NameAmongCodes(..) => {
                format!(
                    "write codes in all columns of categories, or write names in all of them and use {names}"
                )
            }
            Refusal::Blanks(_) => {
                format!("remove the blanks; or use {other}, which takes the cell as an unknown category")
            }
            Refusal::TextAndNumber(_) => {
                "save the rows as Parquet or Arrow, whose columns have types".to_owned()
            }
            Refusal::NoNames(_) => format!("write the categories' codes, as in training, and use {codes}"),
            Refusal::NumberOrTruth(_) => {
                "save the column as numbers or truth values, as it was in training".to_owned()
            }
            Refusal::MissingCode => match words {
                ChoiceSyntax::Options => "leave the cell empty if the value is missing",
                ChoiceSyntax::Arguments => "write None or NaN if the value is missing",
            }
            .to_owned(),
            Refusal::Fraction(_) => {
                "save the column as whole numbers or as text, as it was in training".to_owned()
            }
            Refusal::Inexact(_) => "save the column as whole numbers or as text".to_owned(),
        }
    }
}
