//! Tensors whose axis of rows is not the first one, such as the stacked results of several models.
//!
//! Exporters average the results of several models in tensors `[models, rows, results]`. Few operators are
//! understood on such tensors. Here the axis of rows is moved to the front, and the operator is applied to
//! the other axes.

use super::builder::GraphColumns;
use super::node::{AxisSize, GraphNode};
use super::operators::{OperatorSet, operator};
use super::shape::{concatenated, moved};
use super::tensor::{Tensor, TensorElement, size};
use sched_columns::ColumnValue;
use sched_forest::ModelError;
use std::rc::Rc;

/// A tensor of rows whose axis of rows is not the first one in the file.
#[derive(Clone, Debug)]
pub(super) struct Stacked {
    /// The values with the axis of rows in front.
    tensor: Tensor,
    layout: StackedAxes,
}

/// The axes of a stacked tensor in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StackedAxes {
    /// The axis of rows is at this position, after others.
    LaterAxis(usize),
    /// The first axis merges models and rows: the rows of one model, then those of the next.
    Joined,
    /// `[1, cells of all rows]`: the cells of one row, then those of the next.
    Flat,
}

/// Operators that compute each cell from cells at the same position.
const CELL_BY_CELL: &[&str] = &[
    "Abs",
    "Add",
    "And",
    "Cast",
    "Div",
    "Equal",
    "Exp",
    "Greater",
    "GreaterOrEqual",
    "IsNaN",
    "Less",
    "LessOrEqual",
    "Log",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "Sqrt",
    "Sub",
    "Where",
];

/// A tensor whose axis of rows, if any, is the first one, or a stacked tensor.
#[derive(Clone)]
pub(super) enum MaybeStacked {
    Rows(Rc<Tensor>),
    Stacked(Rc<Stacked>),
}

impl Stacked {
    /// The tensor as one whose axis of rows has the position `row_axis` in the file.
    pub fn arranged(tensor: Tensor, row_axis: usize) -> MaybeStacked {
        match row_axis {
            0 => MaybeStacked::Rows(Rc::new(tensor)),
            _ => Stacked::with(tensor, StackedAxes::LaterAxis(row_axis)),
        }
    }

    fn with(tensor: Tensor, layout: StackedAxes) -> MaybeStacked {
        MaybeStacked::Stacked(Rc::new(Stacked { tensor, layout }))
    }
}

/// A stacked tensor with the layout [`StackedAxes::LaterAxis`].
struct LaterAxis<'a> {
    tensor: &'a Tensor,
    /// The position of the axis of rows in the file.
    row_axis: usize,
}

impl LaterAxis<'_> {
    /// The position of an axis of the file in the tensor with rows in front. `None` for the axis of rows.
    ///
    /// # Errors
    /// `M0040` if there is no such axis.
    fn axis(&self, node: &GraphNode, axis: i64) -> Result<Option<usize>, ModelError> {
        let rank = self.tensor.rank() as i64;
        let from_start = if axis < 0 { axis + rank } else { axis };
        if !(0..rank).contains(&from_start) {
            return Err(node.refuse(&format!("names axis {axis} of a tensor with {rank} axes")));
        }
        let place = from_start as usize;
        Ok((place != self.row_axis).then_some(if place > self.row_axis { place } else { place + 1 }))
    }
}

/// The result of an operator on rows, if it is stacked. `None` if the result has its rows in front, or if the
/// operator is refused later.
///
/// # Errors
/// `M0040` for parameters that are not constant.
pub(super) fn stacked_result(
    node: &GraphNode,
    name: &str,
    builder: &mut GraphColumns,
) -> Result<Option<MaybeStacked>, ModelError> {
    let Some(of) = node.optional(0).filter(|of| of.by_row) else { return Ok(None) };
    match name {
        "Reshape" if node.optional(1).is_some() => {
            let made = reshaped(of, &node.sizes(builder, 1)?);
            Ok(made.filter(|made| matches!(made, MaybeStacked::Stacked(_))))
        }
        "Add" | "Sub" | "Mul" | "Div" => with_number(node, name, builder),
        "Unsqueeze" => unsqueezed(node, of, builder),
        "Transpose" => {
            let order = order_of(node, of.rank())?;
            let row_axis = order.iter().position(|axis| *axis == 0).unwrap_or(0);
            match row_axis {
                0 => Ok(None),
                _ => Ok(Some(Stacked::arranged(transposed(builder, of, &order)?, row_axis))),
            }
        }
        "Concat" => joined(node, builder),
        "Flatten" if node.attributes.int("axis")? == Some(0) => {
            Ok(Some(Stacked::with(Tensor::clone(of), StackedAxes::Flat)))
        }
        _ => Ok(None),
    }
}

