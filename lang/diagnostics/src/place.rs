//! Places: in a checked text, in a table, in a document.

use std::fmt::{self, Display, Formatter};

/// A half-open byte range `[start, end)` of the source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of `range`; offsets beyond 4 GiB saturate.
    pub fn new(start: usize, end: usize) -> Self {
        let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Span { start: clamp(start), end: clamp(end) }
    }

    /// The span as a range usable to slice the source.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// Number in the file, from 1.
    pub number: usize,
    /// Name, if the file has a header.
    pub name: Option<String>,
}

/// Place of a problem in its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole, or no file at all.
    #[default]
    Whole,
    /// A part of the text that was checked.
    Text(Span),
    /// A line of a table, a column, or a cell.
    Cell {
        /// The line of the file, from 1.
        line: Option<u64>,
        /// The column.
        column: Option<TableColumn>,
    },
    /// A value of a document, such as `learner.gradient_booster.model.trees[3].left_children[17]`.
    Element(String),
    /// A byte of a file, from 0.
    Byte(usize),
}

impl From<Span> for Place {
    fn from(span: Span) -> Place {
        Place::Text(span)
    }
}

impl From<String> for Place {
    /// A value of a document; without a path the document as a whole.
    fn from(path: String) -> Place {
        if path.is_empty() { Place::Whole } else { Place::Element(path) }
    }
}

impl From<&str> for Place {
    fn from(path: &str) -> Place {
        path.to_owned().into()
    }
}

impl Display for Place {
    /// Writes the place in words, for use after a file's name. Writes nothing for the whole file.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Place::Whole => Ok(()),
            Place::Text(Span { start, end }) => write!(f, "bytes {start}..{end}"),
            Place::Element(path) => f.write_str(path),
            Place::Byte(at) => write!(f, "byte {at}"),
            Place::Cell { line, column } => {
                let line = line.map(|line| format!("line {line}"));
                let column = column.as_ref().map(|column| match &column.name {
                    Some(name) => format!("column {} ({name})", column.number),
                    None => format!("column {}", column.number),
                });
                let parts: Vec<String> = line.into_iter().chain(column).collect();
                f.write_str(&parts.join(", "))
            }
        }
    }
}
