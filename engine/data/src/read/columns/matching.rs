//! Finds columns by the names of the model's features.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use sched_diagnostics::Code;

use super::near::near;
use crate::codes;
use crate::error::{DataError, shorten};
use crate::read::expect::{Expect, ExpectedNames};

/// The source of the names of columns, for messages.
#[derive(Clone, Copy)]
pub(in crate::read) struct Named<'a> {
    /// Its name in messages: `header` for CSV text, `file` for other formats.
    pub(in crate::read) what: &'static str,
    /// Makes an error at the position of the names.
    pub(in crate::read) error: &'a dyn Fn(Code, String) -> DataError,
}

impl Named<'_> {
    pub(in crate::read) fn error(&self, code: Code, message: String) -> DataError {
        (self.error)(code, message)
    }
}

/// The names of columns as the trainer writes them. A name with blanks changes if it then is that of a
/// feature, and no other column has this name.
pub(in crate::read) fn as_trainer_writes<'a>(
    header: &'a [String],
    names: &[String],
    expect: Expect<'_>,
) -> Cow<'a, [String]> {
    if !expect.are_blanks_renamed {
        return Cow::Borrowed(header);
    }
    let written: Vec<String> = header.iter().map(|name| name.trim().replace(' ', "_")).collect();
    let mut times: HashMap<&str, usize> = HashMap::new();
    for name in &written {
        *times.entry(name).or_default() += 1;
    }
    let present: HashSet<&str> = header.iter().map(|name| name.trim()).collect();
    let is_lacking = |name: &&str| !present.contains(name) && times.get(name) == Some(&1);
    let lacking: HashSet<&str> = names.iter().map(|name| name.trim()).filter(is_lacking).collect();
    let pairs = header.iter().zip(&written);
    pairs.map(|(name, new)| if lacking.contains(new.as_str()) { new } else { name }.clone()).collect()
}

