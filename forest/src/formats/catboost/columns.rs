//! Features: their columns in a row, the treatment of missing values, and the names of categories.

use std::collections::HashMap;

use super::document::{CategoricalFeature, FeaturesInfo, Split};
use crate::codes;
use crate::error::ModelError;
use crate::forest::{Float, Predicate};
use crate::loaded::Note;
use crate::widen::widened;
use sched_categories::{Names, is_wide};

/// The features of a model.
pub(super) struct ModelFeatures {
    floats: HashMap<u32, Numeric>,
    categories: HashMap<u32, Categorical>,
    /// Columns of a row.
    pub count: usize,
    /// The features' names; empty if the file has none.
    pub names: Vec<String>,
    /// The names of categories for each column; empty if there are no categorical features.
    pub names_of_categories: Vec<Names>,
    /// Whether single precision cannot distinguish the codes of all categories.
    needs_double: bool,
}

struct Numeric {
    column: u32,
    /// Whether a missing value counts as above all borders; otherwise it counts as below.
    missing: bool,
}

struct Categorical {
    column: u32,
    /// The code, in rows, of the category with a hash.
    values: HashMap<u32, f64>,
}

/// A split as the test of an inner node.
#[derive(Clone)]
pub(super) struct SplitTest {
    pub feature: u32,
    pub predicate: Predicate,
    pub missing_left: bool,
    /// Whether the children are exchanged: the file's right child, for a test that holds, becomes the left
    /// one.
    pub is_swapped: bool,
}

/// Maximum number of names of a feature for which single precision represents all codes (-0.5, -1.5 and so
/// on).
const MOST_SINGLE_CODES: usize = 1 << 22;

impl ModelFeatures {
    /// Reads the table of features of a file of `bytes` bytes.
    pub fn new(
        features: FeaturesInfo,
        bytes: usize,
        notes: &mut Vec<Note>,
    ) -> Result<ModelFeatures, ModelError> {
        refuse_others(&features)?;
        let FeaturesInfo { float_features, categorical_features, cat_features_hash, .. } = features;
        let places = float_features.iter().map(|it| (it.flat_feature_index, it.name()));
        let places: Vec<_> =
            places.chain(categorical_features.iter().map(|it| (it.flat_feature_index, it.name()))).collect();
        let (count, names) = places_in_rows(&places, notes)?;
        let mut floats = HashMap::new();
        for (index, it) in float_features.iter().enumerate() {
            let place = || format!("features_info.float_features[{index}].nan_value_treatment");
            let missing = match it.nan_value_treatment.as_str() {
                "AsIs" | "AsFalse" | "" => false,
                "AsTrue" => true,
                other => {
                    let message =
                        format!("`{}` is not a known treatment of missing values", other.escape_debug());
                    return Err(ModelError::new(codes::BAD_PARAMETER, message)
                        .at(place())
                        .help("CatBoost writes `AsIs`, `AsFalse` or `AsTrue`"));
                }
            };
            floats.insert(it.feature_index, Numeric { column: it.flat_feature_index, missing });
        }
        let hashed: HashMap<u32, &str> =
            cat_features_hash.iter().map(|it| (it.hash as u32, it.value.as_str())).collect();
        let mut known: Vec<&str> = hashed.values().copied().collect();
        known.sort_unstable();
        let mut columns = ModelFeatures {
            floats,
            categories: HashMap::new(),
            count,
            names,
            names_of_categories: Vec::new(),
            needs_double: false,
        };
        // Every feature lists all names of the file, so that rows may have names that no test uses. If that
        // takes too much memory, a feature lists only the names that its tests use.
        let all = known.len() * categorical_features.len() <= bytes / 8;
        for it in &categorical_features {
            columns.add_categories(it, &hashed, if all { &known } else { &[] });
        }
        Ok(columns)
    }

    /// Adds a feature's categories: first the names that trees test, then the other names of the file.
    fn add_categories(&mut self, it: &CategoricalFeature, hashed: &HashMap<u32, &str>, known: &[&str]) {
        let tested = it.values.iter().filter_map(|&hash| Some((hash as u32, *hashed.get(&(hash as u32))?)));
        let tested: Vec<(u32, &str)> = tested.collect();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut listed: Vec<&str> = tested.iter().map(|(_, name)| *name).collect();
        listed.extend(known);
        listed.retain(|&name| {
            let next = places.len();
            let is_new = !places.contains_key(name);
            places.entry(name).or_insert(next);
            is_new
        });
        let names = Names::spelled(listed.into_iter().map(str::to_owned));
        let values: HashMap<u32, f64> =
            tested.iter().map(|&(hash, name)| (hash, names.code(places[name]))).collect();
        self.needs_double |=
            names.labels.len() > MOST_SINGLE_CODES || values.values().any(|&code| is_wide(code));
        if self.names_of_categories.is_empty() {
            self.names_of_categories = vec![Names::default(); self.count];
        }
        let column = it.flat_feature_index;
        self.names_of_categories[column as usize] = names;
        self.categories.insert(it.feature_index, Categorical { column, values });
    }

