//! Refusals: cells whose category is unknown or uncertain, with messages and help.

/// The reason why a cell has no code.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// A name that the model does not know.
    Unseen(String),
    /// An empty cell of text, if the model has a category with an empty name.
    Empty,
    /// A number, if no name is a number.
    NumberAmongOthers(String),
    /// A number in a column of texts that the model itself reads.
    NumberForText(String),
    /// A text, if no name is a text.
    TextAmongOthers(String),
    /// A truth value, if no name is a truth value.
    Truth(bool),
    /// A number that may be a name or a code, because the model's file does not say to which feature its
    /// names belong.
    Doubtful(String),
    /// A name of the model with blanks around it.
    Blanks(String),
    /// A cell without a type that is one name as a text, and another name as a number.
    TextAndNumber(String),
    /// A name, if the model's file has no reliable names.
    NoNames(String),
    /// A number that is a name but not a code, if numbers are codes. The second field is the number of codes.
    NameAmongCodes(f64, usize),
    /// A number with a fraction, if names are whole numbers and texts.
    Fraction(f64),
    /// A number 0 or 1 if the truth value is a name, or the other way round.
    NumberOrTruth(bool),
    /// The number -1 among codes of a table, which pandas writes for a missing value.
    MissingCode,
    /// A whole number that its floating-point type does not represent exactly.
    Inexact(f64),
}

/// The form in which help names the user's choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Options of a command: `--categories codes`.
    Options,
    /// Arguments of Python: `categories="codes"`.
    Arguments,
}

impl Words {
    /// A choice as the user writes it.
    fn choice(self, option: &str, value: &str) -> String {
        match self {
            Words::Options => format!("--{option} {value}"),
            Words::Arguments => format!("{option}=\"{value}\""),
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
                format!("{} is a number, and no name of these categories is one", quote(number))
            }
            Refusal::NumberForText(number) => {
                format!("{} is a number, and the model reads texts in this column", quote(number))
            }
            Refusal::TextAmongOthers(text) => {
                format!("{} is text, and no name of these categories is one", quote(text))
            }
            Refusal::Truth(truth) => {
                format!("{truth} is a truth value, and no name of these categories is one")
            }
            Refusal::Doubtful(number) => format!(
                "{} may be a name or a code: the model's file lists names without saying which feature \
                 they belong to",
                quote(number)
            ),
            Refusal::Blanks(name) => {
                format!("{} has blanks around it, and is a category without them", quote(name))
            }
            Refusal::TextAndNumber(cell) => {
                format!(
                    "{} is the name of one category as a text and of another one as a number",
                    quote(cell)
                )
            }
            Refusal::NoNames(name) => {
                format!(
                    "{} is a name, and the model's file gives no names of these categories to rely on",
                    quote(name)
                )
            }
            Refusal::NameAmongCodes(number, count) => format!(
                "{number} is the name of a category, and numbers are codes here, from 0 to {}",
                count.saturating_sub(1)
            ),
            Refusal::NumberOrTruth(truth) => {
                format!(
                    "the cell may be the number {} or the value {truth}, of which one is a name",
                    u8::from(*truth)
                )
            }
            Refusal::MissingCode => "-1 is no code, and pandas writes it for a missing value".to_owned(),
            Refusal::Fraction(number) => {
                format!("{number} is no category: these are whole numbers and text to CatBoost")
            }
            Refusal::Inexact(number) => {
                format!(
                    "{number} may stand for several whole numbers, which floating-point numbers do not \
                     tell apart"
                )
            }
        }
    }

    /// Advice on how to correct the cell or the call.
    pub fn help(&self, words: Words) -> String {
        let (names, codes) = (words.choice("categories", "names"), words.choice("categories", "codes"));
        let other = words.choice("unseen", "other");
        match self {
            Refusal::Unseen(_) => format!(
                "{} takes such values as missing, and {other} as a category that no tree asks for",
                words.choice("unseen", "missing")
            ),
            Refusal::Empty => {
                "save the rows as Parquet or Arrow, in which an empty text is not missing".to_owned()
            }
            Refusal::NumberAmongOthers(_) => format!(
                "write the names that the model was trained on; or say {codes} if the numbers are codes from \
                 0 on in the order of the model's names, and {other} if they are unknown names"
            ),
            Refusal::NumberForText(_) => format!(
                "give the column as text, as it was in training; or say {other}, which takes numbers as an \
                 unknown category"
            ),
            Refusal::TextAmongOthers(_) => {
                "save the column as numbers or truth values, as it was in training".to_owned()
            }
            Refusal::Truth(_) => "write the names that the model was trained on".to_owned(),
            Refusal::Doubtful(_) => {
                format!(
                    "say {codes} if the model was trained on these numbers, and {names} if they are names"
                )
            }
            Refusal::NameAmongCodes(..) => {
                format!("write codes in all columns of categories, or names in all of them and say {names}")
            }
            Refusal::Blanks(_) => {
                format!("remove the blanks; or say {other}, which takes the cell as an unknown category")
            }
            Refusal::TextAndNumber(_) => {
                "save the rows as Parquet or Arrow, whose columns have types".to_owned()
            }
            Refusal::NoNames(_) => format!("write the categories' codes, as in training, and say {codes}"),
            Refusal::NumberOrTruth(_) => "write the name in the type that it had in training".to_owned(),
            Refusal::MissingCode => "leave the cell empty if the value is missing".to_owned(),
            Refusal::Fraction(_) => {
                "save the column as whole numbers or as text, as it was in training".to_owned()
            }
            Refusal::Inexact(_) => "save the column as whole numbers or as text".to_owned(),
        }
    }
}
