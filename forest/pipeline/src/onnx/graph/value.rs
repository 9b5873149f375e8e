//! Values that names of a graph stand for.

use crate::onnx::outcome::AfterTrees;
use crate::onnx::stacked::{MaybeStacked, Stacked};
use crate::onnx::tensor::Tensor;
use std::rc::Rc;

/// The value that a name of the graph stands for.
#[derive(Clone)]
pub(super) enum GraphValue {
    Tensor(Rc<Tensor>),
    /// A tensor whose axis of rows is not the first one.
    Stacked(Rc<Stacked>),
    AfterTrees(AfterTrees),
}

impl From<MaybeStacked> for GraphValue {
    fn from(arranged: MaybeStacked) -> GraphValue {
        match arranged {
            MaybeStacked::Rows(tensor) => GraphValue::Tensor(tensor),
            MaybeStacked::Stacked(stacked) => GraphValue::Stacked(stacked),
        }
    }
}

pub(super) fn arranged(value: &GraphValue) -> Option<MaybeStacked> {
    match value {
        GraphValue::Tensor(tensor) => Some(MaybeStacked::Rows(Rc::clone(tensor))),
        GraphValue::Stacked(stacked) => Some(MaybeStacked::Stacked(Rc::clone(stacked))),
        GraphValue::AfterTrees(_) => None,
    }
}

pub(super) fn tensor_of(value: Option<GraphValue>) -> Option<Rc<Tensor>> {
    match value {
        Some(GraphValue::Tensor(tensor)) => Some(tensor),
        _ => None,
    }
}
