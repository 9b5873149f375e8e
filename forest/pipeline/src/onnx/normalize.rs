//! Operators that normalize the cells along an axis, such as the softmax.

use super::builder::GraphColumns;
use super::formula::Formula;
use super::node::GraphNode;
use super::tensor::{Outputs, Tensor, TensorElement, places};
use sched_columns::{Binary, ColumnId, Expr, Unary};
use sched_forest::ModelError;

/// First version of the standard operators in which `Softmax` works along one axis, the last one by default.
const FIRST_ONE_AXIS_VERSION: i64 = 13;

/// Replaces each group of cells along some axes by the results of an operation on the group.
fn along(
    node: &GraphNode,
    builder: &mut GraphColumns,
    axes: &[usize],
    of: &Tensor,
    mut operation: impl FnMut(&mut Formula, &[ColumnId]) -> Result<Vec<ColumnId>, ModelError>,
) -> Outputs {
    let element = of.element;
    builder.count_cells(Some(of.cells.len()))?;
    let mut cells = node.numbers(of)?.to_vec();
    let strides = of.strides();
    let split = |is_along: bool| {
        let chosen = (0..of.shape.len()).filter(move |axis| axes.contains(axis) == is_along);
        chosen.map(|axis| (of.shape[axis], strides[axis])).unzip::<_, _, Vec<_>, Vec<_>>()
    };
    let ((inner, inner_steps), (outer, outer_steps)) = (split(true), split(false));
    let inner = places(&inner, &inner_steps, 0);
    for start in places(&outer, &outer_steps, 0) {
        let group: Vec<ColumnId> = inner.iter().map(|place| cells[start + place]).collect();
        let results = operation(&mut Formula { builder, element }, &group)?;
        for (place, result) in inner.iter().zip(results) {
            cells[start + place] = result;
        }
    }
    Ok(vec![Tensor::numbers(of.by_row, of.shape.clone(), element, cells)])
}

/// The axes of a softmax. Older versions of the operator work along all axes from a given one on.
fn softmax_axes(node: &GraphNode, builder: &GraphColumns) -> Result<Vec<usize>, ModelError> {
    let of = node.input(0)?;
    if !of.element.is_float() {
        return Err(node.refuse(&format!("computes with values of the type {}", of.element.name())));
    }
    let axis = node.attributes.int("axis")?;
    if builder.version >= FIRST_ONE_AXIS_VERSION {
        return Ok(vec![node.axis(of, axis.unwrap_or(-1))?]);
    }
    let first = node.axis(of, axis.unwrap_or(1))?;
    Ok((first..of.shape.len()).collect())
}

/// `exp(x) / sum(exp(x))`
pub(super) fn softmax(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let axes = softmax_axes(node, builder)?;
    along(node, builder, &axes, node.input(0)?, softmax_with)
}

/// The softmax of some cells.
pub(super) fn softmax_of(
    builder: &mut GraphColumns,
    element: TensorElement,
    cells: &[ColumnId],
) -> Result<Vec<ColumnId>, ModelError> {
    softmax_with(&mut Formula { builder, element }, cells)
}

/// The softmax of some cells. The sum is computed in double precision and rounded once, as in XGBoost; the
/// operator leaves its type open.
fn softmax_with(formula: &mut Formula, cells: &[ColumnId]) -> Result<Vec<ColumnId>, ModelError> {
    let largest = formula.largest(cells)?;
    let powers = formula.powers_from(cells, largest)?;
    let wide = formula.builder.cast(&powers, TensorElement::F64)?;
    let sum = Formula { builder: formula.builder, element: TensorElement::F64 }.sum(&wide)?;
    let sum = formula.builder.cast(&[sum], formula.element)?[0];
    powers.into_iter().map(|power| formula.binary(Binary::Divide, power, sum)).collect()
}

