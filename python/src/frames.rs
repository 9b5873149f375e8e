//! Columns of frames: blocks of pandas, and batches of Arrow streams.

use crate::arrow::{ArrowColumn, ColumnFormat, TableBatch, TableStream};
use crate::columns::{ColumnBuffers, kind_of_elements, start};
use numpy::{PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use sched_library::{ColumnType, Dtype, RawColumn};
use std::collections::HashMap;
use std::ffi::c_void;

/// Columns of one type in an array of two dimensions whose first axis is the columns, as in pandas; one
/// column in an array of one dimension; a column with its validity; or an object that exports one array as an
/// Arrow stream.
pub enum Block<'py> {
    Array(Bound<'py, PyUntypedArray>),
    Column(ColumnBuffers<'py>),
    Arrow(ArrowColumn),
}

impl<'py> FromPyObject<'_, 'py> for Block<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Block<'py>> {
        if let Ok(array) = object.cast::<PyUntypedArray>() {
            return Ok(Block::Array(array.to_owned()));
        }
        if object.is_instance_of::<PyTuple>() {
            return object.extract().map(Block::Column);
        }
        let capsule = object.call_method0(intern!(object.py(), "__arrow_c_stream__"))?;
        ArrowColumn::of(&capsule).map(Block::Arrow)
    }
}

/// The place of each feature's column: the number of its block, and the position in that block. The number -1
/// is a feature that is absent.
pub struct Places<'py> {
    /// For each feature the number of the block.
    pub blocks: Bound<'py, PyArray1<i64>>,
    /// For each feature the position in the block.
    pub positions: Bound<'py, PyArray1<i64>>,
}

