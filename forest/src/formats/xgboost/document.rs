//! The parts of an XGBoost model document that the reader needs, as serde types. JSON and UBJSON files hold
//! the same document, so these types serve both. Unknown keys are skipped, since most releases of XGBoost add
//! some.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

/// The top of a file: a saved model, or a snapshot of a whole training state that contains one.
#[derive(Deserialize)]
pub(super) struct XgboostDocument {
    pub learner: Option<Learner>,
    #[serde(default)]
    pub version: Vec<i64>,
    #[serde(rename = "Model")]
    pub snapshot: Option<ModelSnapshot>,
}

/// The model within a snapshot.
#[derive(Deserialize)]
pub(super) struct ModelSnapshot {
    pub learner: Option<Learner>,
    #[serde(default)]
    pub version: Vec<i64>,
}

#[derive(Deserialize)]
pub(super) struct Learner {
    #[serde(default)]
    pub attributes: LearnerAttributes,
    #[serde(default)]
    pub feature_names: Vec<String>,
    #[serde(default)]
    pub feature_types: Vec<String>,
    pub gradient_booster: Booster,
    pub learner_model_param: LearnerParam,
    #[serde(default)]
    pub objective: ObjectiveField,
    /// The parameters of training, which `Booster.save_config` writes; models do not have them.
    pub learner_train_param: Option<IgnoredAny>,
}

#[derive(Deserialize, Default)]
pub(super) struct LearnerAttributes {
    pub best_iteration: Option<ParameterText>,
}

#[derive(Deserialize)]
pub(super) struct LearnerParam {
    pub base_score: Option<ParameterText>,
    /// Whether XGBoost estimates `base_score`: 0 if the user gave it. In files from release 1.7 on.
    pub boost_from_average: Option<ParameterText>,
    pub num_class: Option<ParameterText>,
    pub num_feature: Option<ParameterText>,
    pub num_target: Option<ParameterText>,
}

#[derive(Deserialize, Default)]
pub(super) struct ObjectiveField {
    #[serde(default)]
    pub name: String,
}

/// A booster. It has its trees in `model`; in older files, a DART booster has a whole `gbtree` booster
/// inside.
#[derive(Deserialize)]
pub(super) struct Booster {
    #[serde(default)]
    pub name: String,
    pub model: Option<BoosterModel>,
    pub gbtree: Option<InnerBooster>,
    pub weight_drop: Option<Vec<SingleNumber>>,
}

impl Booster {
    /// The trees, in either form.
    pub(super) fn model(&self) -> Option<&BoosterModel> {
        self.model.as_ref().or_else(|| self.gbtree.as_ref()?.model.as_ref())
    }
}

#[derive(Deserialize)]
pub(super) struct InnerBooster {
    pub model: Option<BoosterModel>,
}

#[derive(Deserialize)]
pub(super) struct BoosterModel {
    #[serde(default)]
    pub gbtree_model_param: ModelParam,
    pub tree_info: Option<Vec<i64>>,
    pub iteration_indptr: Option<Vec<i64>>,
    pub trees: Option<Vec<TreeDocument>>,
    pub weight_drop: Option<Vec<SingleNumber>>,
    #[serde(default)]
    pub cats: Cats,
}

#[derive(Deserialize, Default)]
pub(super) struct ModelParam {
    pub num_trees: Option<ParameterText>,
    pub num_parallel_tree: Option<ParameterText>,
    pub size_leaf_vector: Option<ParameterText>,
}

