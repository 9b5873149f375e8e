//! The first line of a CSV file: decides whether it is a header, and selects columns by it.

use std::collections::HashSet;
use std::io::Read;

use super::records::{CsvRecords, parse};
use super::selection::Selection;
use crate::codes;
use crate::error::DataError;
use crate::read::columns::matching::{Named, as_trainer_writes, choose, find_kept, read_alone};
use crate::read::expect::{Expect, ExpectedNames};

/// The interpretation of the first line.
pub(super) struct First {
    pub(super) selection: Selection,
    pub(super) is_header: bool,
    /// A note on the interpretation, if another one is possible.
    pub(super) note: Option<String>,
    /// A note for a first line that counts as a row. The user sees it only if the second row has another
    /// form.
    pub(super) later: Option<String>,
}

/// Whether a cell is a whole number, written without a point.
fn is_whole(cell: &[u8]) -> bool {
    let digits = cell.trim_ascii();
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Whether a record has numbers, all with a point or an exponent, as pandas writes columns of floats. Whole
/// numbers in the line above may then be a header.
pub(super) fn has_points(record: &csv::ByteRecord) -> bool {
    let is_number = |cell: &&[u8]| parse(cell).is_some_and(|value| !value.is_nan());
    let has_point = |cell: &[u8]| cell.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    record.iter().any(|cell| is_number(&cell)) && record.iter().filter(is_number).all(has_point)
}

/// Reads the first line.
pub(super) fn read_first<R: Read>(
    records: &CsvRecords<R>,
    expect: Expect<'_>,
    keep: &[String],
) -> Result<First, DataError> {
    let line = FirstLine::of(records, expect);
    let kind = line.kind(expect);
    let place = |note: &str| format!("{}, line {}: {note}", records.name, records.line());
    let note = line.note(kind, expect).map(place);
    if kind == FirstLineKind::Row {
        if !keep.is_empty() {
            let message =
                "--keep and --base-margin need names of columns, but the first line is a row".to_owned();
            let help = "put a line with a name for each column before the rows, or leave the option out";
            return Err(records.error(codes::KEEP, message).help(help));
        }
        let whole = note.is_none() && records.record.iter().all(is_whole);
        let later = whole.then(|| place(READ_AS_ROW));
        return Ok(First { selection: all(expect), is_header: false, note, later });
    }
    let selection = select(&line, kind, records, expect, keep)?;
    Ok(First { selection, is_header: true, note, later: None })
}

/// The columns of rows without a header: one for each feature.
fn all(expect: Expect<'_>) -> Selection {
    Selection {
        columns: read_alone(0..expect.columns, expect),
        kept: Vec::new(),
        width: expect.columns,
        header: None,
    }
}

/// The columns that a header selects.
fn select<R: Read>(
    line: &FirstLine,
    kind: FirstLineKind,
    records: &CsvRecords<R>,
    expect: Expect<'_>,
    keep: &[String],
) -> Result<Selection, DataError> {
    let error = |code, message| records.error(code, message);
    // Names in another encoding are the cause of missing ones.
    let cause = |error: DataError| {
        let mut cells = records.record.iter().enumerate();
        cells.find_map(|(column, cell)| records.text(cell, column, None).err()).unwrap_or(error)
    };
    let named = Named { what: "header", error: &error };
    let kept = find_kept(&line.cells, keep, named).map_err(cause)?;
    let width = line.cells.len();
    let wrong_width = || records.wrong_width(&all(expect), expect);
    let columns = choose(&line.cells, expect, &kept, named, wrong_width).map_err(|error| {
        match (kind, error.code == codes::MISSING_FEATURE) {
            (FirstLineKind::HeaderOfNumbers, true) => error.help(
                "the first line holds the numbers from 0 on, as pandas writes for columns without names: \
                 give the columns the model's names, or, if they are the features in the model's order, say \
                 --by-position; if the line is a row, put a line with the model's names before it",
            ),
            (_, true) => cause(error),
            _ => error,
        }
    })?;
    Ok(Selection { columns, kept, width, header: Some(line.trimmed()) })
}

/// Fewest numbers in a first line for which matches with feature names are not a coincidence.
const FEW: usize = 3;

const READ_AS_HEADER: &str = "these numbers were read as a header, not as a row; if they are a row, put a \
                              line with a \
                              name for each column before them";
const READ_AS_ROW: &str = "these numbers were read as a row, not as a header; if they are a header, remove \
                           the line or \
                           give the columns the names that the model knows";

/// The kind of a first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstLineKind {
    /// A header: it has text in columns of numbers.
    Header,
    /// A header of numbers, which could also be a row.
    HeaderOfNumbers,
    /// A row.
    Row,
}

/// The cells of the first line.
struct FirstLine {
    /// Texts of the cells, with the blanks around them.
    cells: Vec<String>,
    /// The number of cells that are text.
    text: usize,
    /// The number of cells that are numbers, without missing ones.
    numbers: usize,
}

