//! Columns of frames: blocks of pandas, and batches of Arrow streams.

use crate::arrow::{ArrayStream, ArrowColumn, ColumnFormat, TableBatch, TableSchema};
use crate::columns::{ColumnBuffers, kind_of_elements, start};
use numpy::{PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::ffi::PyTypeObject;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use sched_library::{Dtype, RawColumn, RawColumnType};
use std::collections::HashMap;
use std::ffi::c_void;

/// Columns in memory that stays valid as long as this value lives.
pub enum FrameBlock<'py> {
    /// Columns of one type in an array of two dimensions whose first axis is the columns, as in pandas; or
    /// one column in an array of one dimension.
    Array(Bound<'py, PyUntypedArray>),
    /// One column with its validity.
    Column(ColumnBuffers<'py>),
    /// One column that an array of pandas holds as an array of pyarrow.
    Arrow(ArrowColumn),
    /// One column of a nullable array of pandas, and its validity bitmap. `None` if all values are present.
    Nullable(Bound<'py, PyUntypedArray>, Option<Vec<u8>>),
}

/// The arrays of pandas that hold one column with missing values, by their form in memory.
#[derive(Clone, Copy)]
enum Extension {
    /// An array of pyarrow.
    Arrow,
    /// An array of values, and one of truth values that are true where a value is missing.
    Nullable,
}

/// The columns of a block, and their distance in bytes.
struct BlockMemory<'py> {
    count: usize,
    first: RawColumn,
    column_stride: isize,
    _block: FrameBlock<'py>,
}

/// Python objects that are blocks. Each is opened when the first feature needs it.
struct Blocks<'a, 'py> {
    objects: &'a [Bound<'py, PyAny>],
    open: Vec<Option<BlockMemory<'py>>>,
    rows: usize,
    /// The type of the last extension array, and its form. The address of a type is valid during the call.
    last_extension: Option<(*mut PyTypeObject, Extension)>,
}

/// The position of each feature's column: the number of its block, and the column's index in the block. The
/// block number -1 is an absent feature.
#[derive(FromPyObject)]
pub struct BlockPlaces<'py>(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

/// Columns of the features of a frame.
pub struct BlockColumns<'py> {
    /// The columns in the form of the C interface.
    pub all: Vec<RawColumn>,
    _blocks: Vec<Option<BlockMemory<'py>>>,
}

impl<'py> BlockColumns<'py> {
    /// The columns of the features of a frame. A block is an array, the tuple of [`ColumnBuffers`], or a
    /// block of pandas. `None` if a block with a feature is none of these or has a type of elements that no
    /// library reads, or if `places` names columns that do not exist.
    ///
    /// # Errors
    /// A block raises an exception when its values are read.
    pub fn of(
        objects: &[Bound<'py, PyAny>],
        places: &BlockPlaces<'_>,
        rows: usize,
    ) -> PyResult<Option<BlockColumns<'py>>> {
        let mut open = Vec::new();
        open.resize_with(objects.len(), || None);
        let mut blocks = Blocks { objects, open, rows, last_extension: None };
        let (Ok(numbers), Ok(positions)) = (places.0.try_readonly(), places.1.try_readonly()) else {
            return Ok(None);
        };
        let (Ok(numbers), Ok(positions)) = (numbers.as_slice(), positions.as_slice()) else {
            return Ok(None);
        };
        let mut all = Vec::with_capacity(numbers.len());
        for (number, position) in numbers.iter().zip(positions) {
            if *number < 0 {
                all.push(RawColumn::ABSENT);
                continue;
            }
            let Some(column) = blocks.column(*number, *position)? else { return Ok(None) };
            all.push(column);
        }
        Ok(Some(BlockColumns { all, _blocks: blocks.open }))
    }
}