#[derive(Deserialize)]
pub(super) struct TreeDocument {
    pub id: Option<i64>,
    #[serde(default)]
    pub tree_param: TreeParam,
    pub left_children: Vec<i64>,
    pub right_children: Vec<i64>,
    pub split_indices: Vec<i64>,
    pub split_conditions: Vec<SingleNumber>,
    pub default_left: Vec<Flag>,
    /// For each node, whether it tests a category. Empty in files before release 1.3.
    #[serde(default)]
    pub split_type: Vec<Flag>,
    #[serde(default)]
    pub categories: Vec<i64>,
    #[serde(default)]
    pub categories_nodes: Vec<i64>,
    #[serde(default)]
    pub categories_segments: Vec<i64>,
    #[serde(default)]
    pub categories_sizes: Vec<i64>,
    /// The leaf vectors, one after the other, in files from release 3.1 on.
    #[serde(default)]
    pub leaf_weights: Vec<SingleNumber>,
}

/// A document of which only `base_weights` is read. Files before release 3.1 store leaf vectors there. In
/// other files these numbers are unused, so the file is read into this type only if needed.
#[derive(Deserialize)]
pub(super) struct VectorDocument {
    pub learner: Option<VectorLearner>,
    #[serde(rename = "Model")]
    pub snapshot: Option<VectorSnapshot>,
}

#[derive(Deserialize)]
pub(super) struct VectorSnapshot {
    pub learner: Option<VectorLearner>,
}

#[derive(Deserialize)]
pub(super) struct VectorLearner {
    pub gradient_booster: VectorBooster,
}

#[derive(Deserialize)]
pub(super) struct VectorBooster {
    pub model: Option<VectorModel>,
}

#[derive(Deserialize)]
pub(super) struct VectorModel {
    #[serde(default)]
    pub trees: Vec<NodeVectors>,
}

/// A tree with a vector for each node, one after the other.
#[derive(Deserialize, Default)]
pub(super) struct NodeVectors {
    #[serde(default)]
    pub base_weights: Vec<SingleNumber>,
}

/// The names of categories, in files from release 3.1 on, feature by feature.
#[derive(Deserialize, Default)]
pub(super) struct Cats {
    #[serde(default)]
    pub enc: Vec<EncodedNames>,
    #[serde(default)]
    pub feature_segments: Vec<i32>,
    #[serde(default)]
    pub sorted_idx: Vec<i32>,
}

/// The names of one feature's categories. With `offsets`, `values` has the bytes of strings; otherwise it has
/// numbers of the type `kind`.
#[derive(Deserialize)]
pub(super) struct EncodedNames {
    pub offsets: Option<Vec<i32>>,
    #[serde(rename = "type")]
    pub kind: Option<i64>,
    #[serde(default)]
    pub values: NumberArray,
}

#[derive(Deserialize, Default)]
pub(super) struct TreeParam {
    pub num_nodes: Option<ParameterText>,
    pub size_leaf_vector: Option<ParameterText>,
}

/// A parameter. XGBoost writes numbers as strings; bare numbers are accepted and become texts.
#[derive(Clone, Debug)]
pub(super) struct ParameterText(pub String);

