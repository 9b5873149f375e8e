//! What rows of a model or of a library look like: columns, names of categories, the number that means missing.

use crate::args;
use sched_forest::{Float, Label};
use schedc_data::{Categories, CategoryName, Expect, Missing, Unseen};
use schedc_driver::Model;
use schedc_driver::categories::{Unseen as Rule, has_names, label_of_json};
use serde_json::Value;

/// What a model wants of its rows.
pub fn expected_of(model: &Model) -> Expect<'_> {
    match model.forest.feature_names.as_slice() {
        [] => Expect::unnamed(model.forest.num_features),
        names => Expect::named(names),
    }
}

/// A number that stands for missing values in a model's rows.
pub fn missing_in(model: &Model, value: f64) -> Missing {
    Missing { value, single: model.forest.types.input == Float::F32 }
}

/// How rows of a model get codes, if its categories have names.
pub fn categories_of(model: &Model, chosen: Option<args::Unseen>) -> Option<Categories> {
    let names = model.forest.categories.iter().map(|names| names.iter().map(name).collect());
    let unseen = chosen.map_or_else(|| rule(Rule::of_trainer(model.source.trainer)), Unseen::from);
    has_names(&model.forest).then(|| Categories::new(names, unseen))
}

/// The same for a library, of which this is the text about its model.
pub fn categories_of_library(about: &Value, chosen: Option<args::Unseen>) -> Option<Categories> {
    let categories = about["model"]["categories"].as_object()?;
    let features = categories.get("names")?.as_array()?;
    let default = match categories.get("unseen")?.as_str()? {
        "missing" => Unseen::Missing,
        "other" => Unseen::Other,
        _ => Unseen::Error,
    };
    let names = |names: &Value| {
        names
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|value| Some(name(&label_of_json(value)?)))
            .collect()
    };
    Some(Categories::new(features.iter().map(names), chosen.map_or(default, Unseen::from)))
}

fn name(label: &Label) -> CategoryName {
    match label {
        Label::Integer(number) => CategoryName::Integer(*number),
        Label::Number(number) => CategoryName::Number(*number),
        Label::Text(text) => CategoryName::Text(text.clone()),
    }
}

fn rule(unseen: Rule) -> Unseen {
    match unseen {
        Rule::Error => Unseen::Error,
        Rule::Missing => Unseen::Missing,
        Rule::Other => Unseen::Other,
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
