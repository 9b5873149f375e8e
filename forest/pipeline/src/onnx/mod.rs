//! The reader of ONNX graphs with steps before their trees.
//!
//! A graph is read node by node. Each value is a tensor whose cells are columns, so the results of a row
//! depend on its own values alone. An operator that could combine rows is refused by name. The types and the
//! order of the file's operations are kept.

mod arithmetic;
mod builder;
mod classes;
mod combine;
mod compound;
mod constant;
mod distance;
mod encode;
mod field;
mod formula;
mod functions;
mod graph;
mod hyperbolic;
mod inputs;
mod linear;
mod margins;
mod node;
mod normalize;
mod operators;
mod order;
mod outcome;
mod parts;
mod reduce;
mod scale;
mod scan;
mod shape;
mod sizes;
mod stacked;
mod step;
mod svm;
mod tensor;
mod tree_columns;
mod whole;

use crate::pipeline::{Pipeline, PipelineStage};
use builder::Constants;
use graph::GraphFile;
use operators::OperatorSet;
use sched_columns::{ColumnId, Expr};
use sched_forest::onnx::Message;
use sched_forest::{ModelError, Names, Naming, Note, codes};
use std::collections::HashSet;

/// A pipeline that was read from a file.
#[derive(Clone, Debug)]
pub struct ReadPipeline {
    /// The pipeline, as the file has it.
    pub pipeline: Pipeline,
    /// The version of the program that wrote the file, most significant part first; empty if the file does
    /// not say.
    pub version: Vec<u64>,
    /// Remarks for the user.
    pub notes: Vec<Note>,
}

/// The metadata key by which schedc's own export marks its files. They compute the same predictions as the
/// fitted object.
const EXACT_EXPORT_KEY: &str = "schedc.pipeline";

/// Reads a pipeline from the bytes of an ONNX file, and evaluates its operations on constants.
///
/// # Errors
/// A [`ModelError`] that names the operator that is not understood, or another cause.
pub fn read_pipeline(bytes: &[u8]) -> Result<ReadPipeline, ModelError> {
    read_with(bytes, Constants::Evaluated)
}

/// Reads a pipeline from the bytes of an ONNX file, with a column for each of its operations on constants.
///
/// # Errors
/// A [`ModelError`] that names the operator that is not understood, or another cause.
pub(crate) fn read_as_written(bytes: &[u8]) -> Result<ReadPipeline, ModelError> {
    read_with(bytes, Constants::AsWritten)
}

fn read_with(bytes: &[u8], constants: Constants) -> Result<ReadPipeline, ModelError> {
    let model = Message::new(bytes);
    let mut standard = 0;
    for set in model.all(field::OPERATOR_SET) {
        let set = set?;
        let version = set.integer(field::VERSION)?.unwrap_or(0);
        let Some(domain) = OperatorSet::named(set.text(field::DOMAIN)?) else { continue };
        if domain == OperatorSet::Standard {
            standard = version;
        }
        if !domain.versions().contains(&version) {
            let (first, last) = (*domain.versions().start(), *domain.versions().end());
            let message = format!("the model uses version {version} of the operators `{}`", domain.name());
            return Err(ModelError::new(codes::UNSUPPORTED_OPERATOR, message).help(format!(
                "schedc reads versions {first} to {last}: convert the model for one of these"
            )));
        }
    }
    let file = GraphFile { bytes: bytes.len(), version: standard, constants };
    let read = graph::read(model.child(field::GRAPH)?, file)?;
    let mut notes = read.notes;
    let mut pipeline = read.pipeline;
    let mut is_exact = false;
    for entry in model.all(field::METADATA) {
        let entry = entry?;
        if entry.text(field::KEY)? == EXACT_EXPORT_KEY {
            is_exact = true;
            let about = serde_json::from_str(entry.text(field::VALUE)?).unwrap_or_default();
            if read.is_one_tensor {
                name_inputs(&mut pipeline, &about);
                mark_dropped(&mut pipeline, &about);
            }
            if about["empty_texts"] == true {
                distinguish_empty_texts(&mut pipeline);
            }
            record_probabilities(&mut pipeline, &about);
        }
    }
    let has_tests = pipeline.stages.iter().filter_map(PipelineStage::forest).any(|forest| {
        let mut trees = forest.trees.iter();
        trees.any(|tree| !tree.inner.is_empty())
    });
    if let Some(step) = read.single_scaler.filter(|_| has_tests && !is_exact) {
        notes.push(Note(format!(
            "the operator {step} scales in single precision before the trees: for rows on a threshold, \
             predictions can differ from the fitted pipeline's; `schedc.export(pipeline, \"p.onnx\")` \
             writes a file without this difference"
        )));
    }
    let version = model.text(field::PRODUCER_VERSION)?;
    let version = version.split('.').map(|part| part.parse().ok()).collect::<Option<_>>();
    Ok(ReadPipeline { pipeline, version: version.unwrap_or_default(), notes })
}

