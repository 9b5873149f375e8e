//! The reader of Treelite checkpoints of release 4, which cuML and Treelite's importers of scikit-learn
//! write.
//!
//! Predictions are those of Treelite's own evaluator (GTIL). Rows, thresholds, leaves and sums have one type.
//! GTIL adds trees to zero in order, averages the sums if the model says so, and adds the base scores.

mod bytes;
mod header;
mod tree;
mod write;

use crate::ForestParts;
use crate::codes;
use crate::compare::unify_comparisons;
use crate::error::ModelError;
use crate::forest::{Float, Forest, Predicate, Tree, TreeTarget, Types};
use crate::loaded::{LoadedForest, ModelSource, Note, ReadOptions};
use crate::output::{ClassRule, Output, Sigmoid, Softmax, Transform};
use bytes::Bytes;
use header::{CheckpointHeader, bad};
use sched_columns::CategoryRule;
use tree::{Arrays, SharedTests};

pub(crate) use header::is_model;
pub use write::write_treelite;

/// The newest release whose files were tested.
const NEWEST_KNOWN: [i32; 2] = [4, 8];

/// Reads a checkpoint.
pub(crate) fn read(bytes: &[u8], options: &ReadOptions) -> Result<LoadedForest, ModelError> {
    let mut bytes = Bytes::new(bytes);
    let header = CheckpointHeader::read(&mut bytes)?;
    let mut notes = Vec::new();
    if header.version[..2] > NEWEST_KNOWN[..] {
        let [major, minor, patch] = header.version;
        let message = format!(
            "the model was saved by Treelite {major}.{minor}.{patch}, which is newer than this reader"
        );
        notes.push(Note(message));
    }
    let version = header.version.iter().map(|&part| part.max(0) as u64).collect();
    let starts = iteration_starts(&header);
    let (first, last) = options.iterations.select(starts.len() - 1, None)?;
    let mut shared = SharedTests::default();
    let mut trees = Vec::new();
    for index in 0..header.num_tree {
        let below = |error: ModelError| error.within(&format!("trees[{index}]"));
        let arrays = Arrays::read(&mut bytes, &header).map_err(below)?;
        if (starts[first]..starts[last]).contains(&index) {
            trees.push(arrays.convert(&header, index, &mut shared).map_err(below)?);
        }
    }
    if bytes.remaining() > 0 {
        notes.push(Note(format!("{} bytes after the last tree are ignored", bytes.remaining())));
    }
    let starts = starts[first..=last].iter().map(|start| start - starts[first]).collect();
    let forest = forest(&header, trees, shared, starts)?;
    Ok(LoadedForest { forest, version, notes, source: ModelSource::default() })
}

fn forest(
    header: &CheckpointHeader,
    mut trees: Vec<Tree>,
    mut shared: SharedTests,
    iteration_starts: Vec<usize>,
) -> Result<Forest, ModelError> {
    let comparison = unify_comparisons(shared.tests.iter_mut(), header.float)?;
    let mut tests = shared.tests.iter();
    for inner in trees.iter_mut().flat_map(|tree| &mut tree.inner) {
        if let Predicate::Numeric { threshold } = &mut inner.predicate
            && let Some(test) = tests.next()
        {
            *threshold = test.threshold;
        }
    }
    // The largest category that GTIL accepts is 2^24 for rows of singles and 2^32 - 1 for rows of doubles.
    let below = match header.float {
        Float::F32 => 16_777_217.0,
        Float::F64 => 4_294_967_295.0f64.next_up(),
    };
    let output = output(header, &trees)?;
    Forest::new(ForestParts {
        num_features: header.num_feature,
        num_margins: header.num_margins(),
        base: vec![0.0; header.num_margins()],
        comparison,
        types: Types::all(header.float),
        sets: shared.sets,
        category_rule: CategoryRule::Positive { below },
        output,
        objective: header.task.into(),
        iteration_starts,
        trees,
        ..ForestParts::default()
    })
}

/// The first tree of each iteration, which a checkpoint does not record. If the outputs of trees repeat in a
/// cycle, an iteration is one cycle. So it is one tree if all trees add to the same output. Without a cycle,
/// all trees are one iteration.
fn iteration_starts(header: &CheckpointHeader) -> Vec<usize> {
    let places: Vec<_> = header.target_id.iter().zip(&header.class_id).collect();
    let turn = places
        .iter()
        .skip(1)
        .position(|place| Some(place) == places.first())
        .map_or(places.len(), |at| at + 1);
    let is_regular = places.iter().zip(places.iter().skip(turn)).all(|(place, next)| place == next);
    match turn {
        0 => vec![0],
        _ if is_regular && places.len().is_multiple_of(turn) => (0..=places.len()).step_by(turn).collect(),
        _ => vec![0, places.len()],
    }
}

