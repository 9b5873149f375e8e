//! The definition of a pipeline's results: its trees, and the columns of the file before all passes.

use crate::onnx::read_as_written;
use crate::pieces::domain::FeatureDomain;
use crate::pipeline::{Pipeline, PipelineStage, needed_columns};
use sched_columns::{ColumnId, OperandTypeError};
use sched_forest::{ComputedColumns, Forest, ForestParts, ModelError, codes};

/// A pipeline without passes, as a forest whose columns are all computed. The reference walker evaluates
/// each column of the file and walks each tree of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct UnfoldedPipeline {
    /// The forest over the inputs. Its nodes and sums read computed columns alone.
    pub forest: Forest,
    /// For each input, the values that rows can hold.
    domains: Vec<FeatureDomain>,
}

impl UnfoldedPipeline {
    /// Reads the pipeline of an ONNX file, with its operations on constants.
    ///
    /// # Errors
    /// A [`ModelError`] if the bytes are no pipeline.
    pub fn read(bytes: &[u8]) -> Result<UnfoldedPipeline, ModelError> {
        UnfoldedPipeline::of(read_as_written(bytes)?.pipeline)
    }

    /// The last stage of a pipeline, with its columns.
    ///
    /// # Errors
    /// A [`ModelError`] if the pipeline has no stage, or the forest is not valid.
    pub fn of(pipeline: Pipeline) -> Result<UnfoldedPipeline, ModelError> {
        let rows = pipeline.row_type();
        let Pipeline { inputs, columns, stages } = pipeline;
        let Some(PipelineStage::Forest { forest, tested, .. }) = stages.into_iter().next_back() else {
            return Err(ModelError::new(codes::UNSUPPORTED_OPERATOR, "the model has no trees and no sums"));
        };
        let mut parts = (*forest).into_parts();
        let nodes = parts.trees.iter_mut().flat_map(|tree| &mut tree.inner);
        let terms = parts.linear.iter_mut().flatten().flat_map(|leaf| &mut leaf.terms);
        let read = nodes.map(|inner| &mut inner.feature).chain(terms.map(|(feature, _)| feature));
        read.for_each(|feature| *feature += inputs.len() as u32);
        let (mut columns, numbers) = needed_columns(&columns, &tested);
        let cast = |column: &ColumnId| columns.cast(numbers[column], parts.types.input.into());
        let read_by_trees = tested.iter().map(cast).collect::<Result<Vec<_>, OperandTypeError>>();
        let read_by_trees =
            read_by_trees.map_err(|error| ModelError::new(codes::ONNX_TYPE, error.to_string()))?;
        let forest = Forest::new(ForestParts {
            num_features: inputs.len(),
            computed: ComputedColumns { columns, read_by_trees },
            feature_names: Vec::new(),
            categories: Vec::new(),
            ..parts
        })?;
        let domains = inputs.iter().map(|input| FeatureDomain::of(input, rows)).collect();
        Ok(UnfoldedPipeline { forest, domains })
    }

    /// Moves each value of a row to the nearest one that rows of the file can hold. Features of whole numbers
    /// hold no fractions, and those of texts hold codes. Passes keep the results of such rows alone.
    pub fn make_valid(&self, row: &mut [f64]) {
        row.iter_mut().zip(&self.domains).for_each(|(value, domain)| *value = domain.nearest(*value));
    }
}
