//! CSV text. [`read_rows`](super::read_rows) documents numbers, missing values and headers.

mod header;
mod lines;

use std::io::Read;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef};

use self::header::Selection;
use self::lines::Lines;
use super::categories::{Lookup, refused};
use super::columns::matching::remark;
use super::input::Input;
use super::numbers::batch_of_rows;
use super::{Expect, Precision, Reader, Reading, Values, unreadable};
use crate::codes;
use crate::error::{DataError, count, is_invisible, shorten};
use sched_categories::Refusal;
use sched_diagnostics::Code;

/// A reader of CSV text, row by row.
pub(super) struct Csv<'a> {
    records: Records<Input>,
    expect: Expect<'a>,
    keep: &'a [String],
    /// The columns, once the first line has been read.
    selection: Option<Selection>,
    notes: Vec<String>,
    /// A note on the first line. The user sees it only if the second row has another form.
    later: Option<String>,
    /// The number of rows read.
    rows: u64,
}

impl<'a> Csv<'a> {
    /// A reader of `input`, whose first bytes are `head`.
    pub(super) fn new(
        head: &[u8],
        input: Input,
        name: &str,
        expect: Expect<'a>,
        reading: &Reading<'a>,
    ) -> Result<Self, DataError> {
        const MARK: &[u8] = b"\xef\xbb\xbf";
        let (mut input, text) = (input, head.strip_prefix(MARK).unwrap_or(head));
        if text.len() < head.len() {
            input.skip(MARK.len() as u64).map_err(|error| unreadable(name, &error))?;
        }
        let records = Records::new(input, delimiter(text), name, expect.columns == 1);
        let (selection, notes, later) = (None, Vec::new(), None);
        Ok(Csv { records, expect, keep: reading.keep, selection, notes, later, rows: 0 })
    }

    /// Interprets the first line. Returns whether it is a header.
    fn first(&mut self) -> Result<bool, DataError> {
        let first = header::read_first(&self.records, self.expect, self.keep)?;
        self.notes.extend(first.note);
        self.later = first.later;
        self.selection = Some(first.selection);
        Ok(first.is_header)
    }

    /// Parses the current record as a row.
    fn row(&mut self, values: &mut Vec<f64>, kept: &mut [StringBuilder]) -> Result<(), DataError> {
        let (records, expect) = (&self.records, self.expect);
        let Some(chosen) = &self.selection else { return Ok(()) };
        if records.record.len() != chosen.width {
            return Err(records.wrong_width(chosen, expect));
        }
        if self.rows == 1 {
            self.notes.extend(self.later.take().filter(|_| header::has_points(&records.record)));
        }
        values.try_reserve(expect.columns).map_err(|_| records.too_large())?;
        for (feature, &column) in chosen.columns.iter().enumerate() {
            let cell = records.record.get(column).unwrap_or_default();
            let value = match expect.lookup(feature) {
                None => {
                    let value = number(cell, expect.whole.of_tables);
                    value.ok_or_else(|| records.not_a_number(cell, column, chosen))?
                }
                Some(lookup) => {
                    let code = lookup.code_of_untyped(&String::from_utf8_lossy(cell), || parse(cell));
                    code.map_err(|refusal| records.not_a_category(&refusal, column, chosen, lookup))?
                }
            };
            values.push(value);
        }
        for (&column, kept) in chosen.kept.iter().zip(kept) {
            let cell = records.record.get(column).unwrap_or_default();
            kept.append_value(str::from_utf8(cell).map_err(|_| records.not_text(column, chosen))?);
        }
        self.rows += 1;
        Ok(())
    }
}

impl Reader for Csv<'_> {
    fn next(&mut self, most: usize) -> Result<Option<RecordBatch>, DataError> {
        let mut values = Vec::new();
        let mut kept: Vec<StringBuilder> = self.keep.iter().map(|_| StringBuilder::new()).collect();
        let mut rows = 0;
        while rows < most && self.records.next()? {
            if self.selection.is_none() && self.first()? {
                continue;
            }
            self.row(&mut values, &mut kept)?;
            rows += 1;
        }
        if self.selection.is_none() {
            return Err(DataError::new(codes::EMPTY, &self.records.name, "there are only blank lines")
                .help("give one line per row, with one cell per feature of the model"));
        }
        if rows == 0 {
            return Ok(None);
        }
        let kept = kept.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
        let features = (Values::F64(values), self.expect.columns, rows);
        batch_of_rows(features, self.kept().into_iter().zip(kept), &self.records.name).map(Some)
    }

    fn names(&self) -> Option<Vec<String>> {
        self.selection.as_ref()?.names()
    }

    fn remark(&self) -> Option<String> {
        let Selection { columns, kept, header, .. } = self.selection.as_ref()?;
        self.expect.names_to_match()?;
        remark(header.as_ref()?, columns, kept)
    }

    fn kept(&self) -> Vec<FieldRef> {
        let text = |name: &String| Arc::new(Field::new(name.trim(), DataType::Utf8, true));
        self.keep.iter().map(text).collect()
    }

    fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
}

