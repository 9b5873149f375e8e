//! CSV text. [`read_rows`](super::read_rows) documents numbers, missing values and headers.

mod header;
mod lines;
mod records;
mod selection;

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef};

use self::records::CsvRecords;
use self::selection::Selection;
use super::batch::FeatureValues;
use super::columns::matching::remark;
use super::expect::{Expect, Precision};
use super::input::OpenedSource;
use super::numbers::batch_of_rows;
use super::reader::{Reading, RowReader};
use super::source::unreadable;
use crate::codes;
use crate::error::DataError;
pub(super) use records::parse;

/// A reader of CSV text, row by row.
pub(super) struct Csv<'a> {
    records: CsvRecords<OpenedSource>,
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
        input: OpenedSource,
        name: &str,
        expect: Expect<'a>,
        reading: &Reading<'a>,
    ) -> Result<Self, DataError> {
        const MARK: &[u8] = b"\xef\xbb\xbf";
        let (mut input, text) = (input, head.strip_prefix(MARK).unwrap_or(head));
        if text.len() < head.len() {
            input.skip(MARK.len() as u64).map_err(|error| unreadable(name, &error))?;
        }
        let records = CsvRecords::new(input, delimiter(text), name, expect.columns == 1);
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
            let Some(column) = column else {
                values.push(f64::NAN);
                continue;
            };
            let cell = records.record.get(column).unwrap_or_default();
            let value = match expect.lookup(feature) {
                None => {
                    let value = number(cell, expect.whole.of_tables);
                    value.ok_or_else(|| records.not_a_number(cell, column, chosen))?
                }
                Some(lookup) => {
                    let text = records.text(cell, column, chosen.name(column))?;
                    let code = lookup.code_of_untyped(text, || parse(cell));
                    code.map_err(|refusal| records.not_a_category(&refusal, column, chosen, lookup))?
                }
            };
            values.push(value);
        }
        for (&column, kept) in chosen.kept.iter().zip(kept) {
            let cell = records.record.get(column).unwrap_or_default();
            kept.append_value(records.text(cell, column, chosen.name(column))?);
        }
        self.rows += 1;
        Ok(())
    }
}

impl RowReader for Csv<'_> {
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
        let features = (FeatureValues::F64(values), self.expect.columns, rows);
        batch_of_rows(features, self.kept().into_iter().zip(kept), &self.records.name).map(Some)
    }

    fn names(&self) -> Option<Vec<String>> {
        self.selection.as_ref()?.names()
    }

    fn remark(&self) -> Option<String> {
        let Selection { columns, kept, header, .. } = self.selection.as_ref()?;
        remark(header.as_ref()?, columns, kept, self.expect)
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

/// The separator of cells, detected from the first line that is not blank.
fn delimiter(head: &[u8]) -> u8 {
    let mut lines = head.split(|byte| matches!(byte, b'\r' | b'\n'));
    let line = lines.find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    // Separators between quotes do not count. The reader of records reports an unclosed quote later.
    let unquoted = || line.split(|&byte| byte == b'"').step_by(2).flatten();
    let candidates = [b',', b'\t', b';'];
    candidates.into_iter().find(|candidate| unquoted().any(|byte| byte == candidate)).unwrap_or(b',')
}
