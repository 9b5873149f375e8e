//! The reader of XGBoost models, JSON and UBJSON, from release 1.0 on.
//!
//! Predictions are those that XGBoost computes from a file. Comments in the code explain the pitfalls.

mod base;
mod categories;
mod document;
mod objective;
mod releases;
mod tree;

use super::lightgbm;
use crate::ForestParts;
use crate::codes;
use crate::error::ModelError;
use crate::forest::{Comparison, Float, Forest, Tree, Types};
use crate::loaded::{Iterations, LoadedForest, ModelSource, Note, ReadOptions};
use crate::release::Release;
use crate::{MAX_FEATURES, MAX_MARGINS};
use categories::ForestSets;
use document::{
    BoosterModel, Learner, NodeVectors, ParameterText, SingleNumber, VectorDocument, XgboostDocument,
};
use releases::{ChangedRule, Rule, Rules};

/// Whether the bytes begin like XGBoost's Universal Binary JSON: with an object and the type of a key's
/// length.
pub(crate) fn is_ubjson(bytes: &[u8]) -> bool {
    matches!(bytes, [b'{', b'i' | b'U' | b'I' | b'l' | b'L' | b'C' | b'$' | b'#' | b'N', ..])
}

/// Whether a text is a JSON object that may be a model of XGBoost. If a field is missing, the reader reports
/// it.
pub(crate) fn is_json(text: &[u8]) -> bool {
    text.starts_with(b"{") && !lightgbm::is_dump(text)
}

/// Reads a model from a JSON document.
pub(crate) fn read_json(bytes: &[u8], options: &ReadOptions) -> Result<LoadedForest, ModelError> {
    assemble(crate::json::from_json(bytes)?, &|| crate::json::from_json(bytes), options)
}

/// Reads a model from Universal Binary JSON.
pub(crate) fn read_ubjson(bytes: &[u8], options: &ReadOptions) -> Result<LoadedForest, ModelError> {
    assemble(crate::json::from_ubjson(bytes)?, &|| crate::json::from_ubjson(bytes), options)
}

/// A function that reads the file again for `base_weights`, which only few models need.
type ReadVectors<'a> = &'a dyn Fn() -> Result<VectorDocument, ModelError>;

/// The newest major release whose files were tested.
const NEWEST_KNOWN: i64 = 3;

const MODEL_PLACE: &str = "learner.gradient_booster.model";

fn assemble(
    document: XgboostDocument,
    read_vectors: ReadVectors<'_>,
    options: &ReadOptions,
) -> Result<LoadedForest, ModelError> {
    let (learner, version, container) = match (document.learner, document.snapshot) {
        (Some(learner), _) => (Some(learner), document.version, ""),
        (None, Some(saved)) => (saved.learner, saved.version, "Model"),
        (None, None) => (None, Vec::new(), ""),
    };
    let Some(learner) = learner else {
        return Err(ModelError::new(
            codes::UNKNOWN_FORMAT,
            "the document has no `learner`, so it is not an XGBoost model",
        )
        .help("schedc reads models that XGBoost's Booster.save_model wrote as .json or .ubj"));
    };
    let mut notes = Vec::new();
    if version.first().is_some_and(|&major| major > NEWEST_KNOWN) {
        let version = version.iter().map(i64::to_string).collect::<Vec<_>>().join(".");
        notes
            .push(Note(format!("the model was saved by XGBoost {version}, which is newer than this reader")));
    }
    let version: Vec<u64> = version.iter().map(|&part| part.max(0) as u64).collect();
    let mut rules = Rules::of(release(&version, options, &mut notes));
    let mut learner = learner;
    let types = std::mem::take(&mut learner.feature_types);
    let forest = forest(learner, read_vectors, &options.iterations, &mut rules, &mut notes)
        .map_err(|error| error.within(container))?;
    let feature_types = for_each_feature(types, "types", forest.num_features, &mut notes);
    let source = ModelSource { feature_types, rules: rules.applied(), ..ModelSource::default() };
    Ok(LoadedForest { forest, version, notes, source })
}