/// The value of a feature's cell: NaN for a missing value, `None` for text. Whole numbers that double
/// precision cannot represent are rounded once, to the precision of `whole`.
fn number(cell: &[u8], whole: Precision) -> Option<f64> {
    const EXACT_DIGITS: usize = 15;
    let value = parse(cell)?;
    if whole == Precision::Double || cell.len() <= EXACT_DIGITS {
        return Some(value);
    }
    let digits = str::from_utf8(cell.trim_ascii()).unwrap_or_default();
    let single = digits.parse().map(|number: i64| number as f32);
    Some(single.or_else(|_| digits.parse().map(|number: u64| number as f32)).map_or(value, f64::from))
}

/// The value of a cell: NaN if it is missing, `None` if it is text.
pub(super) fn parse(cell: &[u8]) -> Option<f64> {
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

/// The records of a text, one after the other, with their lines.
struct Records<R> {
    reader: csv::Reader<Lines<R>>,
    record: csv::ByteRecord,
    name: String,
    /// Whether a row has only one cell. A blank line is then a row with a missing value.
    narrow: bool,
}

impl<R: Read> Records<R> {
    fn new(stream: R, delimiter: u8, name: &str, narrow: bool) -> Self {
        let reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .has_headers(false)
            .buffer_capacity(1 << 16)
            .from_reader(Lines::new(stream));
        Records { reader, record: csv::ByteRecord::new(), name: name.to_owned(), narrow }
    }

    /// Steps to the next line that is not blank; false at the end.
    fn next(&mut self) -> Result<bool, DataError> {
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
    fn line(&self) -> u64 {
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

    /// An error on the record's line.
    fn error(&self, code: Code, message: String) -> DataError {
        DataError::new(code, &self.name, message).line(self.line())
    }

    /// The error for a record whose number of cells differs from that of the file's other lines.
    fn wrong_width(&self, selection: &Selection, expect: Expect<'_>) -> DataError {
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
    fn not_a_number(&self, cell: &[u8], column: usize, selection: &Selection) -> DataError {
        let text = String::from_utf8_lossy(cell.trim_ascii());
        let name = selection.header.as_ref().and_then(|header| header.get(column)).cloned();
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
        self.error(codes::NOT_A_NUMBER, format!("\"{}\" is not a number", shorten(&text)))
            .column(column + 1, name)
            .help(help)
    }

    /// The error for a cell at `column` whose category is uncertain.
    fn not_a_category(
        &self,
        refusal: &Refusal,
        column: usize,
        selection: &Selection,
        lookup: Lookup<'_>,
    ) -> DataError {
        let name = selection.header.as_ref().and_then(|header| header.get(column)).cloned();
        let (code, message, help) = refused(lookup, refusal);
        self.error(code, message).column(column + 1, name).help(help)
    }

    /// The error for a kept cell that is not UTF-8.
    fn not_text(&self, column: usize, selection: &Selection) -> DataError {
        let name = selection.header.as_ref().and_then(|header| header.get(column)).cloned();
        self.error(codes::KEEP, "the cell of a kept column is not valid UTF-8".to_owned())
            .column(column + 1, name)
            .help("save the file in UTF-8, or do not keep this column")
    }

    /// The error for rows that exceed the memory.
    fn too_large(&self) -> DataError {
        self.error(codes::TOO_LARGE, "the rows do not fit into memory".to_owned())
            .help("split them into files of fewer rows")
    }
}

/// The separator of cells, detected from the first line that is not blank.
fn delimiter(head: &[u8]) -> u8 {
    let mut lines = head.split(|byte| matches!(byte, b'\r' | b'\n'));
    let line = lines.find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    // Separators between quotes do not count. The reader of records reports an unclosed quote later.
    let unquoted = || line.split(|&byte| byte == b'"').step_by(2).flatten();
    let candidates = [b',', b'\t', b';'];
    candidates.into_iter().find(|candidate| unquoted().any(|byte| byte == candidate)).unwrap_or(b',')
}