/// Gives the columns of a single input the feature names of the fitted object, from the metadata of an
/// export.
fn name_inputs(pipeline: &mut Pipeline, metadata: &serde_json::Value) {
    let names = metadata["features"].as_array().filter(|_| metadata["named"] == true);
    let names: Option<Vec<&str>> = names.and_then(|names| names.iter().map(|name| name.as_str()).collect());
    if let Some(names) = names.filter(|names| names.len() == pipeline.inputs.len()) {
        for (input, name) in pipeline.inputs.iter_mut().zip(names) {
            input.name = name.to_owned();
        }
    }
}

/// Marks the columns of a single input that the fitted object drops, from the metadata of an export, if no
/// column of a stage depends on them.
fn mark_dropped(pipeline: &mut Pipeline, metadata: &serde_json::Value) {
    let tested: Vec<ColumnId> = pipeline.stages.iter().flat_map(PipelineStage::tested).copied().collect();
    let needed = pipeline.columns.needed_for(&tested).into_iter();
    let read: HashSet<usize> = needed
        .filter_map(|column| match pipeline.columns.expr(column) {
            Expr::Input { feature, .. } => Some(*feature as usize),
            _ => None,
        })
        .collect();
    let dropped = metadata["dropped"].as_array().into_iter().flatten().filter_map(|at| at.as_u64());
    for at in dropped.filter_map(|at| usize::try_from(at).ok()).filter(|at| !read.contains(at)) {
        if let Some(input) = pipeline.inputs.get_mut(at) {
            input.names = Names::unread();
        }
    }
}

/// Distinguishes empty from missing texts, as the fitted object does. In the export, another text stands for
/// the empty one.
fn distinguish_empty_texts(pipeline: &mut Pipeline) {
    let namings = pipeline.inputs.iter_mut().map(|input| &mut input.names.naming);
    namings.filter(|naming| **naming == Naming::Texts).for_each(|naming| *naming = Naming::TextsAndEmpty);
}

/// Records whether the predictions are probabilities: exports of classifiers that have them have an output of
/// this name.
fn record_probabilities(pipeline: &mut Pipeline, metadata: &serde_json::Value) {
    let Some(outputs) = metadata["promise"].as_object() else { return };
    let mut names = outputs.keys().map(|name| name.trim_start_matches("output."));
    let are_probabilities = names.any(|name| name == "probabilities");
    for PipelineStage::Forest { forest, .. } in &mut pipeline.stages {
        if let Some(classes) = &mut forest.output.classes {
            classes.are_probabilities = Some(are_probabilities);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{InputKind, PipelineInput};
    use sched_columns::Columns;
    use sched_forest::Float;

    #[test]
    fn inputs_have_the_names_of_a_frame() {
        let input = |name: &str| PipelineInput {
            name: name.into(),
            kind: InputKind::Float(Float::F64),
            names: Names::default(),
        };
        let mut pipeline = Pipeline {
            inputs: vec![input("X[0]"), input("X[1]")],
            columns: Columns::default(),
            stages: Vec::new(),
        };
        let kept = pipeline.clone();
        let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        for metadata in [
            "[]",
            r#"{"features": ["x0", "x1"], "named": false}"#,
            r#"{"features": ["age"], "named": true}"#,
            r#"{"features": ["age", 7], "named": true}"#,
        ] {
            name_inputs(&mut pipeline, &json(metadata));
            assert_eq!(pipeline, kept, "{metadata}");
        }
        name_inputs(&mut pipeline, &json(r#"{"features": ["age", "income"], "named": true}"#));
        assert_eq!(pipeline.inputs, [input("age"), input("income")]);
    }
}
