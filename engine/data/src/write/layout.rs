//! The layout of a table of results, and its numbers.

use crate::read::KeptColumns;

/// Numbers to write, in row-major order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ResultNumbers<'a> {
    /// Single precision: predictions, and margins of most models.
    F32(&'a [f32]),
    /// Double precision: margins of models that add in double precision.
    F64(&'a [f64]),
    /// Integers: leaf indices, and numbers of classes.
    I32(&'a [i32]),
    /// Wider integers: classes that have such labels.
    I64(&'a [i64]),
    /// Numbers of labels that are texts, see [`TableLayout::labels`].
    Label(&'a [u32]),
}

impl ResultNumbers<'_> {
    pub(super) fn len(self) -> usize {
        match self {
            ResultNumbers::F32(values) => values.len(),
            ResultNumbers::F64(values) => values.len(),
            ResultNumbers::I32(values) => values.len(),
            ResultNumbers::I64(values) => values.len(),
            ResultNumbers::Label(values) => values.len(),
        }
    }

    /// The type of the numbers.
    pub fn number(self) -> NumberType {
        match self {
            ResultNumbers::F32(_) => NumberType::F32,
            ResultNumbers::F64(_) => NumberType::F64,
            ResultNumbers::I32(_) => NumberType::I32,
            ResultNumbers::I64(_) => NumberType::I64,
            ResultNumbers::Label(_) => NumberType::Label,
        }
    }
}

/// A type of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberType {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// Integers of 32 bits.
    I32,
    /// Integers of 64 bits.
    I64,
    /// Texts, each a label of the table.
    Label,
}

/// The label with this number; empty if there is none.
pub(super) fn label(labels: &[String], number: u32) -> &str {
    labels.get(number as usize).map_or("", String::as_str)
}

/// The layout of a table of results.
#[derive(Clone, Debug)]
pub struct TableLayout {
    /// The names of the columns, at least one.
    pub headings: Vec<String>,
    /// The type of their numbers.
    pub number: NumberType,
    /// The texts of [`NumberType::Label`], by their numbers.
    pub labels: Vec<String>,
    /// The copied columns of the input, which precede the results.
    pub kept: KeptColumns,
}

impl TableLayout {
    /// Columns of one output: a single one has the name `heading`, several are `heading_0`, `heading_1` and
    /// so on.
    pub fn of(heading: &str, columns: usize, number: NumberType, kept: KeptColumns) -> TableLayout {
        let headings = match columns {
            1 => vec![heading.to_owned()],
            _ => (0..columns).map(|column| format!("{heading}_{column}")).collect(),
        };
        TableLayout { headings, number, labels: Vec::new(), kept }
    }

    /// Replaces numbers by texts.
    #[must_use]
    pub fn with_labels(self, labels: Vec<String>) -> TableLayout {
        TableLayout { number: NumberType::Label, labels, ..self }
    }
}
