//! Scalers, imputers and binarizers of `ai.onnx.ml`, with the arithmetic of ONNX Runtime.

use super::builder::GraphColumns;
use super::node::GraphNode;
use super::tensor::{Outputs, Tensor, TensorElement};
use sched_columns::{Binary, ColumnId, ColumnValue, Expr, Unary};
use sched_forest::ModelError;

/// Parameters for the cells along the last axis: one for all cells, or one for each.
struct AxisParameters {
    columns: Vec<ColumnId>,
    width: usize,
}

impl AxisParameters {
    fn new(
        node: &GraphNode,
        of: &Tensor,
        name: &str,
        columns: Vec<ColumnId>,
    ) -> Result<AxisParameters, ModelError> {
        let width = of.shape.last().copied().unwrap_or(1);
        match columns.len() {
            1 => Ok(AxisParameters { columns, width }),
            count if count == width => Ok(AxisParameters { columns, width }),
            count => {
                let what = format!("has {count} numbers in `{name}` for {width} columns");
                Err(node.refuse(&what))
            }
        }
    }

    fn of_cell(&self, cell: usize) -> ColumnId {
        let at = cell.checked_rem(self.width).unwrap_or(0);
        self.columns[if self.columns.len() == 1 { 0 } else { at }]
    }
}

/// The single-precision numbers of an attribute, as constant columns of the type `to`.
fn floats(
    node: &GraphNode,
    builder: &mut GraphColumns,
    name: &str,
    to: TensorElement,
) -> Result<Vec<ColumnId>, ModelError> {
    let numbers = node.attributes.floats(name)?;
    let columns: Vec<ColumnId> =
        numbers.iter().map(|number| builder.columns.constant(ColumnValue::F32(*number as f32))).collect();
    builder.cast(&columns, to)
}

/// `Scaler`: `(x - offset) * scale`. Doubles are scaled in double precision and all other types in single
/// precision. The result is in single precision.
pub(super) fn scaler(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let within = if of.element == TensorElement::F64 { TensorElement::F64 } else { TensorElement::F32 };
    let parameters = |builder: &mut GraphColumns, name| {
        let columns = floats(node, builder, name, within)?;
        AxisParameters::new(node, of, name, columns)
    };
    let (offset, scale) = (parameters(builder, "offset")?, parameters(builder, "scale")?);
    builder.count_cells(Some(of.cells.len()))?;
    let mut cells = builder.cast(node.numbers(of)?, within)?;
    for (cell, column) in cells.iter_mut().enumerate() {
        let moved = builder.add(Expr::Binary(Binary::Subtract, *column, offset.of_cell(cell)))?;
        *column = builder.add(Expr::Binary(Binary::Multiply, moved, scale.of_cell(cell)))?;
    }
    let cells = builder.cast(&cells, TensorElement::F32)?;
    Ok(vec![Tensor::numbers(of.by_row, of.shape.clone(), TensorElement::F32, cells)])
}

pub(super) fn imputer(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let (name, columns, replaced) = match of.element.is_float() {
        true => {
            let name = "imputed_value_floats";
            let replaced = node.attributes.float("replaced_value_float")?.unwrap_or(0.0);
            (name, floats(node, builder, name, of.element)?, ColumnValue::F32(replaced))
        }
        false => {
            let name = "imputed_value_int64s";
            let values = node.ints(name)?.unwrap_or_default();
            let columns = values.iter().map(|value| builder.columns.constant(ColumnValue::I64(*value)));
            let columns = columns.collect();
            (name, columns, ColumnValue::I64(node.attributes.int("replaced_value_int64")?.unwrap_or(0)))
        }
    };
    let values = AxisParameters::new(node, of, name, columns)?;
    let is_nan = replaced.is_nan();
    let replaced = builder.columns.constant(replaced);
    let replaced = builder.cast(&[replaced], of.element)?[0];
    builder.count_cells(Some(of.cells.len()))?;
    let mut cells = node.numbers(of)?.to_vec();
    for (cell, column) in cells.iter_mut().enumerate() {
        let test = match is_nan {
            true => Expr::Unary(Unary::IsNan, *column),
            false => Expr::Binary(Binary::Equal, *column, replaced),
        };
        let condition = builder.add(test)?;
        *column = builder.add(Expr::Select { condition, then: values.of_cell(cell), otherwise: *column })?;
    }
    Ok(vec![Tensor::numbers(of.by_row, of.shape.clone(), of.element, cells)])
}

pub(super) fn binarizer(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let threshold = ColumnValue::F32(node.attributes.float("threshold")?.unwrap_or(0.0));
    let threshold = builder.columns.constant(threshold);
    let threshold = builder.cast(&[threshold], of.element)?[0];
    let result = node.elementwise(builder, &[of], of.element, |builder, cell| {
        builder.add(Expr::Binary(Binary::Less, threshold, cell[0]))
    })?;
    let cells = builder.cast(node.numbers(&result)?, of.element)?;
    Ok(vec![Tensor::numbers(of.by_row, of.shape.clone(), of.element, cells)])
}
