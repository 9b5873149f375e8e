//! Results of several models, stacked on each other: tensors whose axis of rows is not the first one.
//!
//! Exporters average the results of several models as `[models, rows, results]`. Few operators work on such
//! tensors. Here the axis of rows is moved to the front, and the operator works on what is left.

use super::builder::GraphColumns;
use super::node::{GraphNode, Size};
use super::operators::{OperatorSet, operator};
use super::shape::{concatenated, moved};
use super::tensor::{Element, Tensor, size};
use sched_columns::ColumnValue;
use sched_forest::ModelError;
use std::rc::Rc;

/// A tensor of rows whose first axis in the file is another one.
#[derive(Clone, Debug)]
pub(super) struct Stacked {
    /// The values with the axis of rows in front.
    tensor: Tensor,
    /// The place of the axis of rows in the file.
    row_axis: usize,
    /// Whether the file has one axis for both the first axis of `tensor` and that of rows: the rows of one
    /// model, then those of the next.
    is_joined: bool,
}

/// A tensor of rows, or a stacked one.
#[derive(Clone)]
pub(super) enum Arranged {
    Rows(Rc<Tensor>),
    Stacked(Rc<Stacked>),
}

impl Stacked {
    /// The tensor with its axis of rows at a place of the file.
    pub fn arranged(tensor: Tensor, row_axis: usize) -> Arranged {
        match row_axis {
            0 => Arranged::Rows(Rc::new(tensor)),
            _ => Arranged::Stacked(Rc::new(Stacked { tensor, row_axis, is_joined: false })),
        }
    }

    /// The number of axes in the file.
    fn rank(&self) -> usize {
        self.tensor.rank() - usize::from(self.is_joined)
    }

    /// The place of an axis of the file, as the tensor with rows in front has it. None for the axis of rows.
    ///
    /// # Errors
    /// `M0040` if there is no such axis.
    fn axis(&self, node: &GraphNode, axis: i64) -> Result<Option<usize>, ModelError> {
        let rank = self.rank() as i64;
        let from_start = if axis < 0 { axis + rank } else { axis };
        if !(0..rank).contains(&from_start) {
            return Err(node.refuse(&format!("asks for axis {axis} of {rank}")));
        }
        let place = from_start as usize;
        Ok((place != self.row_axis).then_some(if place > self.row_axis { place } else { place + 1 }))
    }
}

