//! Operators that only rearrange cells.

use super::builder::GraphColumns;
use super::node::{AxisSize, GraphNode};
use super::tensor::{Cells, Outputs, Tensor, TensorElement, TextCell, places, size};
use sched_columns::{Binary, ColumnId, ColumnValue, Expr};
use sched_forest::ModelError;
use std::rc::Rc;
use std::sync::Arc;

/// A view of a tensor as a new tensor: cells from position `start` on, with these strides.
pub(super) fn moved(
    builder: &mut GraphColumns,
    of: &Tensor,
    shape: Vec<usize>,
    steps: &[usize],
    start: usize,
) -> Result<Tensor, ModelError> {
    builder.count_cells(size(&shape))?;
    let cells = of.cells.at(&places(&shape, steps, start));
    Ok(Tensor { by_row: of.by_row, shape, element: of.element, cells })
}

/// The concatenation of tensors along an axis.
pub(super) fn concatenated(
    node: &GraphNode,
    builder: &mut GraphColumns,
    tensors: &[Rc<Tensor>],
    axis: i64,
) -> Result<Tensor, ModelError> {
    let first = tensors.first().ok_or_else(|| node.refuse("has no inputs"))?;
    let by_row = tensors.iter().any(|tensor| tensor.by_row);
    let mixed = tensors.iter().any(|tensor| tensor.by_row != by_row || tensor.element != first.element);
    if mixed {
        return Err(node.refuse("joins tensors of different types, or constants with values of rows"));
    }
    let axis = match first.axis(axis) {
        Ok(Some(axis)) => axis,
        _ => return Err(node.refuse("concatenates along the axis of rows")),
    };
    let mut shape = first.shape.clone();
    shape[axis] = 0;
    for tensor in tensors {
        let same = |at: usize| at == axis || tensor.shape.get(at) == first.shape.get(at);
        if tensor.shape.len() != shape.len() || !(0..shape.len()).all(same) {
            return Err(node.refuse("joins tensors whose shapes do not match"));
        }
        shape[axis] += tensor.shape[axis];
    }
    builder.count_cells(size(&shape))?;
    // Number of consecutive cells of one tensor in the result.
    let run = |tensor: &Tensor| tensor.shape[axis..].iter().product::<usize>();
    let outer: usize = shape[..axis].iter().product();
    let (mut numbers, mut texts) = (Vec::new(), Vec::new());
    for turn in 0..outer {
        for tensor in tensors {
            let range = turn * run(tensor)..(turn + 1) * run(tensor);
            match &tensor.cells {
                Cells::Numbers(cells) => numbers.extend_from_slice(&cells[range]),
                Cells::Texts(cells) => texts.extend_from_slice(&cells[range]),
            }
        }
    }
    let cells =
        if first.element == TensorElement::Text { Cells::Texts(texts) } else { Cells::Numbers(numbers) };
    Ok(Tensor { by_row, shape, element: first.element, cells })
}

/// The inputs of a node that are not omitted.
fn inputs(node: &GraphNode) -> Vec<Rc<Tensor>> {
    node.inputs.iter().flatten().cloned().collect()
}

pub(super) fn concat(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let axis = node.attributes.int("axis")?.unwrap_or(1);
    let mut tensors = inputs(node);
    // Constants that are joined with values of rows are repeated for each row.
    let rows = tensors.iter().find(|tensor| tensor.by_row).cloned();
    if let Some(rows) = rows {
        for tensor in tensors.iter_mut().filter(|tensor| !tensor.by_row) {
            if tensor.rank() != rows.rank() || tensor.shape.first() != Some(&1) {
                return Err(node.refuse("joins a constant that has a fixed number of rows"));
            }
            let mut for_each_row = tensor.with_shape(tensor.shape[1..].to_vec());
            for_each_row.by_row = true;
            *tensor = Rc::new(for_each_row);
        }
    }
    Ok(vec![concatenated(node, builder, &tensors, axis)?])
}

pub(super) fn feature_vectorizer(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let sizes = node.ints("inputdimensions")?;
    let mut tensors = inputs(node);
    for (number, tensor) in tensors.iter_mut().enumerate() {
        let width = tensor.shape.first().copied().unwrap_or(1);
        let size = sizes.as_ref().and_then(|sizes| sizes.get(number).copied());
        if size.is_some_and(|size| usize::try_from(size) != Ok(width)) || tensor.shape.len() > 1 {
            return Err(node.refuse("truncates or pads its inputs"));
        }
        let cells = builder.cast(node.numbers(tensor)?, TensorElement::F32)?;
        *tensor = Rc::new(Tensor::numbers(tensor.by_row, vec![width], TensorElement::F32, cells));
    }
    Ok(vec![concatenated(node, builder, &tensors, 1)?])
}