impl FirstLine {
    fn of<R>(records: &CsvRecords<R>, expect: Expect<'_>) -> FirstLine {
        let cells = records.record.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
        let mut line = FirstLine { cells, text: 0, numbers: 0 };
        // In a row without a header, text may be a category of the feature at its position, or a cell that
        // the model does not read.
        let is_row = line.cells.len() == expect.columns;
        for (at, value) in records.record.iter().map(parse).enumerate() {
            if is_row && !expect.reads(at) {
                continue;
            }
            let lookup = expect.lookup(at).filter(|_| is_row && value.is_none());
            match value {
                None if lookup.zip(line.cells.get(at)).is_some_and(|(lookup, cell)| lookup.is_name(cell)) => {
                    line.numbers += 1;
                }
                None => line.text += 1,
                Some(value) if value.is_nan() => {}
                Some(_) => line.numbers += 1,
            }
        }
        line
    }

    fn trimmed(&self) -> Vec<String> {
        self.cells.iter().map(|cell| cell.trim().to_owned()).collect()
    }

    fn kind(&self, expect: Expect<'_>) -> FirstLineKind {
        let named = match expect.names {
            ExpectedNames::Known(names) => self.kind_by_names(names, expect),
            ExpectedNames::None | ExpectedNames::Unknown => None,
        };
        // Otherwise the majority decides, so that a single mistyped number does not make the line a header.
        named.unwrap_or_else(|| match self.text > self.numbers {
            true => FirstLineKind::Header,
            false if self.cells.len() == expect.columns && self.counts_from_zero() => {
                FirstLineKind::HeaderOfNumbers
            }
            false => FirstLineKind::Row,
        })
    }

    /// Kind of the line as a header with the model's feature names. `None` if the names do not decide.
    fn kind_by_names(&self, names: &[String], expect: Expect<'_>) -> Option<FirstLineKind> {
        let cells = as_trainer_writes(&self.cells, names, expect);
        let cells: HashSet<&str> = cells.iter().map(|cell| cell.trim()).collect();
        let is_text = |name: &str| parse(name.as_bytes()).is_none();
        let has = |name: &String| cells.contains(name.trim());
        if names.iter().any(|name| has(name) && is_text(name.trim())) {
            return Some(FirstLineKind::Header);
        }
        if !names.iter().enumerate().all(|(feature, name)| !expect.reads(feature) || has(name)) {
            return None;
        }
        // A row that is wider than the model may contain a few of the names by chance.
        let unnamed_first = self.cells.first().is_some_and(|cell| cell.trim().is_empty());
        let extra = self.cells.len().saturating_sub(names.len());
        let certain = match extra {
            0 => true,
            1 if unnamed_first => true,
            _ => names.len() >= FEW || self.counts_from_zero(),
        };
        match (self.text > 0, certain) {
            (true, _) => Some(FirstLineKind::Header),
            (false, true) => Some(FirstLineKind::HeaderOfNumbers),
            (false, false) => None,
        }
    }

    /// Whether the line is `0`, `1`, `2` and so on, as pandas heads columns that have no names.
    fn counts_from_zero(&self) -> bool {
        self.cells.iter().enumerate().all(|(at, cell)| cell.trim() == at.to_string())
    }

    /// A note on a line with two possible interpretations.
    fn note(&self, kind: FirstLineKind, expect: Expect<'_>) -> Option<&'static str> {
        match kind {
            FirstLineKind::Header => None,
            FirstLineKind::HeaderOfNumbers => Some(READ_AS_HEADER),
            FirstLineKind::Row if self.cells.len() == expect.columns && self.may_be_header(expect) => {
                Some(READ_AS_ROW)
            }
            FirstLineKind::Row => None,
        }
    }

    /// Whether a row looks like a header of numbers that match no names: whole numbers from 1 on, or in any
    /// order without a gap, the index of pandas before columns without names, or many of the model's names.
    fn may_be_header(&self, expect: Expect<'_>) -> bool {
        let index = match self.cells.split_first() {
            Some((first, rest)) => {
                let counted = rest.iter().enumerate().all(|(at, cell)| cell.trim() == at.to_string());
                first.trim().is_empty() && !rest.is_empty() && counted
            }
            None => false,
        };
        let from_one = self.cells.iter().enumerate().all(|(at, cell)| cell.trim() == (at + 1).to_string());
        if index || from_one {
            return true;
        }
        if self.cells.len() < FEW || self.text > 0 {
            return false;
        }
        let values: Vec<f64> = self.cells.iter().filter_map(|cell| parse(cell.as_bytes())).collect();
        if values.len() < self.cells.len() || values.iter().any(|value| value.fract() != 0.0) {
            return false;
        }
        let distinct: HashSet<u64> = values.iter().map(|value| value.to_bits()).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let without_gap = distinct.len() == values.len() && most - least == (values.len() - 1) as f64;
        // Two columns of one name, as after a join, make no row of the line.
        let cells: HashSet<&str> = self.cells.iter().map(|cell| cell.trim()).collect();
        let known = match expect.names {
            ExpectedNames::Known(names) => names.iter().filter(|name| cells.contains(name.trim())).count(),
            ExpectedNames::None | ExpectedNames::Unknown => 0,
        };
        without_gap || known * 2 >= self.cells.len()
    }
}
