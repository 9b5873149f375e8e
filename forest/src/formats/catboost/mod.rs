//! The reader of CatBoost models that `save_model(..., format="json")` wrote.
//!
//! A value passes a split if it exceeds the border; both are compared in single precision. CatBoost sums leaf
//! values in double precision, then applies a factor and a bias. Oblivious trees become complete trees whose
//! leaves, from left to right, have CatBoost's numbers.

mod columns;
mod document;
mod loss;

use smallvec::SmallVec;

use crate::ForestParts;
use crate::MAX_MARGINS;
use crate::codes;
use crate::error::ModelError;
use crate::forest::{Comparison, Float, Forest, Leaf, Tree, TreeTarget, Types};
use crate::grow::{Slot, TreeBuilder};
use crate::json::keys;
use crate::loaded::{Iterations, LoadedForest, ModelSource, ReadOptions};
use crate::output::Transform;
use columns::{ModelFeatures, SplitTest};
use document::{Bias, CatboostDocument, ModelMetadata, NodeValues, NonSymmetricNode, ObliviousTree};

const SAVE_AGAIN_HELP: &str =
    "save the model again with CatBoost's save_model(\"model.json\", format=\"json\")";

/// Whether a JSON document is a model of CatBoost, whose keys may come in any order.
pub(crate) fn is_model(text: &[u8]) -> bool {
    const FIRST: [&str; 4] = ["oblivious_trees", "features_info", "ctr_data", "model_info"];
    const ANYWHERE: [&str; 3] = ["oblivious_trees", "features_info", "scale_and_bias"];
    // XGBoost's key comes early in its documents, so the search ends soon.
    let is_other = || keys::has(text, &["gradient_booster"]) || !keys::has(text, &ANYWHERE);
    text.starts_with(b"{") && (keys::begins_with(text, &FIRST) || !is_other())
}

/// Reads a model from a JSON document.
pub(crate) fn read(bytes: &[u8], options: &ReadOptions) -> Result<LoadedForest, ModelError> {
    let document: CatboostDocument =
        crate::json::from_json(bytes).map_err(|error| match error.code == codes::STRUCTURE {
            true => error.help(SAVE_AGAIN_HELP),
            false => error,
        })?;
    let mut notes = Vec::new();
    let version = version(&document.model_info);
    let forest = build_forest(document, bytes.len(), &options.iterations, &mut notes)?;
    Ok(LoadedForest { forest, version, notes, source: ModelSource::default() })
}

/// Builds the forest of a document of `bytes` bytes, and appends to `notes`.
fn build_forest(
    document: CatboostDocument,
    bytes: usize,
    iterations: &Iterations,
    notes: &mut Vec<crate::Note>,
) -> Result<Forest, ModelError> {
    let CatboostDocument { features_info, model_info, oblivious_trees, trees, scale_and_bias } = document;
    let columns = ModelFeatures::new(features_info, bytes, notes)?;
    let (factor, bias) = scale_and_bias.unwrap_or((1.0, Bias::One(0.0)));
    let width = match &bias {
        Bias::Each(bias) => bias.len(),
        Bias::One(_) => width(&oblivious_trees, &trees),
    };
    if width == 0 || width > MAX_MARGINS {
        let message = format!("the model has {width} outputs; 1 to {MAX_MARGINS} are supported");
        return Err(ModelError::new(codes::BAD_PARAMETER, message).at("scale_and_bias"));
    }
    let bias = match bias {
        Bias::Each(bias) => bias,
        Bias::One(bias) => vec![bias; width],
    };
    let count = oblivious_trees.as_ref().map_or(0, Vec::len) + trees.as_ref().map_or(0, Vec::len);
    let (first, last) = iterations.select(count, None)?;
    // CatBoost adds the bias with the first tree, so a range of iterations that begins later has no bias.
    let bias = if first > 0 { vec![0.0; width] } else { bias };
    let (objective, mut output) = loss::output(&model_info, width, notes)?;
    if factor != 1.0 || bias.iter().any(|&bias| bias != 0.0) {
        output.raw.push(Transform::Scale { factor, bias });
    }
    let trees = match (oblivious_trees, trees) {
        (Some(trees), None) => convert_trees("oblivious_trees", trees, first..last, |tree, source| {
            convert_oblivious(tree, source, width, &columns)
        }),
        (None, Some(trees)) => convert_trees("trees", trees, first..last, |tree, source| {
            convert_tree(tree, source, width, &columns)
        }),
        _ => {
            let message = "the model needs either `oblivious_trees` or `trees`";
            return Err(ModelError::new(codes::STRUCTURE, message).help(SAVE_AGAIN_HELP));
        }
    }?;
    Forest::new(ForestParts {
        trees,
        num_features: columns.count,
        num_margins: width,
        base: vec![0.0; width],
        comparison: Comparison::LessOrEqual,
        types: Types {
            input: columns.row_type(),
            threshold: columns.row_type(),
            accumulator: Float::F64,
            output: Float::F64,
        },
        output,
        objective,
        feature_names: columns.names,
        categories: columns.names_of_categories,
        ..ForestParts::default()
    })
}