/// The indices in a constant tensor, each a position along an axis of `count` cells. Negative ones count from
/// the end.
fn indices(
    node: &GraphNode,
    builder: &GraphColumns,
    tensor: &Tensor,
    count: usize,
) -> Result<Vec<usize>, ModelError> {
    let place = |value: ColumnValue| {
        let ColumnValue::I64(index) = value else { return None };
        let index = if index < 0 { index.checked_add(count as i64)? } else { index };
        usize::try_from(index).ok().filter(|index| *index < count)
    };
    let places = node.constants(builder, tensor)?.into_iter().map(place);
    places.collect::<Option<_>>().ok_or_else(|| node.refuse("asks for a column that does not exist"))
}

/// The cells of a tensor at constant positions along an axis. The axis is replaced by the axes of `indices`.
fn gathered(
    node: &GraphNode,
    builder: &mut GraphColumns,
    (of, axis): (&Tensor, usize),
    indices: &Tensor,
) -> Result<Tensor, ModelError> {
    let at = self::indices(node, builder, indices, of.shape[axis])?;
    let mut shape = of.shape[..axis].to_vec();
    shape.push(at.len());
    shape.extend(&of.shape[axis + 1..]);
    builder.count_cells(size(&shape))?;
    let steps = of.strides();
    let outer = places(&of.shape[..axis], &steps[..axis], 0);
    let inner = places(&of.shape[axis + 1..], &steps[axis + 1..], 0);
    let all = outer.iter().flat_map(|outer| {
        let inner = &inner;
        at.iter()
            .flat_map(move |index| inner.iter().map(move |inner| outer + index * steps_at(of, axis) + inner))
    });
    let cells = of.cells.at(&all.collect::<Vec<_>>());
    let mut shape = of.shape[..axis].to_vec();
    shape.extend(&indices.shape);
    shape.extend(&of.shape[axis + 1..]);
    Ok(Tensor { by_row: of.by_row, shape, element: of.element, cells })
}

fn steps_at(of: &Tensor, axis: usize) -> usize {
    of.shape[axis + 1..].iter().product()
}

pub(super) fn gather(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let (of, indices) = (node.input(0)?, node.input(1)?);
    let axis = node.axis(of, node.attributes.int("axis")?.unwrap_or(0))?;
    match indices.by_row && !of.by_row && axis == 0 {
        true => looked_up(node, builder, of, indices),
        false => Ok(vec![gathered(node, builder, (of, axis), indices)?]),
    }
}

/// Looks up entries of a table of constants by indices that depend on the row. Negative indices count from
/// the end.
fn looked_up(node: &GraphNode, builder: &mut GraphColumns, of: &Tensor, indices: &Tensor) -> Outputs {
    let Some(&count) = of.shape.first().filter(|count| **count > 0) else {
        return Err(node.refuse("looks up entries of an empty table"));
    };
    let places = places_from_start(node, builder, indices, count)?;
    if let Cells::Texts(texts) = &of.cells {
        return names_at(node, builder, texts, (indices, &places));
    }
    let values = node.constants(builder, of)?;
    let width = values.len() / count;
    let tables: Vec<Arc<[ColumnValue]>> =
        (0..width).map(|at| values.iter().skip(at).step_by(width).copied().collect()).collect();
    builder.count_cells(places.len().checked_mul(width))?;
    let mut cells = Vec::new();
    for of in places {
        for values in &tables {
            cells.push(builder.add(Expr::Pick { of, values: Arc::clone(values) })?);
        }
    }
    let shape = indices.shape.iter().chain(&of.shape[1..]).copied().collect();
    Ok(vec![Tensor::numbers(true, shape, of.element, cells)])
}

/// Indices that depend on the row, with negative ones converted to positions in a table of `count` entries.
fn places_from_start(
    node: &GraphNode,
    builder: &mut GraphColumns,
    indices: &Tensor,
    count: usize,
) -> Result<Vec<ColumnId>, ModelError> {
    let [zero, length] = [0, count as i64].map(|number| builder.columns.constant(ColumnValue::I64(number)));
    let mut places = Vec::new();
    for index in builder.cast(node.numbers(indices)?, TensorElement::I64)? {
        let condition = builder.add(Expr::Binary(Binary::Less, index, zero))?;
        let then = builder.add(Expr::Binary(Binary::Add, index, length))?;
        places.push(builder.add(Expr::Select { condition, then, otherwise: index })?);
    }
    Ok(places)
}

