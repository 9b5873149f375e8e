//! Names of categories, which LightGBM's Python package appends to the files of models that were trained with
//! pandas.

use super::header::ModelHeader;
use super::owners::{OwnedList, TrainingColumn, owned_lists};
use super::text::{SAVE_AGAIN_HELP, Sections};
use crate::codes;
use crate::error::ModelError;
use crate::loaded::Note;
use sched_categories::{Label, Names, Naming};
use serde::de::{Deserialize, Deserializer, Visitor};
use std::collections::HashSet;
use std::fmt;

/// The names of each feature's categories; empty if the file has no names.
///
/// The file has one list for each column of pandas' type `category`, in the order of the columns. It does not
/// say which columns these are. As a rule they are the categorical features. Lists that may belong to other
/// features get [`Naming::Doubtful`].
///
/// # Errors
/// `M0003` if the list is no JSON, `M0019` if it has more names than fit a file of this size.
pub(super) fn categories(
    sections: &Sections<'_>,
    header: &ModelHeader<'_>,
    notes: &mut Vec<Note>,
) -> Result<Vec<Names>, ModelError> {
    let lists = name_lists(sections)?;
    if lists.is_empty() {
        return Ok(Vec::new());
    }
    let columns = columns(sections, header);
    let lengths: Vec<usize> = lists.iter().map(Vec::len).collect();
    let owners = owned_lists(&columns, &lengths);
    if owners.iter().any(|owner| matches!(owner, OwnedList::Unclear)) {
        notes.push(Note(format!(
            "the file names the categories of {} pandas columns and does not say which features these are: \
             the names are left out, and values have to be codes (--categories codes)",
            lists.len()
        )));
    }
    let mut labels: Vec<Vec<Label>> =
        lists.into_iter().map(|list| list.into_iter().map(|Name(label)| label).collect()).collect();
    let mut taken = |list: usize| labels.get_mut(list).map(std::mem::take).unwrap_or_default();
    let names = |owner: OwnedList| match owner {
        OwnedList::None => Names::default(),
        OwnedList::Unclear => Names::unknown(),
        OwnedList::Certain(list) => Names::listed(taken(list)),
        OwnedList::Likely(list) => Names { labels: taken(list), naming: Naming::Doubtful },
    };
    Ok(owners.into_iter().map(names).collect())
}

/// The columns of the training data, as far as the file describes them.
fn columns(sections: &Sections<'_>, header: &ModelHeader<'_>) -> Vec<TrainingColumn> {
    let infos: Vec<&str> = header.feature_infos.unwrap_or_default().split(' ').collect();
    let categorical: HashSet<usize> = declared_categorical(sections.footer)
        .unwrap_or_else(|| categorical_by_info(&infos))
        .into_iter()
        .collect();
    let column = |feature: usize| TrainingColumn {
        is_categorical: categorical.contains(&feature),
        names_needed: infos.get(feature).and_then(|info| names_needed(info)),
    };
    (0..header.num_features).map(column).collect()
}

/// Number of names that are always accepted, whatever the size of the file.
const FEW_NAMES: usize = 10_000;

/// Fewest bytes of a file for each further name.
const BYTES_PER_NAME: usize = 9;

/// The lists of names, from the last line `pandas_categorical:`.
fn name_lists(sections: &Sections<'_>) -> Result<Vec<Vec<Name>>, ModelError> {
    let line = sections.footer.lines().rev().find_map(|line| line.strip_prefix("pandas_categorical:"));
    // Real names differ, so most of them are long. Many short names would need far more memory than the bytes
    // of the file.
    let most = FEW_NAMES + sections.bytes / BYTES_PER_NAME;
    if line.is_some_and(|line| line.bytes().filter(|byte| *byte == b',').count() > most) {
        let message = "there are more names of categories than a file of this size can have";
        return Err(ModelError::new(codes::TOO_LARGE, message)
            .at("pandas_categorical")
            .help(SAVE_AGAIN_HELP));
    }
    let lists: Option<Vec<Vec<Name>>> = match line {
        // Floating-point categories may be infinite. Python writes these as `Infinity`, which is no JSON.
        Some(line) => crate::json::from_json(line.as_bytes()).map_err(|error| {
            let message = format!("the names of categories cannot be read: {}", error.message);
            ModelError::new(codes::SYNTAX, message).at("pandas_categorical").help(SAVE_AGAIN_HELP)
        })?,
        None => None,
    };
    Ok(lists.unwrap_or_default())
}

/// The numbers of the categorical features in the line `[categorical_feature: ...]` of the training
/// parameters.
fn declared_categorical(footer: &str) -> Option<Vec<usize>> {
    let line = footer.lines().find_map(|line| line.strip_prefix("[categorical_feature: "))?;
    let list = line.strip_suffix(']')?;
    list.split(',').map(|number| number.trim().parse().ok()).collect()
}

/// The categorical features according to `feature_infos`: their values are listed, as in `0:3:1`, instead of
/// a range such as `[0:3]`.
fn categorical_by_info(infos: &[&str]) -> Vec<usize> {
    let is_categorical =
        |info: &str| info.bytes().next().is_some_and(|byte| byte == b'-' || byte.is_ascii_digit());
    (0..infos.len()).filter(|&feature| is_categorical(infos[feature])).collect()
}

/// Smallest length of a list that has a name for each training value. `info` has categories, as in
/// `-1:0:3:1`, or a range, as in `[0:4]`. `None` if the values are no codes; 0 if the file does not record
/// them.
fn names_needed(info: &str) -> Option<usize> {
    let names_of = |largest: i64| usize::try_from(largest.checked_add(1)?).ok();
    match info.strip_prefix('[').and_then(|range| range.strip_suffix(']')) {
        _ if info == "none" => Some(0),
        Some(range) => {
            let (least, most) = range.split_once(':')?;
            let (least, most): (f64, f64) = (least.parse().ok()?, most.parse().ok()?);
            let are_codes =
                least >= 0.0 && least.fract() == 0.0 && most.fract() == 0.0 && most < 4_294_967_296.0;
            if are_codes { names_of(most as i64) } else { None }
        }
        None => {
            let codes: Option<Vec<i64>> = info.split(':').map(|code| code.parse().ok()).collect();
            names_of(codes?.into_iter().max()?.max(-1))
        }
    }
}

/// A category's name.
struct Name(Label);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
        from.deserialize_any(NameVisitor)
    }
}

struct NameVisitor;

impl Visitor<'_> for NameVisitor {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a category")
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Name, E> {
        Ok(Name(Label::Truth(truth)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Name, E> {
        Ok(Name(Label::Integer(number)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Name, E> {
        // Whole numbers from 2^63 on are kept as text, as for XGBoost.
        Ok(Name(i64::try_from(number).map_or_else(|_| Label::Text(number.to_string()), Label::Integer)))
    }

    fn visit_unit<E>(self) -> Result<Name, E> {
        Ok(Name(Label::Number(f64::NAN)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Name, E> {
        Ok(Name(Label::Number(number)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Name, E> {
        Ok(Name(Label::Text(text.to_owned())))
    }
}
