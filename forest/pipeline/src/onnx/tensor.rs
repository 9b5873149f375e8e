//! Tensors: the values of a graph. Their first axis can be the axis of rows.

use sched_columns::{ColumnId, ColumnType};
use sched_forest::ModelError;
use sched_forest::onnx::element;
use std::rc::Rc;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TensorElement {
    F32,
    F64,
    I32,
    I64,
    Bool,
    Text,
}

impl TensorElement {
    /// The type with this number in files, if it is supported.
    pub fn of_code(code: i64) -> Option<TensorElement> {
        match code {
            element::FLOAT => Some(TensorElement::F32),
            element::DOUBLE => Some(TensorElement::F64),
            element::INT32 => Some(TensorElement::I32),
            element::INT64 => Some(TensorElement::I64),
            element::BOOL => Some(TensorElement::Bool),
            element::STRING => Some(TensorElement::Text),
            _ => None,
        }
    }

    /// The type of columns that hold these elements; `None` for texts.
    pub fn column_type(self) -> Option<ColumnType> {
        match self {
            TensorElement::F32 => Some(ColumnType::F32),
            TensorElement::F64 => Some(ColumnType::F64),
            TensorElement::I32 | TensorElement::I64 => Some(ColumnType::I64),
            TensorElement::Bool => Some(ColumnType::Bool),
            TensorElement::Text => None,
        }
    }

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            TensorElement::F32 => "float",
            TensorElement::F64 => "double",
            TensorElement::I32 => "int32",
            TensorElement::I64 => "int64",
            TensorElement::Bool => "bool",
            TensorElement::Text => "string",
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, TensorElement::F32 | TensorElement::F64)
    }
}

/// A tensor of columns: constant, or with values for each row.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    /// Whether the first axis is the axis of rows, which `shape` omits.
    pub by_row: bool,
    /// The number of cells along each axis.
    pub shape: Vec<usize>,
    pub element: TensorElement,
    pub cells: Cells,
}

/// The outputs of a node, or the reason why it is refused.
pub(super) type Outputs = Result<Vec<Tensor>, ModelError>;

/// The column of a formula's result, or the reason why the formula is refused.
pub(super) type ColumnResult = Result<ColumnId, ModelError>;

/// The cells of a tensor, the last axis fastest.
#[derive(Clone, Debug)]
pub(super) enum Cells {
    Numbers(Vec<ColumnId>),
    Texts(Vec<TextCell>),
}

/// A text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TextCell {
    /// A constant text of the file.
    Known(Rc<str>),
    /// A text of the row: this column holds its code in a list of names.
    ByCode(ColumnId),
}

impl Cells {
    pub fn len(&self) -> usize {
        match self {
            Cells::Numbers(cells) => cells.len(),
            Cells::Texts(cells) => cells.len(),
        }
    }

    /// The cells at these positions.
    pub fn at(&self, places: &[usize]) -> Cells {
        match self {
            Cells::Numbers(cells) => Cells::Numbers(places.iter().map(|&place| cells[place]).collect()),
            Cells::Texts(cells) => Cells::Texts(places.iter().map(|&place| cells[place].clone()).collect()),
        }
    }
}

impl Tensor {
    pub fn numbers(by_row: bool, shape: Vec<usize>, element: TensorElement, cells: Vec<ColumnId>) -> Tensor {
        Tensor { by_row, shape, element, cells: Cells::Numbers(cells) }
    }

    /// The number of axes in the file, including that of rows.
    pub fn rank(&self) -> usize {
        self.shape.len() + usize::from(self.by_row)
    }

    /// The position in `shape` of an axis of the file. Negative axes count from the end. `Ok(None)` for the
    /// axis of rows.
    ///
    /// # Errors
    /// If there is no such axis.
    pub fn axis(&self, axis: i64) -> Result<Option<usize>, String> {
        let rank = self.rank() as i64;
        let from_start = if axis < 0 { axis + rank } else { axis };
        if !(0..rank).contains(&from_start) {
            return Err(format!("names axis {axis} of a tensor with {rank} axes"));
        }
        Ok((from_start as usize).checked_sub(usize::from(self.by_row)))
    }

    /// The tensor with another shape, which must have the same number of cells.
    pub fn with_shape(&self, shape: Vec<usize>) -> Tensor {
        Tensor { shape, ..self.clone() }
    }

    /// The distance between neighbouring cells along each axis.
    pub fn strides(&self) -> Vec<usize> {
        strides(&self.shape)
    }
}

/// The distance between neighbouring cells along each axis.
pub(super) fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (0..shape.len().saturating_sub(1)).rev() {
        strides[axis] = strides[axis + 1] * shape[axis + 1];
    }
    strides
}

/// The number of cells of a shape; `None` if it overflows.
pub(super) fn size(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1_usize, |size, axis| size.checked_mul(*axis))
}

/// The position of each cell of `shape`, in order, in a tensor with these strides. A stride of 0 repeats
/// cells.
pub(super) fn places(shape: &[usize], steps: &[usize], start: usize) -> Vec<usize> {
    let mut places = vec![start];
    for (count, step) in shape.iter().zip(steps) {
        places = places.iter().flat_map(|place| (0..*count).map(move |at| place + at * step)).collect();
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_go_through_all_axes() {
        assert_eq!(strides(&[2, 3, 4]), [12, 4, 1]);
        assert_eq!(places(&[2, 2], &[0, 1], 5), [5, 6, 5, 6]);
        assert_eq!(places(&[2, 3], &[1, 2], 0), [0, 2, 4, 1, 3, 5]);
        assert_eq!(size(&[usize::MAX, 2]), None);
    }
}
