//! Summaries: the numbers that describe a model, for users and for the choice of a schedule.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::forest::{Float, Forest, Predicate, TreeTarget};
use crate::loaded::ModelSource;
use crate::output::{Output, Transform};
use crate::release::ReleaseRule;
use sched_categories::Label;

/// The summary that `schedc inspect` shows. Serialises to JSON with these field names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelSummary {
    /// The format of the model's file, if [`ModelSummary::from_file`] made the summary.
    pub format: Option<&'static str>,
    /// The program that trained the model, if it is known.
    pub trainer: Option<&'static str>,
    /// The release of that program, such as `3.2.0`, if the file states it.
    pub version: Option<String>,
    /// The rules that differ between releases of that program and on which the model depends. Empty unless
    /// [`ModelSummary::from_file`] made the summary.
    pub rules: Vec<ReleaseRule>,
    /// The trainer's name of the objective.
    pub objective: String,
    /// The steps from sums to predictions, in lower case.
    pub transform: String,
    /// The steps from sums to margins, by name, in order.
    pub raw_steps: Vec<&'static str>,
    /// The steps from margins to predictions, by name, in order.
    pub value_steps: Vec<&'static str>,
    /// The names of classes, if the model predicts classes; empty if classes are numbers from 0 on.
    pub labels: Option<Vec<String>>,
    /// The number of names of each target, if a row has a class for each of several targets.
    pub targets: Vec<usize>,
    /// Number of features, which are the columns of a row.
    pub num_features: usize,
    /// Number of margins per row.
    pub num_margins: usize,
    /// Base value of each margin, to which the trees add.
    pub base: Vec<f64>,
    /// Type of features in comparisons: `f32` or `f64`.
    pub input: &'static str,
    /// Type of thresholds: `f32` or `f64`.
    pub threshold: &'static str,
    /// Type of leaves and margins: `f32` or `f64`.
    pub accumulator: &'static str,
    /// Type of predictions: `f32` or `f64`.
    pub output: &'static str,
    /// Number of trees.
    pub trees: usize,
    /// Number of boosting iterations.
    pub iterations: usize,
    /// Index of the iteration with the best score, if the model records it.
    pub best_iteration: Option<usize>,
    /// Number of inner nodes of all trees.
    pub inner_nodes: usize,
    /// Number of leaves of all trees.
    pub leaves: usize,
    /// Number of trees whose leaves hold a value for each margin.
    pub vector_trees: usize,
    /// Number of leaves with a linear formula.
    pub linear_leaves: usize,
    /// Number of terms of these formulas.
    pub linear_terms: usize,
    /// Number of different sets of categories that nodes test.
    pub sets: usize,
    /// Number of trees of each depth, in edges.
    pub depths: BTreeMap<u32, usize>,
    /// Number of leaves of each depth, in edges.
    pub leaf_depths: BTreeMap<u32, usize>,
    /// Features that some node tests, ascending.
    pub features: Vec<FeatureUse>,
    /// Number of different thresholds of all features.
    pub distinct_thresholds: usize,
    /// Number of thresholds that single precision cannot represent. For rows in single precision they are
    /// rounded so that each row still goes the same way.
    pub wide_thresholds: usize,
    /// Largest number of different thresholds of one feature; 255 or fewer make one-byte bins possible.
    pub max_thresholds: usize,
    /// Range of the leaf values; `None` without trees.
    pub leaf_values: Option<LeafValueRange>,
    /// Default directions of the inner nodes.
    pub missing: MissingDirections,
    /// The values that count as missing.
    pub missing_values: MissingValues,
}

/// The use of one feature.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FeatureUse {
    /// Its index, which is its column in a row.
    pub feature: u32,
    /// Its name, if the model has names.
    pub name: Option<String>,
    /// Its type in the trainer's words, such as `float` or `c`, if the file states it.
    pub trainer_type: Option<String>,
    /// Number of nodes that test it.
    pub nodes: usize,
    /// Number of different thresholds of these nodes.
    pub thresholds: usize,
    /// Number of thresholds that single precision cannot represent.
    pub wide_thresholds: usize,
    /// Number of different values that nodes compare for equality.
    pub values: usize,
    /// Number of different sets of categories that nodes test. If above 0, the feature's values are
    /// categories.
    pub sets: usize,
    /// Number of categories that have names in the file.
    pub categories: usize,
}

