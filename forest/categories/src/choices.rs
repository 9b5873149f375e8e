//! The user's choices for the look-up of categories.

/// The treatment of a category that the model does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unseen {
    /// An error (XGBoost from release 3.1 on).
    #[default]
    Error,
    /// A missing value (LightGBM, scikit-learn).
    Missing,
    /// A category that is in no set that a tree tests (CatBoost, pipelines of ONNX).
    Other,
}

impl Unseen {
    /// The trainer's own treatment; `trainer` is a name from `ModelSource::trainer`.
    pub fn of_trainer(trainer: &str) -> Unseen {
        match trainer {
            "LightGBM" | "scikit-learn" => Unseen::Missing,
            "CatBoost" | "ONNX" => Unseen::Other,
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

/// The kind of input from which the cells come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellOrigin {
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
