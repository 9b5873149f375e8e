//! Errors of data: a diagnostic with its file, line and column.

use sched_diagnostics::{Code, Diagnostic, Place, TableColumn};

sched_diagnostics::error! {
    /// An error of data that was read or written: message, place and help. Its file is a path, or `standard
    /// input` or `standard output`.
    DataError
}

impl DataError {
    pub(crate) fn new(code: Code, source: &str, message: impl Into<String>) -> Self {
        DataError::of(Diagnostic::new(code, Place::Whole, message).file(source))
    }

    /// The error of a base margin that does not fit the rows.
    pub fn base_margin(source: &str, message: impl Into<String>) -> Self {
        DataError::new(crate::codes::BASE_MARGIN, source, message)
            .help("save one finite number for each row and margin of the model, in the order of the rows")
    }

    pub(crate) fn line(mut self, number: u64) -> Self {
        let column = match &mut self.0.place {
            Place::Cell { column, .. } => column.take(),
            _ => None,
        };
        self.0.place = Place::Cell { line: Some(number), column };
        self
    }

    pub(crate) fn column(mut self, number: usize, name: Option<String>) -> Self {
        let line = match self.0.place {
            Place::Cell { line, .. } => line,
            _ => None,
        };
        let name = name.map(|name| shorten(&name));
        self.0.place = Place::Cell { line, column: Some(TableColumn { number, name }) };
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }
}

/// Text from a file for a message: invisible characters escaped, shortened to 40 characters.
pub(crate) fn shorten(text: &str) -> String {
    const MOST: usize = 40;
    let mut characters = text.chars();
    let mut short: String = characters.by_ref().take(MOST).flat_map(printable).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}

/// The character itself, or its escape if printing it would disturb a terminal.
fn printable(character: char) -> Vec<char> {
    match character.is_control() || is_invisible(character) {
        true => character.escape_default().collect(),
        false => vec![character],
    }
}

/// Whether a character is invisible or looks like a blank, and is no ordinary blank (U+0020).
pub(crate) fn is_invisible(character: char) -> bool {
    const MARKS: [char; 3] = ['\u{ad}', '\u{2060}', '\u{feff}'];
    let is_mark = ('\u{200b}'..='\u{200f}').contains(&character) || MARKS.contains(&character);
    character != ' ' && (character.is_whitespace() || is_mark)
}

/// `1 column`, `2 columns`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