/// `x - log(sum(exp(x)))`
pub(super) fn log_softmax(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let axes = softmax_axes(node, builder)?;
    along(node, builder, &axes, node.input(0)?, |formula, cells| {
        let largest = formula.largest(cells)?;
        let powers = formula.powers_from(cells, largest)?;
        let sum = formula.sum(&powers)?;
        let log = formula.unary(Unary::Log, sum)?;
        let result = |cell: &ColumnId| {
            let moved = formula.binary(Binary::Subtract, *cell, largest)?;
            formula.binary(Binary::Subtract, moved, log)
        };
        cells.iter().map(result).collect()
    })
}

/// `Normalizer`: divides the cells of each row by their maximum, the sum of their magnitudes, or the root of
/// the sum of their squares. The arithmetic is that of ONNX Runtime. If the divisor is 0, cells stay
/// unchanged. The result is in single precision.
pub(super) fn normalizer(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let last = of.shape.len().checked_sub(1).ok_or_else(|| node.refuse("normalizes a single number"))?;
    let cells = builder.cast(node.numbers(of)?, TensorElement::F32)?;
    let of = Tensor::numbers(of.by_row, of.shape.clone(), TensorElement::F32, cells);
    let norm = node.attributes.text("norm")?;
    let norm = if norm.is_empty() { "MAX" } else { norm };
    if !["MAX", "L1", "L2"].contains(&norm) {
        return Err(node.refuse(&format!("has the unknown norm `{norm}`")));
    }
    along(node, builder, &[last], &of, |formula, cells| {
        let by = match norm {
            "MAX" => formula.largest(cells)?,
            "L1" => formula.sum_of(cells, |it, x| it.unary(Unary::Abs, x))?,
            _ => formula.sum_of_squares(cells)?,
        };
        let zero = formula.number(0.0)?;
        let is_zero = formula.binary(Binary::Equal, by, zero)?;
        let result = |cell: &ColumnId| {
            let quotient = if norm == "L2" {
                signed_root(formula, *cell, by)
            } else {
                formula.binary(Binary::Divide, *cell, by)
            };
            formula.builder.add(Expr::Select { condition: is_zero, then: *cell, otherwise: quotient? })
        };
        cells.iter().map(result).collect()
    })
}

/// The square root of `x^2 / by`, with the sign of `x`.
fn signed_root(formula: &mut Formula, x: ColumnId, by: ColumnId) -> Result<ColumnId, ModelError> {
    let square = formula.binary(Binary::Multiply, x, x)?;
    let quotient = formula.binary(Binary::Divide, square, by)?;
    let root = formula.unary(Unary::SquareRoot, quotient)?;
    let (zero, negative) = (formula.number(0.0)?, formula.unary(Unary::Negate, root)?);
    let condition = formula.binary(Binary::Less, x, zero)?;
    formula.builder.add(Expr::Select { condition, then: negative, otherwise: root })
}

/// The default of the number that is added to a variance under the root.
const EPSILON: f32 = 1e-5;

/// `BatchNormalization` outside of training: the mean and the variance of each channel are constants.
pub(super) fn batch_normalization(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let element = of.element;
    if node.attributes.int("training_mode")?.unwrap_or(0) != 0 || node.outputs > 1 {
        return Err(node.refuse("is in training mode, so the result of a row would depend on other rows"));
    }
    if !element.is_float() || !of.by_row || of.shape.is_empty() {
        return Err(node.refuse("needs rows of floats as its input"));
    }
    let epsilon = node.attributes.float("epsilon")?.unwrap_or(EPSILON).into();
    // The first axis after that of rows is the axis of channels.
    let (channels, width) = (of.shape[0], of.shape[1..].iter().product::<usize>());
    let mut parameters = Vec::new();
    for number in 1..5 {
        let cells = node.numbers(node.input(number)?)?;
        if node.input(number)?.by_row || cells.len() != channels {
            return Err(node.refuse("has a number of parameters that does not match its columns"));
        }
        parameters.push(builder.cast(cells, element)?);
    }
    let mut results = Vec::with_capacity(of.cells.len());
    for (at, cell) in node.numbers(of)?.iter().enumerate() {
        let [scale, shift, mean, variance] = [0, 1, 2, 3].map(|number| parameters[number][at / width]);
        let mut formula = Formula { builder, element };
        let moved = formula.binary(Binary::Subtract, *cell, mean)?;
        let sum = formula.with(Binary::Add, variance, epsilon)?;
        let root = formula.unary(Unary::SquareRoot, sum)?;
        let quotient = formula.binary(Binary::Divide, moved, root)?;
        let product = formula.binary(Binary::Multiply, quotient, scale)?;
        results.push(formula.binary(Binary::Add, product, shift)?);
    }
    Ok(vec![Tensor::numbers(true, of.shape.clone(), element, results)])
}

