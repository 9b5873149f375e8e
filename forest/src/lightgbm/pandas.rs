//! Names of categories, which LightGBM's Python package appends to the files of models that were trained with pandas.

use super::header::Header;
use super::text::{SAVE, Sections};
use crate::category::Label;
use crate::codes;
use crate::error::ModelError;
use crate::loaded::Note;
use serde::de::{Deserialize, Deserializer, Visitor};
use std::fmt;

/// The names of categories by feature, or none at all.
///
/// The file lists them without saying whose they are: one list for each column of pandas' type `category`, in the order of
/// the columns. These are the categorical features, unless the user chose others, which is seen by their number.
///
/// # Errors
/// `M0003` if the list is no JSON, `M0019` if it has more names than fit a file of this size.
pub(super) fn categories(
    sections: &Sections<'_>,
    header: &Header<'_>,
    notes: &mut Vec<Note>,
) -> Result<Vec<Vec<Label>>, ModelError> {
    let lists = lists(sections)?;
    if lists.is_empty() {
        return Ok(Vec::new());
    }
    let infos: Vec<&str> = header.feature_infos.unwrap_or_default().split(' ').collect();
    let features = declared(sections.footer).unwrap_or_else(|| by_info(&infos));
    let fits = features.len() == lists.len()
        && features.is_sorted_by(|one, next| one < next)
        && features.iter().zip(&lists).all(|(&feature, list)| {
            feature < header.num_features && codes_fit(infos.get(feature).copied(), list.len())
        });
    if !fits {
        notes.push(Note(format!(
            "the file names the categories of {} pandas columns and does not say which features they are: names are left \
             out, and values have to be codes",
            lists.len()
        )));
        return Ok(Vec::new());
    }
    let mut categories = vec![Vec::new(); header.num_features];
    for (feature, list) in features.into_iter().zip(lists) {
        categories[feature] = list.into_iter().map(|Name(label)| label).collect();
    }
    Ok(categories)
}

/// So many names are read whatever the size of the file.
const FEW_NAMES: usize = 10_000;

/// How many bytes a file has at least for each further name.
const BYTES_PER_NAME: usize = 9;

/// The lists of names: the last line of its kind.
fn lists(sections: &Sections<'_>) -> Result<Vec<Vec<Name>>, ModelError> {
    let line = sections.footer.lines().rev().find_map(|line| line.strip_prefix("pandas_categorical:"));
    // Names differ, so many of them are long. A text of many short ones would need far more memory than it has bytes.
    let most = FEW_NAMES + sections.bytes / BYTES_PER_NAME;
    if line.is_some_and(|line| line.bytes().filter(|byte| *byte == b',').count() > most) {
        let message = "there are more names of categories than a file of this size can have";
        return Err(ModelError::new(codes::TOO_LARGE, message).at("pandas_categorical").help(SAVE));
    }
    let lists: Option<Vec<Vec<Name>>> = match line {
        Some(line) => serde_json::from_str(line).map_err(|error| {
            let message = format!("the names of categories cannot be read: {error}");
            ModelError::new(codes::SYNTAX, message).at("pandas_categorical").help(SAVE)
        })?,
        None => None,
    };
    Ok(lists.unwrap_or_default())
}

/// The categorical features that the training parameters name.
fn declared(footer: &str) -> Option<Vec<usize>> {
    let line = footer.lines().find_map(|line| line.strip_prefix("[categorical_feature: "))?;
    let list = line.strip_suffix(']')?;
    list.split(',').map(|number| number.trim().parse().ok()).collect()
}

/// The features whose values are said to be categories: `0:3:1` instead of `[0:3]`.
fn by_info(infos: &[&str]) -> Vec<usize> {
    let is_categorical =
        |info: &str| info.bytes().next().is_some_and(|byte| byte == b'-' || byte.is_ascii_digit());
    (0..infos.len()).filter(|&feature| is_categorical(infos[feature])).collect()
}

/// Whether the codes that training has met, as in `-1:0:3:1`, have names.
fn codes_fit(info: Option<&str>, names: usize) -> bool {
    match info {
        None | Some("none") => true,
        Some(info) => info.split(':').all(|code| code.parse::<i64>().is_ok_and(|code| code < names as i64)),
    }
}

/// A category's name. Truth values are named as Python does.
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
        Ok(Name(Label::Text(if truth { "True" } else { "False" }.to_owned())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Name, E> {
        Ok(Name(Label::Integer(number)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Name, E> {
        Ok(Name(i64::try_from(number).map_or(Label::Number(number as f64), Label::Integer)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Name, E> {
        Ok(Name(Label::Number(number)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Name, E> {
        Ok(Name(Label::Text(text.to_owned())))
    }
}
