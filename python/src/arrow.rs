//! Tables that Python objects export as Arrow streams, read in place. The structures are those of the Arrow C
//! data and stream interfaces.

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use sched_library::{RawColumn, RawColumnType};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

/// Name of the capsules that hold a stream.
const STREAM_NAME: &CStr = c"arrow_array_stream";

/// The type of an array: `ArrowSchema` of the interface.
#[repr(C)]
pub struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

/// The values of an array: `ArrowArray` of the interface.
#[repr(C)]
pub struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowStream)>,
    private_data: *mut c_void,
}

impl Drop for ArrowSchema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the producer set `release`, and this value is released once.
            unsafe { release(self) }
        }
    }
}

impl Drop for ArrowArray {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the producer set `release`, and this value is released once.
            unsafe { release(self) }
        }
    }
}

impl ArrowSchema {
    /// The format string of the type, as the interface defines it.
    pub fn format(&self) -> &[u8] {
        // SAFETY: a schema has a format that ends with NUL.
        unsafe { bytes(self.format) }
    }

    /// The type of the dictionary, if values are indices into one.
    pub fn dictionary(&self) -> Option<&ArrowSchema> {
        // SAFETY: a dictionary is null or valid, as long as the schema is.
        unsafe { self.dictionary.as_ref() }
    }
}

impl ArrowArray {
    /// Number of values.
    pub fn length(&self) -> usize {
        usize::try_from(self.length).unwrap_or(0)
    }

    /// Number of values in the buffers before the first one; None if it is negative.
    pub fn offset(&self) -> Option<usize> {
        usize::try_from(self.offset).ok()
    }

    /// Number of buffers.
    pub fn n_buffers(&self) -> usize {
        if self.buffers.is_null() { 0 } else { usize::try_from(self.n_buffers).unwrap_or(0) }
    }

    /// The address of a buffer; None if there is none.
    pub fn buffer(&self, at: usize) -> Option<*const u8> {
        if at >= self.n_buffers() {
            return None;
        }
        // SAFETY: an array has `n_buffers` addresses of buffers.
        let start: *const c_void = unsafe { *self.buffers.add(at) };
        (!start.is_null()).then_some(start.cast())
    }

    /// The validity of values, one bit each; None if all are present.
    pub fn validity(&self) -> Option<*const u8> {
        if self.null_count == 0 { None } else { self.buffer(0) }
    }

    /// The dictionary, if values are indices into one.
    pub fn dictionary(&self) -> Option<&ArrowArray> {
        // SAFETY: a dictionary is null or valid, as long as the array is.
        unsafe { self.dictionary.as_ref() }
    }

    /// The values as a column of this type. Skips `before` values in addition to the array's own offset. None
    /// if the array has no buffer of values, or the offset is too large.
    fn column(&self, kind: ColumnFormat, before: i64) -> Option<RawColumn> {
        let ColumnFormat::Values(kind) = kind else { return Some(RawColumn::ABSENT) };
        let first = self.offset.checked_add(before)?;
        if self.n_buffers < 2 {
            return None;
        }
        // SAFETY: an array has `n_buffers` addresses of buffers.
        let values = unsafe { *self.buffers.add(1) };
        if values.is_null() {
            return (self.length() == 0).then_some(RawColumn::ABSENT);
        }
        let mut column = match kind {
            RawColumnType::Bit => {
                let whole = values.cast::<u8>().wrapping_offset((first / 8) as isize).cast();
                let bits = RawColumn::of(whole, kind, 0);
                RawColumn { values_offset: (first % 8) as i32, ..bits }
            }
            _ => {
                let bytes = isize::try_from(first).ok()?.checked_mul(element_bytes(kind) as isize)?;
                RawColumn::of(values.cast::<u8>().wrapping_offset(bytes).cast(), kind, 0)
            }
        };
        if let Some(bits) = self.validity() {
            column.validity = bits;
            column.validity_offset = first;
        }
        Some(column)
    }
}

/// A stream of arrays of one type.
pub struct ArrayStream<'py> {
    /// Owns the stream.
    _capsule: Bound<'py, PyCapsule>,
    stream: *mut ArrowStream,
}

/// The names and types of a table's columns.
pub struct TableSchema(ArrowSchema);

/// The first array of a stream. It stays valid after the stream ends.
pub struct ArrowColumn {
    /// None for arrays that hold neither numbers nor truth values.
    kind: Option<ColumnFormat>,
    /// None if the stream has no array.
    array: Option<ArrowArray>,
}

/// Some rows of a table, as columns in memory.
pub struct TableBatch(pub ArrowArray);

impl<'py> ArrayStream<'py> {
    /// The stream that a capsule holds.
    ///
    /// # Errors
    /// The object is no such capsule.
    pub fn of(capsule: &Bound<'py, PyAny>) -> PyResult<ArrayStream<'py>> {
        let capsule = capsule.cast::<PyCapsule>()?.clone();
        let stream: *mut ArrowStream = capsule.pointer_checked(Some(STREAM_NAME))?.as_ptr().cast();
        Ok(ArrayStream { _capsule: capsule, stream })
    }

    /// The type of the arrays.
    ///
    /// # Errors
    /// The stream fails, or was released.
    pub fn schema(&self) -> PyResult<ArrowSchema> {
        // SAFETY: a structure of null pointers and zeros is valid; the producer fills it.
        let mut schema: ArrowSchema = unsafe { std::mem::zeroed() };
        // SAFETY: the capsule keeps the stream alive.
        let status = match unsafe { (*self.stream).get_schema } {
            // SAFETY: the stream and the structure are valid.
            Some(get_schema) => unsafe { get_schema(self.stream, &mut schema) },
            None => return Err(PyValueError::new_err("the Arrow stream was released")),
        };
        self.check(status)?;
        Ok(schema)
    }

    fn check(&self, status: c_int) -> PyResult<()> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the capsule keeps the stream alive, and its messages end with NUL.
        let reason = unsafe {
            let reason = (*self.stream).get_last_error.map_or(ptr::null(), |ask| ask(self.stream));
            String::from_utf8_lossy(bytes(reason)).into_owned()
        };
        Err(PyOSError::new_err((status, format!("the Arrow stream failed: {reason}"))))
    }