/// The release by whose rules the file is read: the requested one, or else the one that saved it.
fn release(version: &[u64], options: &ReadOptions, notes: &mut Vec<Note>) -> Release {
    let saved_by = version.first_chunk().map(|&[major, minor]| Release::of(major, minor));
    match (options.as_release, saved_by) {
        (Some(other), Some(saved_by)) if other != saved_by => notes.push(Note(format!(
            "the model was saved by XGBoost {saved_by}, and is read by the rules of XGBoost {other}"
        ))),
        (None, None) => notes.push(Note(format!(
            "the file does not say which release of XGBoost saved it: it is read by the rules of XGBoost {}",
            Release::NEWEST
        ))),
        _ => {}
    }
    options.as_release.or(saved_by).unwrap_or(Release::NEWEST)
}

fn forest(
    learner: Learner,
    read_vectors: ReadVectors<'_>,
    iterations: &Iterations,
    rules: &mut Rules,
    notes: &mut Vec<Note>,
) -> Result<Forest, ModelError> {
    if learner.learner_train_param.is_some() && learner.gradient_booster.model().is_none() {
        return Err(configuration());
    }
    let Learner {
        attributes, feature_names, gradient_booster, learner_model_param: param, objective, ..
    } = learner;
    let num_features = count(&param.num_feature, "num_feature", None, MAX_FEATURES)?;
    let num_class = count(&param.num_class, "num_class", Some(0), MAX_MARGINS)?;
    let num_target = count(&param.num_target, "num_target", Some(1), MAX_MARGINS)?;
    if num_class == 0 && objective::needs_classes(&objective.name) {
        return Err(no_classes(&objective.name));
    }
    let num_margins = num_class.max(num_target).max(1);
    let found = objective::find(&objective.name, num_margins, rules);
    if !found.is_known {
        notes.push(Note(format!(
            "the objective `{}` is not one of XGBoost's: predictions are the margins",
            objective.name
        )));
    }
    let best_iteration = best_iteration(attributes.best_iteration, notes);

    let (mut model, weights) = trees_of(gradient_booster, rules)?;
    let base = base::MarginProperties {
        num_margins,
        has_trees: model.trees.as_ref().is_some_and(|trees| !trees.is_empty()),
        name: &objective.name,
        objective: &found,
    };
    let base = base::margins(&param, &base, rules)?;
    let names = categories::names(std::mem::take(&mut model.cats), num_features)
        .map_err(|error| error.within(&format!("{MODEL_PLACE}.cats")))?;
    let targets = targets(&model, num_margins)?;
    let starts = iteration_starts(&model, num_margins)?;
    let (first, last) = iterations.select(starts.len() - 1, best_iteration)?;
    if *iterations == Iterations::Unchosen
        && let Some(best) = best_iteration.filter(|best| best + 1 < starts.len() - 1)
    {
        notes.push(Note(format!(
            "early stopping found the best score at iteration {best}; all {} iterations are used, as \
             Booster.predict does (`--iterations best` takes the first {}, as the scikit-learn wrapper does)",
            starts.len() - 1,
            best + 1
        )));
    }
    if starts[first] == starts[last] {
        notes.push(Note("the model has no trees: it predicts the same for every row".into()));
    }
    let mut sets = ForestSets::new(rules);
    let vectors = read_node_vectors(&model, read_vectors)?;
    let properties = TreeProperties { num_features, num_margins, targets, weights, vectors };
    let trees = convert_trees(&model, starts[first]..starts[last], &properties, &mut sets)?;
    let category_rule = sets.category_rule(rules);
    let output = objective::output(found.output, &objective.name, (&trees, &base), rules)?;
    let is_rounded = trees.len() > num_margins && base.iter().any(|&base| base != 0.0);
    if is_rounded && rules.find(ChangedRule::Order) == Rule::OrderBaseLast {
        notes.push(Note(format!(
            "XGBoost {} adds the base score to the sum of the trees, and schedc begins sums with it: margins \
             may differ in the last digit",
            rules.release
        )));
    }
    let parts = ForestParts {
        trees,
        num_features,
        num_margins,
        base,
        comparison: Comparison::Less,
        types: Types::all(Float::F32),
        sets: sets.into_vec(),
        category_rule,
        output,
        objective: objective.name,
        feature_names: for_each_feature(feature_names, "names", num_features, notes),
        categories: names,
        iteration_starts: starts[first..=last].iter().map(|start| start - starts[first]).collect(),
        best_iteration,
        ..ForestParts::default()
    };
    Forest::new(parts).map_err(|error| error.within(MODEL_PLACE))
}