/// The result of an operator on rows and a single number that has more axes, all of size 1.
fn with_number(
    node: &GraphNode,
    name: &str,
    builder: &mut GraphColumns,
) -> Result<Option<MaybeStacked>, ModelError> {
    let (of, number) = (node.input(0)?, node.input(1)?);
    let more = number.rank().checked_sub(of.rank()).filter(|more| *more > 0);
    let Some(more) = more.filter(|_| !number.by_row && number.cells.len() == 1) else { return Ok(None) };
    let number = Some(Rc::new(number.with_shape(Vec::new())));
    let result = on_rows(node, (name, of), vec![number], builder)?;
    let shape = [vec![1; more], result.shape.clone()].concat();
    Ok(Some(Stacked::arranged(result.with_shape(shape), more)))
}

/// A tensor with the new shape `[1, .., rows, ..]`. `None` for other shapes.
fn reshaped(of: &Tensor, sizes: &[AxisSize]) -> Option<MaybeStacked> {
    let is_rows = |size: &AxisSize| matches!(size, AxisSize::Rows | AxisSize::Cells(-1));
    let row_axis = sizes.iter().position(is_rows)?;
    let count = |size: &AxisSize| match size {
        AxisSize::Cells(count) => usize::try_from(*count).ok().filter(|count| *count > 0),
        AxisSize::Rows => None,
    };
    let others = sizes[..row_axis].iter().chain(&sizes[row_axis + 1..]);
    let shape: Vec<usize> = others.map(count).collect::<Option<_>>()?;
    let fits = shape[..row_axis].iter().all(|count| *count == 1) && size(&shape) == Some(of.cells.len());
    fits.then(|| Stacked::arranged(of.with_shape(shape), row_axis))
}

/// A tensor with new axes before that of rows; `None` if no new axis is before it.
fn unsqueezed(
    node: &GraphNode,
    of: &Tensor,
    builder: &GraphColumns,
) -> Result<Option<MaybeStacked>, ModelError> {
    let Some(axes) = node.integers(builder, 1, "axes")? else { return Ok(None) };
    let rank = of.rank() + axes.len();
    let place = |axis: i64| usize::try_from(if axis < 0 { axis + rank as i64 } else { axis }).ok();
    let Some(new) = axes.into_iter().map(place).collect::<Option<Vec<_>>>() else { return Ok(None) };
    let is_distinct = (0..rank).filter(|axis| new.contains(axis)).count() == new.len();
    let row_axis = (0..rank).find(|axis| !new.contains(axis)).unwrap_or(0);
    if row_axis == 0 || !is_distinct {
        return Ok(None);
    }
    let mut own = of.shape.iter().copied();
    let others = (0..rank).filter(|axis| *axis != row_axis);
    let shape = others.map(|axis| if new.contains(&axis) { Some(1) } else { own.next() });
    let shape: Option<Vec<usize>> = shape.collect();
    Ok(shape.map(|shape| Stacked::arranged(of.with_shape(shape), row_axis)))
}

/// The concatenation of tensors of one shape along the axis of rows: the rows of one tensor, then those of
/// the next.
fn joined(node: &GraphNode, builder: &mut GraphColumns) -> Result<Option<MaybeStacked>, ModelError> {
    let tensors: Vec<&Rc<Tensor>> = node.inputs.iter().flatten().collect();
    let first = node.input(0)?;
    let axis = node.attributes.int("axis")?.unwrap_or(0);
    let same = |tensor: &&Rc<Tensor>| {
        tensor.by_row && tensor.shape == first.shape && tensor.element == first.element
    };
    if (axis != 0 && axis + first.rank() as i64 != 0) || !tensors.iter().all(same) {
        return Ok(None);
    }
    let mut cells = Vec::new();
    for tensor in &tensors {
        cells.extend_from_slice(node.numbers(tensor)?);
    }
    builder.count_cells(Some(cells.len()))?;
    let shape = [&[tensors.len()], first.shape.as_slice()].concat();
    let tensor = Tensor::numbers(true, shape, first.element, cells);
    Ok(Some(Stacked::with(tensor, StackedAxes::Joined)))
}

/// The order of axes in the attribute `perm`.
fn order_of(node: &GraphNode, rank: usize) -> Result<Vec<usize>, ModelError> {
    let order = node.ints("perm")?.unwrap_or_else(|| (0..rank as i64).rev().collect());
    let mut sorted = order.clone();
    sorted.sort_unstable();
    match sorted == (0..rank as i64).collect::<Vec<_>>() {
        true => Ok(order.into_iter().map(|axis| axis as usize).collect()),
        false => Err(node.refuse("has axes that do not exist")),
    }
}

