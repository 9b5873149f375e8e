//! The reader of LightGBM's text format, versions 2 to 4.
//!
//! Predictions are those that release 4 of LightGBM computes from a file. Three rules are easily missed:
//!
//! - LightGBM replaces feature values within 1e-35 of zero by zero, whatever a node's missing type is. The
//!   reader moves thresholds so that such values go where zero goes ([`tree`]).
//! - A node whose missing type is not NaN treats NaN as zero.
//! - `average_output` divides predictions, not raw scores.

mod header;
mod objective;
mod owners;
mod pandas;
mod text;
mod tree;

use crate::ForestParts;
use crate::codes;
use crate::error::ModelError;
use crate::forest::{Comparison, Float, Forest, LinearMissing, Types};
use crate::json::keys;
use crate::loaded::{Iterations, LoadedForest, ModelSource, Note, ReadOptions};
use header::ModelHeader;
use sched_columns::CategoryRule;
use text::{SAVE_AGAIN_HELP, Sections};

/// Note for a random forest whose predictions depend on the release that saved it, which the file does not
/// state.
const EARLY_FOREST_NOTE: &str = "LightGBM 2.0 to 2.2.2 predicts the average of the leaves of a random \
                                 forest; later releases and schedc apply the objective's transform to the \
                                 average; the file does not state its release: for a model of an early \
                                 release, divide raw scores by the number of iterations";

/// Whether a text begins as a model of LightGBM.
pub(crate) fn is_model(text: &[u8]) -> bool {
    text.starts_with(b"tree\n") || text.starts_with(b"tree\r\n")
}

/// Whether a JSON document is a dump of LightGBM's `dump_model`, for which there is no reader. Its keys may
/// come in any order.
pub(crate) fn is_dump(text: &[u8]) -> bool {
    // XGBoost's key comes early in its documents, so the search ends soon.
    text.starts_with(b"{")
        && !keys::has(text, &["gradient_booster"])
        && keys::has(text, &["num_tree_per_iteration"])
}

/// Reads a model from the bytes of a text file.
pub(crate) fn read(bytes: &[u8], options: &ReadOptions) -> Result<LoadedForest, ModelError> {
    let text = text::from_bytes(bytes)?;
    let sections = Sections::find(text)?;
    let mut notes = Vec::new();
    let forest = forest(&sections, &options.iterations, &mut notes)?;
    // The version in the file is that of the format, not that of the trainer.
    Ok(LoadedForest { forest, version: Vec::new(), notes, source: ModelSource::default() })
}

fn forest(
    sections: &Sections<'_>,
    iterations: &Iterations,
    notes: &mut Vec<Note>,
) -> Result<Forest, ModelError> {
    let header = ModelHeader::read(sections.header, notes)?;
    let per_iteration = header.num_margins;
    let (first, last) = selected_iterations(sections.trees.len(), per_iteration, iterations)?;
    let found = objective::find(header.objective, per_iteration)?;
    if !found.is_known {
        notes.push(Note(
            "the model was trained with a custom objective: predictions are the raw scores".into(),
        ));
    }
    if first == last {
        notes.push(Note("the model has no trees: it predicts the same for every row".into()));
    }
    let categories = pandas::categories(sections, &header, notes)?;
    let mut output = found.output;
    if header.averages {
        // Without a transform, all releases compute the same average.
        if header.is_version_2 && !output.value.is_empty() {
            notes.push(Note(EARLY_FOREST_NOTE.into()));
        }
        output.value.insert(0, objective::average(last - first)?);
    }
    let mut sets = tree::FileSets::of_file(sections.bytes);
    let mut trees = Vec::new();
    let mut linear = Vec::new();
    for (index, text) in sections.trees[first * per_iteration..last * per_iteration].iter().enumerate() {
        let position = first * per_iteration + index;
        let context = tree::TreeTextContext {
            num_features: header.num_features,
            target: (position % per_iteration) as u32,
            source: position as u32,
        };
        let (tree, leaves) = tree::convert(text, &context, &mut sets)
            .map_err(|error| error.within(&format!("trees[{position}]")))?;
        if !leaves.is_empty() {
            linear.resize(index, Vec::new());
            linear.push(leaves);
        }
        trees.push(tree);
    }
    if !linear.is_empty() {
        linear.resize(trees.len(), Vec::new());
    }
    Forest::new(ForestParts {
        num_features: header.num_features,
        num_margins: per_iteration,
        base: vec![0.0; per_iteration],
        comparison: Comparison::LessOrEqual,
        types: Types::all(Float::F64),
        sets: sets.into_vec(),
        category_rule: CategoryRule::Truncated,
        linear,
        linear_missing: LinearMissing::LeafValue,
        output,
        objective: header.objective.unwrap_or("custom").to_owned(),
        feature_names: header.feature_names,
        categories,
        iteration_starts: (0..=trees.len()).step_by(per_iteration).collect(),
        trees,
        ..ForestParts::default()
    })
}

/// The range of chosen iterations: the first one, and the number after the last one.
fn selected_iterations(
    num_trees: usize,
    per_iteration: usize,
    iterations: &Iterations,
) -> Result<(usize, usize), ModelError> {
    if !num_trees.is_multiple_of(per_iteration) {
        let message =
            format!("the {num_trees} trees are not a multiple of {per_iteration} trees for each iteration");
        return Err(ModelError::new(codes::BAD_ITERATIONS, message)
            .at("num_tree_per_iteration")
            .help(SAVE_AGAIN_HELP));
    }
    let selected = iterations.select(num_trees / per_iteration, None);
    selected.map_err(|error| match iterations {
        Iterations::Best => error.help(
            "LightGBM's save_model writes the iterations up to the best one, and no others: use all \
             iterations",
        ),
        _ => error,
    })
}