/// Smallest, average and largest leaf value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LeafValueRange {
    /// Smallest leaf value.
    pub min: f64,
    /// Average of the leaf values, each leaf counted once.
    pub mean: f64,
    /// Largest leaf value.
    pub max: f64,
}

/// The children to which nodes send missing values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingDirections {
    /// There are no inner nodes.
    None,
    /// All nodes send them left.
    AllLeft,
    /// All nodes send them right.
    AllRight,
    /// Some nodes send them left and some right.
    Mixed,
}

/// The values that count as missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingValues {
    /// NaN.
    Nan,
    /// NaN everywhere; at some nodes also values that are [nearly zero](crate::is_nearly_zero).
    NanAndSomeZeros,
    /// NaN everywhere; at all numeric nodes also values that are nearly zero.
    NanAndZeros,
}

impl ModelSummary {
    /// Adds the facts of the model's file.
    pub fn from_file(mut self, source: &ModelSource, version: &[u64]) -> ModelSummary {
        self.format = source.format.map(|format| format.name);
        self.trainer = (!source.trainer.is_empty()).then_some(source.trainer);
        let parts: Vec<String> = version.iter().map(u64::to_string).collect();
        self.version = (!parts.is_empty()).then(|| parts.join("."));
        self.rules.clone_from(&source.rules);
        for feature in &mut self.features {
            feature.trainer_type = source.feature_types.get(feature.feature as usize).cloned();
        }
        self
    }
}

/// Describes a model. Takes time and memory in proportion to its nodes.
pub fn summarize(forest: &Forest) -> ModelSummary {
    let (depths, leaf_depths) = depth_histograms(forest);
    let features = feature_uses(forest);
    ModelSummary {
        format: None,
        trainer: None,
        version: None,
        rules: Vec::new(),
        raw_steps: forest.output.raw.iter().map(Transform::name).collect(),
        value_steps: forest.output.value.iter().map(Transform::name).collect(),
        labels: labels(forest),
        targets: forest.output.classes.as_ref().map(|classes| classes.targets.clone()).unwrap_or_default(),
        vector_trees: forest.trees.iter().filter(|tree| tree.target == TreeTarget::All).count(),
        linear_leaves: forest.linear.iter().map(Vec::len).sum(),
        linear_terms: forest.linear.iter().flatten().map(|leaf| leaf.terms.len()).sum(),
        sets: forest.sets.len(),
        objective: forest.objective.clone(),
        transform: transform_name(&forest.output),
        num_features: forest.num_features,
        num_margins: forest.num_margins,
        base: forest.base.clone(),
        input: float_name(forest.types.input),
        threshold: float_name(forest.types.threshold),
        accumulator: float_name(forest.types.accumulator),
        output: float_name(forest.types.output),
        trees: forest.trees.len(),
        iterations: forest.iteration_starts.len().saturating_sub(1),
        best_iteration: forest.best_iteration,
        inner_nodes: forest.trees.iter().map(|tree| tree.inner.len()).sum(),
        leaves: forest.trees.iter().map(|tree| tree.leaves.len()).sum(),
        depths,
        leaf_depths,
        distinct_thresholds: features.iter().map(|it| it.thresholds).sum(),
        wide_thresholds: features.iter().map(|it| it.wide_thresholds).sum(),
        max_thresholds: features.iter().map(|it| it.thresholds).max().unwrap_or(0),
        features,
        leaf_values: leaf_range(forest),
        missing: missing_directions(forest),
        missing_values: missing_values(forest),
    }
}

fn transform_name(output: &Output) -> String {
    let names: Vec<&str> = output.raw.iter().chain(&output.value).map(Transform::name).collect();
    if names.is_empty() { "identity".into() } else { names.join(", ") }
}