/// The trees of the booster, and the weights of DART's trees (empty if there are none). DART files up to
/// release 3.2 have the booster of trees inside another object; later files have the weights in the model.
fn trees_of(
    booster: document::Booster,
    rules: &mut Rules,
) -> Result<(BoosterModel, Vec<SingleNumber>), ModelError> {
    let place = "learner.gradient_booster";
    match booster.name.as_str() {
        "gblinear" => {
            return Err(ModelError::new(
                codes::UNSUPPORTED_BOOSTER,
                "the booster `gblinear` is a linear model without trees",
            )
            .at(format!("{place}.name"))
            .help("train with booster=gbtree or booster=dart"));
        }
        "gbtree" | "dart" | "" => {}
        other => {
            return Err(ModelError::new(
                codes::UNSUPPORTED_BOOSTER,
                format!("the booster `{other}` is not supported"),
            )
            .at(format!("{place}.name"))
            .help("train with booster=gbtree or booster=dart"));
        }
    }
    let model = booster.model.or_else(|| booster.gbtree.and_then(|inner| inner.model));
    let Some(mut model) = model else {
        return Err(ModelError::new(codes::STRUCTURE, "the booster has no `model`").at(place));
    };
    check_leaf_sizes(&model)?;
    let weights = booster.weight_drop.or(model.weight_drop.take());
    let num_trees = model.trees.as_ref().map_or(0, Vec::len);
    let lacks_weights = match &weights {
        Some(weights) => weights.is_empty(),
        None => booster.name == "dart",
    };
    if lacks_weights && num_trees > 0 && rules.apply(ChangedRule::DartWeights) == Rule::DartWeightsNeeded {
        return Err(no_weights(rules.release));
    }
    let weights = weights.unwrap_or_default();
    if !weights.is_empty() && weights.len() != num_trees {
        let message = format!("`weight_drop` has {} entries for {num_trees} trees", weights.len());
        return Err(ModelError::new(codes::LENGTH_MISMATCH, message).at(format!("{place}.weight_drop")));
    }
    let declared = &model.gbtree_model_param.num_trees;
    if let Some(declared) = declared
        && declared.0.trim().parse() != Ok(num_trees)
    {
        let message = format!("the model says it has {} trees, and there are {num_trees}", declared.0);
        let place = format!("{MODEL_PLACE}.gbtree_model_param.num_trees");
        return Err(ModelError::new(codes::LENGTH_MISMATCH, message).at(place));
    }
    Ok((model, weights))
}

/// Checks the number of values of a leaf, which old files also state for the whole model. There, 0 means one.
fn check_leaf_sizes(model: &BoosterModel) -> Result<(), ModelError> {
    let Some(ParameterText(declared)) = &model.gbtree_model_param.size_leaf_vector else { return Ok(()) };
    let size = declared.trim().parse().unwrap_or(1).max(1);
    if size == 1 || model.trees.iter().flatten().all(|tree| tree::leaf_size(tree).ok() == Some(size)) {
        return Ok(());
    }
    let message = format!("the model says that leaves hold {size} values, and some trees do not");
    let place = format!("{MODEL_PLACE}.gbtree_model_param.size_leaf_vector");
    Err(ModelError::new(codes::LENGTH_MISMATCH, message).at(place))
}

/// Properties of the model that the conversion of each tree uses.
struct TreeProperties {
    num_features: usize,
    num_margins: usize,
    /// The margin of each tree.
    targets: Vec<u32>,
    /// The weight of each tree in DART; empty for other boosters.
    weights: Vec<SingleNumber>,
    /// The `base_weights` of each tree, if leaf vectors are stored there; otherwise empty.
    vectors: Vec<NodeVectors>,
}

