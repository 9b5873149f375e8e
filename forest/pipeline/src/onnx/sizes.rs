//! The operators Shape, ConstantOfShape, Expand and Tile. The number of rows is symbolic ([`AxisSize::Rows`])
//! and only allowed as the first axis.

use super::builder::GraphColumns;
use super::constant::constant_tensor;
use super::node::{AxisSize, GraphNode};
use super::shape::moved;
use super::tensor::{Cells, Outputs, Tensor, TensorElement, size};
use sched_columns::ColumnValue;
use sched_forest::ModelError;

/// `Shape`: the sizes of a tensor's axes.
pub(super) fn shape(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let mut sizes = Vec::with_capacity(of.rank());
    if of.by_row {
        sizes.push(builder.row_count()?);
    }
    for count in &of.shape {
        sizes.push(builder.columns.constant(ColumnValue::I64(*count as i64)));
    }
    let rank = sizes.len() as i64;
    let place = |axis: i64| if axis < 0 { axis + rank } else { axis }.clamp(0, rank) as usize;
    let start = place(node.attributes.int("start")?.unwrap_or(0));
    let end = place(node.attributes.int("end")?.unwrap_or(rank));
    let cells = sizes.get(start..end).unwrap_or_default().to_vec();
    Ok(vec![Tensor::numbers(false, vec![cells.len()], TensorElement::I64, cells)])
}

/// A shape whose sizes are constants, but the first may be the number of rows.
struct Sizes {
    by_row: bool,
    /// The sizes of all axes but that of rows.
    shape: Vec<usize>,
}

impl Sizes {
    /// Reads a shape from the values of an input.
    fn read(node: &GraphNode, builder: &GraphColumns, input: usize) -> Result<Sizes, ModelError> {
        let sizes = node.sizes(builder, input)?;
        let by_row = sizes.first() == Some(&AxisSize::Rows);
        let count = |size: &AxisSize| match size {
            AxisSize::Cells(count) => usize::try_from(*count).map_err(|_| node.refuse("has a negative size")),
            AxisSize::Rows => Err(node.refuse("has rows along another axis than the first one")),
        };
        let shape = sizes[usize::from(by_row)..].iter().map(count).collect::<Result<_, _>>()?;
        Ok(Sizes { by_row, shape })
    }
}

/// `ConstantOfShape`: a tensor of this shape whose cells have one value.
pub(super) fn constant_of_shape(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let Sizes { by_row, shape } = Sizes::read(node, builder, 0)?;
    let (element, cell) = match node.attributes.tensor("value")? {
        None => (TensorElement::F32, builder.columns.constant(ColumnValue::F32(0.0))),
        Some(tensor) => {
            let value = constant_tensor(builder, tensor)?;
            match node.numbers(&value)? {
                [cell] => (value.element, *cell),
                _ => return Err(node.refuse("has more than one value")),
            }
        }
    };
    let count = builder.count_cells(size(&shape))?;
    Ok(vec![Tensor::numbers(by_row, shape, element, vec![cell; count])])
}

/// `Expand`: a tensor broadcast to a shape.
pub(super) fn expand(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let Sizes { by_row, shape } = Sizes::read(node, builder, 1)?;
    let target = Tensor::numbers(by_row, shape, of.element, Vec::new());
    let shared = node.broadcast(builder, &[of, &target])?;
    let cells = of.cells.at(&shared.places[0]);
    Ok(vec![Tensor { by_row: shared.by_row, shape: shared.shape, element: of.element, cells }])
}

/// `Tile`: a tensor repeated along its axes.
pub(super) fn tile(node: &GraphNode, builder: &mut GraphColumns) -> Outputs {
    let of = node.input(0)?;
    let repeats = node.sizes(builder, 1)?;
    if repeats.len() != of.rank() {
        return Err(node.refuse("repeats axes that its input does not have"));
    }
    // A constant that is repeated for each row becomes a value of rows.
    let becomes_row = !of.by_row && repeats.first() == Some(&AxisSize::Rows) && of.shape[0] == 1;
    let of = match becomes_row {
        true => &Tensor { by_row: true, shape: of.shape[1..].to_vec(), ..Tensor::clone(of) },
        false => of,
    };
    let own = match (of.by_row, &repeats[..usize::from(of.by_row)]) {
        (true, [AxisSize::Cells(1)]) => &repeats[1..],
        (true, _) if becomes_row => &repeats[1..],
        (true, _) => return Err(node.refuse("repeats rows")),
        (false, _) => &repeats[..],
    };
    let (mut shape, mut steps, mut tiled) = (Vec::new(), Vec::new(), Vec::new());
    for ((count, step), repeats) in of.shape.iter().zip(of.strides()).zip(own) {
        let repeats = match repeats {
            AxisSize::Cells(repeats) => usize::try_from(*repeats).ok(),
            AxisSize::Rows => None,
        };
        let repeats = repeats
            .ok_or_else(|| node.refuse("repeats values along another axis as often as there are rows"))?;
        shape.extend([repeats, *count]);
        steps.extend([0, step]);
        tiled.push(count.checked_mul(repeats).unwrap_or(usize::MAX));
    }
    let repeated = moved(builder, of, shape, &steps, 0)?;
    Ok(vec![repeated.with_shape(tiled)])
}

impl GraphNode<'_> {
    /// The sizes in an input that is a shape.
    ///
    /// # Errors
    /// `M0040` if a size is neither a constant nor the number of rows.
    pub fn sizes(&self, builder: &GraphColumns, input: usize) -> Result<Vec<AxisSize>, ModelError> {
        let Cells::Numbers(cells) = &self.input(input)?.cells else {
            return Err(self.refuse("has texts as a shape"));
        };
        let is_list = !self.input(input)?.by_row && self.input(input)?.shape.len() <= 1;
        let read =
            |cell| match builder.constant(cell) {
                _ if builder.is_row_count(cell) => Ok(AxisSize::Rows),
                Some(ColumnValue::I64(count)) => Ok(AxisSize::Cells(count)),
                Some(_) => Err(self.refuse("has a parameter that is not a whole number")),
                None => Err(self
                    .refuse("has a parameter that is computed from the rows; only constants are supported")),
            };
        match is_list {
            true => cells.iter().map(|cell| read(*cell)).collect(),
            false => {
                Err(self
                    .refuse("has a parameter that is computed from the rows; only constants are supported"))
            }
        }
    }
}