/// `LayerNormalization`: subtracts the mean of the cells along the last axes, divides by their standard
/// deviation, multiplies by constants and adds constants.
pub(super) fn layer_normalization(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    if !of.element.is_float() {
        return Err(node.refuse(&format!("computes with values of the type {}", of.element.name())));
    }
    let epsilon: f64 = node.attributes.float("epsilon")?.unwrap_or(EPSILON).into();
    let first = node.axis(of, node.attributes.int("axis")?.unwrap_or(-1))?;
    let axes: Vec<usize> = (first..of.shape.len()).collect();
    let normal = along(node, builder, &axes, of, |formula, cells| {
        let count = cells.len() as f64;
        let sum = formula.sum(cells)?;
        let mean = formula.with(Binary::Divide, sum, count)?;
        let moved = cells.iter().map(|cell| formula.binary(Binary::Subtract, *cell, mean));
        let moved = moved.collect::<Result<Vec<_>, _>>()?;
        let squares = formula.sum_of_squares(&moved)?;
        let variance = formula.with(Binary::Divide, squares, count)?;
        let sum = formula.with(Binary::Add, variance, epsilon)?;
        let deviation = formula.unary(Unary::SquareRoot, sum)?;
        moved.into_iter().map(|cell| formula.binary(Binary::Divide, cell, deviation)).collect()
    })?;
    // The further outputs, the mean and the deviation, are for training and are not computed.
    let mut result = normal;
    for (number, op) in [(1, Binary::Multiply), (2, Binary::Add)] {
        if let Some(parameter) = node.optional(number) {
            let of = &result[0];
            let computed = node.elementwise(builder, &[of, parameter], of.element, |builder, cells| {
                builder.add(Expr::Binary(op, cells[0], cells[1]))
            })?;
            result = vec![computed];
        }
    }
    Ok(result)
}

/// `LpNormalization`: divides the cells along an axis by the sum of their magnitudes, or by the root of the
/// sum of their squares. If the divisor is 0, the results are 0.
pub(super) fn lp_normalization(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let axis = node.axis(of, node.attributes.int("axis")?.unwrap_or(-1))?;
    let order = node.attributes.int("p")?.unwrap_or(2);
    if !of.element.is_float() || ![1, 2].contains(&order) {
        return Err(node.refuse("has a norm other than 1 and 2, or normalizes no floats"));
    }
    along(node, builder, &[axis], of, |formula, cells| {
        let by = match order {
            1 => formula.sum_of(cells, |it, x| it.unary(Unary::Abs, x))?,
            _ => {
                let squares = formula.sum_of_squares(cells)?;
                formula.unary(Unary::SquareRoot, squares)?
            }
        };
        let zero = formula.number(0.0)?;
        let is_zero = formula.binary(Binary::Equal, by, zero)?;
        let result = |cell: &ColumnId| {
            let quotient = formula.binary(Binary::Divide, *cell, by)?;
            formula.builder.add(Expr::Select { condition: is_zero, then: zero, otherwise: quotient })
        };
        cells.iter().map(result).collect()
    })
}
