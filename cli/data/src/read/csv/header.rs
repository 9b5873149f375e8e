//! The first line: whether it is a header, and which columns it chooses.

use std::collections::HashMap;
use std::io::Read;

use super::{Records, parse};
use crate::error::{Code, DataError, shorten};
use crate::read::Expect;

/// Which of a line's cells make a row.
pub(super) struct Selection {
    /// Numbers of the cells, from 0, in the model's order.
    pub(super) columns: Vec<usize>,
    /// How many cells each line has.
    pub(super) width: usize,
    /// The header, where there is one.
    pub(super) header: Option<Vec<String>>,
}

impl Selection {
    /// Reads the first line; also returns whether it is a header.
    pub(super) fn from_first<R: Read>(
        records: &Records<'_, R>,
        expect: Expect<'_>,
    ) -> Result<(Self, bool), DataError> {
        let by_position =
            Selection { columns: (0..expect.columns).collect(), width: expect.columns, header: None };
        let line: Vec<String> = records
            .record
            .iter()
            .map(|cell| String::from_utf8_lossy(cell.trim_ascii()).into_owned())
            .collect();
        let looks_like_header = mostly_text(records);
        if let Some(names) = expect.names.filter(|names| names.len() == expect.columns)
            && let Some(columns) = by_name(&line, names, looks_like_header, records)?
        {
            return Ok((Selection { columns, width: line.len(), header: Some(line) }, true));
        }
        if !looks_like_header {
            return Ok((by_position, false));
        }
        if line.len() != expect.columns {
            return Err(records.wrong_width(&by_position, expect));
        }
        Ok((Selection { header: Some(line), ..by_position }, true))
    }

    /// The names of the chosen columns.
    pub(super) fn names(&self) -> Option<Vec<String>> {
        let header = self.header.as_ref()?;
        Some(self.columns.iter().filter_map(|&column| header.get(column)).cloned().collect())
    }
}

/// Whether more of the line's cells are text than numbers. Majority, because a typing error in the first line of
/// plain numbers must be reported, not taken for a header and skipped.
fn mostly_text<R>(records: &Records<'_, R>) -> bool {
    let (mut text, mut numbers) = (0, 0);
    for value in records.record.iter().map(parse) {
        match value {
            None => text += 1,
            Some(value) if value.is_nan() => {}
            Some(_) => numbers += 1,
        }
    }
    text > numbers
}

/// The cells that bear the model's feature names, if the line is a header with all of them.
fn by_name<R: Read>(
    line: &[String],
    names: &[String],
    looks_like_header: bool,
    records: &Records<'_, R>,
) -> Result<Option<Vec<usize>>, DataError> {
    if !looks_like_header {
        // Names such as 0, 1, 2 (columns of an unnamed table) look like a row of numbers. The line is taken for
        // a header only where it is exactly these names and too many for chance.
        return Ok((names.len() > 2 && line == names).then(|| (0..names.len()).collect()));
    }
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (column, name) in line.iter().enumerate() {
        places.entry(name).or_default().push(column);
    }
    let mut columns = Vec::with_capacity(names.len());
    let mut lacking = Vec::new();
    for name in names {
        match places.get(name.trim()).map(Vec::as_slice) {
            Some(&[column]) => columns.push(column),
            Some([first, second, ..]) => {
                let message = format!("columns {} and {} have the same name", first + 1, second + 1);
                return Err(records
                    .error(Code::DuplicateFeature, message)
                    .column(second + 1, Some(name.clone()))
                    .help("keep the one that is the model's feature, and rename or remove the other"));
            }
            _ => lacking.push(name),
        }
    }
    if lacking.is_empty() {
        return Ok(Some(columns));
    }
    if columns.is_empty() {
        return Ok(None);
    }
    let listed: Vec<String> = lacking.iter().take(3).map(|name| format!("\"{}\"", shorten(name))).collect();
    let more = if lacking.len() > listed.len() {
        format!(" and {} more", lacking.len() - listed.len())
    } else {
        String::new()
    };
    let message = format!("the header lacks features of the model: {}{more}", listed.join(", "));
    Err(records.error(Code::MissingFeature, message).help(
        "give these columns the model's names; or remove the header, if the columns are the features in order",
    ))
}
