//! The parts of CatBoost's JSON that predictions need. Other keys are skipped.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

#[derive(Deserialize)]
pub(super) struct CatboostDocument {
    #[serde(default)]
    pub features_info: FeaturesInfo,
    #[serde(default)]
    pub model_info: ModelMetadata,
    pub oblivious_trees: Option<Vec<ObliviousTree>>,
    pub trees: Option<Vec<NonSymmetricNode>>,
    pub scale_and_bias: Option<(f64, Bias)>,
}

/// The bias of the outputs: one number for all in files of old releases, otherwise a number for each.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Bias {
    Each(Vec<f64>),
    One(f64),
}

#[derive(Default, Deserialize)]
pub(super) struct FeaturesInfo {
    #[serde(default, deserialize_with = "list")]
    pub float_features: Vec<FloatFeature>,
    #[serde(default, deserialize_with = "list")]
    pub categorical_features: Vec<CategoricalFeature>,
    #[serde(default, deserialize_with = "list")]
    pub text_features: Vec<OtherFeature>,
    #[serde(default, deserialize_with = "list")]
    pub embedding_features: Vec<OtherFeature>,
    #[serde(default, deserialize_with = "list")]
    pub cat_features_hash: Vec<Hashed>,
}

#[derive(Deserialize)]
pub(super) struct FloatFeature {
    pub feature_index: u32,
    pub flat_feature_index: u32,
    #[serde(default)]
    pub feature_name: String,
    /// The name if the model was saved without training data; then `feature_name` is absent.
    #[serde(default)]
    pub feature_id: String,
    #[serde(default)]
    pub nan_value_treatment: String,
}

#[derive(Deserialize)]
pub(super) struct CategoricalFeature {
    pub feature_index: u32,
    pub flat_feature_index: u32,
    #[serde(default)]
    pub feature_name: String,
    /// The name if the model was saved without training data; then `feature_name` is absent.
    #[serde(default)]
    pub feature_id: String,
    #[serde(default, deserialize_with = "list")]
    pub values: Vec<i64>,
}

impl FloatFeature {
    /// Name of the feature: `feature_name`, or else `feature_id`; empty if both are empty.
    pub(super) fn name(&self) -> &String {
        first_nonempty(&self.feature_name, &self.feature_id)
    }
}

impl CategoricalFeature {
    /// Name of the feature: `feature_name`, or else `feature_id`; empty if both are empty.
    pub(super) fn name(&self) -> &String {
        first_nonempty(&self.feature_name, &self.feature_id)
    }
}

/// The first of two names that is not empty.
fn first_nonempty<'a>(name: &'a String, id: &'a String) -> &'a String {
    if name.is_empty() { id } else { name }
}

#[derive(Deserialize)]
pub(super) struct OtherFeature {
    #[serde(default)]
    pub feature_name: String,
}

/// A category's name and its hash.
#[derive(Deserialize)]
pub(super) struct Hashed {
    pub hash: i64,
    pub value: String,
}

#[derive(Default, Deserialize)]
pub(super) struct ModelMetadata {
    #[serde(default)]
    pub params: Value,
    #[serde(default)]
    pub class_params: ClassParams,
    pub binclass_probability_threshold: Option<Value>,
    #[serde(default)]
    pub catboost_version_info: Value,
}

#[derive(Default, Deserialize)]
pub(super) struct ClassParams {
    #[serde(default, deserialize_with = "list")]
    pub class_names: Vec<Value>,
}

/// An oblivious tree: all nodes of a level make the same test.
#[derive(Deserialize)]
pub(super) struct ObliviousTree {
    /// The tests of the levels. The result of the first one is the lowest bit of a leaf's number. Absent or
    /// null in a tree of one leaf.
    #[serde(default)]
    pub splits: Option<Vec<Split>>,
    /// The values of all leaves, leaf by leaf: one value for each output.
    pub leaf_values: Vec<f64>,
}

/// A node of a tree of any shape: a split with two children, or values.
#[derive(Deserialize)]
pub(super) struct NonSymmetricNode {
    pub split: Option<Split>,
    pub left: Option<Box<NonSymmetricNode>>,
    pub right: Option<Box<NonSymmetricNode>>,
    pub value: Option<NodeValues>,
    /// The number of a leaf, which the reader computes, since the file omits it.
    #[serde(skip)]
    pub number: u32,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum NodeValues {
    One(f64),
    Each(Vec<f64>),
}

#[derive(Deserialize)]
pub(super) struct Split {
    #[serde(default)]
    pub split_type: String,
    pub border: Option<f64>,
    pub float_feature_index: Option<u32>,
    pub cat_feature_index: Option<u32>,
    pub value: Option<i64>,
}

/// Reads a list, which CatBoost writes as null if it is empty.
fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(reader: D) -> Result<Vec<T>, D::Error> {
    Option::deserialize(reader).map(Option::unwrap_or_default)
}