/// Converts the trees of a range. Errors name the tree as `name[index]`.
fn convert_trees<T>(
    name: &str,
    trees: Vec<T>,
    range: std::ops::Range<usize>,
    convert: impl Fn(T, u32) -> Result<Tree, ModelError>,
) -> Result<Vec<Tree>, ModelError> {
    let chosen = trees.into_iter().enumerate().take(range.end).skip(range.start);
    let convert = |(index, tree)| {
        convert(tree, index as u32).map_err(|error| error.within(&format!("{name}[{index}]")))
    };
    collect_or_error(chosen.map(convert))
}

/// Collects results, or returns the first error. A category without a name is reported only if there is no
/// other error: its help, to save the model with its training data, would not remove the other one.
fn collect_or_error<T>(results: impl Iterator<Item = Result<T, ModelError>>) -> Result<Vec<T>, ModelError> {
    let (mut values, mut nameless) = (Vec::new(), None);
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(error) if error.code == codes::UNSUPPORTED_CATEGORICAL => nameless = nameless.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    nameless.map_or(Ok(values), Err)
}

/// Number of margins of a row, from the leaf values of the first tree, since files of old releases record it
/// nowhere else.
fn width(oblivious: &Option<Vec<ObliviousTree>>, trees: &Option<Vec<NonSymmetricNode>>) -> usize {
    if let Some(tree) = oblivious.as_ref().and_then(|trees| trees.first()) {
        let depth = tree.splits.as_ref().map_or(0, Vec::len);
        return tree.leaf_values.len().checked_shr(depth as u32).unwrap_or(0);
    }
    let mut node = trees.as_ref().and_then(|trees| trees.first());
    while let Some(inner) = node {
        if let Some(NodeValues::Each(values)) = &inner.value {
            return values.len();
        }
        node = inner.left.as_deref();
    }
    1
}

fn target(width: usize) -> TreeTarget {
    if width == 1 { TreeTarget::One(0) } else { TreeTarget::All }
}