/// The tensor with its axes in another order, except that of rows, which is axis 0 here.
fn transposed(builder: &mut GraphColumns, of: &Tensor, order: &[usize]) -> Result<Tensor, ModelError> {
    let axes: Vec<usize> = order.iter().filter_map(|axis| axis.checked_sub(1)).collect();
    let pick = |from: &[usize]| axes.iter().map(|axis| from[*axis]).collect::<Vec<_>>();
    moved(builder, of, pick(&of.shape), &pick(&of.strides()), 0)
}

/// The result of an operator with a stacked input. `inputs` are all its inputs, in order.
///
/// # Errors
/// `M0040` for operators that are not understood on stacked tensors.
pub(super) fn run(
    node: &GraphNode,
    name: &str,
    inputs: &[Option<MaybeStacked>],
    builder: &mut GraphColumns,
) -> Result<MaybeStacked, ModelError> {
    let stacked = |input: &Option<MaybeStacked>| match input {
        Some(MaybeStacked::Stacked(stacked)) => Some(Rc::clone(stacked)),
        _ => None,
    };
    let of = inputs.iter().find_map(stacked).ok_or_else(|| refused(node))?;
    match of.layout {
        StackedAxes::Joined if name == "Reshape" => split(node, builder, &of.tensor),
        StackedAxes::Joined => {
            Err(node.refuse("works on rows of several models that were appended to each other"))
        }
        StackedAxes::Flat => flat(node, (name, &of.tensor), inputs, builder),
        StackedAxes::LaterAxis(_) if !matches!(inputs.first(), Some(Some(MaybeStacked::Stacked(_)))) => {
            Err(refused(node))
        }
        StackedAxes::LaterAxis(row_axis) => {
            on_later_axis(node, (name, LaterAxis { tensor: &of.tensor, row_axis }), inputs, builder)
        }
    }
}

fn refused(node: &GraphNode) -> ModelError {
    node.refuse("works on rows along another axis than the first one")
}

/// The result of an operator on a stacked tensor with the layout [`StackedAxes::LaterAxis`].
fn on_later_axis(
    node: &GraphNode,
    (name, of): (&str, LaterAxis),
    inputs: &[Option<MaybeStacked>],
    builder: &mut GraphColumns,
) -> Result<MaybeStacked, ModelError> {
    match name {
        "Reshape" if of.tensor.shape[..of.row_axis].iter().all(|count| *count == 1) => {
            reshaped(of.tensor, &node.sizes(builder, 1)?).ok_or_else(|| refused(node))
        }
        "Identity" | "Cast" => {
            let result = on_rows(node, (name, of.tensor), Vec::new(), builder)?;
            Ok(Stacked::arranged(result, of.row_axis))
        }
        "Concat" => {
            let own = |input: &Option<MaybeStacked>| match input {
                Some(MaybeStacked::Stacked(other)) if other.layout == StackedAxes::LaterAxis(of.row_axis) => {
                    Some(Rc::new(other.tensor.clone()))
                }
                _ => None,
            };
            let tensors = inputs.iter().map(own).collect::<Option<Vec<_>>>();
            let tensors = tensors.ok_or_else(|| refused(node))?;
            let axis = of.axis(node, node.attributes.int("axis")?.unwrap_or(0))?;
            let axis = axis.ok_or_else(|| node.refuse("concatenates along the axis of rows"))?;
            let result = concatenated(node, builder, &tensors, axis as i64)?;
            Ok(Stacked::arranged(result, of.row_axis))
        }
        "Transpose" => {
            let order = order_of(node, of.tensor.rank())?;
            let row_axis = order.iter().position(|axis| *axis == of.row_axis).unwrap_or(0);
            let front = |axis: usize| if axis > of.row_axis { axis } else { axis + 1 };
            let others = order.iter().filter(|axis| **axis != of.row_axis);
            let order: Vec<usize> = others.map(|axis| front(*axis)).collect();
            Ok(Stacked::arranged(transposed(builder, of.tensor, &order)?, row_axis))
        }
        "Squeeze" | "ReduceSum" | "ReduceMean" | "ReduceMax" | "ReduceMin" | "ReduceProd" => {
            along_others(node, (name, of), builder)
        }
        _ => Err(refused(node)),
    }
}

