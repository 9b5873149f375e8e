//! Tensors of the file.

use super::builder::GraphColumns;
use super::tensor::{Cells, Element, Tensor, Text, size};
use sched_columns::ColumnValue;
use sched_forest::onnx::{Tensor as FileTensor, element};
use sched_forest::{Float, ModelError, codes};

/// A tensor of the file as constants.
///
/// # Errors
/// `M0042` for a type that is not read, `M0010` if the numbers do not fill the shape.
pub(super) fn constant_tensor(
    builder: &mut GraphColumns,
    tensor: FileTensor<'_>,
) -> Result<Tensor, ModelError> {
    let shape = tensor.shape()?;
    let element = Element::of_code(tensor.element()).ok_or_else(|| {
        let message = format!("a constant is of {}", element::name(tensor.element()));
        ModelError::new(codes::ONNX_TYPE, message)
    })?;
    let count = builder.spend(size(&shape))?;
    let mut numbers = |values: Vec<ColumnValue>| {
        Cells::Numbers(values.into_iter().map(|value| builder.columns.constant(value)).collect())
    };
    let cells = match element {
        Element::Text => {
            Cells::Texts(tensor.texts()?.into_iter().map(|text| Text::Known(text.into())).collect())
        }
        Element::F32 => {
            let values = tensor.floats(Float::F32)?;
            numbers(values.into_iter().map(|it| ColumnValue::F32(it as f32)).collect())
        }
        Element::F64 => numbers(tensor.floats(Float::F64)?.into_iter().map(ColumnValue::F64).collect()),
        Element::I32 | Element::I64 => {
            numbers(tensor.integers()?.into_iter().map(ColumnValue::I64).collect())
        }
        Element::Bool => {
            numbers(tensor.integers()?.into_iter().map(|it| ColumnValue::Bool(it != 0)).collect())
        }
    };
    if cells.len() != count {
        let message = format!("a tensor has {} values for a shape of {count}", cells.len());
        return Err(ModelError::new(codes::LENGTH_MISMATCH, message));
    }
    Ok(Tensor { by_row: false, shape, element, cells })
}