impl<'py> Blocks<'_, 'py> {
    /// The column at a position of a block.
    fn column(&mut self, number: i64, position: i64) -> PyResult<Option<RawColumn>> {
        let Ok(number) = usize::try_from(number) else { return Ok(None) };
        let Some(object) = self.objects.get(number) else { return Ok(None) };
        if self.open[number].is_none() {
            let Some(block) = self.block_of(object)? else { return Ok(None) };
            self.open[number] = BlockMemory::of(block, self.rows);
        }
        let column = |block: &BlockMemory<'_>| {
            let position = usize::try_from(position).ok().filter(|position| *position < block.count)?;
            let offset = block.column_stride.checked_mul(position as isize)?;
            let values = block.first.values.cast::<u8>().wrapping_offset(offset).cast();
            Some(RawColumn { values, ..block.first })
        };
        Ok(self.open[number].as_ref().and_then(column))
    }

    fn block_of(&mut self, object: &Bound<'py, PyAny>) -> PyResult<Option<FrameBlock<'py>>> {
        if let Ok(array) = object.cast::<PyUntypedArray>() {
            return Ok(Some(FrameBlock::Array(array.clone())));
        }
        if object.is_instance_of::<PyTuple>() {
            return object.extract().map(|column| Some(FrameBlock::Column(column)));
        }
        let py = object.py();
        let Some(values) = object.getattr_opt(intern!(py, "values"))? else { return Ok(None) };
        if let Ok(array) = values.cast_exact::<PyUntypedArray>() {
            return Ok((array.ndim() == 2).then(|| FrameBlock::Array(array.clone())));
        }
        match self.extension_of(&values)? {
            Some(Extension::Arrow) => {
                let chunks = values.getattr(intern!(py, "_pa_array"))?;
                let capsule = chunks.call_method0(intern!(py, "__arrow_c_stream__"))?;
                ArrowColumn::of(&capsule).map(|column| Some(FrameBlock::Arrow(column)))
            }
            Some(Extension::Nullable) => nullable(&values),
            None => Ok(None),
        }
    }

    /// The form of an array of pandas. `None` if this module cannot read it.
    fn extension_of(&mut self, values: &Bound<'py, PyAny>) -> PyResult<Option<Extension>> {
        let kind = values.get_type_ptr();
        if let Some((known, extension)) = self.last_extension
            && known == kind
        {
            return Ok(Some(extension));
        }
        let py = values.py();
        let found = match values.get_type().name()?.to_str()? {
            "FloatingArray" | "IntegerArray" | "BooleanArray" => Extension::Nullable,
            "ArrowExtensionArray" => match values.getattr_opt(intern!(py, "_pa_array"))? {
                Some(chunks) if chunks.hasattr(intern!(py, "__arrow_c_stream__"))? => Extension::Arrow,
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        self.last_extension = Some((kind, found));
        Ok(Some(found))
    }
}

/// The column of a nullable array of pandas. `None` if its parts have another form than in known releases.
fn nullable<'py>(values: &Bound<'py, PyAny>) -> PyResult<Option<FrameBlock<'py>>> {
    let py = values.py();
    let (Some(data), Some(mask)) =
        (values.getattr_opt(intern!(py, "_data"))?, values.getattr_opt(intern!(py, "_mask"))?)
    else {
        return Ok(None);
    };
    let (Ok(data), Ok(mask)) = (data.cast_into::<PyUntypedArray>(), mask.cast::<PyArray1<bool>>()) else {
        return Ok(None);
    };
    if data.ndim() != 1 || data.len() != mask.len() || !mask.is_c_contiguous() {
        return Ok(None);
    }
    // SAFETY: the array is contiguous, NumPy stores a truth value as a byte of 0 or 1, and no Python code
    // runs while the bytes are read.
    let missing = unsafe { std::slice::from_raw_parts(mask.data().cast::<u8>(), mask.len()) };
    Ok(Some(FrameBlock::Nullable(data, validity_of(missing))))
}

/// One bit for each byte of 0 or 1: the opposite truth value. `None` if all bytes are 0.
fn validity_of(missing: &[u8]) -> Option<Vec<u8>> {
    if missing.iter().fold(0, |any, byte| any | byte) == 0 {
        return None;
    }
    let packed = |bytes: &[u8]| {
        bytes.iter().enumerate().fold(0, |bits, (at, byte)| bits | (u8::from(*byte == 0) << at))
    };
    Some(missing.chunks(8).map(packed).collect())
}

