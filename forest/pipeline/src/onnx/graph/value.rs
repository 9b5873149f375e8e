//! Values that names of a graph stand for.

use crate::onnx::outcome::AfterTrees;
use crate::onnx::stacked::{Arranged, Stacked};
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

impl From<Arranged> for GraphValue {
    fn from(arranged: Arranged) -> GraphValue {
        match arranged {
            Arranged::Rows(tensor) => GraphValue::Tensor(tensor),
            Arranged::Stacked(stacked) => GraphValue::Stacked(stacked),
        }
    }
}

pub(super) fn arranged(value: &GraphValue) -> Option<Arranged> {
    match value {
        GraphValue::Tensor(tensor) => Some(Arranged::Rows(Rc::clone(tensor))),
        GraphValue::Stacked(stacked) => Some(Arranged::Stacked(Rc::clone(stacked))),
        GraphValue::AfterTrees(_) => None,
    }
}

pub(super) fn tensor_of(value: Option<GraphValue>) -> Option<Rc<Tensor>> {
    match value {
        Some(GraphValue::Tensor(tensor)) => Some(tensor),
        _ => None,
    }
}
