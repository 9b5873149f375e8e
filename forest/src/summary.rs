//! A model in numbers, for people and for whoever chooses a schedule.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::forest::{Float, Forest, Predicate};
use crate::output::{Output, Transform};

/// What `schedc inspect` shows of a model. Serialises to JSON with the field names given here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelSummary {
    /// The trainer's name of the objective.
    pub objective: String,
    /// The steps from sums to predictions, in lower case.
    pub transform: String,
    /// Columns of a row.
    pub num_features: usize,
    /// Margins per row.
    pub num_margins: usize,
    /// The margins before the first tree.
    pub base: Vec<f64>,
    /// Type of features in comparisons: `f32` or `f64`.
    pub input: &'static str,
    /// Type of thresholds: `f32` or `f64`.
    pub threshold: &'static str,
    /// Type of leaves and margins: `f32` or `f64`.
    pub accumulator: &'static str,
    /// Type of predictions: `f32` or `f64`.
    pub output: &'static str,
    /// Trees.
    pub trees: usize,
    /// Boosting iterations.
    pub iterations: usize,
    /// The iteration with the best score, if the model says.
    pub best_iteration: Option<usize>,
    /// Inner nodes of all trees.
    pub inner_nodes: usize,
    /// Leaves of all trees.
    pub leaves: usize,
    /// For each depth in edges that some tree has, how many trees have it.
    pub depths: BTreeMap<u32, usize>,
    /// For each depth of a leaf, how many leaves have it.
    pub leaf_depths: BTreeMap<u32, usize>,
    /// Features that some node tests, ascending.
    pub features: Vec<FeatureUse>,
    /// The most thresholds that one feature has; 255 or fewer make one-byte codes of features possible.
    pub max_thresholds: usize,
    /// Values of leaves; `None` without trees.
    pub leaf_values: Option<LeafRange>,
    /// Where missing values go.
    pub missing: MissingDirections,
}

/// How one feature is used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FeatureUse {
    /// Its column.
    pub feature: u32,
    /// Its name, if the model has names.
    pub name: Option<String>,
    /// Nodes that test it.
    pub nodes: usize,
    /// Different thresholds among these.
    pub thresholds: usize,
}

/// Smallest, average and largest leaf value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LeafRange {
    /// Smallest.
    pub min: f64,
    /// Average over leaves, not over rows.
    pub mean: f64,
    /// Largest.
    pub max: f64,
}

/// The directions that nodes send missing values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingDirections {
    /// There are no inner nodes.
    None,
    /// All to the left.
    AllLeft,
    /// All to the right.
    AllRight,
    /// Some to the left and some to the right.
    Mixed,
}

/// Describes a model. Takes time and memory in proportion to its nodes.
pub fn summarize(forest: &Forest) -> ModelSummary {
    let (depths, leaf_depths) = depth_histograms(forest);
    let features = feature_uses(forest);
    ModelSummary {
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
        max_thresholds: features.iter().map(|it| it.thresholds).max().unwrap_or(0),
        features,
        leaf_values: leaf_range(forest),
        missing: missing_directions(forest),
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

fn feature_uses(forest: &Forest) -> Vec<FeatureUse> {
    let mut tests: BTreeMap<u32, (usize, Vec<f64>)> = BTreeMap::new();
    for inner in forest.trees.iter().flat_map(|tree| &tree.inner) {
        let (nodes, thresholds) = tests.entry(inner.feature).or_default();
        *nodes += 1;
        if let Predicate::Numeric { threshold } | Predicate::NumericNotZero { threshold } = inner.predicate {
            // Adding zero makes one of the two zeros, which no comparison tells apart.
            thresholds.push(threshold + 0.0);
        }
    }
    let uses = tests.into_iter().map(|(feature, (nodes, mut thresholds))| {
        thresholds.sort_unstable_by(f64::total_cmp);
        thresholds.dedup();
        let name = forest.feature_names.get(feature as usize).cloned();
        FeatureUse { feature, name, nodes, thresholds: thresholds.len() }
    });
    uses.collect()
}

fn leaf_range(forest: &Forest) -> Option<LeafRange> {
    let values = || forest.trees.iter().flat_map(|tree| &tree.leaves).flat_map(|leaf| &leaf.values).copied();
    let count = values().count();
    (count > 0).then(|| LeafRange {
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