/// Finds for each feature that the model reads the column with its name.
fn find_columns(
    header: &[String],
    names: &[String],
    expect: Expect<'_>,
    named: Named<'_>,
) -> Result<Vec<Option<usize>>, DataError> {
    let trim = can_be_trimmed(names);
    let plain = |name: &'_ str| -> String { if trim { name.trim() } else { name }.to_owned() };
    check_names(names, trim, named)?;
    let header = as_trainer_writes(header, names, expect);
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (column, name) in header.iter().enumerate() {
        places.entry(plain(name)).or_default().push(column);
    }
    let mut columns = Vec::with_capacity(names.len());
    let mut lacking = Vec::new();
    for (feature, name) in names.iter().enumerate() {
        match places.get(&plain(name)).map(Vec::as_slice) {
            _ if !expect.reads(feature) => columns.push(None),
            Some(&[column]) => columns.push(Some(column)),
            Some([first, second, ..]) => {
                let message = format!("columns {} and {} have the same name", first + 1, second + 1);
                return Err(named
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
    let taken: HashSet<usize> = columns.into_iter().flatten().collect();
    let others = header.iter().enumerate().filter(|(column, _)| !taken.contains(column));
    let others: Vec<&str> = others.map(|(_, name)| name.trim()).take(MOST_OTHERS).collect();
    let read = (0..names.len()).filter(|feature| expect.reads(*feature)).count();
    let fits = header.len() >= names.len();
    Err(missing(&lacking, read, (&others, header.len(), fits), named))
}

/// Most columns whose names are compared with a missing one, to propose a similar name. More take longer.
const MOST_OTHERS: usize = 4096;
/// Most features that a message names.
const MOST_NAMED: usize = 3;

/// Whether blanks around names may be ignored: not if they tell two features apart.
fn can_be_trimmed(names: &[String]) -> bool {
    let mut seen = HashSet::new();
    names.iter().all(|name| seen.insert(name.trim()))
}

/// Refuses feature names of the model that identify no column: empty or repeated ones.
fn check_names(names: &[String], trimmed: bool, named: Named<'_>) -> Result<(), DataError> {
    let help = "rename the features when training; or, if the columns are the features in the model's \
                order, say \
                --by-position";
    if let Some(at) = names.iter().position(|name| name.trim().is_empty()) {
        let message =
            format!("feature {at} of the model has an empty name, so the {} cannot be matched", named.what);
        return Err(named.error(codes::UNUSABLE_NAMES, message).help(help));
    }
    if trimmed {
        return Ok(());
    }
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (at, name) in names.iter().enumerate() {
        if let Some(first) = seen.insert(name, at) {
            let message = format!(
                "features {first} and {at} of the model are both named \"{}\", so the {} cannot be matched",
                shorten(name),
                named.what
            );
            return Err(named.error(codes::UNUSABLE_NAMES, message).help(help));
        }
    }
    Ok(())
}

/// Separators that text of columns may have and that are not read.
const OTHER_SEPARATORS: [char; 3] = ['|', ':', ' '];

/// An error: the header lacks some of the `features` features that the model reads. The help proposes columns
/// with similar names among `others`. The header has `columns` columns in all; `fits` tells whether these
/// suffice to find the features by position.
fn missing(
    lacking: &[&str],
    features: usize,
    (others, columns, fits): (&[&str], usize, bool),
    named: Named<'_>,
) -> DataError {
    let listed: Vec<String> =
        lacking.iter().take(MOST_NAMED).map(|name| format!("\"{}\"", shorten(name))).collect();
    let more = match lacking.len() - listed.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let whose = if lacking.len() == features { "all features" } else { "features" };
    let message = format!("the {} lacks {whose} of the model: {}{more}", named.what, listed.join(", "));
    if let ([line], 1) = (others, columns)
        && features > 1
        && line.contains(OTHER_SEPARATORS)
    {
        return named.error(codes::MISSING_FEATURE, message).help(format!(
            "the first line is one column, \"{}\": put commas, semicolons or tabs between columns, and \
             remove lines before their names",
            shorten(line)
        ));
    }
    let pair = |name: &&str| {
        let other = near(name, others)?;
        Some(format!("\"{}\" may stand for \"{}\"", shorten(other), shorten(name)))
    };
    let pairs: Vec<String> = lacking.iter().take(MOST_NAMED).filter_map(pair).collect();
    let misses = if pairs.is_empty() { String::new() } else { format!("{}: ", pairs.join(", ")) };
    let position = match fits {
        true => "; or, if the columns are the features in the model's order, say --by-position",
        false => "",
    };
    let help = format!("{misses}give the columns the model's names{position}");
    named.error(codes::MISSING_FEATURE, message).help(help)
}

/// The error for a file with names of columns and a library that does not record its features' names.
fn without_names_of_the_model(named: Named<'_>) -> DataError {
    let message = format!(
        "the {} cannot be matched: the library was built by an older schedc and does not hold the names of \
         the model's \
         features",
        named.what
    );
    named.error(codes::UNMATCHED_HEADER, message).help(
        "build the library again; or, if the columns are the features in the model's order, say \
         --by-position or remove \
         the header",
    )
}

/// Refuses names that contradict columns by position, for a model whose features have no names.
fn check_order(header: &[String], named: Named<'_>) -> Result<(), DataError> {
    let refused =
        |message: &str, help: &str| Err(named.error(codes::UNMATCHED_HEADER, message.to_owned()).help(help));
    let unnamed = |name: &String| name.trim().is_empty();
    if header.first().is_some_and(unnamed) && header.iter().skip(1).any(|name| !unnamed(name)) {
        return refused(
            "the first column has no name, as if it were the index that pandas writes",
            "leave the index out with to_csv(..., index=False); if the column is the model's first \
             feature, say \
             --by-position, or give it a name",
        );
    }
    let numbered: Vec<Option<usize>> =
        header.iter().map(|name| name.trim().strip_prefix('f')?.parse().ok()).collect();
    let distinct: HashSet<usize> = numbered.iter().flatten().copied().collect();
    let all = distinct.len() == header.len() && distinct.iter().all(|&number| number < header.len());
    if all && numbered.iter().enumerate().any(|(at, number)| *number != Some(at)) {
        return refused(
            "the columns are named f0, f1 ... in another order, and the model has no names to find them by",
            "put the columns in the order f0, f1 ...; if they are in the model's order as they are, say \
             --by-position",
        );
    }
    Ok(())
}

/// The columns that are to be copied to the results, by their names.
pub(in crate::read) fn find_kept(
    header: &[String],
    keep: &[String],
    named: Named<'_>,
) -> Result<Vec<usize>, DataError> {
    let find = |wanted: &String| {
        let mut found = header.iter().enumerate().filter(|(_, name)| name.trim() == wanted.trim());
        match (found.next(), found.next()) {
            (Some((column, _)), None) => Ok(column),
            (Some((first, _)), Some((second, _))) => {
                let message = format!(
                    "columns {} and {} are both named \"{}\", which --keep or --base-margin names",
                    first + 1,
                    second + 1,
                    shorten(wanted)
                );
                Err(named.error(codes::KEEP, message).help("rename or remove one of them"))
            }
            (None, _) => {
                let others: Vec<&str> = header.iter().map(|name| name.trim()).take(MOST_OTHERS).collect();
                let meant =
                    near(wanted, &others).map(|other| format!("\"{}\" may be meant: ", shorten(other)));
                let message = format!(
                    "the {} has no column \"{}\", which --keep or --base-margin names",
                    named.what,
                    shorten(wanted)
                );
                Err(named.error(codes::KEEP, message).help(format!(
                    "{}name columns of the input, with commas between them",
                    meant.unwrap_or_default()
                )))
            }
        }
    };
    keep.iter().map(find).collect()
}

/// A remark on columns that were found by name: another order than the model's, or columns that are no
/// features. `None` if columns count by position.
pub(in crate::read) fn remark(
    header: &[String],
    columns: &[Option<usize>],
    kept: &[usize],
    expect: Expect<'_>,
) -> Option<String> {
    let features: HashSet<&str> = expect.names_to_match()?.iter().map(|name| name.trim()).collect();
    let used: HashSet<usize> = columns.iter().flatten().chain(kept).copied().collect();
    let is_other = |(column, name): &(usize, &str)| !used.contains(column) && !features.contains(name);
    let mut others = header.iter().map(|name| name.trim()).enumerate().filter(is_other);
    let named: Vec<String> =
        others.by_ref().take(MOST_NAMED).map(|(_, name)| format!("\"{}\"", shorten(name))).collect();
    let more = match others.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let order = if columns.iter().flatten().is_sorted() {
        ""
    } else {
        "columns are in another order than the model's features, and are found by name"
    };
    match (order, named.is_empty()) {
        ("", true) => None,
        (order, true) => Some(order.to_owned()),
        ("", false) => Some(format!("ignored columns that are not features: {}{more}", named.join(", "))),
        (order, false) => Some(format!("{order}; others are ignored: {}{more}", named.join(", "))),
    }
}

/// The column of each feature, by names or by position; `None` for features that the model does not read.
/// `wrong_width` makes the error of a header of another width.
pub(in crate::read) fn choose(
    header: &[String],
    expect: Expect<'_>,
    kept: &[usize],
    named: Named<'_>,
    wrong_width: impl FnOnce() -> DataError,
) -> Result<Vec<Option<usize>>, DataError> {
    if let Some(features) = expect.names_to_match() {
        return find_columns(header, features, expect, named);
    }
    let columns = by_position(header.len(), expect.columns, kept).ok_or_else(wrong_width)?;
    if expect.by_position {
        return Ok(read_alone(columns, expect));
    }
    if matches!(expect.names, ExpectedNames::Unknown) {
        return Err(without_names_of_the_model(named));
    }
    let chosen: Vec<String> = columns.iter().filter_map(|&column| header.get(column)).cloned().collect();
    check_order(&chosen, named).map(|()| read_alone(columns, expect))
}

/// The columns of the features that the model reads, and `None` for others. `columns` has one for each
/// feature.
pub(in crate::read) fn read_alone(
    columns: impl IntoIterator<Item = usize>,
    expect: Expect<'_>,
) -> Vec<Option<usize>> {
    let column = |(feature, column)| expect.reads(feature).then_some(column);
    columns.into_iter().enumerate().map(column).collect()
}

/// The columns by position, of `width`, that are features: all of them, or all except the kept ones.
fn by_position(width: usize, features: usize, kept: &[usize]) -> Option<Vec<usize>> {
    if width == features {
        return Some((0..width).collect());
    }
    let others: Vec<usize> = (0..width).filter(|column| !kept.contains(column)).collect();
    (others.len() == features).then_some(others)
}
