//! Reads nodes that become forests: tree ensembles, and the scores of a graph without trees.

use super::GraphReader;
use super::value::GraphValue;
use crate::onnx::field;
use crate::onnx::linear::linear_model;
use crate::onnx::node::{NodePlace, OUTSIDE_HELP, not_supported};
use crate::onnx::outcome::AfterTrees;
use crate::onnx::parts::PartForest;
use crate::onnx::step::step_name;
use crate::onnx::tensor::{Cells, TensorElement};
use crate::onnx::tree_columns::results_as_columns;
use sched_forest::onnx::{Message, node_forest};
use sched_forest::{Float, ModelError, codes};
use std::rc::Rc;

impl<'a> GraphReader<'a> {
    /// Reads a tree ensemble.
    pub(super) fn trees(
        &mut self,
        index: usize,
        node: Message<'a>,
        label: &str,
        inputs: &[Option<GraphValue>],
    ) -> Result<Vec<GraphValue>, ModelError> {
        let refuse = |message: String, help: &str| {
            Err(ModelError::new(codes::UNSUPPORTED_OPERATOR, message).help(help))
        };
        let Some(Some(GraphValue::Tensor(rows))) = inputs.first() else {
            let message = format!("the operator {label} reads results of other trees");
            return refuse(message, "convert each tree ensemble to a model of its own");
        };
        let are_columns = self.column_trees.contains(&index);
        if self.found.is_some() && !are_columns {
            let message = format!("the operator {label} is a second tree ensemble");
            return refuse(message, "convert each tree ensemble to a model of its own");
        }
        let (Cells::Numbers(cells), true) = (&rows.cells, rows.by_row && rows.shape.len() <= 1) else {
            return refuse(format!("the operator {label} needs rows of numbers as its input"), OUTSIDE_HELP);
        };
        let float = if rows.element == TensorElement::F64 { Float::F64 } else { Float::F32 };
        let to = if float == Float::F64 { TensorElement::F64 } else { TensorElement::F32 };
        let tested = self.builder.cast(cells, to)?;
        self.builder.refuse_row_count(&tested)?;
        let forest = node_forest(node, (float, tested.len()), self.file_bytes, &mut self.notes)?;
        let Some(forest) = forest else { return Err(not_supported(label, NodePlace::Anywhere)) };
        let is_classifier = forest.output.classes.is_some();
        let name = step_name(node.text(field::NODE_NAME)?).unwrap_or_default().to_owned();
        let read = PartForest { name, forest, tested };
        let scores = match &mut self.parts {
            _ if are_columns => {
                let results = results_as_columns(&read, &mut self.builder, label)?;
                return Ok(results.into_iter().map(|tensor| GraphValue::Tensor(Rc::new(tensor))).collect());
            }
            Some(parts) => {
                let first = parts.iter().map(|part| part.forest.num_margins).sum();
                let scores = read.scores(&mut self.builder, (self.inputs.len(), first), label)?;
                parts.push(read);
                GraphValue::Tensor(Rc::new(scores))
            }
            None => {
                self.found = Some(read);
                GraphValue::AfterTrees(AfterTrees::Scores(Vec::new()))
            }
        };
        // If there are several parts, nodes that read the class of one are refused.
        Ok(match is_classifier {
            true => vec![GraphValue::AfterTrees(AfterTrees::OwnClass), scores],
            false => vec![scores],
        })
    }

    /// Turns the results of a node of the step `name` into a linear model, if they are numbers of a row.
    pub(super) fn scores(
        &mut self,
        name: &str,
        results: Vec<GraphValue>,
    ) -> Result<Vec<GraphValue>, ModelError> {
        let scores = match results.as_slice() {
            [GraphValue::Tensor(tensor)] if tensor.by_row && tensor.shape.len() <= 1 => tensor,
            _ => return Ok(results),
        };
        let Some((forest, tested)) = linear_model(scores, &self.builder.columns)? else {
            return Ok(results);
        };
        self.found = Some(PartForest { name: name.to_owned(), forest, tested });
        Ok(vec![GraphValue::AfterTrees(AfterTrees::Scores(Vec::new()))])
    }
}
