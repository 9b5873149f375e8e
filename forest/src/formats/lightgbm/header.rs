//! The lines of a file before its trees.

use super::text::{KeyedValues, SAVE_AGAIN_HELP, excerpt};
use crate::codes;
use crate::error::ModelError;
use crate::loaded::Note;
use crate::{MAX_FEATURES, MAX_MARGINS};

/// The facts that the lines before the trees give.
pub(super) struct ModelHeader<'a> {
    /// Columns of a row.
    pub num_features: usize,
    /// Number of raw scores of a row, which is also the number of trees of an iteration.
    pub num_margins: usize,
    /// The objective with its parameters; `None` for a custom objective.
    pub objective: Option<&'a str>,
    /// Whether predictions are averages over iterations.
    pub averages: bool,
    /// Whether the text is of version 2, which releases from 2.0 to 2.3 wrote.
    pub is_version_2: bool,
    /// Names of the features; empty if they are LightGBM's defaults (`Column_0`, `Column_1`, ...).
    pub feature_names: Vec<String>,
    /// For each feature, the range of its training values, or its categories.
    pub feature_infos: Option<&'a str>,
}

const KEYS: [&str; 8] = [
    "version",
    "num_class",
    "num_tree_per_iteration",
    "max_feature_idx",
    "objective",
    "average_output",
    "feature_names",
    "feature_infos",
];

/// The newest version of the format that was tested.
const NEWEST_KNOWN: u32 = 4;

impl<'a> ModelHeader<'a> {
    /// Reads the lines before the trees.
    pub(super) fn read(text: &'a str, notes: &mut Vec<Note>) -> Result<ModelHeader<'a>, ModelError> {
        let (fields, _) = KeyedValues::read(text, &KEYS);
        check_version(&fields, notes)?;
        let num_class = bounded(fields.count("num_class")?, "num_class", MAX_MARGINS)?;
        let num_margins = match fields.get("num_tree_per_iteration") {
            Some(_) => fields.count("num_tree_per_iteration")?,
            None => num_class,
        };
        if num_margins != num_class {
            let message =
                format!("an iteration has {num_margins} trees, and the model has {num_class} raw scores");
            return Err(ModelError::new(codes::BAD_PARAMETER, message)
                .at("num_tree_per_iteration")
                .help(SAVE_AGAIN_HELP));
        }
        let most = MAX_FEATURES - 1;
        let num_features = bounded_by(fields.count("max_feature_idx")?, "max_feature_idx", 0, most)? + 1;
        Ok(ModelHeader {
            num_features,
            num_margins,
            objective: fields.get("objective").map(str::trim).filter(|text| !text.is_empty()),
            is_version_2: fields.get("version").is_some_and(|version| version.trim() == "v2"),
            averages: fields.get("average_output").is_some(),
            feature_names: feature_names(fields.text("feature_names")?, num_features)?,
            feature_infos: fields.get("feature_infos"),
        })
    }
}

fn check_version<const N: usize>(
    fields: &KeyedValues<'_, N>,
    notes: &mut Vec<Note>,
) -> Result<(), ModelError> {
    let version = fields.get("version").map(str::trim);
    let number = version.and_then(|version| version.strip_prefix('v')).and_then(|number| number.parse().ok());
    match (number, version) {
        (Some(2..=NEWEST_KNOWN), _) => {}
        (Some(version @ 5u32..), _) => notes.push(Note(format!(
            "the model is in version {version} of LightGBM's text format, which is newer than this reader"
        ))),
        (_, version) => {
            let version =
                version.map_or("no version".into(), |text| format!("the version `{}`", excerpt(text)));
            let message = format!("the model of LightGBM has {version}; versions from v2 on are read");
            return Err(ModelError::new(codes::UNSUPPORTED_FORMAT, message).at("version").help(
                "load the model with the release of LightGBM that saved it and predict with it there, or \
                 train it again with \
                 release 2.1 or later",
            ));
        }
    }
    Ok(())
}

fn bounded(count: usize, key: &str, most: usize) -> Result<usize, ModelError> {
    bounded_by(count, key, 1, most)
}

fn bounded_by(count: usize, key: &str, least: usize, most: usize) -> Result<usize, ModelError> {
    let (code, limit) = match count {
        _ if count < least => (codes::BAD_PARAMETER, format!("at least {least} is needed")),
        _ if count > most => (codes::TOO_LARGE, format!("at most {most} are supported")),
        _ => return Ok(count),
    };
    Err(ModelError::new(code, format!("`{key}` is {count}; {limit}")).at(key).help(SAVE_AGAIN_HELP))
}

/// Number of features above which most names must have at least three bytes, if names differ.
const FEW_NAMES: usize = 10_000;

/// The names of features, which contain no spaces. Empty if LightGBM made them up (`Column_0` and so on).
fn feature_names(text: &str, num_features: usize) -> Result<Vec<String>, ModelError> {
    let names = || text.split(' ').filter(|name| !name.is_empty());
    let count = names().count();
    if count != num_features {
        let message = format!("`feature_names` has {count} entries for {num_features} features");
        return Err(ModelError::new(codes::LENGTH_MISMATCH, message)
            .at("feature_names")
            .help(SAVE_AGAIN_HELP));
    }
    let is_made_up = |(index, name): (usize, &str)| {
        name.strip_prefix("Column_").is_some_and(|number| number.parse() == Ok(index))
    };
    if names().enumerate().all(is_made_up) {
        return Ok(Vec::new());
    }
    // Many different names cannot all be short. This check bounds the memory for names by the size of the
    // file.
    if count > FEW_NAMES && text.len() / 3 < count {
        let message = format!("the {count} names of features are too short to be all different");
        return Err(ModelError::new(codes::TOO_LARGE, message).at("feature_names").help(SAVE_AGAIN_HELP));
    }
    let mut list = Vec::with_capacity(count);
    list.extend(names().map(str::to_owned));
    Ok(list)
}
