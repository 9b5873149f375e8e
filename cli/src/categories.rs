//! Names of categories between models, libraries and rows.

use crate::args;
use crate::model::Model;
use sched_forest::{Forest, Label};
use schedc_data::{Categories, CategoryName, Unseen};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How rows of a model get codes, if its categories have names.
pub fn of_model(model: &Model, chosen: Option<args::Unseen>) -> Option<Categories> {
    let names = &model.forest.categories;
    let names = names.iter().map(|names| names.iter().map(name).collect());
    has_names(&model.forest)
        .then(|| Categories::new(names, chosen.unwrap_or(default_of(model.source.trainer)).into()))
}

/// The same for a library, of which this is the text about its model.
pub fn of_library(about: &Value, chosen: Option<args::Unseen>) -> Option<Categories> {
    let categories = about["model"]["categories"].as_object()?;
    let features = categories.get("names")?.as_array()?;
    let default = match categories.get("unseen")?.as_str()? {
        "missing" => args::Unseen::Missing,
        "other" => args::Unseen::Other,
        _ => args::Unseen::Error,
    };
    let names = |names: &Value| {
        names
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|value| Some(name(&label_of_json(value)?)))
            .collect()
    };
    Some(Categories::new(features.iter().map(names), chosen.unwrap_or(default).into()))
}

/// What the text about a library says of its model's categories; null if they have no names.
pub fn about(model: &Model) -> Value {
    if !has_names(&model.forest) {
        return Value::Null;
    }
    let feature = |names: &Vec<Label>| names.iter().map(json_of_label).collect::<Value>();
    let unseen = match default_of(model.source.trainer) {
        args::Unseen::Error => "error",
        args::Unseen::Missing => "missing",
        args::Unseen::Other => "other",
    };
    json!({ "names": model.forest.categories.iter().map(feature).collect::<Value>(), "unseen": unseen })
}

/// For each feature the names of its categories as text, each with its code. Numbers are spelt as Rust does, and whole ones
/// of another type with a point, too.
pub fn for_c(forest: &Forest) -> Vec<Vec<(String, u32)>> {
    if !has_names(forest) {
        return Vec::new();
    }
    let feature = |names: &Vec<Label>| {
        let mut known: BTreeMap<String, u32> = BTreeMap::new();
        for (code, label) in names.iter().enumerate() {
            let pointed = match label {
                Label::Number(number) if number.fract() == 0.0 => Some(format!("{number:.1}")),
                _ => None,
            };
            for text in [Some(label.to_string()), pointed].into_iter().flatten() {
                known.entry(text).or_insert(code as u32);
            }
        }
        known.into_iter().collect()
    };
    forest.categories.iter().map(feature).collect()
}

fn has_names(forest: &Forest) -> bool {
    forest.categories.iter().any(|names| !names.is_empty())
}

/// What a trainer makes of a category that it does not know: LightGBM takes it as missing, and to CatBoost it is one that
/// no split asks for. XGBoost refuses it.
fn default_of(trainer: &str) -> args::Unseen {
    match trainer {
        "LightGBM" => args::Unseen::Missing,
        "CatBoost" => args::Unseen::Other,
        _ => args::Unseen::Error,
    }
}

fn name(label: &Label) -> CategoryName {
    match label {
        Label::Integer(number) => CategoryName::Integer(*number),
        Label::Number(number) => CategoryName::Number(*number),
        Label::Text(text) => CategoryName::Text(text.clone()),
    }
}

/// A label as JSON: whole numbers without a point, others with one.
pub fn json_of_label(label: &Label) -> Value {
    match label {
        Label::Integer(number) => json!(number),
        Label::Number(number) => json!(number),
        Label::Text(text) => json!(text),
    }
}

/// The label that [`json_of_label`] has made such a value of.
pub fn label_of_json(value: &Value) -> Option<Label> {
    match value {
        Value::String(text) => Some(Label::Text(text.clone())),
        Value::Null => Some(Label::Number(f64::NAN)),
        _ => match value.as_i64() {
            Some(number) => Some(Label::Integer(number)),
            None => value.as_f64().map(Label::Number),
        },
    }
}

impl From<args::Unseen> for Unseen {
    fn from(unseen: args::Unseen) -> Unseen {
        match unseen {
            args::Unseen::Error => Unseen::Error,
            args::Unseen::Missing => Unseen::Missing,
            args::Unseen::Other => Unseen::Other,
        }
    }
}