/// The columns of the features of a frame. A block of None has no columns of features. None if a block has
/// elements of a type that no library reads, or the places do not fit the blocks.
pub fn columns_of_blocks(
    blocks: &[Option<Block<'_>>],
    places: &Places<'_>,
    rows: usize,
) -> Option<Vec<RawColumn>> {
    // The first value of each block, the type, and the distances of columns and of rows in bytes.
    let mut firsts = Vec::with_capacity(blocks.len());
    for block in blocks {
        firsts.push(match block {
            None => None,
            Some(Block::Array(array)) => {
                let kind = kind_of_elements(array)?;
                let (count, have, by_column, by_row) = match (array.shape(), array.strides()) {
                    (&[rows], &[by_row]) => (1, rows, 0, by_row),
                    (&[count, rows], &[by_column, by_row]) => (count, rows, by_column, by_row),
                    _ => return None,
                };
                if have != rows || (rows > 1 && by_row == 0) {
                    return None;
                }
                let stride = if rows <= 1 { 0 } else { by_row as i64 };
                Some((count, RawColumn::of(start(array), kind, stride), by_column))
            }
            Some(Block::Column(column)) => Some((1, column.column(rows).ok()?, 0)),
            Some(Block::Arrow(column)) => Some((1, column.column(rows)?, 0)),
        });
    }
    let (numbers, positions) = (places.blocks.try_readonly().ok()?, places.positions.try_readonly().ok()?);
    let places = numbers.as_slice().ok()?.iter().zip(positions.as_slice().ok()?);
    let column = |(block, position): (&i64, &i64)| {
        if *block < 0 {
            return Some(RawColumn::ABSENT);
        }
        let (count, first, by_column) = firsts.get(usize::try_from(*block).ok()?)?.as_ref()?;
        let position = usize::try_from(*position).ok().filter(|position| position < count)?;
        let offset = by_column.checked_mul(position as isize)?;
        let values = first.values.cast::<u8>().wrapping_offset(offset).cast();
        Some(RawColumn { values, ..*first })
    };
    places.map(column).collect()
}

/// Rows in row-major order that columns of one type make up, for a single row: the address of the first
/// value, and the type.
pub fn as_packed_row(columns: &[RawColumn]) -> Option<(*const c_void, Dtype)> {
    let first = columns.first()?;
    let kind = match first.kind {
        kind if kind == ColumnType::F32 as i32 => Dtype::F32,
        kind if kind == ColumnType::F64 as i32 => Dtype::F64,
        _ => return None,
    };
    let bytes = if kind == Dtype::F32 { 4 } else { 8 };
    let is_next = |(at, column): (usize, &RawColumn)| {
        let place = first.values.cast::<u8>().wrapping_offset(bytes * at as isize).cast();
        column.kind == first.kind && column.validity.is_null() && column.values == place
    };
    let aligned = (first.values as usize).is_multiple_of(bytes as usize) && !first.values.is_null();
    (aligned && columns.iter().enumerate().all(is_next)).then_some((first.values, kind))
}

/// Columns in single precision, for libraries that read nothing else. Doubles and integers of at least 32
/// bits are rounded once.
pub fn rounded(columns: &mut [RawColumn], rows: usize) -> Vec<Vec<f32>> {
    let mut made = Vec::new();
    for column in columns {
        let values: Option<Vec<f32>> = match column.kind {
            kind if kind == ColumnType::F64 as i32 => read(column, rows, |x: f64| x as f32),
            kind if kind == ColumnType::I64 as i32 => read(column, rows, |x: i64| x as f32),
            kind if kind == ColumnType::U64 as i32 => read(column, rows, |x: u64| x as f32),
            kind if kind == ColumnType::I32 as i32 => read(column, rows, |x: i32| x as f32),
            kind if kind == ColumnType::U32 as i32 => read(column, rows, |x: u32| x as f32),
            _ => None,
        };
        if let Some(values) = values {
            let start = values.as_ptr().cast();
            *column = RawColumn { values: start, stride: 0, kind: ColumnType::F32 as i32, ..*column };
            made.push(values);
        }
    }
    made
}

fn read<T: Copy>(column: &RawColumn, rows: usize, round: impl Fn(T) -> f32) -> Option<Vec<f32>> {
    if column.values.is_null() {
        return None;
    }
    let stride = if column.stride == 0 { size_of::<T>() as isize } else { column.stride as isize };
    let value = |row: usize| {
        let place = column.values.cast::<u8>().wrapping_offset(stride * row as isize).cast::<T>();
        // SAFETY: the column has a value for each row, at any alignment.
        round(unsafe { place.read_unaligned() })
    };
    Some((0..rows).map(value).collect())
}

/// The columns that a model reads from a table, by their names or by their order.
#[pyclass(frozen, module = "schedc_runtime")]
pub struct Lookup {
    /// For each feature the name of its column, None if it is absent.
    wanted: Vec<Option<String>>,
    by_position: bool,
}

#[pymethods]
impl Lookup {
    /// `wanted` has a name for each feature, None for an absent one. With `by_position` the names are
    /// ignored.
    #[new]
    fn new(wanted: Vec<Option<String>>, by_position: bool) -> Lookup {
        Lookup { wanted, by_position }
    }
}

impl Lookup {
    /// For each feature the number of its column among the names of a table. None if a name is missing, or
    /// several names might be meant.
    pub fn places(&self, names: &[&str]) -> Option<Vec<Option<usize>>> {
        if self.by_position {
            return (names.len() == self.wanted.len()).then(|| (0..names.len()).map(Some).collect());
        }
        let same = |(name, wanted): (&&str, &Option<String>)| wanted.as_deref() == Some(*name);
        if names.len() == self.wanted.len() && names.iter().zip(&self.wanted).all(same) {
            let mut seen = self.wanted.iter().collect::<Vec<_>>();
            seen.sort_unstable();
            return seen.is_sorted_by(|a, b| a < b).then(|| (0..names.len()).map(Some).collect());
        }
        let mut found = HashMap::with_capacity(names.len());
        for (at, name) in names.iter().enumerate() {
            if name.trim() != *name || found.insert(*name, at).is_some() {
                return None;
            }
        }
        let place = |wanted: &Option<String>| match wanted {
            Some(name) => found.get(name.as_str()).map(|at| Some(*at)),
            None => Some(None),
        };
        self.wanted.iter().map(place).collect()
    }
}

/// The places and types of the features' columns in a stream. None if a column is not found or holds
/// neither numbers nor truth values, unless `given` has the feature.
pub fn plan_of_stream(
    stream: &TableStream<'_>,
    lookup: &Lookup,
    given: &HashMap<usize, ColumnBuffers<'_>>,
) -> Option<Vec<Option<(usize, ColumnFormat)>>> {
    let places = lookup.places(&stream.names()?)?;
    let kinds = stream.kinds();
    let plan = |(feature, place): (usize, Option<usize>)| match place {
        Some(_) if given.contains_key(&feature) => Some(None),
        Some(at) => Some(Some((at, (*kinds.get(at)?)?))),
        None => Some(None),
    };
    places.into_iter().enumerate().map(plan).collect()
}

/// The columns of a batch.
pub fn columns_of_batch(
    batch: &TableBatch,
    plan: &[Option<(usize, ColumnFormat)>],
) -> Option<Vec<RawColumn>> {
    if batch.has_null_rows() {
        return None;
    }
    let column = |planned: &Option<(usize, ColumnFormat)>| match planned {
        Some((at, kind)) => batch.column(*at, *kind),
        None => Some(RawColumn::ABSENT),
    };
    plan.iter().map(column).collect()
}
