//! Reads a model's file into a forest. A file with steps before its trees is first read into a pipeline.

use crate::additions::sum_chains;
use crate::constants::fold_constants;
use crate::describe::describe;
use crate::fold::{ColumnFate, fold};
use crate::leaf_sums::{LeafSums, leaf_sums};
use crate::leaf_vectors::leaf_vectors;
use crate::live::remove_unread_columns;
use crate::onnx::{ReadPipeline, read_pipeline};
use crate::pipeline::Pipeline;
use crate::tables::{Tabulation, tabulate};
use sched_columns::OperandTypeError;
use sched_forest::{ModelError, ModelSource, ONNX, Quirk, ReadOptions, codes};

/// A model and its pipeline.
#[derive(Clone, Debug)]
pub struct LoadedModel {
    /// The model.
    pub model: sched_forest::LoadedForest,
    /// For each stage, the columns that it can test. No stages for a model without steps before its trees.
    pub stages: Vec<StageSummary>,
}

/// A summary of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageSummary {
    /// The name of its step; empty if it has none.
    pub name: String,
    /// The columns that it can test, in the order of its features.
    pub columns: Vec<ColumnSummary>,
}

/// A summary of a column of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSummary {
    /// The features that it depends on, and the operations that compute it, such as `age: subtract, divide`.
    pub description: String,
    /// The fate of the column.
    pub fate: ColumnFate,
}

/// The trainer's name for [`ModelSource::trainer`], which decides the treatment of unknown categories: in a
/// pipeline, the file itself defines it.
const TRAINER: &str = "ONNX";

/// Reads a model of any format. Steps before the trees become tests of features, or columns that trees test.
///
/// # Errors
/// A [`ModelError`] if the bytes are no model, or a model that is not understood.
pub fn load(bytes: &[u8], options: &ReadOptions) -> Result<LoadedModel, ModelError> {
    let error = match sched_forest::load(bytes, options) {
        Ok(model) => return Ok(LoadedModel { model, stages: Vec::new() }),
        Err(error) => error,
    };
    let is_graph = [codes::UNSUPPORTED_OPERATOR, codes::ONNX_TYPE].contains(&error.code);
    if !is_graph {
        return Err(error);
    }
    options.check_whole(&ONNX)?;
    let ReadPipeline { pipeline, version, notes } = read_pipeline(bytes)?;
    let (forest, stages) = folded(pipeline)?;
    let source = ModelSource { format: Some(&ONNX), trainer: TRAINER, ..ModelSource::default() };
    debug_assert!(!source.has(Quirk::DependsOnRelease));
    Ok(LoadedModel { model: sched_forest::LoadedForest { forest, version, notes, source }, stages })
}

/// Runs the passes, and returns the forest of a pipeline with the fates of its columns.
///
/// # Errors
/// A [`ModelError`] if the forest is not valid.
fn folded(pipeline: Pipeline) -> Result<(sched_forest::Forest, Vec<StageSummary>), ModelError> {
    let (inputs, whole) = (pipeline.inputs.clone(), pipeline.columns.clone());
    let whole_tested: Vec<_> = pipeline.stages.iter().map(|stage| stage.tested().to_vec()).collect();
    let pipeline = fold_constants(remove_unread_columns(pipeline)).map_err(impossible)?;
    let LeafSums { pipeline, replaced: by_leaves } = leaf_sums(pipeline)?;
    let pipeline = leaf_vectors(pipeline)?;
    let names: Vec<String> = pipeline.stages.iter().map(|stage| stage.name().to_owned()).collect();
    let Tabulation { pipeline, replaced } = tabulate(pipeline)?;
    let mut folding = fold(pipeline)?;
    for (replaced, new) in [(replaced, ColumnFate::Table), (by_leaves, ColumnFate::Leaf)] {
        for (fates, replaced) in folding.fates.iter_mut().zip(replaced) {
            let of_sums = fates.iter_mut().zip(0..).filter(|(_, feature)| replaced.contains(feature));
            of_sums.for_each(|(fate, _)| *fate = new);
        }
    }
    let stages = folding.fates.into_iter().zip(whole_tested).zip(names);
    let stages = stages.map(|((fates, tested), name)| {
        let columns = tested.into_iter().zip(fates);
        let columns = columns
            .map(|(column, fate)| ColumnSummary { description: describe(&inputs, &whole, column), fate });
        StageSummary { name, columns: columns.collect() }
    });
    let stages = stages.collect();
    let pipeline = sum_chains(folding.pipeline).map_err(impossible)?;
    let forest = pipeline.into_forest().map_err(|_| {
        ModelError::new(
            codes::UNSUPPORTED_OPERATOR,
            "the steps of the model cannot be turned into a single forest",
        )
        .help("convert only the last trees, and give the model the results of the steps before them")
    })?;
    Ok((forest, stages))
}

fn impossible(error: OperandTypeError) -> ModelError {
    ModelError::new(codes::ONNX_TYPE, error.to_string())
}