/// The texts at positions of a table of texts.
fn names_at(
    node: &GraphNode,
    builder: &mut GraphColumns,
    names: &[TextCell],
    (indices, places): (&Tensor, &[ColumnId]),
) -> Outputs {
    let known = |text: &TextCell| match text {
        TextCell::Known(text) => Ok(Rc::clone(text)),
        TextCell::ByCode(_) => Err(node.refuse("looks up texts in a table that the graph computes")),
    };
    let names = names.iter().map(known).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    let places = builder.cast(places, TensorElement::F64)?;
    let texts = places.into_iter().map(|place| builder.texts_of(place, &names, ""));
    let cells = Cells::Texts(texts.collect::<Result<_, _>>()?);
    Ok(vec![Tensor { by_row: true, shape: indices.shape.clone(), element: TensorElement::Text, cells }])
}

pub(super) fn array_feature_extractor(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let (of, indices) = (node.input(0)?, node.input(1)?);
    if indices.by_row && !of.by_row {
        if of.shape.last() != Some(&of.cells.len()) {
            return Err(node.refuse("takes several rows of a table for each row"));
        }
        let entries = of.with_shape(vec![of.cells.len()]);
        return looked_up(node, builder, &entries, indices);
    }
    let flat = Tensor { shape: vec![indices.cells.len()], ..Tensor::clone(indices) };
    let axis = node.axis(of, -1)?;
    Ok(vec![gathered(node, builder, (of, axis), &flat)?])
}

pub(super) fn slice(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let lacks = || node.refuse("lacks its starts or ends");
    let starts = node.integers(builder, 1, "starts")?.ok_or_else(lacks)?;
    let ends = node.integers(builder, 2, "ends")?.ok_or_else(lacks)?;
    let axes = node.integers(builder, 3, "axes")?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = node.integers(builder, 4, "steps")?.unwrap_or_else(|| vec![1; starts.len()]);
    if [ends.len(), axes.len(), steps.len()].iter().any(|length| *length != starts.len()) {
        return Err(node.refuse("has different numbers of starts, ends, axes and steps"));
    }
    let (mut shape, mut strides, mut first) = (of.shape.clone(), of.strides(), 0);
    for (at, axis) in axes.iter().enumerate() {
        let axis = node.axis(of, *axis)?;
        let (count, step) = (of.shape[axis] as i64, steps[at]);
        if step < 1 {
            return Err(node.refuse("has steps that are not positive"));
        }
        let bound = |bound: i64| if bound < 0 { bound.saturating_add(count) } else { bound }.clamp(0, count);
        let (start, end) = (bound(starts[at]), bound(ends[at]));
        shape[axis] = (end - start).max(0).unsigned_abs().div_ceil(step.unsigned_abs()) as usize;
        first += start as usize * strides[axis];
        strides[axis] = strides[axis].saturating_mul(step as usize);
    }
    Ok(vec![moved(builder, of, shape, &strides, first)?])
}

pub(super) fn split(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let axis = node.axis(of, node.attributes.int("axis")?.unwrap_or(0))?;
    let count = of.shape[axis];
    let sizes = match node.integers(builder, 1, "split")? {
        Some(sizes) => sizes.into_iter().map(|size| usize::try_from(size).unwrap_or(usize::MAX)).collect(),
        None => {
            let each = count.div_ceil(node.outputs.max(1));
            let left = |part: usize| count.saturating_sub(part * each).min(each);
            (0..node.outputs).map(left).collect::<Vec<_>>()
        }
    };
    let total = sizes.iter().try_fold(0_usize, |sum, size| sum.checked_add(*size));
    if total != Some(count) {
        return Err(node.refuse("has sizes of parts that do not add up to the size of the axis"));
    }
    let (strides, mut start, mut parts) = (of.strides(), 0, Vec::new());
    for size in sizes {
        let mut shape = of.shape.clone();
        shape[axis] = size;
        parts.push(moved(builder, of, shape, &strides, start * strides[axis])?);
        start += size;
    }
    Ok(parts)
}

pub(super) fn transpose(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let rank = of.rank();
    let order = node.ints("perm")?.unwrap_or_else(|| (0..rank as i64).rev().collect());
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted != (0..rank as i64).collect::<Vec<_>>() {
        return Err(node.refuse("has axes that do not exist"));
    }
    if of.by_row && order[0] != 0 {
        return Err(node.refuse("moves the axis of rows"));
    }
    let skipped = usize::from(of.by_row);
    let axes: Vec<usize> = order[skipped..].iter().map(|axis| *axis as usize - skipped).collect();
    let steps = of.strides();
    let pick = |from: &[usize]| axes.iter().map(|axis| from[*axis]).collect::<Vec<_>>();
    Ok(vec![moved(builder, of, pick(&of.shape), &pick(&steps), 0)?])
}