impl<'py> BlockMemory<'py> {
    /// Opens a block. `None` if its number of rows is not `rows`, or if no library reads its type of
    /// elements.
    fn of(block: FrameBlock<'py>, rows: usize) -> Option<BlockMemory<'py>> {
        let (count, first, column_stride) = match &block {
            FrameBlock::Array(array) => columns_of_array(array, rows)?,
            FrameBlock::Column(column) => (1, column.column(rows).ok()?, 0),
            FrameBlock::Arrow(column) => (1, column.column(rows)?, 0),
            FrameBlock::Nullable(array, validity) => {
                let (count, mut first, column_stride) = columns_of_array(array, rows)?;
                if let Some(bits) = validity {
                    first.validity = bits.as_ptr();
                }
                (count, first, column_stride)
            }
        };
        Some(BlockMemory { count, first, column_stride, _block: block })
    }
}

/// The number of columns of an array, the first column, and the distance of columns in bytes. `None` as for
/// [`BlockMemory::of`].
fn columns_of_array(array: &Bound<'_, PyUntypedArray>, rows: usize) -> Option<(usize, RawColumn, isize)> {
    let kind = kind_of_elements(array)?;
    let (count, have, column_stride, by_row) = match (array.shape(), array.strides()) {
        (&[rows], &[by_row]) => (1, rows, 0, by_row),
        (&[count, rows], &[column_stride, by_row]) => (count, rows, column_stride, by_row),
        _ => return None,
    };
    if have != rows || (rows > 1 && by_row == 0) {
        return None;
    }
    let stride = if rows <= 1 { 0 } else { by_row as i64 };
    Some((count, RawColumn::of(start(array), kind, stride), column_stride))
}

/// Checks whether the columns of a single row are contiguous values of one type. If so, returns the address
/// of the first value, and the type.
pub fn as_packed_row(columns: &[RawColumn]) -> Option<(*const c_void, Dtype)> {
    let first = columns.first()?;
    let kind = match first.kind {
        kind if kind == RawColumnType::F32 as i32 => Dtype::F32,
        kind if kind == RawColumnType::F64 as i32 => Dtype::F64,
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
            kind if kind == RawColumnType::F64 as i32 => read(column, rows, |x: f64| x as f32),
            kind if kind == RawColumnType::I64 as i32 => read(column, rows, |x: i64| x as f32),
            kind if kind == RawColumnType::U64 as i32 => read(column, rows, |x: u64| x as f32),
            kind if kind == RawColumnType::I32 as i32 => read(column, rows, |x: i32| x as f32),
            kind if kind == RawColumnType::U32 as i32 => read(column, rows, |x: u32| x as f32),
            _ => None,
        };
        if let Some(values) = values {
            let start = values.as_ptr().cast();
            *column = RawColumn { values: start, stride: 0, kind: RawColumnType::F32 as i32, ..*column };
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
#[pyclass(frozen, name = "Lookup", module = "schedc_runtime")]
pub struct ColumnLookup {
    /// Name of each feature's column; `None` for a feature that is absent or not read.
    wanted: Option<Vec<Option<String>>>,
    /// Index of each feature's column in a table with one column for each feature.
    places: Option<Vec<Option<usize>>>,
    /// Whether each feature has a name, and all names differ.
    has_own_names: bool,
}

#[pymethods]
impl ColumnLookup {
    /// `wanted` has the name of each feature's column, None for a feature that is absent or not read. With
    /// `places`, the indices of these columns, names are ignored. A table is not searched if both are None.
    #[new]
    fn new(wanted: Option<Vec<Option<String>>>, places: Option<Vec<Option<usize>>>) -> ColumnLookup {
        let mut names: Vec<_> = wanted.iter().flatten().collect();
        names.sort_unstable();
        let has_own_names = names.is_sorted_by(|a, b| a < b) && names.iter().all(|name| name.is_some());
        ColumnLookup { wanted, places, has_own_names }
    }

    /// The plan for the tables of an Arrow stream, of which no batch is taken. `None` if a column is not
    /// found.
    fn plan(&self, capsule: &Bound<'_, PyAny>) -> PyResult<Option<StreamPlan>> {
        let schema = TableSchema::of(ArrayStream::of(capsule)?.schema()?)?;
        let Some(places) = schema.names().and_then(|names| self.places(&names)) else { return Ok(None) };
        let kinds = schema.kinds();
        let column = |place: usize| Some((place, *kinds.get(place)?));
        Ok(Some(StreamPlan { columns: places.into_iter().map(|place| place.and_then(column)).collect() }))
    }
}

impl ColumnLookup {
    /// Index of each feature's column among the names of a table. `None` if a name is missing or ambiguous,
    /// or if the table has another number of columns than `places`.
    fn places(&self, names: &[&str]) -> Option<Vec<Option<usize>>> {
        if let Some(places) = &self.places {
            return (names.len() == places.len()).then(|| places.clone());
        }
        let all_wanted = self.wanted.as_ref()?;
        let same = |(name, wanted): (&&str, &Option<String>)| wanted.as_deref() == Some(*name);
        if self.has_own_names && names.len() == all_wanted.len() && names.iter().zip(all_wanted).all(same) {
            return Some((0..names.len()).map(Some).collect());
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
        all_wanted.iter().map(place).collect()
    }
}

/// The column of each feature in the tables of one schema.
#[pyclass(frozen, module = "schedc_runtime")]
pub struct StreamPlan {
    /// Index and type of each feature's column: `None` for an absent feature, and for the type of a column
    /// that holds neither numbers nor truth values.
    columns: Vec<Option<(usize, Option<ColumnFormat>)>>,
}

impl StreamPlan {
    /// The columns of a batch. `None` if a column that `given` does not replace holds neither numbers nor
    /// truth values.
    pub fn columns_of(
        &self,
        batch: &TableBatch,
        given: &HashMap<usize, ColumnBuffers<'_>>,
    ) -> Option<Vec<RawColumn>> {
        if batch.has_null_rows() {
            return None;
        }
        let column = |(feature, planned): (usize, &Option<(usize, Option<ColumnFormat>)>)| match planned {
            Some(_) if given.contains_key(&feature) => Some(RawColumn::ABSENT),
            Some((at, kind)) => batch.column(*at, (*kind)?),
            None => Some(RawColumn::ABSENT),
        };
        self.columns.iter().enumerate().map(column).collect()
    }
}
