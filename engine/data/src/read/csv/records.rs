//! Records of CSV text, and their cells.

use std::io::Read;

use super::lines::LfLines;
use super::selection::Selection;
use crate::codes;
use crate::error::{DataError, count, is_invisible, shorten};
use crate::read::categories::{Lookup, refused};
use crate::read::expect::Expect;
use crate::read::source::unreadable;
use sched_categories::Refusal;
use sched_diagnostics::Code;

/// The value of a cell: NaN if it is missing, `None` if it is text.
pub(in crate::read) fn parse(cell: &[u8]) -> Option<f64> {
    let cell = cell.trim_ascii();
    let number = str::from_utf8(cell).ok().and_then(|text| text.parse().ok());
    number.or_else(|| WORDS.iter().find(|(word, _)| cell.eq_ignore_ascii_case(word)).map(|&(_, value)| value))
}

/// Words with a value in cells. The parser of numbers accepts further spellings of `nan` and `inf`.
const WORDS: [(&[u8], f64); 16] = [
    (b"", f64::NAN),
    (b"na", f64::NAN),
    (b"n/a", f64::NAN),
    (b"<na>", f64::NAN),
    (b"#na", f64::NAN),
    (b"#n/a", f64::NAN),
    (b"#n/a n/a", f64::NAN),
    (b"1.#ind", f64::NAN),
    (b"-1.#ind", f64::NAN),
    (b"1.#qnan", f64::NAN),
    (b"-1.#qnan", f64::NAN),
    (b"null", f64::NAN),
    (b"none", f64::NAN),
    (b"?", f64::NAN),
    (b"true", 1.0),
    (b"false", 0.0),
];

/// Reads the records of a text, with the numbers of their lines.
pub(super) struct CsvRecords<R> {
    reader: csv::Reader<LfLines<R>>,
    pub(super) record: csv::ByteRecord,
    pub(super) name: String,
    /// Whether a row has only one cell. A blank line is then a row with a missing value.
    narrow: bool,
}

impl<R: Read> CsvRecords<R> {
    pub(super) fn new(stream: R, delimiter: u8, name: &str, narrow: bool) -> Self {
        let reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .has_headers(false)
            .buffer_capacity(1 << 16)
            .from_reader(LfLines::new(stream));
        CsvRecords { reader, record: csv::ByteRecord::new(), name: name.to_owned(), narrow }
    }

    /// Steps to the next line that is not blank; false at the end.
    pub(super) fn next(&mut self) -> Result<bool, DataError> {
        loop {
            let before = self.reader.position().line();
            let more = self.reader.read_byte_record(&mut self.record);
            let more = more.map_err(|error| unreadable(&self.name, &error.into()))?;
            self.check_empty_lines(before, more)?;
            if !more {
                return Ok(false);
            }
            // A record ends with a line end, unless an open quote extends it to the end of the file.
            if self.reader.get_ref().has_ended() {
                return Err(self.open_quote());
            }
            // The csv crate skips empty lines, but returns a line of blanks as one cell.
            let blank = self.record.len() == 1 && self.record.as_slice().trim_ascii().is_empty();
            if self.narrow || !blank {
                return Ok(true);
            }
        }
    }

    /// Refuses empty lines in a file of one column, from line `before` on. The csv crate skips them, although
    /// some programs write them for missing values. `more` says whether a record follows.
    fn check_empty_lines(&self, before: u64, more: bool) -> Result<(), DataError> {
        let end = if more { self.line() } else { self.reader.position().line() };
        if !self.narrow || self.reader.position().record() <= 1 || end <= before {
            return Ok(());
        }
        let message = "the line is empty: it may be a missing value, or no row";
        Err(DataError::new(codes::NOT_A_NUMBER, &self.name, message)
            .line(before)
            .help("write NA for a missing value, or remove the line"))
    }

    /// The line on which the record starts. The csv crate reports the position before preceding blank lines,
    /// so this counts back from the record's end.
    pub(super) fn line(&self) -> u64 {
        let within = self.record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
        // The reader has passed the record's line end, too, unless the file ends without one.
        let after = u64::from(!self.reader.get_ref().has_ended());
        self.reader.position().line().saturating_sub(within + after).max(1)
    }

