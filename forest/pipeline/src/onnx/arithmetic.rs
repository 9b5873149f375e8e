//! Operators that compute each cell of a tensor from the cells at the same position of their inputs.

use super::builder::GraphColumns;
use super::node::GraphNode;
use super::tensor::{Cells, Outputs, Tensor, TensorElement, TextCell};
use super::whole;
use sched_columns::{Binary, ColumnId, ColumnValue, Expr, Unary};
use sched_forest::onnx::element;

pub(super) fn identity(node: &GraphNode, _: &mut GraphColumns) -> Outputs {
    Ok(vec![Tensor::clone(node.input(0)?)])
}

pub(super) fn cast(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let code = node.attributes.int("to")?.unwrap_or(0);
    let to = TensorElement::of_code(code).ok_or_else(|| {
        node.refuse(&format!("casts to the type {}, which is not supported", element::name(code)))
    })?;
    cast_to(node, builder, to)
}

/// `CastLike`: a cast to the type of a second tensor.
pub(super) fn cast_like(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let to = node.input(1)?.element;
    cast_to(node, builder, to)
}

fn cast_to(node: &GraphNode, builder: &mut GraphColumns, to: TensorElement) -> Outputs {
    let of = node.input(0)?;
    if to == of.element {
        return identity(node, builder);
    }
    let cells = match &of.cells {
        Cells::Numbers(cells) if to != TensorElement::Text => builder.cast(cells, to)?,
        _ => {
            return Err(node.refuse(&format!(
                "casts {} to {}, which is not supported",
                of.element.name(),
                to.name()
            )));
        }
    };
    builder.count_cells(Some(cells.len()))?;
    Ok(vec![Tensor::numbers(of.by_row, of.shape.clone(), to, cells)])
}

/// `Dropout`, which does nothing outside of training.
pub(super) fn dropout(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let trains = match node.optional(2) {
        Some(trains) => node.constants(builder, trains)?.iter().any(|value| value.is_true()),
        None => false,
    };
    if trains {
        return Err(node.refuse("is in training mode and drops values at random"));
    }
    let kept = builder.columns.constant(ColumnValue::Bool(true));
    let mask = Tensor::numbers(of.by_row, of.shape.clone(), TensorElement::Bool, vec![kept; of.cells.len()]);
    Ok(vec![Tensor::clone(of), mask])
}

fn unary(node: &GraphNode, builder: &mut GraphColumns, op: Unary, to: Option<TensorElement>) -> Outputs {
    let of = node.input(0)?;
    let element = to.unwrap_or(of.element);
    let computed =
        node.elementwise(builder, &[of], element, |builder, cell| builder.add(Expr::Unary(op, cell[0])));
    Ok(vec![computed?])
}

/// Declares operators on one tensor.
macro_rules! unary {
    ($($name:ident: $op:expr, $to:expr;)*) => {
        $(pub(super) fn $name(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
            unary(node, builder, $op, $to)
        })*
    };
}

unary! {
    sqrt: Unary::SquareRoot, None;
    abs: Unary::Abs, None;
    neg: Unary::Negate, None;
    floor: Unary::Floor, None;
    ceil: Unary::Ceil, None;
    round: Unary::Round, None;
    is_nan: Unary::IsNan, Some(TensorElement::Bool);
    not: Unary::Not, None;
}

/// An operation on two tensors, or on more from left to right.
fn binary(node: &GraphNode, builder: &mut GraphColumns, op: Binary) -> Outputs {
    let first = node.input(0)?;
    let element = match op {
        Binary::Less | Binary::LessOrEqual | Binary::Equal => TensorElement::Bool,
        _ => first.element,
    };
    let is_arithmetic = matches!(op, Binary::Add | Binary::Subtract | Binary::Multiply);
    if is_arithmetic && element == TensorElement::I32 {
        return Err(
            node.refuse("adds, subtracts or multiplies int32, which is not supported; for int64 it is")
        );
    }
    let mut result = Tensor::clone(first);
    for number in 1..node.inputs.len() {
        let next = node.input(number)?;
        result = node.elementwise(builder, &[&result, next], element, |builder, cells| {
            builder.add(Expr::Binary(op, cells[0], cells[1]))
        })?;
    }
    Ok(vec![result])
}

/// Declares operators on two tensors.
macro_rules! binary {
    ($($name:ident: $op:expr;)*) => {
        $(pub(super) fn $name(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
            binary(node, builder, $op)
        })*
    };
}