fn float_name(float: Float) -> &'static str {
    match float {
        Float::F32 => "f32",
        Float::F64 => "f64",
    }
}

type Histogram = BTreeMap<u32, usize>;

fn depth_histograms(forest: &Forest) -> (Histogram, Histogram) {
    let (mut trees, mut leaves) = (Histogram::new(), Histogram::new());
    for tree in &forest.trees {
        let depths = tree.leaf_depths();
        *trees.entry(depths.iter().copied().max().unwrap_or(0)).or_default() += 1;
        for depth in depths {
            *leaves.entry(depth).or_default() += 1;
        }
    }
    (trees, leaves)
}

fn labels(forest: &Forest) -> Option<Vec<String>> {
    let classes = forest.output.classes.as_ref()?;
    Some(classes.labels.iter().map(Label::to_string).collect())
}

/// The tests of one feature.
#[derive(Default)]
struct Tests {
    nodes: usize,
    thresholds: Vec<f64>,
    values: Vec<f64>,
    sets: Vec<u32>,
}

fn feature_uses(forest: &Forest) -> Vec<FeatureUse> {
    let mut tests: BTreeMap<u32, Tests> = BTreeMap::new();
    for inner in forest.trees.iter().flat_map(|tree| &tree.inner) {
        let tests = tests.entry(inner.feature).or_default();
        tests.nodes += 1;
        match inner.predicate {
            // Adding zero turns -0.0 into 0.0, since no comparison distinguishes them.
            Predicate::Numeric { threshold } | Predicate::NumericNotZero { threshold } => {
                tests.thresholds.push(threshold + 0.0);
            }
            Predicate::Member { set } => tests.sets.push(set),
            Predicate::Equal { value } => tests.values.push(value + 0.0),
        }
    }
    let uses = tests.into_iter().map(|(feature, Tests { nodes, mut thresholds, mut values, mut sets })| {
        thresholds.sort_unstable_by(f64::total_cmp);
        thresholds.dedup();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        sets.sort_unstable();
        sets.dedup();
        FeatureUse {
            feature,
            name: forest.value_name(feature),
            trainer_type: None,
            nodes,
            thresholds: thresholds.len(),
            wide_thresholds: thresholds.iter().filter(|x| f64::from(**x as f32) != **x).count(),
            values: values.len(),
            sets: sets.len(),
            categories: forest.categories.get(feature as usize).map_or(0, |names| names.labels.len()),
        }
    });
    uses.collect()
}

fn missing_values(forest: &Forest) -> MissingValues {
    let inner = || forest.trees.iter().flat_map(|tree| &tree.inner);
    let zeros = inner().any(|inner| matches!(inner.predicate, Predicate::NumericNotZero { .. }));
    let others = inner().any(|inner| matches!(inner.predicate, Predicate::Numeric { .. }));
    match (zeros, others) {
        (false, _) => MissingValues::Nan,
        (true, true) => MissingValues::NanAndSomeZeros,
        (true, false) => MissingValues::NanAndZeros,
    }
}

fn leaf_range(forest: &Forest) -> Option<LeafValueRange> {
    let values = || forest.trees.iter().flat_map(|tree| &tree.leaves).flat_map(|leaf| &leaf.values).copied();
    let count = values().count();
    (count > 0).then(|| LeafValueRange {
        min: values().fold(f64::INFINITY, f64::min),
        mean: values().sum::<f64>() / count as f64,
        max: values().fold(f64::NEG_INFINITY, f64::max),
    })
}

fn missing_directions(forest: &Forest) -> MissingDirections {
    let mut directions = forest.trees.iter().flat_map(|tree| &tree.inner).map(|inner| inner.missing_left);
    match directions.next() {
        None => MissingDirections::None,
        Some(first) if directions.any(|left| left != first) => MissingDirections::Mixed,
        Some(true) => MissingDirections::AllLeft,
        Some(false) => MissingDirections::AllRight,
    }
}
