//! Columns found by the names of the model's features.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use super::Records;
use super::near::near;
use crate::codes;
use crate::error::{DataError, shorten};

/// For each of the model's features the column of its name.
pub(super) fn find_columns<R: Read>(
    header: &[String],
    names: &[String],
    records: &Records<'_, R>,
) -> Result<Vec<usize>, DataError> {
    let trim = can_be_trimmed(names);
    let plain = |name: &'_ str| -> String { if trim { name.trim() } else { name }.to_owned() };
    check_names(names, trim, records)?;
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (column, name) in header.iter().enumerate() {
        places.entry(plain(name)).or_default().push(column);
    }
    let mut columns = Vec::with_capacity(names.len());
    let mut lacking = Vec::new();
    for name in names {
        match places.get(&plain(name)).map(Vec::as_slice) {
            Some(&[column]) => columns.push(column),
            Some([first, second, ..]) => {
                let message = format!("columns {} and {} have the same name", first + 1, second + 1);
                return Err(records
                    .error(codes::DUPLICATE_FEATURE, message)
                    .column(second + 1, Some(name.clone()))
                    .help("keep the one that is the model's feature, and rename or remove the other"));
            }
            _ => lacking.push(name.as_str()),
        }
    }
    if lacking.is_empty() {
        return Ok(columns);
    }
    let taken: HashSet<usize> = columns.into_iter().collect();
    let others = header.iter().enumerate().filter(|(column, _)| !taken.contains(column));
    let others: Vec<&str> = others.map(|(_, name)| name.trim()).take(MOST_OTHERS).collect();
    Err(missing(&lacking, names.len(), &others, records))
}

/// Columns that are looked at for a near miss.
const MOST_OTHERS: usize = 4096;
/// Features that a message names.
const MOST_NAMED: usize = 3;

/// Whether blanks around names may be ignored: not if they tell two features apart.
fn can_be_trimmed(names: &[String]) -> bool {
    let mut seen = HashSet::new();
    names.iter().all(|name| seen.insert(name.trim()))
}

/// Refuses names by which no column can be found for certain.
fn check_names<R: Read>(names: &[String], trimmed: bool, records: &Records<'_, R>) -> Result<(), DataError> {
    let help = "rename the features when training; or, if the columns are the features in the model's order, say \
                --by-position";
    if let Some(at) = names.iter().position(|name| name.trim().is_empty()) {
        let message = format!("feature {at} of the model has an empty name, so the header cannot be matched");
        return Err(records.error(codes::UNUSABLE_NAMES, message).help(help));
    }
    if trimmed {
        return Ok(());
    }
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (at, name) in names.iter().enumerate() {
        if let Some(first) = seen.insert(name, at) {
            let message = format!(
                "features {first} and {at} of the model are both named \"{}\", so the header cannot be matched",
                shorten(name)
            );
            return Err(records.error(codes::UNUSABLE_NAMES, message).help(help));
        }
    }
    Ok(())
}

/// The header lacks these features of so many; other columns may be what is meant.
fn missing<R: Read>(
    lacking: &[&str],
    features: usize,
    others: &[&str],
    records: &Records<'_, R>,
) -> DataError {
    let listed: Vec<String> =
        lacking.iter().take(MOST_NAMED).map(|name| format!("\"{}\"", shorten(name))).collect();
    let more = match lacking.len() - listed.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let whose = if lacking.len() == features { "all features" } else { "features" };
    let message = format!("the header lacks {whose} of the model: {}{more}", listed.join(", "));
    let pair = |name: &&str| {
        let other = near(name, others)?;
        Some(format!("\"{}\" may stand for \"{}\"", shorten(other), shorten(name)))
    };
    let pairs: Vec<String> = lacking.iter().take(MOST_NAMED).filter_map(pair).collect();
    let misses = if pairs.is_empty() { String::new() } else { format!("{}: ", pairs.join(", ")) };
    records.error(codes::MISSING_FEATURE, message).help(format!(
        "{misses}give the columns the model's names; or, if the columns are the features in the model's order, say \
         --by-position"
    ))
}

/// The header of rows for a library that does not hold names.
pub(super) fn without_names_of_the_model<R: Read>(records: &Records<'_, R>) -> DataError {
    let message = "the header cannot be matched: the library was built by an older schedc and does not hold the names of \
                   the model's features";
    records.error(codes::UNMATCHED_HEADER, message.to_owned()).help(
        "build the library again; or, if the columns are the features in the model's order, say --by-position or remove \
         the header",
    )
}