binary! {
    add: Binary::Add;
    sub: Binary::Subtract;
    mul: Binary::Multiply;
    min: Binary::Min;
    max: Binary::Max;
    less: Binary::Less;
    less_or_equal: Binary::LessOrEqual;
    and: Binary::And;
    or: Binary::Or;
}

pub(super) fn div(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    match node.input(0)?.element.is_float() {
        true => binary(node, builder, Binary::Divide),
        false => whole::div(node, builder),
    }
}

/// A comparison with exchanged operands.
fn reversed(node: &GraphNode, builder: &mut GraphColumns, op: Binary) -> Outputs {
    let (left, right) = (node.input(0)?, node.input(1)?);
    let compare =
        |builder: &mut GraphColumns, cells: &[ColumnId]| builder.add(Expr::Binary(op, cells[1], cells[0]));
    Ok(vec![node.elementwise(builder, &[left, right], TensorElement::Bool, compare)?])
}

pub(super) fn greater(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    reversed(node, builder, Binary::Less)
}

pub(super) fn greater_or_equal(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    reversed(node, builder, Binary::LessOrEqual)
}

pub(super) fn equal(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let (left, right) = (node.input(0)?, node.input(1)?);
    let (Cells::Texts(of_left), Cells::Texts(of_right)) = (&left.cells, &right.cells) else {
        return binary(node, builder, Binary::Equal);
    };
    let shared = node.broadcast(builder, &[left, right])?;
    let mut cells = Vec::with_capacity(shared.count);
    for cell in 0..shared.count {
        let pair = (&of_left[shared.places[0][cell]], &of_right[shared.places[1][cell]]);
        let (text, known) = match pair {
            (text, TextCell::Known(known)) | (TextCell::Known(known), text) => (text, known),
            _ => {
                return Err(
                    node.refuse("compares two texts of a row; texts can only be compared with constants")
                );
            }
        };
        let entries = [(&**known, ColumnValue::Bool(true))];
        cells.push(builder.look_up(text, &entries, ColumnValue::Bool(false))?);
    }
    Ok(vec![Tensor::numbers(shared.by_row, shared.shape, TensorElement::Bool, cells)])
}

pub(super) fn choose(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let (condition, then, otherwise) = (node.input(0)?, node.input(1)?, node.input(2)?);
    if let (Cells::Texts(_), Cells::Texts(_)) = (&then.cells, &otherwise.cells) {
        return choose_text(node, builder, [condition, then, otherwise]);
    }
    let select = |builder: &mut GraphColumns, cells: &[ColumnId]| {
        builder.add(Expr::Select { condition: cells[0], then: cells[1], otherwise: cells[2] })
    };
    Ok(vec![node.elementwise(builder, &[condition, then, otherwise], then.element, select)?])
}

/// `Where` for texts, as imputers use it.
fn choose_text(
    node: &GraphNode,
    builder: &mut GraphColumns,
    [condition, then, otherwise]: [&Tensor; 3],
) -> Outputs {
    let (Cells::Texts(of_then), Cells::Texts(of_otherwise)) = (&then.cells, &otherwise.cells) else {
        return Err(node.refuse("chooses between texts and numbers, which have different types"));
    };
    let conditions = node.numbers(condition)?;
    let shared = node.broadcast(builder, &[condition, then, otherwise])?;
    let mut cells = Vec::with_capacity(shared.count);
    for cell in 0..shared.count {
        let at = |tensor: usize| shared.places[tensor][cell];
        let text = builder.one_of_texts(conditions[at(0)], &of_then[at(1)], &of_otherwise[at(2)])?;
        cells.push(text.ok_or_else(|| node.refuse("chooses between texts of several columns"))?);
    }
    let cells = Cells::Texts(cells);
    Ok(vec![Tensor { by_row: shared.by_row, shape: shared.shape, element: TensorElement::Text, cells }])
}

pub(super) fn clip(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let mut result = Tensor::clone(of);
    for (number, name, op) in [(1, "min", Binary::Max), (2, "max", Binary::Min)] {
        let bound = match (node.optional(number), node.attributes.float(name)?) {
            (Some(bound), _) => Tensor::clone(bound),
            (None, Some(bound)) => {
                let bound = builder.columns.constant(ColumnValue::F32(bound));
                let cells = builder.cast(&[bound], of.element)?;
                Tensor::numbers(false, Vec::new(), of.element, cells)
            }
            (None, None) => continue,
        };
        result = node.elementwise(builder, &[&result, &bound], of.element, |builder, cells| {
            builder.add(Expr::Binary(op, cells[0], cells[1]))
        })?;
    }
    Ok(vec![result])
}
