//! The parts of an XGBoost model document that are read, as serde sees them. JSON and UBJSON files hold the same
//! document, so both are read into these types. Unknown keys are skipped: XGBoost adds some in most releases.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

/// The top of a file: a saved model, or a snapshot of a whole training state that contains one.
#[derive(Deserialize)]
pub(super) struct Document {
    pub learner: Option<Learner>,
    #[serde(default)]
    pub version: Vec<i64>,
    #[serde(rename = "Model")]
    pub snapshot: Option<Saved>,
}

/// The model within a snapshot.
#[derive(Deserialize)]
pub(super) struct Saved {
    pub learner: Option<Learner>,
    #[serde(default)]
    pub version: Vec<i64>,
}

#[derive(Deserialize)]
pub(super) struct Learner {
    #[serde(default)]
    pub attributes: Attributes,
    #[serde(default)]
    pub feature_names: Vec<String>,
    pub gradient_booster: Booster,
    pub learner_model_param: LearnerParam,
    #[serde(default)]
    pub objective: Objective,
}

#[derive(Deserialize, Default)]
pub(super) struct Attributes {
    pub best_iteration: Option<Text>,
}

#[derive(Deserialize)]
pub(super) struct LearnerParam {
    pub base_score: Option<Text>,
    pub num_class: Option<Text>,
    pub num_feature: Option<Text>,
    pub num_target: Option<Text>,
}

#[derive(Deserialize, Default)]
pub(super) struct Objective {
    #[serde(default)]
    pub name: String,
}

/// A booster of trees keeps them in `model`; the older form of DART keeps a whole `gbtree` booster inside.
#[derive(Deserialize)]
pub(super) struct Booster {
    #[serde(default)]
    pub name: String,
    pub model: Option<Model>,
    pub gbtree: Option<Inner>,
    pub weight_drop: Option<Vec<Real>>,
}

#[derive(Deserialize)]
pub(super) struct Inner {
    pub model: Option<Model>,
}

#[derive(Deserialize)]
pub(super) struct Model {
    #[serde(default)]
    pub gbtree_model_param: ModelParam,
    pub tree_info: Option<Vec<i64>>,
    pub iteration_indptr: Option<Vec<i64>>,
    pub trees: Option<Vec<Tree>>,
    pub weight_drop: Option<Vec<Real>>,
}

#[derive(Deserialize, Default)]
pub(super) struct ModelParam {
    pub num_trees: Option<Text>,
    pub num_parallel_tree: Option<Text>,
    pub size_leaf_vector: Option<Text>,
}

#[derive(Deserialize)]
pub(super) struct Tree {
    pub id: Option<i64>,
    #[serde(default)]
    pub tree_param: TreeParam,
    pub left_children: Vec<i64>,
    pub right_children: Vec<i64>,
    pub split_indices: Vec<i64>,
    pub split_conditions: Vec<Real>,
    pub default_left: Vec<Flag>,
    #[serde(default)]
    pub split_type: FirstNonZero,
    #[serde(default)]
    pub categories_nodes: HoldsAny,
    #[serde(default)]
    pub leaf_weights: HoldsAny,
}

#[derive(Deserialize, Default)]
pub(super) struct TreeParam {
    pub num_nodes: Option<Text>,
    pub size_leaf_vector: Option<Text>,
}

/// A parameter. XGBoost writes its numbers as strings; a bare number is taken as its text.
#[derive(Clone, Debug)]
pub(super) struct Text(pub String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        struct TextVisitor;
        impl Visitor<'_> for TextVisitor {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a number")
            }
            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

/// A single-precision number, rounded once from its decimal text; `null` is NaN, see `json.rs`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Real(pub f32);

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Real, D::Error> {
        struct RealVisitor;
        impl<'de> Visitor<'de> for RealVisitor {
            type Value = Real;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_none<E>(self) -> Result<Real, E> {
                Ok(Real(f32::NAN))
            }
            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Real, D::Error> {
                f32::deserialize(deserializer).map(Real)
            }
        }
        deserializer.deserialize_option(RealVisitor)
    }
}

/// A yes or no, which files hold as a boolean or as 0 and 1.
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

/// Of an array of integers, the index of the first that is not zero.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FirstNonZero(pub Option<usize>);

impl<'de> Deserialize<'de> for FirstNonZero {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FirstNonZero, D::Error> {
        struct ScanVisitor;
        impl<'de> Visitor<'de> for ScanVisitor {
            type Value = FirstNonZero;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of integers")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<FirstNonZero, A::Error> {
                let mut first = None;
                let mut index = 0;
                while let Some(value) = values.next_element::<i64>()? {
                    if value != 0 && first.is_none() {
                        first = Some(index);
                    }
                    index += 1;
                }
                Ok(FirstNonZero(first))
            }
        }
        deserializer.deserialize_seq(ScanVisitor)
    }
}

/// Of an array, whether it holds anything.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HoldsAny(pub bool);

impl<'de> Deserialize<'de> for HoldsAny {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<HoldsAny, D::Error> {
        struct ScanVisitor;
        impl<'de> Visitor<'de> for ScanVisitor {
            type Value = HoldsAny;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<HoldsAny, A::Error> {
                let any = values.next_element::<IgnoredAny>()?.is_some();
                while values.next_element::<IgnoredAny>()?.is_some() {}
                Ok(HoldsAny(any))
            }
        }
        deserializer.deserialize_seq(ScanVisitor)
    }
}