/// The tensor with another shape and the same order of cells.
fn reshaped(node: &GraphNode, of: &Tensor, wanted: &[i64]) -> Outputs {
    let cells = of.cells.len();
    let mut wanted: Vec<i64> = wanted.to_vec();
    for (axis, size) in wanted.iter_mut().enumerate().filter(|(_, size)| **size == 0) {
        match (of.by_row, axis) {
            (true, 0) => *size = -2,
            _ => {
                let own = of.shape.get(axis - usize::from(of.by_row));
                *size = *own.ok_or_else(|| node.refuse("keeps an axis that does not exist"))? as i64;
            }
        }
    }
    // The axis of rows stays the first, or its size follows from all others.
    let others = |wanted: &[i64]| {
        let sizes = wanted.iter().map(|size| usize::try_from(*size).ok());
        sizes.collect::<Option<Vec<_>>>().filter(|sizes| size(sizes) == Some(cells))
    };
    let shape = match wanted.as_slice() {
        [-1, rest @ ..] if of.by_row && others(rest).is_some() => others(rest),
        [-2, rest @ ..] => resolved_shape(rest, cells),
        _ if of.by_row => None,
        all => resolved_shape(all, cells),
    };
    let shape = shape.ok_or_else(|| {
        node.refuse(match of.by_row {
            true => "moves values between rows, or needs another number of values in each row",
            false => "needs another number of values",
        })
    })?;
    Ok(vec![of.with_shape(shape)])
}

/// A shape of `cells` cells. A size of -1 is computed from the others. `None` if the shape does not fit.
fn resolved_shape(wanted: &[i64], cells: usize) -> Option<Vec<usize>> {
    let known = wanted.iter().filter(|size| **size >= 0).map(|size| *size as usize).collect::<Vec<_>>();
    let rest = size(&known)?;
    let missing = wanted.iter().filter(|size| **size == -1).count();
    let fits = match missing {
        0 => rest == cells,
        1 => rest > 0 && cells.is_multiple_of(rest),
        _ => false,
    };
    let axis = |size: &i64| if *size == -1 { cells / rest } else { *size as usize };
    (fits && wanted.iter().all(|size| *size >= -1)).then(|| wanted.iter().map(axis).collect())
}

pub(super) fn reshape(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let sizes = match node.optional(1) {
        Some(_) => node.sizes(builder, 1)?,
        None => {
            let sizes = node.ints("shape")?.ok_or_else(|| node.refuse("lacks a shape"))?;
            sizes.into_iter().map(AxisSize::Cells).collect()
        }
    };
    if node.attributes.int("allowzero")?.unwrap_or(0) != 0 && sizes.contains(&AxisSize::Cells(0)) {
        return Err(node.refuse("makes an empty tensor"));
    }
    let kept = |(axis, size): (usize, AxisSize)| match size {
        AxisSize::Cells(count) => Ok(count),
        // A size of 0 means that the axis keeps its size.
        AxisSize::Rows if of.by_row && axis == 0 => Ok(0),
        AxisSize::Rows => Err(node.refuse("moves values between rows")),
    };
    let wanted = sizes.into_iter().enumerate().map(kept).collect::<Result<Vec<_>, _>>()?;
    reshaped(node, of, &wanted)
}

pub(super) fn flatten(node: &GraphNode, _: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    match (of.by_row, node.attributes.int("axis")?.unwrap_or(1)) {
        (true, 1) => Ok(vec![of.with_shape(vec![of.cells.len()])]),
        _ => Err(node.refuse("merges the axis of rows with another axis")),
    }
}

pub(super) fn squeeze(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let axes = match node.integers(builder, 1, "axes")? {
        Some(axes) => axes.into_iter().map(|axis| node.axis(of, axis)).collect::<Result<Vec<_>, _>>()?,
        None => (0..of.shape.len()).filter(|axis| of.shape[*axis] == 1).collect(),
    };
    if axes.iter().any(|axis| of.shape[*axis] != 1) {
        return Err(node.refuse("drops an axis whose size is not 1"));
    }
    let kept = (0..of.shape.len()).filter(|axis| !axes.contains(axis));
    Ok(vec![of.with_shape(kept.map(|axis| of.shape[axis]).collect())])
}

pub(super) fn unsqueeze(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let axes = node.integers(builder, 1, "axes")?.ok_or_else(|| node.refuse("lacks axes"))?;
    let rank = (of.rank() + axes.len()) as i64;
    let mut new: Vec<i64> = axes.into_iter().map(|axis| if axis < 0 { axis + rank } else { axis }).collect();
    new.sort_unstable();
    let mut shape: Vec<usize> = of.shape.clone();
    for axis in new {
        let place = usize::try_from(axis).ok().and_then(|axis| axis.checked_sub(usize::from(of.by_row)));
        match place {
            Some(place) if place <= shape.len() => shape.insert(place, 1),
            _ => return Err(node.refuse("puts an axis before that of rows, or beyond the last one")),
        }
    }
    Ok(vec![of.with_shape(shape)])
}