/// The `base_weights` of each tree, if some tree stores its leaf vectors there; otherwise empty.
fn read_node_vectors(
    model: &BoosterModel,
    read_vectors: ReadVectors<'_>,
) -> Result<Vec<NodeVectors>, ModelError> {
    if !model.trees.iter().flatten().any(tree::needs_node_vectors) {
        return Ok(Vec::new());
    }
    let document = read_vectors()?;
    let learner = document.learner.or_else(|| document.snapshot.and_then(|saved| saved.learner));
    Ok(learner.and_then(|learner| learner.gradient_booster.model).map_or(Vec::new(), |model| model.trees))
}

/// Converts the trees in a range of positions. A tree's position is its `id`. In files that XGBoost writes,
/// this is also its position in the list.
fn convert_trees(
    model: &BoosterModel,
    range: std::ops::Range<usize>,
    properties: &TreeProperties,
    sets: &mut ForestSets,
) -> Result<Vec<Tree>, ModelError> {
    let documents = model.trees.as_deref().unwrap_or_default();
    let mut listed = vec![None; documents.len()];
    for (index, tree) in documents.iter().enumerate() {
        let id = tree.id.map_or(Some(index), |id| usize::try_from(id).ok());
        match id.and_then(|id| listed.get_mut(id)) {
            Some(slot @ None) => *slot = Some(index),
            _ => {
                let message =
                    format!("the tree's `id` {} is out of range or used twice", tree.id.unwrap_or_default());
                return Err(ModelError::new(codes::LENGTH_MISMATCH, message)
                    .at(format!("{MODEL_PLACE}.trees[{index}].id")));
            }
        }
    }
    let mut trees = Vec::with_capacity(range.len());
    for position in range {
        let index = listed[position].unwrap_or(position);
        let context = tree::TreeArraysContext {
            num_features: properties.num_features,
            num_margins: properties.num_margins,
            target: properties.targets[position],
            node_vectors: properties.vectors.get(index).map(|tree| &tree.base_weights[..]),
            source: position as u32,
            weight: properties.weights.get(position).map_or(1.0, |weight| weight.0),
        };
        let tree = tree::convert(&documents[index], &context, sets);
        trees.push(tree.map_err(|error| error.within(&format!("{MODEL_PLACE}.trees[{index}]")))?);
    }
    Ok(trees)
}

/// The output of each tree, from `tree_info`. With several parallel trees per iteration the order is
/// irregular, so it cannot be computed. Only a model with one output may omit the field.
fn targets(model: &BoosterModel, num_margins: usize) -> Result<Vec<u32>, ModelError> {
    let num_trees = model.trees.as_ref().map_or(0, Vec::len);
    let place = format!("{MODEL_PLACE}.tree_info");
    let info = match &model.tree_info {
        Some(info) => info,
        None if num_margins == 1 => return Ok(vec![0; num_trees]),
        None => return Err(ModelError::new(codes::STRUCTURE, "missing field `tree_info`").at(place)),
    };
    if info.len() != num_trees {
        let message = format!("`tree_info` has {} entries for {num_trees} trees", info.len());
        return Err(ModelError::new(codes::LENGTH_MISMATCH, message).at(place));
    }
    let target = |(index, &target): (usize, &i64)| {
        u32::try_from(target).ok().filter(|&it| (it as usize) < num_margins).ok_or_else(|| {
            let message = format!("tree {index} adds to output {target}; number of outputs: {num_margins}");
            ModelError::new(codes::TARGET_OUT_OF_RANGE, message).at(format!("{place}[{index}]"))
        })
    };
    info.iter().enumerate().map(target).collect()
}