    /// The type in which rows are compared: single precision, as in CatBoost, unless it cannot represent the
    /// codes of all categories.
    pub fn row_type(&self) -> Float {
        if self.needs_double { Float::F64 } else { Float::F32 }
    }

    /// The test of a split.
    pub fn test(&self, split: &Split) -> Result<SplitTest, ModelError> {
        match split.split_type.as_str() {
            "FloatFeature" | "" => self.number(split),
            "OneHotFeature" => self.category(split),
            "OnlineCtr" => Err(unsupported(
                "the tree tests a statistic of a category (a CTR)",
                "train with `one_hot_max_size` above the number of categories, or encode the categories as \
                 numbers yourself",
            )
            .at("split_type")),
            other => Err(unsupported(
                &format!("the tree has a split of type `{}`", other.escape_debug()),
                "train with numeric features, and categorical ones below `one_hot_max_size`",
            )
            .at("split_type")),
        }
    }

    fn number(&self, split: &Split) -> Result<SplitTest, ModelError> {
        let feature = split.float_feature_index.and_then(|index| self.floats.get(&index));
        let Some(Numeric { column, missing }) = feature else {
            return Err(no_feature("float_feature_index", split.float_feature_index));
        };
        let Some(border) = split.border else {
            return Err(ModelError::new(codes::STRUCTURE, "missing field `border`").at("border"));
        };
        let border = border as f32;
        let threshold = if self.needs_double { widened(border) } else { f64::from(border) };
        let predicate = Predicate::Numeric { threshold };
        Ok(SplitTest { feature: *column, predicate, missing_left: !missing, is_swapped: false })
    }

    fn category(&self, split: &Split) -> Result<SplitTest, ModelError> {
        let feature = split.cat_feature_index.and_then(|index| self.categories.get(&index));
        let Some(Categorical { column, values }) = feature else {
            return Err(no_feature("cat_feature_index", split.cat_feature_index));
        };
        let Some(hash) = split.value else {
            return Err(ModelError::new(codes::STRUCTURE, "missing field `value`").at("value"));
        };
        let Some(&value) = values.get(&(hash as u32)) else {
            let message =
                "the tree tests a category, and the file holds only the hash of the category's name";
            return Err(ModelError::new(codes::UNSUPPORTED_CATEGORICAL, message).at("value").help(
                "save the model with its training data, which has the names: save_model(\"model.json\", \
                 format=\"json\", pool=train_pool)",
            ));
        };
        Ok(SplitTest {
            feature: *column,
            predicate: Predicate::Equal { value },
            missing_left: false,
            is_swapped: true,
        })
    }
}

fn unsupported(message: &str, help: &str) -> ModelError {
    ModelError::new(codes::UNSUPPORTED_FEATURE, message).help(help)
}

fn no_feature(place: &str, index: Option<u32>) -> ModelError {
    let message = match index {
        Some(index) => format!("the split tests feature {index}, which the model does not list"),
        None => "the split does not say which feature it tests".to_owned(),
    };
    ModelError::new(codes::FEATURE_OUT_OF_RANGE, message).at(place)
}

fn refuse_others(features: &FeaturesInfo) -> Result<(), ModelError> {
    let kinds = [("text", &features.text_features), ("embedding", &features.embedding_features)];
    for (kind, listed) in kinds {
        if let Some(first) = listed.first() {
            let name = first.feature_name.escape_debug();
            let message = format!("the model has {kind} features, such as `{name}`");
            let help = "train with columns of numbers and categories: turn texts and embeddings into \
                        numbers yourself";
            return Err(unsupported(&message, help).at(format!("features_info.{kind}_features[0]")));
        }
    }
    Ok(())
}

/// The number of columns of a row, and their names if there are any.
fn places_in_rows(
    places: &[(u32, &String)],
    notes: &mut Vec<Note>,
) -> Result<(usize, Vec<String>), ModelError> {
    let count = places.iter().map(|&(column, _)| column as usize + 1).max().unwrap_or(1);
    let at = "features_info";
    if count > places.len().max(1) {
        let message = format!(
            "a feature has the index {} in a row, but the model lists only {} features",
            count - 1,
            places.len()
        );
        return Err(ModelError::new(codes::FEATURE_OUT_OF_RANGE, message).at(at));
    }
    let mut names: Vec<Option<&String>> = vec![None; count];
    for &(column, name) in places {
        if names[column as usize].replace(name).is_some() {
            let message = format!("two features have the index {column} in a row");
            return Err(ModelError::new(codes::BAD_PARAMETER, message).at(at));
        }
    }
    let is_plain = |(column, name): (usize, &Option<&String>)| {
        name.is_none_or(|name| name.is_empty() || *name == column.to_string())
    };
    if names.iter().enumerate().all(is_plain) {
        return Ok((count, Vec::new()));
    }
    let mut names: Vec<String> = names.into_iter().map(|name| name.cloned().unwrap_or_default()).collect();
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        notes.push(Note("the names of features are left out, since two features have the same name".into()));
        names.clear();
    }
    Ok((count, names))
}