fn output(header: &CheckpointHeader, trees: &[Tree]) -> Result<Output, ModelError> {
    let mut raw = Vec::new();
    if header.average
        && let Some(by) = trees_per_output(header, trees)?
    {
        raw.push(Transform::Divide { by });
    }
    let used = |(margin, &score): (usize, &f64)| if header.is_used(margin) { score } else { 0.0 };
    let mut bias: Vec<f64> = header.base_scores.iter().enumerate().map(used).collect();
    if header.float == Float::F32 {
        bias.iter_mut().for_each(|bias| *bias = f64::from(*bias as f32));
    }
    if bias.iter().any(|&bias| bias != 0.0) {
        raw.push(Transform::Scale { factor: 1.0, bias });
    }
    let (alpha, ratio) = (f64::from(header.sigmoid_alpha), f64::from(header.ratio_c));
    let is_one = header.num_class.len() == 1;
    let value = match header.postprocessor.as_str() {
        "identity" | "identity_multiclass" => Vec::new(),
        "signed_square" => vec![Transform::SignedSquare],
        "hinge" => vec![Transform::Hinge],
        "sigmoid" | "multiclass_ova" => vec![Transform::Sigmoid(Sigmoid::Plain { slope: alpha })],
        "exponential" => vec![Transform::Exp],
        "exponential_standard_ratio" => vec![Transform::PowerOfTwo { by: ratio }],
        "logarithm_one_plus_exp" => vec![Transform::LogOnePlusExp],
        "softmax" if is_one => vec![Transform::Softmax(Softmax::Doubled)],
        other => {
            let message = match other {
                "softmax" => String::from("the model has a softmax for each of several targets"),
                _ => format!("the postprocessor `{}` is not known", other.escape_debug()),
            };
            return Err(ModelError::new(codes::UNSUPPORTED_OBJECTIVE, message).at("postprocessor").help(
                "use one of Treelite's own postprocessors (`softmax` only with one target), or use \
                 `identity` and do the last step yourself",
            ));
        }
    };
    if !value.is_empty() && !header.has_equal_class_counts() {
        let message = format!(
            "the postprocessor `{}` needs the same number of classes in all targets",
            header.postprocessor
        );
        return Err(ModelError::new(codes::UNSUPPORTED_OBJECTIVE, message)
            .at("num_class")
            .help("save one model for each target"));
    }
    let output = Output { raw, value, classes: None };
    Ok(match (header.task, header.postprocessor.as_str()) {
        ("binary_clf", "sigmoid" | "hinge") => output.with_classes(ClassRule::ValueAbove(0.5)),
        ("multi_clf", _) if is_one && header.most_classes() > 1 => {
            output.with_classes(ClassRule::LargestValue)
        }
        _ => output,
    })
}

/// The number of trees that add to each output, which must be equal for all outputs; `None` without trees.
fn trees_per_output(header: &CheckpointHeader, trees: &[Tree]) -> Result<Option<f64>, ModelError> {
    let mut counts = vec![0usize; header.num_margins()];
    let all = trees.iter().filter(|tree| tree.target == TreeTarget::All).count();
    for tree in trees {
        if let TreeTarget::One(margin) = tree.target {
            counts[margin as usize] += 1;
        }
    }
    let mut used =
        (0..counts.len()).filter(|&margin| header.is_used(margin)).map(|margin| counts[margin] + all);
    let first = used.next().unwrap_or(0);
    if used.any(|count| count != first) {
        let message = "the trees are averaged, and some outputs have more trees than others";
        return Err(bad("average_tree_output", message.into()).help(
            "give each output the same number of trees, or divide leaf values by that number instead of \
             averaging",
        ));
    }
    Ok((first > 0).then_some(first as f64))
}

/// The number of trees that add to each output, if it is equal for all outputs.
fn trees_evenly(trees: &[Tree], margins: usize) -> Option<f64> {
    let mut counts = vec![0usize; margins];
    for tree in trees {
        match tree.target {
            TreeTarget::One(margin) => counts[margin as usize] += 1,
            TreeTarget::All => counts.iter_mut().for_each(|count| *count += 1),
        }
    }
    let first = *counts.first()?;
    counts.iter().all(|&count| count == first).then_some(first as f64)
}