/// Converts an oblivious tree to a complete tree. The root makes the test of the last split, so that leaves
/// keep their order.
fn convert_oblivious(
    tree: ObliviousTree,
    source: u32,
    width: usize,
    columns: &ModelFeatures,
) -> Result<Tree, ModelError> {
    let splits = tree.splits.unwrap_or_default();
    let leaves = 1usize.checked_shl(splits.len() as u32).and_then(|leaves| leaves.checked_mul(width));
    if splits.len() > 31 || leaves != Some(tree.leaf_values.len()) {
        let message = format!(
            "a tree with {} splits and {width} outputs cannot have {} leaf values",
            splits.len(),
            tree.leaf_values.len()
        );
        return Err(ModelError::new(codes::LENGTH_MISMATCH, message).at("leaf_values").help(SAVE_AGAIN_HELP));
    }
    let ask = |(index, split)| columns.test(split).map_err(|error| error.within(&format!("splits[{index}]")));
    let tests: Vec<SplitTest> = collect_or_error(splits.iter().enumerate().map(ask))?;
    let mut out = TreeBuilder::new(target(width), source);
    let mut todo = vec![(Slot::ROOT, tests.len(), 0)];
    while let Some((slot, level, number)) = todo.pop() {
        let Some(level) = level.checked_sub(1) else {
            let values = SmallVec::from_slice(&tree.leaf_values[number * width..(number + 1) * width]);
            out.leaf(slot, Leaf { source: number as u32, values });
            continue;
        };
        let SplitTest { feature, predicate, missing_left, is_swapped } = tests[level].clone();
        let (left, right) = out.inner(slot, feature, predicate, missing_left)?;
        let (no, yes) = (number, number | 1 << level);
        let (of_left, of_right) = if is_swapped { (yes, no) } else { (no, yes) };
        todo.push((right, level, of_right));
        todo.push((left, level, of_left));
    }
    Ok(out.done())
}

/// Converts a tree of any shape, which the file holds as nested objects.
fn convert_tree(
    mut tree: NonSymmetricNode,
    source: u32,
    width: usize,
    columns: &ModelFeatures,
) -> Result<Tree, ModelError> {
    number_leaves(&mut tree);
    let mut out = TreeBuilder::new(target(width), source);
    let mut todo = vec![(Slot::ROOT, tree)];
    while let Some((slot, node)) = todo.pop() {
        let broken = |message: &str| ModelError::new(codes::STRUCTURE, message).help(SAVE_AGAIN_HELP);
        match node {
            NonSymmetricNode { split: Some(split), left: Some(no), right: Some(yes), .. } => {
                let SplitTest { feature, predicate, missing_left, is_swapped } = columns.test(&split)?;
                let (left, right) = out.inner(slot, feature, predicate, missing_left)?;
                let (of_left, of_right) = if is_swapped { (yes, no) } else { (no, yes) };
                todo.push((right, *of_right));
                todo.push((left, *of_left));
            }
            NonSymmetricNode { split: None, left: None, right: None, value: Some(value), number, .. } => {
                let values = match value {
                    NodeValues::One(value) => SmallVec::from_slice(&[value]),
                    NodeValues::Each(values) => SmallVec::from_vec(values),
                };
                if values.len() != width {
                    let message = format!("a leaf has {} values for {width} outputs", values.len());
                    return Err(ModelError::new(codes::LENGTH_MISMATCH, message).help(SAVE_AGAIN_HELP));
                }
                out.leaf(slot, Leaf { source: number, values });
            }
            _ => return Err(broken("a node is neither a split with two children nor a value")),
        }
    }
    Ok(out.done())
}

/// Numbers leaves as CatBoost does: left before right, but a right child that is a leaf before a left child
/// that is not.
fn number_leaves(tree: &mut NonSymmetricNode) {
    let mut next = 0;
    let mut todo = vec![tree];
    while let Some(node) = todo.pop() {
        if node.split.is_none() {
            node.number = next;
            next += 1;
        }
        let is_leaf =
            |child: &Option<Box<NonSymmetricNode>>| child.as_ref().is_none_or(|child| child.split.is_none());
        let right_first = is_leaf(&node.right) && !is_leaf(&node.left);
        let (mut first, mut second) = (node.left.as_deref_mut(), node.right.as_deref_mut());
        if right_first {
            std::mem::swap(&mut first, &mut second);
        }
        todo.extend(second);
        todo.extend(first);
    }
}

/// The release, from a text such as `Branch: tags/v1.2.10`.
fn version(info: &ModelMetadata) -> Vec<u64> {
    let text = info.catboost_version_info.as_str().unwrap_or_default();
    let Some((_, release)) = text.split_once("tags/v") else { return Vec::new() };
    let release = release.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
    release.split('.').map_while(|part| part.parse().ok()).collect()
}