impl<'de> Deserialize<'de> for ParameterText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ParameterText, D::Error> {
        struct TextVisitor;
        impl Visitor<'_> for TextVisitor {
            type Value = ParameterText;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a number")
            }
            fn visit_str<E>(self, text: &str) -> Result<ParameterText, E> {
                Ok(ParameterText(text.to_owned()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<ParameterText, E> {
                Ok(ParameterText(number.to_string()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<ParameterText, E> {
                Ok(ParameterText(number.to_string()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<ParameterText, E> {
                Ok(ParameterText(number.to_string()))
            }
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

/// A single-precision number, rounded once from its decimal text. Infinity and NaN are accepted, and `null`
/// is NaN.
#[derive(Clone, Copy, Debug)]
pub(super) struct SingleNumber(pub f32);

impl<'de> Deserialize<'de> for SingleNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SingleNumber, D::Error> {
        struct RealVisitor;
        impl<'de> Visitor<'de> for RealVisitor {
            type Value = SingleNumber;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_none<E>(self) -> Result<SingleNumber, E> {
                Ok(SingleNumber(f32::NAN))
            }
            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<SingleNumber, D::Error> {
                f32::deserialize(deserializer).map(SingleNumber)
            }
        }
        deserializer.deserialize_option(RealVisitor)
    }
}

/// A truth value, which files hold as a boolean, or as 0 or 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flag(pub bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Flag, D::Error> {
        struct FlagVisitor;
        impl Visitor<'_> for FlagVisitor {
            type Value = Flag;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, 0 or 1")
            }
            fn visit_bool<E>(self, flag: bool) -> Result<Flag, E> {
                Ok(Flag(flag))
            }
            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Flag, E> {
                match number {
                    0 | 1 => Ok(Flag(number == 1)),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Unsigned(number), &self)),
                }
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Flag, E> {
                match number {
                    0 | 1 => Ok(Flag(number == 1)),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Signed(number), &self)),
                }
            }
        }
        deserializer.deserialize_any(FlagVisitor)
    }
}

/// Numbers of any type. Unsigned numbers of 64 bits wrap around, as they do in UBJSON files.
#[derive(Debug)]
pub(super) enum NumberArray {
    /// Numbers of 16 bits: usually the bytes of all names of a feature.
    Small(Vec<i16>),
    Whole(Vec<i64>),
    Real(Vec<f64>),
}

impl Default for NumberArray {
    fn default() -> NumberArray {
        NumberArray::Small(Vec::new())
    }
}

impl NumberArray {
    /// Adds a number. If it needs a wider type, the other numbers are widened too.
    fn push(&mut self, number: AnyNumber) {
        match (&mut *self, number) {
            (NumberArray::Small(small), AnyNumber::Whole(value)) => match i16::try_from(value) {
                Ok(value) => small.push(value),
                Err(_) => {
                    *self =
                        NumberArray::Whole(small.iter().map(|&value| value.into()).chain([value]).collect());
                }
            },
            (NumberArray::Whole(whole), AnyNumber::Whole(value)) => whole.push(value),
            (NumberArray::Real(real), AnyNumber::Whole(value)) => real.push(value as f64),
            (NumberArray::Real(real), AnyNumber::Real(value)) => real.push(value),
            (NumberArray::Small(small), AnyNumber::Real(value)) => {
                *self = NumberArray::Real(small.iter().map(|&value| value.into()).chain([value]).collect());
            }
            (NumberArray::Whole(whole), AnyNumber::Real(value)) => {
                *self = NumberArray::Real(whole.iter().map(|&value| value as f64).chain([value]).collect());
            }
        }
    }
}

/// A number, with or without a fraction.
enum AnyNumber {
    Whole(i64),
    Real(f64),
}

impl<'de> Deserialize<'de> for AnyNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AnyNumber, D::Error> {
        struct NumberVisitor;
        impl Visitor<'_> for NumberVisitor {
            type Value = AnyNumber;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_i64<E>(self, number: i64) -> Result<AnyNumber, E> {
                Ok(AnyNumber::Whole(number))
            }
            fn visit_u64<E>(self, number: u64) -> Result<AnyNumber, E> {
                Ok(AnyNumber::Whole(number.cast_signed()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<AnyNumber, E> {
                Ok(AnyNumber::Real(number))
            }
        }
        deserializer.deserialize_any(NumberVisitor)
    }
}

impl<'de> Deserialize<'de> for NumberArray {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NumberArray, D::Error> {
        struct NumbersVisitor;
        impl<'de> Visitor<'de> for NumbersVisitor {
            type Value = NumberArray;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of numbers")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<NumberArray, A::Error> {
                // The readers never hint at more values than their input has bytes.
                let mut numbers = NumberArray::Small(Vec::with_capacity(values.size_hint().unwrap_or(0)));
                while let Some(value) = values.next_element()? {
                    numbers.push(value);
                }
                Ok(numbers)
            }
        }
        deserializer.deserialize_seq(NumbersVisitor)
    }
}
