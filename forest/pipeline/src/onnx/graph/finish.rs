//! Makes a pipeline from a graph whose nodes have all been read.

use super::value::GraphValue;
use super::{GraphReader, ReadGraph};
use crate::onnx::compound::{compound, is_margins};
use crate::onnx::field;
use crate::onnx::outcome::GraphTrees;
use crate::onnx::parts::PartForest;
use crate::onnx::tensor::Cells;
use crate::pipeline::{Pipeline, PipelineStage};
use sched_forest::onnx::Message;
use sched_forest::{DecisionValues, Forest, ModelError, codes};
use std::rc::Rc;

impl<'a> GraphReader<'a> {
    /// The pipeline of a graph that was read as one model.
    pub(super) fn finish(mut self, graph: Message<'a>) -> Result<ReadGraph, ModelError> {
        let Some(mut found) = self.found.take() else {
            return Err(ModelError::new(codes::UNSUPPORTED_OPERATOR, "the graph has no tree ensemble")
                .at("graph")
                .help(
                    "schedc reads pipelines whose last step is a tree ensemble or a linear model; run other \
                     steps outside of the model",
                ));
        };
        let (mut results, mut has_margins) = (Vec::new(), false);
        for output in graph.all(field::GRAPH_OUTPUT) {
            let name = output?.text(field::VALUE_NAME)?;
            has_margins |= is_margins(name);
            match self.values.get(name) {
                Some(GraphValue::AfterTrees(result)) => results.push(result.clone()),
                _ => return Err(not_computed(name)),
            }
        }
        let trees = GraphTrees { forest: &found.forest, columns: &self.builder.columns };
        found.forest.output = trees.output(&results)?;
        let margins = DecisionValues::Margins(found.forest.num_margins);
        if let Some(classes) = &mut found.forest.output.classes {
            classes.decision_values = has_margins.then_some(margins);
        }
        let forest = Forest::new(found.forest.into_parts())?;
        self.into_graph(graph, PartForest { forest, ..found })
    }

    /// The pipeline of a graph that was read as several parts.
    pub(super) fn finish_parts(
        mut self,
        graph: Message<'a>,
        parts: &[PartForest],
    ) -> Result<ReadGraph, ModelError> {
        let mut outputs = Vec::new();
        for output in graph.all(field::GRAPH_OUTPUT) {
            let name = output?.text(field::VALUE_NAME)?;
            match self.values.get(name) {
                Some(GraphValue::Tensor(tensor)) => outputs.push((name, Rc::clone(tensor))),
                Some(GraphValue::Stacked(_)) => {
                    let message =
                        format!("the output `{name}` has rows along another axis than the first one");
                    return Err(ModelError::new(codes::UNSUPPORTED_OPERATOR, message)
                        .at("graph.output")
                        .help("convert the model with rows along the first axis of its outputs"));
                }
                _ => return Err(not_computed(name)),
            }
        }
        for (_, tensor) in &outputs {
            if let Cells::Numbers(cells) = &tensor.cells {
                self.builder.refuse_row_count(cells)?;
            }
        }
        let num_features = self.inputs.len();
        let state = (&mut self.builder, &mut self.notes);
        let model = compound(parts, state, num_features, &outputs)?;
        self.into_graph(graph, model)
    }

    /// The pipeline with this model as its only stage.
    fn into_graph(self, graph: Message<'a>, model: PartForest) -> Result<ReadGraph, ModelError> {
        self.builder.refuse_row_count(&model.tested)?;
        let stage =
            PipelineStage::Forest { name: model.name, forest: Box::new(model.forest), tested: model.tested };
        let mut read = self.read;
        for output in graph.all(field::GRAPH_OUTPUT) {
            read.insert(output?.text(field::VALUE_NAME)?);
        }
        let inputs = self.inputs.finish(&self.builder, &read);
        let pipeline = Pipeline { inputs, columns: self.builder.columns, stages: vec![stage] };
        let is_one_tensor = graph.all(field::GRAPH_INPUT).count() == 1;
        Ok(ReadGraph { pipeline, notes: self.notes, single_scaler: self.single_scaler, is_one_tensor })
    }
}

fn not_computed(output: &str) -> ModelError {
    let message = format!("the output `{output}` is not computed from the trees");
    ModelError::new(codes::UNSUPPORTED_OPERATOR, message)
        .at("graph.output")
        .help("convert the model without this output")
}