/// The result of an operator on a flat tensor: an operation on each cell, or a reshape back to rows.
fn flat(
    node: &GraphNode,
    (name, of): (&str, &Tensor),
    inputs: &[Option<MaybeStacked>],
    builder: &mut GraphColumns,
) -> Result<MaybeStacked, ModelError> {
    match name {
        "Flatten" | "Identity" => return Ok(Stacked::with(of.clone(), StackedAxes::Flat)),
        "Reshape" => {
            let made = reshaped(of, &node.sizes(builder, 1)?);
            return made.filter(|made| matches!(made, MaybeStacked::Rows(_))).ok_or_else(|| refused(node));
        }
        _ => {}
    }
    let is_look_up = name == "Gather" && node.attributes.int("axis")?.unwrap_or(0) == 0;
    if !is_look_up && !CELL_BY_CELL.contains(&name) {
        return Err(refused(node));
    }
    let in_front = |(number, input): (usize, &Option<MaybeStacked>)| match input {
        Some(MaybeStacked::Stacked(other))
            if other.layout == StackedAxes::Flat && other.tensor.shape == of.shape =>
        {
            Some(Rc::new(other.tensor.clone()))
        }
        Some(MaybeStacked::Rows(table)) if is_look_up && number == 0 && !table.by_row => {
            (table.shape.len() == 1).then(|| Rc::clone(table))
        }
        Some(MaybeStacked::Rows(number)) if !number.by_row && number.cells.len() == 1 => {
            Some(Rc::new(number.with_shape(Vec::new())))
        }
        _ => None,
    };
    let fronts = inputs.iter().enumerate().map(in_front).collect::<Option<Vec<_>>>();
    let fronts = fronts.ok_or_else(|| refused(node))?;
    let result = with_inputs(node, name, fronts.into_iter().map(Some).collect(), builder)?;
    Ok(Stacked::with(result, StackedAxes::Flat))
}

/// A joined tensor, reshaped so that each row has the results of all models.
fn split(node: &GraphNode, builder: &GraphColumns, of: &Tensor) -> Result<MaybeStacked, ModelError> {
    let sizes = node.sizes(builder, 1)?;
    let (Some(&models), [AxisSize::Cells(count), AxisSize::Cells(-1) | AxisSize::Rows, rest @ ..]) =
        (of.shape.first(), sizes.as_slice())
    else {
        return Err(node.refuse("merges the axis of rows with another axis"));
    };
    let mut shape = vec![models];
    for size in rest {
        match size {
            AxisSize::Cells(count) if *count > 0 => shape.push(*count as usize),
            _ => return Err(node.refuse("merges the axis of rows with another axis")),
        }
    }
    match *count == models as i64 && size(&shape) == Some(of.cells.len()) {
        true => Ok(Stacked::arranged(of.with_shape(shape), 1)),
        false => Err(node.refuse("merges the axis of rows with another axis")),
    }
}

/// The result of an operator along axes other than that of rows.
fn along_others(
    node: &GraphNode,
    (name, of): (&str, LaterAxis),
    builder: &mut GraphColumns,
) -> Result<MaybeStacked, ModelError> {
    let axes = node.integers(builder, 1, "axes")?.unwrap_or_default();
    if axes.is_empty() {
        return Err(node.refuse("reduces all rows to one result"));
    }
    let (mut places, mut before) = (Vec::new(), 0);
    for axis in axes {
        let place = of.axis(node, axis)?;
        let place = place.ok_or_else(|| {
            node.refuse("works along the axis of rows, so the result of a row would depend on other rows")
        })?;
        // Axes before that of rows moved one position back when rows moved to the front.
        before += usize::from(place <= of.row_axis);
        places.push(builder.columns.constant(ColumnValue::I64(place as i64)));
    }
    let keeps = name != "Squeeze" && node.attributes.int("keepdims")?.unwrap_or(1) != 0;
    let axes = Tensor::numbers(false, vec![places.len()], TensorElement::I64, places);
    let result = on_rows(node, (name, of.tensor), vec![Some(Rc::new(axes))], builder)?;
    Ok(Stacked::arranged(result, of.row_axis - if keeps { 0 } else { before }))
}

/// The result of a node's operator on the tensor with rows in front and on more inputs.
fn on_rows(
    node: &GraphNode,
    (name, of): (&str, &Tensor),
    more: Vec<Option<Rc<Tensor>>>,
    builder: &mut GraphColumns,
) -> Result<Tensor, ModelError> {
    with_inputs(node, name, [vec![Some(Rc::new(of.clone()))], more].concat(), builder)
}

/// The result of a node's operator on other inputs.
fn with_inputs(
    node: &GraphNode,
    name: &str,
    inputs: Vec<Option<Rc<Tensor>>>,
    builder: &mut GraphColumns,
) -> Result<Tensor, ModelError> {
    let operator = operator(name, OperatorSet::Standard).ok_or_else(|| refused(node))?;
    let (label, attributes) = (node.label.clone(), node.attributes);
    let node = GraphNode { label, attributes, inputs, outputs: node.outputs };
    let results = (operator.run)(&node, builder)?;
    results.into_iter().next().ok_or_else(|| refused(&node))
}