    /// The next array; None after the last one.
    ///
    /// # Errors
    /// The stream fails.
    pub fn next(&mut self) -> PyResult<Option<ArrowArray>> {
        // SAFETY: a structure of null pointers and zeros is valid; the producer fills it.
        let mut array: ArrowArray = unsafe { std::mem::zeroed() };
        // SAFETY: the capsule keeps the stream alive.
        let status = match unsafe { (*self.stream).get_next } {
            // SAFETY: the stream and the structure are valid.
            Some(get_next) => unsafe { get_next(self.stream, &mut array) },
            None => return Ok(None),
        };
        self.check(status)?;
        Ok(array.release.is_some().then_some(array))
    }
}

impl TableSchema {
    /// The names and types of a table's columns, from the type of its batches.
    ///
    /// # Errors
    /// The type is not that of a table.
    pub fn of(schema: ArrowSchema) -> PyResult<TableSchema> {
        if schema.format() != b"+s" {
            return Err(PyValueError::new_err("the Arrow stream holds one array and no table"));
        }
        Ok(TableSchema(schema))
    }

    fn fields(&self) -> impl Iterator<Item = &ArrowSchema> {
        let count = usize::try_from(self.0.n_children).unwrap_or(0);
        // SAFETY: a schema has `n_children` valid children, as long as it is not released.
        (0..count).map(|at| unsafe { &**self.0.children.add(at) })
    }

    /// The names of the columns; None if one of them is not UTF-8.
    pub fn names(&self) -> Option<Vec<&str>> {
        // SAFETY: the name of a field is null or ends with NUL.
        self.fields().map(|field| std::str::from_utf8(unsafe { bytes(field.name) }).ok()).collect()
    }

    /// The type of each column: None for one that does not hold numbers or truth values.
    pub fn kinds(&self) -> Vec<Option<ColumnFormat>> {
        self.fields().map(ColumnFormat::of).collect()
    }
}

impl ArrowColumn {
    /// The first array of the stream that a capsule holds.
    ///
    /// # Errors
    /// The object is no such capsule, or the stream fails.
    pub fn of(capsule: &Bound<'_, PyAny>) -> PyResult<ArrowColumn> {
        let mut stream = ArrayStream::of(capsule)?;
        Ok(ArrowColumn { kind: ColumnFormat::of(&stream.schema()?), array: stream.next()? })
    }

    /// The column; None if it does not have this number of rows, or holds neither numbers nor truth values.
    pub fn column(&self, rows: usize) -> Option<RawColumn> {
        self.array.as_ref().filter(|array| array.length() == rows)?.column(self.kind?, 0)
    }
}

/// The type of a column that a library can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnFormat {
    /// All values are null.
    Null,
    /// Numbers or truth values.
    Values(RawColumnType),
}

impl ColumnFormat {
    fn of(field: &ArrowSchema) -> Option<ColumnFormat> {
        if !field.dictionary.is_null() {
            return None;
        }
        let kind = match field.format() {
            b"n" => return Some(ColumnFormat::Null),
            b"f" => RawColumnType::F32,
            b"g" => RawColumnType::F64,
            b"c" => RawColumnType::I8,
            b"s" => RawColumnType::I16,
            b"i" => RawColumnType::I32,
            b"l" => RawColumnType::I64,
            b"C" => RawColumnType::U8,
            b"S" => RawColumnType::U16,
            b"I" => RawColumnType::U32,
            b"L" => RawColumnType::U64,
            b"b" => RawColumnType::Bit,
            _ => return None,
        };
        Some(ColumnFormat::Values(kind))
    }
}

impl TableBatch {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.0.length()
    }

    /// Whether the batch has rows that are null as a whole.
    pub fn has_null_rows(&self) -> bool {
        self.0.validity().is_some()
    }

    /// A column of this type; None if the batch has no such column, or its offset is too large.
    pub fn column(&self, at: usize, kind: ColumnFormat) -> Option<RawColumn> {
        if at >= usize::try_from(self.0.n_children).unwrap_or(0) {
            return None;
        }
        // SAFETY: an array has `n_children` valid children, as long as it is not released.
        let array = unsafe { &**self.0.children.add(at) };
        array.column(kind, self.0.offset)
    }
}

/// Bytes of a value; 1 for bits.
fn element_bytes(kind: RawColumnType) -> usize {
    match kind {
        RawColumnType::F64 | RawColumnType::I64 | RawColumnType::U64 => 8,
        RawColumnType::F32 | RawColumnType::I32 | RawColumnType::U32 => 4,
        RawColumnType::I16 | RawColumnType::U16 => 2,
        RawColumnType::I8 | RawColumnType::U8 | RawColumnType::Bool | RawColumnType::Bit => 1,
    }
}

/// The bytes of a text without its NUL; none for null.
///
/// # Safety
/// `text` is null or ends with NUL, and lives long enough.
unsafe fn bytes<'a>(text: *const c_char) -> &'a [u8] {
    // SAFETY: as the caller promises.
    if text.is_null() { &[] } else { unsafe { CStr::from_ptr(text) }.to_bytes() }
}
