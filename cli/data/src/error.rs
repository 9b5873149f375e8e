//! What can be wrong with a data file, as a value.

use std::fmt;

/// The kind of a [`DataError`]. Codes are stable: a kind keeps its code for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// `D0001`: the input could not be opened or read.
    Unreadable,
    /// `D0002`: the input is neither a `.npy` array nor CSV text.
    UnknownFormat,
    /// `D0003`: the input holds nothing at all.
    Empty,
    /// `D0004`: the number of columns is not the one that the model wants.
    Columns,
    /// `D0005`: a CSV cell holds text that is not a number.
    NotANumber,
    /// `D0006`: a CSV header lacks features of the model.
    MissingFeature,
    /// `D0007`: a CSV header names one of the model's features twice.
    DuplicateFeature,
    /// `D0008`: the header of a `.npy` array is malformed.
    MalformedHeader,
    /// `D0009`: a `.npy` array of an element type or a number of dimensions that holds no rows of numbers.
    UnsupportedArray,
    /// `D0010`: a `.npy` file is shorter or longer than its header says.
    Length,
    /// `D0011`: more data than this machine's memory or address space can hold.
    TooLarge,
    /// `D0012`: an output could not be written.
    Unwritable,
    /// `D0013`: an output's file name says nothing about its format.
    UnknownExtension,
    /// `D0014`: a table to be written whose values do not fill its rows.
    Shape,
    /// `D0015`: a quotation mark in CSV text is never closed.
    OpenQuote,
    /// `D0016`: the model's features have names by which columns cannot be found: equal ones, or an empty one.
    UnusableNames,
    /// `D0017`: a CSV header that cannot be matched, since the model's names are not known, or its order looks wrong.
    UnmatchedHeader,
}

impl Code {
    /// The code as printed, e.g. `D0005`.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::Unreadable => "D0001",
            Code::UnknownFormat => "D0002",
            Code::Empty => "D0003",
            Code::Columns => "D0004",
            Code::NotANumber => "D0005",
            Code::MissingFeature => "D0006",
            Code::DuplicateFeature => "D0007",
            Code::MalformedHeader => "D0008",
            Code::UnsupportedArray => "D0009",
            Code::Length => "D0010",
            Code::TooLarge => "D0011",
            Code::Unwritable => "D0012",
            Code::UnknownExtension => "D0013",
            Code::Shape => "D0014",
            Code::OpenQuote => "D0015",
            Code::UnusableNames => "D0016",
            Code::UnmatchedHeader => "D0017",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A column of a data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its number in the file, from 1.
    pub number: usize,
    /// Its name, where the file has a header.
    pub name: Option<String>,
}

/// Where in the data an error is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file's path, or `standard input` or `standard output`.
    pub source: String,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The column.
    pub column: Option<Column>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", column {}", column.number)?;
            if let Some(name) = &column.name {
                write!(f, " ({})", shorten(name))?;
            }
        }
        Ok(())
    }
}

/// Something wrong with data read or written: what, where, and a way out.
///
/// `Display` gives `CODE: PLACE: MESSAGE` and, on lines of their own, the help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataError {
    /// The kind.
    pub code: Code,
    /// What is wrong, one sentence without a full stop.
    pub message: String,
    /// Where it is wrong. Boxed to keep `Result`s small.
    pub place: Box<Place>,
    /// A way out, where one is known.
    pub help: Option<String>,
}

impl DataError {
    pub(crate) fn new(code: Code, source: &str, message: impl Into<String>) -> Self {
        let place = Box::new(Place { source: source.to_owned(), ..Place::default() });
        DataError { code, message: message.into(), place, help: None }
    }

    pub(crate) fn line(mut self, line: u64) -> Self {
        self.place.line = Some(line);
        self
    }

    pub(crate) fn column(mut self, number: usize, name: Option<String>) -> Self {
        self.place.column = Some(Column { number, name });
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.code, self.place, self.message)?;
        match &self.help {
            Some(help) => write!(f, "\n  help: {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for DataError {}

/// Text from a file, made fit for a message: control characters escaped, no longer than a message can bear.
pub(crate) fn shorten(text: &str) -> String {
    const MOST: usize = 40;
    let mut characters = text.chars();
    let mut short: String = characters.by_ref().take(MOST).flat_map(printable).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}

/// The character itself, or its escape where printing it would disturb a terminal.
fn printable(character: char) -> Vec<char> {
    if character.is_control() { character.escape_default().collect() } else { vec![character] }
}

/// `1 column`, `2 columns`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