    /// The error for a last cell that begins with a quotation mark and extends to the end of the file.
    fn open_quote(&self) -> DataError {
        let cells = self.record.len();
        let line_ends = |cell: &[u8]| cell.iter().filter(|&&byte| byte == b'\n').count() as u64;
        let before: u64 = self.record.iter().take(cells.saturating_sub(1)).map(line_ends).sum();
        let message = "a quotation mark opens in this cell and is never closed";
        DataError::new(codes::OPEN_QUOTE, &self.name, message)
            .line(self.line() + before)
            .column(cells, None)
            .help(
                "close it at the end of the cell, or remove it; a quotation mark within a quoted cell is \
                   written twice",
            )
    }

    /// The text of a cell at `column`, whose name is `name`.
    ///
    /// # Errors
    /// If the cell is not UTF-8.
    pub(super) fn text<'c>(
        &self,
        cell: &'c [u8],
        column: usize,
        name: Option<&String>,
    ) -> Result<&'c str, DataError> {
        if let Ok(text) = str::from_utf8(cell) {
            return Ok(text);
        }
        let message = "the text is not UTF-8, probably Latin-1 or Windows-1252".to_owned();
        let help = "convert the file to UTF-8: iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW";
        Err(self.error(codes::UNKNOWN_FORMAT, message).column(column + 1, name.cloned()).help(help))
    }

    /// An error on the record's line.
    pub(super) fn error(&self, code: Code, message: String) -> DataError {
        DataError::new(code, &self.name, message).line(self.line())
    }

    /// The error for a record whose number of cells differs from that of the file's other lines.
    pub(super) fn wrong_width(&self, selection: &Selection, expect: Expect<'_>) -> DataError {
        let found = count(self.record.len(), "column");
        let (message, help) = match &selection.header {
            Some(_) => (
                format!("the line has {found}, and the header has {}", selection.width),
                "give every line as many cells as the header; leave a cell empty if its value is missing",
            ),
            None => {
                let wanted = count(expect.columns, "feature");
                (format!("the line has {found}, and the model wants {wanted}"), self.help_on_width(expect))
            }
        };
        self.error(codes::COLUMNS, message).help(help)
    }

    /// Help for a line whose number of cells differs from the number of features.
    fn help_on_width(&self, expect: Expect<'_>) -> &'static str {
        let found = self.record.len();
        if found < expect.columns {
            return "give one cell per feature, separated by commas; leave a cell empty if its value is \
                    missing";
        }
        let unnamed_first = self.record.get(0).is_some_and(|cell| cell.trim_ascii().is_empty());
        if found == expect.columns + 1 && unnamed_first {
            return "the first column has no name: if it is the index that pandas writes, leave it out with \
                    to_csv(..., index=False)";
        }
        match expect.names_to_match() {
            Some(_) => {
                "leave out columns that are not features, such as a label, or put the model's feature names \
                 on the first \
                 line: columns are then chosen by name"
            }
            None => "leave out columns that are not features, such as a label or an identifier",
        }
    }

    /// The error for text in the cell at `column`.
    pub(super) fn not_a_number(&self, cell: &[u8], column: usize, selection: &Selection) -> DataError {
        let name = selection.name(column).cloned();
        let text = match self.text(cell.trim_ascii(), column, name.as_ref()) {
            Ok(text) => text,
            Err(error) => return error,
        };
        let help = if text.contains('\n') {
            "a quotation mark that opens in this cell is closed on a later line only: remove it, or write \
             it twice"
        } else if selection.header.is_none() && self.reader.position().record() <= 1 {
            "write a number, or leave the cell empty if the value is missing; if the line is a header, \
             give its columns \
             the model's names or remove it"
        } else if text.contains(is_invisible) {
            "remove the invisible character that the message shows as \\u{...}, such as \\u{a0}, a \
             no-break space"
        } else if text.contains(',') && text.replacen(',', ".", 1).parse::<f64>().is_ok() {
            "write numbers with a decimal point"
        } else {
            "write a number, or leave the cell empty if the value is missing; text features need the \
             numbers that \
             stood for them in training"
        };
        self.error(codes::NOT_A_NUMBER, format!("\"{}\" is not a number", shorten(text)))
            .column(column + 1, name)
            .help(help)
    }

    /// The error for a cell at `column` whose category is uncertain.
    pub(super) fn not_a_category(
        &self,
        refusal: &Refusal,
        column: usize,
        selection: &Selection,
        lookup: Lookup<'_>,
    ) -> DataError {
        let name = selection.name(column).cloned();
        let (code, message, help) = refused(lookup, refusal);
        self.error(code, message).column(column + 1, name).help(help)
    }

    /// The error for rows that exceed the memory.
    pub(super) fn too_large(&self) -> DataError {
        self.error(codes::TOO_LARGE, "the rows do not fit into memory".to_owned())
            .help("split them into files of fewer rows")
    }
}
