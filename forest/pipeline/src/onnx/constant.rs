//! Tensors of the file.

use super::builder::GraphColumns;
use super::node::{NodePlace, not_supported};
use super::tensor::{Cells, Tensor, TensorElement, TextCell, size};
use sched_columns::{ColumnId, ColumnValue};
use sched_forest::onnx::{Attributes, Message, TensorProto, element};
use sched_forest::{Float, ModelError, codes};

/// A tensor of the file, whose cells are constants.
///
/// # Errors
/// `M0042` for an unsupported type, `M0010` if the number of values does not fit the shape.
pub(super) fn constant_tensor(
    builder: &mut GraphColumns,
    tensor: TensorProto<'_>,
) -> Result<Tensor, ModelError> {
    let shape = tensor.shape()?;
    let element = TensorElement::of_code(tensor.element()).ok_or_else(|| {
        let message =
            format!("a constant has the type {}, which is not supported", element::name(tensor.element()));
        ModelError::new(codes::ONNX_TYPE, message)
    })?;
    let count = builder.count_cells(size(&shape))?;
    let mut numbers = |values: Vec<ColumnValue>| {
        Cells::Numbers(values.into_iter().map(|value| builder.columns.constant(value)).collect())
    };
    let cells = match element {
        TensorElement::Text => {
            Cells::Texts(tensor.texts()?.into_iter().map(|text| TextCell::Known(text.into())).collect())
        }
        TensorElement::F32 => {
            let values = tensor.floats(Float::F32)?;
            numbers(values.into_iter().map(|it| ColumnValue::F32(it as f32)).collect())
        }
        TensorElement::F64 => numbers(tensor.floats(Float::F64)?.into_iter().map(ColumnValue::F64).collect()),
        TensorElement::I32 | TensorElement::I64 => {
            numbers(tensor.integers()?.into_iter().map(ColumnValue::I64).collect())
        }
        TensorElement::Bool => {
            numbers(tensor.integers()?.into_iter().map(|it| ColumnValue::Bool(it != 0)).collect())
        }
    };
    if cells.len() != count {
        let message = format!("a tensor has {} values, and its shape has {count}", cells.len());
        return Err(ModelError::new(codes::LENGTH_MISMATCH, message));
    }
    Ok(Tensor { by_row: false, shape, element, cells })
}

/// The tensor of the operator `Constant`.
pub(super) fn constant_node(
    node: Message<'_>,
    label: &str,
    builder: &mut GraphColumns,
) -> Result<Tensor, ModelError> {
    let attributes = Attributes::of(node);
    if let Some(tensor) = attributes.tensor("value")? {
        return constant_tensor(builder, tensor);
    }
    let columns = &mut builder.columns;
    let (shape, element, cells) = if let Some(value) = attributes.float("value_float")? {
        (Vec::new(), TensorElement::F32, vec![columns.constant(ColumnValue::F32(value))])
    } else if let Some(value) = attributes.int("value_int")? {
        (Vec::new(), TensorElement::I64, vec![columns.constant(ColumnValue::I64(value))])
    } else if attributes.has("value_ints")? {
        let mut cells = Vec::new();
        attributes.for_ints("value_ints", |value| cells.push(columns.constant(ColumnValue::I64(value))))?;
        (vec![cells.len()], TensorElement::I64, cells)
    } else if attributes.has("value_floats")? {
        let values = attributes.floats("value_floats")?;
        let cells: Vec<ColumnId> =
            values.iter().map(|value| columns.constant(ColumnValue::F32(*value as f32))).collect();
        (vec![cells.len()], TensorElement::F32, cells)
    } else {
        return Err(not_supported(label, NodePlace::Anywhere));
    };
    builder.count_cells(Some(cells.len()))?;
    Ok(Tensor::numbers(false, shape, element, cells))
}
