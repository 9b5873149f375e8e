//! The rows that a model expects.

use sched_categories::{Categories, CellOrigin, Lookup};

/// The feature names of a model, if it has names and they are recorded.
#[derive(Clone, Copy, Debug)]
pub enum ExpectedNames<'a> {
    /// Each feature has a name. Columns with names are matched by name.
    Known(&'a [String]),
    /// The features have no names: columns count by position.
    None,
    /// The library does not record whether features have names.
    Unknown,
}

/// The rows that a model expects.
#[derive(Clone, Copy, Debug)]
pub struct Expect<'a> {
    /// Columns of a row: the model's number of features.
    pub columns: usize,
    /// The features' names.
    pub names: ExpectedNames<'a>,
    /// Whether columns count by position, and names are ignored.
    pub by_position: bool,
    /// Whether the trainer writes `_` for each blank in a name, as LightGBM does.
    pub are_blanks_renamed: bool,
    /// The precisions to which whole numbers are rounded.
    pub whole: WholePrecision,
    /// The categories of features, if some have names or are unread. Text in a column becomes the code of its
    /// category.
    pub categories: Option<&'a Categories>,
    /// A number that counts as missing, in addition to NaN.
    pub missing: Option<MissingNumber>,
}

/// A precision of floating-point numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// 32 bits.
    Single,
    /// 64 bits.
    #[default]
    Double,
}

/// The precision to which whole numbers are rounded, once and from their own type, as the model's trainer
/// does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WholePrecision {
    /// Precision of whole numbers in cells of tables.
    pub of_tables: Precision,
    /// Precision of whole numbers in elements of arrays.
    pub of_arrays: Precision,
}

impl WholePrecision {
    /// Rounds whole numbers of tables and arrays to the same precision.
    pub fn all(precision: Precision) -> WholePrecision {
        WholePrecision { of_tables: precision, of_arrays: precision }
    }
}

/// A number that counts as a missing value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MissingNumber {
    /// The number.
    pub value: f64,
    /// Whether values are rounded to single precision before the comparison. Set if the model reads such
    /// rows.
    pub single: bool,
}

impl<'a> Expect<'a> {
    /// The expected rows of a model whose features have these names.
    pub fn named(names: &'a [String]) -> Self {
        Expect {
            columns: names.len(),
            names: ExpectedNames::Known(names),
            by_position: false,
            are_blanks_renamed: false,
            whole: WholePrecision::default(),
            categories: None,
            missing: None,
        }
    }

    /// The expected rows of a model whose features have no names.
    pub fn unnamed(columns: usize) -> Self {
        Expect { columns, names: ExpectedNames::None, ..Expect::named(&[]) }
    }

    /// The expected rows of a library that does not record whether features have names.
    pub fn untold(columns: usize) -> Self {
        Expect { columns, names: ExpectedNames::Unknown, ..Expect::named(&[]) }
    }

    /// Matches columns by position if `insist` is true.
    pub fn by_position(self, insist: bool) -> Self {
        Expect { by_position: insist, ..self }
    }

    /// Lets columns with blanks in their names match features with `_` there if `renamed` is true.
    pub fn with_blanks_renamed(self, renamed: bool) -> Self {
        Expect { are_blanks_renamed: renamed, ..self }
    }

    /// Sets the precisions to which whole numbers are rounded.
    pub fn with_whole_numbers(self, whole: WholePrecision) -> Self {
        Expect { whole, ..self }
    }

    /// Adds the categories of a model that has names for them.
    pub fn with_categories(self, categories: Option<&'a Categories>) -> Self {
        Expect { categories, ..self }
    }

    /// Adds a number that stands for missing values, if there is one.
    pub fn with_missing(self, missing: Option<MissingNumber>) -> Self {
        Expect { missing, ..self }
    }

    /// Whether the model reads a feature. A file may lack the column of an unread one, whose cells may hold
    /// anything.
    pub(super) fn reads(&self, feature: usize) -> bool {
        !self.categories.is_some_and(|categories| categories.is_unread(feature))
    }

    /// The look-up of category names in a feature's column, if its categories have names.
    pub(super) fn lookup(&self, feature: usize) -> Option<Lookup<'a>> {
        self.categories.and_then(|categories| categories.lookup(feature, CellOrigin::Table))
    }

    /// The names by which columns are matched; `None` if columns count by position.
    pub(crate) fn names_to_match(&self) -> Option<&'a [String]> {
        match self.names {
            ExpectedNames::Known(names) if !self.by_position => Some(names),
            _ => None,
        }
    }
}
