//! Reductions: operators that compute one value from the cells along an axis.

use super::builder::GraphColumns;
use super::distance;
use super::formula::Formula;
use super::node::GraphNode;
use super::tensor::{Outputs, Tensor, TensorElement, places, size};
use sched_columns::{Binary, ColumnId, ColumnValue, Expr, Unary};
use sched_forest::ModelError;

/// Replaces each group of cells along some axes by the result of an operation on the group.
fn reduced(
    node: &GraphNode,
    builder: &mut GraphColumns,
    axes: &[usize],
    element: TensorElement,
    mut operation: impl FnMut(&mut GraphColumns, &[ColumnId]) -> Result<ColumnId, ModelError>,
) -> Outputs {
    let of = node.input(0)?;
    let cells = node.numbers(of)?;
    let keeps = node.attributes.int("keepdims")?.unwrap_or(1) != 0;
    let (strides, mut kept, mut kept_steps) = (of.strides(), Vec::new(), Vec::new());
    let (mut along, mut along_steps, mut shape) = (Vec::new(), Vec::new(), Vec::new());
    for (axis, (&count, &step)) in of.shape.iter().zip(&strides).enumerate() {
        if axes.contains(&axis) {
            along.push(count);
            along_steps.push(step);
            shape.extend(keeps.then_some(1));
        } else {
            kept.push(count);
            kept_steps.push(step);
            shape.push(count);
        }
    }
    builder.count_cells(size(&of.shape))?;
    let along = places(&along, &along_steps, 0);
    if along.is_empty() {
        return Err(node.refuse("reduces an empty axis"));
    }
    let mut results = Vec::new();
    for start in places(&kept, &kept_steps, 0) {
        let operands: Vec<ColumnId> = along.iter().map(|place| cells[start + place]).collect();
        results.push(operation(builder, &operands)?);
    }
    Ok(vec![Tensor::numbers(of.by_row, shape, element, results)])
}

/// The axes of a reduction. If there is an axis of rows, the node must name its axes.
fn axes(node: &GraphNode, builder: &GraphColumns) -> Result<Vec<usize>, ModelError> {
    let of = node.input(0)?;
    let named = node.integers(builder, 1, "axes")?.filter(|axes| !axes.is_empty());
    let changes_nothing = node.attributes.int("noop_with_empty_axes")?.unwrap_or(0) != 0;
    match named {
        None if changes_nothing => Ok(Vec::new()),
        Some(axes) => axes.into_iter().map(|axis| node.axis(of, axis)).collect(),
        None if of.by_row => Err(node.refuse("reduces all rows to one result")),
        None => Ok((0..of.shape.len()).collect()),
    }
}

/// A reduction from left to right.
fn fold(node: &GraphNode, builder: &mut GraphColumns, op: Binary) -> Outputs {
    let axes = axes(node, builder)?;
    let element = node.input(0)?.element;
    if element == TensorElement::I32 && matches!(op, Binary::Add | Binary::Multiply) {
        return Err(node.refuse("adds or multiplies int32, which is not supported; for int64 it is"));
    }
    let op = match (element, op) {
        (TensorElement::Bool, Binary::Max) => Binary::Or,
        (TensorElement::Bool, Binary::Min) => Binary::And,
        _ => op,
    };
    reduced(node, builder, &axes, element, |builder, cells| {
        if let Some(distance) = distance::of_squares(builder, cells).filter(|_| op == Binary::Add) {
            return builder.add(distance);
        }
        let mut all = cells.iter().copied();
        let first = all.next().ok_or_else(|| node.refuse("reduces an empty axis"))?;
        all.try_fold(first, |sum, next| builder.add(Expr::Binary(op, sum, next)))
    })
}

pub(super) fn reduce_sum(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    fold(node, builder, Binary::Add)
}

pub(super) fn reduce_prod(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    fold(node, builder, Binary::Multiply)
}

pub(super) fn reduce_max(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    fold(node, builder, Binary::Max)
}

pub(super) fn reduce_min(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    fold(node, builder, Binary::Min)
}