/// The stacked result of an operator on rows; none if the result has its rows in front, or is refused.
///
/// # Errors
/// `M0040` for parameters that are no constants.
pub(super) fn stacking(
    node: &GraphNode,
    name: &str,
    builder: &mut GraphColumns,
) -> Result<Option<Arranged>, ModelError> {
    let Some(of) = node.optional(0).filter(|of| of.by_row) else { return Ok(None) };
    match name {
        "Reshape" if node.optional(1).is_some() => {
            let made = reshaped(of, &node.sizes(builder, 1)?);
            Ok(made.filter(|made| matches!(made, Arranged::Stacked(_))))
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
        _ => Ok(None),
    }
}

/// The result of rows and a single number with more axes, all of one cell.
fn with_number(
    node: &GraphNode,
    name: &str,
    builder: &mut GraphColumns,
) -> Result<Option<Arranged>, ModelError> {
    let (of, number) = (node.input(0)?, node.input(1)?);
    let more = number.rank().checked_sub(of.rank()).filter(|more| *more > 0);
    let Some(more) = more.filter(|_| !number.by_row && number.cells.len() == 1) else { return Ok(None) };
    let number = Some(Rc::new(number.with_shape(Vec::new())));
    let result = on_rows(node, (name, of), vec![number], builder)?;
    let shape = [vec![1; more], result.shape.clone()].concat();
    Ok(Some(Stacked::arranged(result.with_shape(shape), more)))
}

/// A tensor of the shape `[1, .., rows, ..]`. None for other shapes.
fn reshaped(of: &Tensor, sizes: &[Size]) -> Option<Arranged> {
    let is_rows = |size: &Size| matches!(size, Size::Rows | Size::Cells(-1));
    let row_axis = sizes.iter().position(is_rows)?;
    let count = |size: &Size| match size {
        Size::Cells(count) => usize::try_from(*count).ok().filter(|count| *count > 0),
        Size::Rows => None,
    };
    let others = sizes[..row_axis].iter().chain(&sizes[row_axis + 1..]);
    let shape: Vec<usize> = others.map(count).collect::<Option<_>>()?;
    let fits = shape[..row_axis].iter().all(|count| *count == 1) && size(&shape) == Some(of.cells.len());
    fits.then(|| Stacked::arranged(of.with_shape(shape), row_axis))
}

/// A tensor with new axes before that of rows.
fn unsqueezed(node: &GraphNode, of: &Tensor, builder: &GraphColumns) -> Result<Option<Arranged>, ModelError> {
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

/// The rows of one tensor, then those of the next: tensors of one shape along the axis of rows.
fn joined(node: &GraphNode, builder: &mut GraphColumns) -> Result<Option<Arranged>, ModelError> {
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
    builder.spend(Some(cells.len()))?;
    let shape = [&[tensors.len()], first.shape.as_slice()].concat();
    let tensor = Tensor::numbers(true, shape, first.element, cells);
    Ok(Some(Arranged::Stacked(Rc::new(Stacked { tensor, row_axis: 0, is_joined: true }))))
}

/// The order of axes that a node asks for.
fn order_of(node: &GraphNode, rank: usize) -> Result<Vec<usize>, ModelError> {
    let order = node.ints("perm")?.unwrap_or_else(|| (0..rank as i64).rev().collect());
    let mut sorted = order.clone();
    sorted.sort_unstable();
    match sorted == (0..rank as i64).collect::<Vec<_>>() {
        true => Ok(order.into_iter().map(|axis| axis as usize).collect()),
        false => Err(node.refuse("has axes that do not exist")),
    }
}

/// The axes but that of rows, which is axis 0, in another order.
fn transposed(builder: &mut GraphColumns, of: &Tensor, order: &[usize]) -> Result<Tensor, ModelError> {
    let axes: Vec<usize> = order.iter().filter_map(|axis| axis.checked_sub(1)).collect();
    let pick = |from: &[usize]| axes.iter().map(|axis| from[*axis]).collect::<Vec<_>>();
    moved(builder, of, pick(&of.shape), &pick(&of.strides()), 0)
}

/// The result of an operator whose first input is stacked. `inputs` are its inputs in their order.
///
/// # Errors
/// `M0040` for operators that do not work on such tensors.
pub(super) fn run(
    node: &GraphNode,
    name: &str,
    inputs: &[Option<Arranged>],
    builder: &mut GraphColumns,
) -> Result<Arranged, ModelError> {
    let refuse = || node.refuse("works on rows along another axis than the first one");
    let Some(Some(Arranged::Stacked(of))) = inputs.first() else { return Err(refuse()) };
    match name {
        "Reshape" if of.is_joined => split(node, builder, of),
        "Reshape" if of.tensor.shape[..of.row_axis].iter().all(|count| *count == 1) => {
            reshaped(&of.tensor, &node.sizes(builder, 1)?).ok_or_else(refuse)
        }
        _ if of.is_joined => Err(node.refuse("works on rows behind rows")),
        "Identity" | "Cast" => {
            let result = on_rows(node, (name, &of.tensor), Vec::new(), builder)?;
            Ok(Stacked::arranged(result, of.row_axis))
        }
        "Concat" => {
            let own = |input: &Option<Arranged>| match input {
                Some(Arranged::Stacked(other)) if !other.is_joined && other.row_axis == of.row_axis => {
                    Some(Rc::new(other.tensor.clone()))
                }
                _ => None,
            };
            let tensors: Vec<Rc<Tensor>> =
                inputs.iter().map(own).collect::<Option<_>>().ok_or_else(refuse)?;
            let axis = of.axis(node, node.attributes.int("axis")?.unwrap_or(0))?;
            let axis = axis.ok_or_else(|| node.refuse("appends rows to rows"))?;
            let result = concatenated(node, builder, &tensors, axis as i64)?;
            Ok(Stacked::arranged(result, of.row_axis))
        }
        "Transpose" => {
            let order = order_of(node, of.rank())?;
            let row_axis = order.iter().position(|axis| *axis == of.row_axis).unwrap_or(0);
            let front = |axis: usize| if axis > of.row_axis { axis } else { axis + 1 };
            let others = order.iter().filter(|axis| **axis != of.row_axis);
            let order: Vec<usize> = others.map(|axis| front(*axis)).collect();
            Ok(Stacked::arranged(transposed(builder, &of.tensor, &order)?, row_axis))
        }
        "Squeeze" | "ReduceSum" | "ReduceMean" | "ReduceMax" | "ReduceMin" | "ReduceProd" => {
            along_others(node, (name, of), builder)
        }
        _ => Err(refuse()),
    }
}

/// The rows of several models, side by side.
fn split(node: &GraphNode, builder: &GraphColumns, of: &Stacked) -> Result<Arranged, ModelError> {
    let sizes = node.sizes(builder, 1)?;
    let (Some(&models), [Size::Cells(count), Size::Cells(-1) | Size::Rows, rest @ ..]) =
        (of.tensor.shape.first(), sizes.as_slice())
    else {
        return Err(node.refuse("joins rows"));
    };
    let mut shape = vec![models];
    for size in rest {
        match size {
            Size::Cells(count) if *count > 0 => shape.push(*count as usize),
            _ => return Err(node.refuse("joins rows")),
        }
    }
    match *count == models as i64 && size(&shape) == Some(of.tensor.cells.len()) {
        true => Ok(Stacked::arranged(of.tensor.with_shape(shape), 1)),
        false => Err(node.refuse("joins rows")),
    }
}

/// An operator along axes that are not of rows.
fn along_others(
    node: &GraphNode,
    (name, of): (&str, &Stacked),
    builder: &mut GraphColumns,
) -> Result<Arranged, ModelError> {
    let axes = node.integers(builder, 1, "axes")?.unwrap_or_default();
    if axes.is_empty() {
        return Err(node.refuse("takes one result of all rows"));
    }
    let (mut places, mut before) = (Vec::new(), 0);
    for axis in axes {
        let place = of.axis(node, axis)?;
        let place = place.ok_or_else(|| {
            node.refuse("works along the axis of rows, so that rows would depend on others")
        })?;
        // Axes before that of rows have moved by one.
        before += usize::from(place <= of.row_axis);
        places.push(builder.columns.constant(ColumnValue::I64(place as i64)));
    }
    let keeps = name != "Squeeze" && node.attributes.int("keepdims")?.unwrap_or(1) != 0;
    let axes = Tensor::numbers(false, vec![places.len()], Element::I64, places);
    let result = on_rows(node, (name, &of.tensor), vec![Some(Rc::new(axes))], builder)?;
    Ok(Stacked::arranged(result, of.row_axis - if keeps { 0 } else { before }))
}

/// The result of a node's operator on the tensor with rows in front.
fn on_rows(
    node: &GraphNode,
    (name, of): (&str, &Tensor),
    more: Vec<Option<Rc<Tensor>>>,
    builder: &mut GraphColumns,
) -> Result<Tensor, ModelError> {
    let refuse = || node.refuse("works on rows along another axis than the first one");
    let operator = operator(name, OperatorSet::Standard).ok_or_else(refuse)?;
    let inputs = [vec![Some(Rc::new(of.clone()))], more].concat();
    let on_rows =
        GraphNode { label: node.label.clone(), attributes: node.attributes, inputs, outputs: node.outputs };
    let results = (operator.run)(&on_rows, builder)?;
    results.into_iter().next().ok_or_else(refuse)
}
