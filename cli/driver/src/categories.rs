//! Names of categories in models and in what libraries say of theirs.

use crate::model::Model;
use sched_forest::{Forest, Label};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What becomes of a category that the model does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// It is refused.
    Error,
    /// It is a missing value.
    Missing,
    /// It is a category that no split asks for.
    Other,
}

impl Unseen {
    /// What a trainer does: LightGBM takes it as missing, and to CatBoost it is one that no split asks for. XGBoost refuses
    /// it.
    pub fn of_trainer(trainer: &str) -> Unseen {
        match trainer {
            "LightGBM" => Unseen::Missing,
            "CatBoost" => Unseen::Other,
            _ => Unseen::Error,
        }
    }

    /// Its word in the text about a library.
    pub fn word(self) -> &'static str {
        match self {
            Unseen::Error => "error",
            Unseen::Missing => "missing",
            Unseen::Other => "other",
        }
    }
}

/// What the text about a library says of its model's categories; null if they have no names.
pub fn about(model: &Model) -> Value {
    if !has_names(&model.forest) {
        return Value::Null;
    }
    let feature = |names: &Vec<Label>| names.iter().map(json_of_label).collect::<Value>();
    let unseen = Unseen::of_trainer(model.source.trainer).word();
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

/// Whether the model names categories.
pub fn has_names(forest: &Forest) -> bool {
    forest.categories.iter().any(|names| !names.is_empty())
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