/// A reduction of floats with a formula.
fn by_formula(
    node: &GraphNode,
    builder: &mut GraphColumns,
    operation: impl Fn(&mut Formula, &[ColumnId]) -> Result<ColumnId, ModelError>,
) -> Outputs {
    let axes = axes(node, builder)?;
    let element = node.input(0)?.element;
    if !element.is_float() {
        return Err(node.refuse(&format!("computes with values of the type {}", element.name())));
    }
    reduced(node, builder, &axes, element, |builder, cells| {
        operation(&mut Formula { builder, element }, cells)
    })
}

pub(super) fn reduce_mean(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    by_formula(node, builder, |formula, cells| {
        let (sum, count) = (formula.sum(cells)?, formula.number(cells.len() as f64)?);
        formula.binary(Binary::Divide, sum, count)
    })
}

/// The sum of magnitudes.
pub(super) fn reduce_l1(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    by_formula(node, builder, |formula, cells| formula.sum_of(cells, |it, x| it.unary(Unary::Abs, x)))
}

/// The square root of the sum of squares.
pub(super) fn reduce_l2(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    by_formula(node, builder, |formula, cells| {
        let sum = formula.sum_of_squares(cells)?;
        formula.unary(Unary::SquareRoot, sum)
    })
}

pub(super) fn reduce_sum_square(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    by_formula(node, builder, |formula, cells| match distance::of_differences(formula.builder, cells) {
        Some(distance) => formula.builder.add(distance),
        None => formula.sum_of_squares(cells),
    })
}

pub(super) fn reduce_log_sum(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    by_formula(node, builder, |formula, cells| {
        let sum = formula.sum(cells)?;
        formula.unary(Unary::Log, sum)
    })
}

/// `log(sum(exp(x)))`
pub(super) fn reduce_log_sum_exp(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    by_formula(node, builder, |formula, cells| {
        let largest = formula.largest_finite(cells)?;
        let powers = formula.powers_from(cells, largest)?;
        let sum = formula.sum(&powers)?;
        let log = formula.unary(Unary::Log, sum)?;
        formula.binary(Binary::Add, log, largest)
    })
}

/// The index of the largest cell along an axis, or of the smallest. Of equal cells the first counts, or the
/// last if the attribute `select_last_index` is set.
fn best(node: &GraphNode, builder: &mut GraphColumns, is_smallest: bool) -> Outputs {
    let takes_last = node.attributes.int("select_last_index")?.unwrap_or(0) != 0;
    let op = if takes_last { Binary::LessOrEqual } else { Binary::Less };
    let of = node.input(0)?;
    let axis = node.axis(of, node.attributes.int("axis")?.unwrap_or(0))?;
    let is_truth = of.element == TensorElement::Bool;
    reduced(node, builder, &[axis], TensorElement::I64, |builder, cells| {
        let cells = if is_truth { builder.cast(cells, TensorElement::I64)? } else { cells.to_vec() };
        index_of_best(builder, &cells, |cell, best| match is_smallest {
            true => Expr::Binary(op, cell, best),
            false => Expr::Binary(op, best, cell),
        })
    })
}

/// The index of the best cell. A later cell replaces an earlier one if `is_better(later, earlier)`.
fn index_of_best(
    builder: &mut GraphColumns,
    cells: &[ColumnId],
    is_better: impl Fn(ColumnId, ColumnId) -> Expr,
) -> Result<ColumnId, ModelError> {
    let mut best = (builder.columns.constant(ColumnValue::I64(0)), cells[0]);
    for (number, &cell) in cells.iter().enumerate().skip(1) {
        let index = builder.columns.constant(ColumnValue::I64(number as i64));
        let condition = builder.add(is_better(cell, best.1))?;
        let mut choose = |then, otherwise| builder.add(Expr::Select { condition, then, otherwise });
        best = (choose(index, best.0)?, choose(cell, best.1)?);
    }
    Ok(best.0)
}

/// The index of the largest cell, the first of equal cells. There must be at least one cell.
pub(super) fn index_of_largest(
    builder: &mut GraphColumns,
    cells: &[ColumnId],
) -> Result<ColumnId, ModelError> {
    index_of_best(builder, cells, |cell, best| Expr::Binary(Binary::Less, best, cell))
}

pub(super) fn arg_max(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    best(node, builder, false)
}

pub(super) fn arg_min(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    best(node, builder, true)
}
