//! Nodes of a graph, with the values that they read.

use super::builder::{Broadcast, BroadcastError, GraphColumns};
use super::tensor::{Cells, Tensor, TensorElement};
use sched_columns::{ColumnId, ColumnValue};
use sched_forest::onnx::Attributes;
use sched_forest::{ModelError, codes};
use std::rc::Rc;

/// A node of a graph.
pub(super) struct GraphNode<'a> {
    /// The operator and, if the node has one, its name, for messages.
    pub label: String,
    pub attributes: Attributes<'a>,
    /// Inputs in order; `None` for an omitted optional one.
    pub inputs: Vec<Option<Rc<Tensor>>>,
    /// The number of its outputs.
    pub outputs: usize,
}

/// The size of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AxisSize {
    /// The number of rows of a call.
    Rows,
    /// A constant.
    Cells(i64),
}

/// The help for steps that cannot be part of a compiled pipeline.
pub(super) const OUTSIDE_HELP: &str = "run the graph up to this step outside of the model, and give the \
                                       rest of the graph its results as numbers; \
                                       `onnx.utils.extract_model` cuts a file in two";

/// The help for steps after the trees or scores that cannot be part of a compiled pipeline.
const AFTER_HELP: &str = "end the graph before this step, and apply the step to the predictions; \
                          `onnx.utils.extract_model` cuts a file in two";

impl GraphNode<'_> {
    /// The error for a node. `what` completes the sentence "the operator X ...".
    pub fn refuse(&self, what: &str) -> ModelError {
        let message = format!("the operator {} {what}", self.label);
        ModelError::new(codes::UNSUPPORTED_OPERATOR, message).help(OUTSIDE_HELP)
    }

    /// An input.
    ///
    /// # Errors
    /// `M0040` if it is missing.
    pub fn input(&self, number: usize) -> Result<&Rc<Tensor>, ModelError> {
        self.optional(number).ok_or_else(|| self.refuse(&format!("lacks input {number}")))
    }

    /// An input that may be left out.
    pub fn optional(&self, number: usize) -> Option<&Rc<Tensor>> {
        self.inputs.get(number).and_then(Option::as_ref)
    }

    /// The columns of an input of numbers.
    ///
    /// # Errors
    /// `M0040` for texts.
    pub fn numbers<'a>(&self, tensor: &'a Tensor) -> Result<&'a [ColumnId], ModelError> {
        match &tensor.cells {
            Cells::Numbers(cells) => Ok(cells),
            Cells::Texts(_) => Err(self.refuse("computes with texts")),
        }
    }

    /// The values of a tensor that is the same for every row.
    ///
    /// # Errors
    /// `M0040` if it is not constant.
    pub fn constants(&self, builder: &GraphColumns, tensor: &Tensor) -> Result<Vec<ColumnValue>, ModelError> {
        let constant = |column: &ColumnId| {
            builder.constant(*column).ok_or_else(|| {
                self.refuse("has a parameter that is computed from the rows; only constants are supported")
            })
        };
        self.numbers(tensor)?.iter().map(constant).collect()
    }

    /// The whole numbers of an input or, in older versions of the operator, of an attribute. `None` if there
    /// is neither.
    ///
    /// # Errors
    /// `M0040` if they are not constants.
    pub fn integers(
        &self,
        builder: &GraphColumns,
        input: usize,
        attribute: &str,
    ) -> Result<Option<Vec<i64>>, ModelError> {
        if let Some(tensor) = self.optional(input) {
            let integer = |value: ColumnValue| match value {
                ColumnValue::I64(value) => Ok(value),
                _ => Err(self.refuse("has a parameter that is not a whole number")),
            };
            return self
                .constants(builder, tensor)?
                .into_iter()
                .map(integer)
                .collect::<Result<_, _>>()
                .map(Some);
        }
        self.ints(attribute)
    }

    /// The whole numbers of an attribute; `None` if there is no such attribute.
    ///
    /// # Errors
    /// `M0003` if the file is damaged there.
    pub fn ints(&self, attribute: &str) -> Result<Option<Vec<i64>>, ModelError> {
        if !self.attributes.has(attribute)? {
            return Ok(None);
        }
        let mut values = Vec::new();
        self.attributes.for_ints(attribute, |value| values.push(value))?;
        Ok(Some(values))
    }

    /// The common shape of tensors.
    ///
    /// # Errors
    /// `M0040` if they cannot be combined row by row.
    pub fn broadcast(
        &self,
        builder: &mut GraphColumns,
        tensors: &[&Tensor],
    ) -> Result<Broadcast, ModelError> {
        builder.broadcast(tensors).map_err(|error| match error {
            BroadcastError::Shapes(what) => self.refuse(&what),
            BroadcastError::Model(error) => error,
        })
    }

    /// The position of an axis in a tensor's shape.
    ///
    /// # Errors
    /// `M0040` for the axis of rows, and where there is no such axis.
    pub fn axis(&self, tensor: &Tensor, axis: i64) -> Result<usize, ModelError> {
        match tensor.axis(axis) {
            Ok(Some(axis)) => Ok(axis),
            Ok(None) => Err(self
                .refuse("works along the axis of rows, so the result of a row would depend on other rows")),
            Err(what) => Err(self.refuse(&what)),
        }
    }

    /// The tensor that results from an operation on the cells at each position of some tensors.
    ///
    /// # Errors
    /// The errors of the operation, and those of [`GraphNode::broadcast`].
    pub fn elementwise(
        &self,
        builder: &mut GraphColumns,
        tensors: &[&Tensor],
        element: TensorElement,
        mut operation: impl FnMut(&mut GraphColumns, &[ColumnId]) -> Result<ColumnId, ModelError>,
    ) -> Result<Tensor, ModelError> {
        let side_by_side = self.broadcast(builder, tensors)?;
        let columns = tensors.iter().map(|tensor| self.numbers(tensor)).collect::<Result<Vec<_>, _>>()?;
        let mut cells = Vec::with_capacity(side_by_side.count);
        let mut operands = Vec::with_capacity(tensors.len());
        for cell in 0..side_by_side.count {
            operands.clear();
            operands.extend(columns.iter().zip(&side_by_side.places).map(|(column, at)| column[at[cell]]));
            cells.push(operation(builder, &operands)?);
        }
        Ok(Tensor::numbers(side_by_side.by_row, side_by_side.shape, element, cells))
    }
}

/// The place of an operator in a graph, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodePlace {
    /// In a graph without trees, or the trees themselves.
    Anywhere,
    /// Before the trees.
    BeforeTrees,
    /// After the trees.
    AfterTrees,
    /// After the scores of a graph without trees.
    AfterScores,
}

/// The error for an operator that is not supported at its place.
pub(super) fn not_supported(label: &str, place: NodePlace) -> ModelError {
    let (side, help) = match place {
        NodePlace::Anywhere => ("", OUTSIDE_HELP),
        NodePlace::BeforeTrees => (" before the trees", OUTSIDE_HELP),
        NodePlace::AfterTrees => (" after the trees", AFTER_HELP),
        NodePlace::AfterScores => (" after the scores", AFTER_HELP),
    };
    let message = format!("the operator {label}{side} is not supported");
    ModelError::new(codes::UNSUPPORTED_OPERATOR, message).help(help)
}