/// The first tree of each iteration. Files before release 2.0 do not record it; their iterations have
/// `num_parallel_tree` trees for each output.
fn iteration_starts(model: &BoosterModel, num_margins: usize) -> Result<Vec<usize>, ModelError> {
    let num_trees = model.trees.as_ref().map_or(0, Vec::len);
    let place = format!("{MODEL_PLACE}.iteration_indptr");
    let Some(starts) = &model.iteration_indptr else {
        let parallel =
            count(&model.gbtree_model_param.num_parallel_tree, "num_parallel_tree", Some(1), usize::MAX)?;
        let has_vectors =
            model.trees.iter().flatten().any(|tree| tree::leaf_size(tree).is_ok_and(|size| size > 1));
        let trees = parallel.max(1).saturating_mul(if has_vectors { 1 } else { num_margins });
        return Ok((0..num_trees).step_by(trees).chain([num_trees]).collect());
    };
    let starts: Option<Vec<_>> = starts.iter().map(|&start| usize::try_from(start).ok()).collect();
    let fits = |starts: &Vec<usize>| {
        starts.first() == Some(&0) && starts.last() == Some(&num_trees) && starts.is_sorted()
    };
    starts.filter(fits).ok_or_else(|| {
        let message =
            format!("`iteration_indptr` does not ascend from 0 to {num_trees}, the number of trees");
        ModelError::new(codes::BAD_ITERATIONS, message).at(place)
    })
}

/// A count from a parameter, which the file stores as a string.
fn count(
    text: &Option<ParameterText>,
    name: &str,
    default: Option<usize>,
    most: usize,
) -> Result<usize, ModelError> {
    let place = match name {
        "num_parallel_tree" => format!("{MODEL_PLACE}.gbtree_model_param.{name}"),
        _ => format!("learner.learner_model_param.{name}"),
    };
    let Some(text) = text else {
        let missing = || ModelError::new(codes::STRUCTURE, format!("missing field `{name}`")).at(&*place);
        return default.ok_or_else(missing);
    };
    match text.0.trim().parse::<u64>() {
        Ok(count) => usize::try_from(count).ok().filter(|&count| count <= most).ok_or_else(|| {
            let message = format!("`{name}` is {count}; at most {most} are supported");
            ModelError::new(codes::TOO_LARGE, message).at(place)
        }),
        Err(_) => {
            let message = format!("`{name}` should be a count, not `{}`", text.0.escape_debug());
            Err(ModelError::new(codes::BAD_PARAMETER, message).at(place))
        }
    }
}

/// The error for a booster's configuration in place of a model.
fn configuration() -> ModelError {
    let message =
        "this is the configuration of a booster, as Booster.save_config gives it, which holds no trees";
    ModelError::new(codes::UNSUPPORTED_FORMAT, message)
        .help("save the model with Booster.save_model(\"model.json\") of XGBoost")
}

/// The error for trees of DART without weights. XGBoost loses the weights if a slice has an open end.
fn no_weights(release: Release) -> ModelError {
    let message =
        format!("the booster is DART and has no weights for its trees: XGBoost {release} refuses it, too");
    ModelError::new(codes::LENGTH_MISMATCH, message).at("learner.gradient_booster.weight_drop").help(
        "slices such as `booster[:]` lose the weights: save the whole booster and choose iterations with \
         schedc, as in `--iterations 0..10`; or use `--as-release 3.3`, which gives all trees the weight \
         1, as XGBoost 3.3 and later do",
    )
}

/// The error for a multi-class objective in a model that does not state the number of classes.
fn no_classes(objective: &str) -> ModelError {
    let message = format!("`num_class` is 0, and `{objective}` predicts one of several classes");
    ModelError::new(codes::BAD_PARAMETER, message)
        .at("learner.learner_model_param.num_class")
        .help("XGBoost refuses this model, too: train with `num_class`, the number of classes")
}

/// The iteration of the best score. Users may set attributes to any text, so an invalid one is only noted.
fn best_iteration(text: Option<ParameterText>, notes: &mut Vec<Note>) -> Option<usize> {
    let ParameterText(text) = text?;
    let best = text.trim().parse().ok();
    if best.is_none() {
        notes.push(Note(format!(
            "the attribute `best_iteration` is not a number of an iteration: `{}`",
            text.escape_debug()
        )));
    }
    best
}

/// The names or types of features, or an empty list if there is not one for each feature.
fn for_each_feature(
    texts: Vec<String>,
    what: &str,
    num_features: usize,
    notes: &mut Vec<Note>,
) -> Vec<String> {
    if texts.is_empty() || texts.len() == num_features {
        return texts;
    }
    notes.push(Note(format!(
        "the model has {} feature {what} for {num_features} features: the {what} are left out",
        texts.len()
    )));
    Vec::new()
}
