//! Columns of texts from Python, as numbers: arrays and lists of Python's objects, and arrays of Arrow.

use crate::arrow::{ArrayStream, ArrowArray, ArrowSchema};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyFloat, PyList, PyString, PyTuple};
use std::ffi::CStr;

/// Names of the capsules that hold the type of an array and its values.
const SCHEMA_NAME: &CStr = c"arrow_schema";
const ARRAY_NAME: &CStr = c"arrow_array";

/// Number of slots in a cache of texts and their numbers, a power of two. Columns of categories repeat the
/// same texts.
const CACHE_SLOTS: usize = 64;

/// Bytes of a view of a text in Arrow. Short texts are in the view itself.
const VIEW_BYTES: usize = 16;
const MAX_INLINE_BYTES: usize = 12;

/// The number of each text of a column by the function `number_of`, NaN for a missing one. `None` if the
/// column has values that are no texts, or a text has no number.
///
/// # Errors
/// The export of the column to Arrow raises an exception.
pub fn numbers_of_texts(
    column: &Bound<'_, PyAny>,
    number_of: &impl Fn(&str) -> Option<f64>,
) -> PyResult<Option<Vec<f64>>> {
    let py = column.py();
    if let Ok(list) = column.cast::<PyList>() {
        return Ok(numbers_of_objects(list.iter(), list.len(), number_of));
    }
    if let Ok(array) = column.cast::<PyArray1<Py<PyAny>>>() {
        let Ok(array) = array.try_readonly() else { return Ok(None) };
        let cells = array.as_array();
        return Ok(numbers_of_objects(
            cells.iter().map(|cell| cell.bind(py).clone()),
            cells.len(),
            number_of,
        ));
    }
    if let Some(export) = column.getattr_opt(intern!(py, "__arrow_c_stream__"))? {
        return numbers_of_stream(ArrayStream::of(&export.call0()?)?, number_of);
    }
    if let Some(export) = column.getattr_opt(intern!(py, "__arrow_c_array__"))? {
        let made = export.call0()?;
        let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = made.cast::<PyTuple>()?.extract()?;
        let (schema, array) = (schema.cast::<PyCapsule>()?, array.cast::<PyCapsule>()?);
        let kind = schema.pointer_checked(Some(SCHEMA_NAME))?.cast::<ArrowSchema>();
        let values = array.pointer_checked(Some(ARRAY_NAME))?.cast::<ArrowArray>();
        // SAFETY: capsules of these names hold the structures, and own them as long as they live.
        let (kind, values) = unsafe { (kind.as_ref(), values.as_ref()) };
        let mut numbers = Vec::with_capacity(values.length());
        return Ok(append_numbers(kind, values, number_of, &mut numbers).map(|()| numbers));
    }
    Ok(None)
}

fn numbers_of_objects<'py>(
    cells: impl Iterator<Item = Bound<'py, PyAny>>,
    count: usize,
    number_of: &impl Fn(&str) -> Option<f64>,
) -> Option<Vec<f64>> {
    let mut remembered = [(0_usize, f64::NAN); CACHE_SLOTS];
    let mut numbers = Vec::with_capacity(count);
    for cell in cells {
        let address = cell.as_ptr() as usize;
        let known = &mut remembered[slot_of_bits(address as u64)];
        if known.0 != address {
            let number = match cell.cast::<PyString>() {
                Ok(text) => number_of(text.to_str().ok()?)?,
                Err(_) if is_missing(&cell) => f64::NAN,
                Err(_) => return None,
            };
            *known = (address, number);
        }
        numbers.push(known.1);
    }
    Some(numbers)
}

/// Cache of the numbers of a column's recent texts, by a hash of their bytes. A hit takes 10 ns, a look-up by
/// `number_of` 30 ns (Zen 5).
struct NumberCache<'a, F> {
    number_of: &'a F,
    known: [Option<(&'a [u8], f64)>; CACHE_SLOTS],
}

impl<'a, F: Fn(&str) -> Option<f64>> NumberCache<'a, F> {
    fn new(number_of: &'a F) -> NumberCache<'a, F> {
        NumberCache { number_of, known: [None; CACHE_SLOTS] }
    }

    /// The number of a text, NaN for a missing one; None if the text has no number or is not UTF-8.
    fn number(&mut self, cell: Option<&'a [u8]>) -> Option<f64> {
        let Some(text) = cell else { return Some(f64::NAN) };
        let known = &mut self.known[slot(text)];
        match known {
            Some((same, number)) if *same == text => Some(*number),
            _ => {
                let number = number_of_bytes(text, self.number_of)?;
                *known = Some((text, number));
                Some(number)
            }
        }
    }
}

fn number_of_bytes(text: &[u8], number_of: &impl Fn(&str) -> Option<f64>) -> Option<f64> {
    number_of(std::str::from_utf8(text).ok()?)
}

/// Cache slot of a text, by its length and its last bytes, since names of categories often begin alike.
fn slot(text: &[u8]) -> usize {
    let last = match text.last_chunk::<8>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => text.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte)),
    };
    slot_of_bits(last ^ (text.len() as u64) << 56)
}

/// Cache slot for bits. The upper half of a product with an odd number depends on all bits (Fibonacci
/// hashing).
fn slot_of_bits(bits: u64) -> usize {
    (bits.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % CACHE_SLOTS
}

/// Whether an object stands for a missing value: None, NaN, or NA of pandas.
fn is_missing(value: &Bound<'_, PyAny>) -> bool {
    let is_nan = |number: &Bound<'_, PyFloat>| number.value().is_nan();
    value.is_none()
        || value.cast::<PyFloat>().is_ok_and(is_nan)
        || value.get_type().name().is_ok_and(|name| name == "NAType")
}

fn numbers_of_stream(
    mut stream: ArrayStream<'_>,
    number_of: &impl Fn(&str) -> Option<f64>,
) -> PyResult<Option<Vec<f64>>> {
    let mut numbers = Vec::new();
    let schema = stream.schema()?;
    if !is_text(schema.dictionary().unwrap_or(&schema)) {
        return Ok(None);
    }
    while let Some(array) = stream.next()? {
        numbers.reserve(array.length());
        if append_numbers(&schema, &array, number_of, &mut numbers).is_none() {
            return Ok(None);
        }
    }
    Ok(Some(numbers))
}

fn is_text(schema: &ArrowSchema) -> bool {
    TextForm::of(schema).is_some()
}

/// Appends the number of each text of an array. None if the array holds no texts, or a text has no number.
fn append_numbers(
    schema: &ArrowSchema,
    array: &ArrowArray,
    number_of: &impl Fn(&str) -> Option<f64>,
    numbers: &mut Vec<f64>,
) -> Option<()> {
    let Some(kind) = schema.dictionary() else {
        let texts = Texts::of(schema, array)?;
        let mut recent = NumberCache::new(number_of);
        for row in 0..array.length() {
            numbers.push(recent.number(texts.cell(row)?)?);
        }
        return Some(());
    };
    let texts = Texts::of(kind, array.dictionary()?)?;
    let indices = DictionaryIndices::of(schema, array)?;
    let entry = |index| match texts.cell(index)? {
        Some(text) => number_of_bytes(text, number_of),
        None => Some(f64::NAN),
    };
    // Only if the dictionary is small: it may have many more texts than the call has rows.
    let entries: Option<Vec<Option<f64>>> =
        (texts.count <= array.length()).then(|| (0..texts.count).map(entry).collect());
    for row in 0..array.length() {
        numbers.push(match (indices.index(row)?, &entries) {
            (None, _) => f64::NAN,
            (Some(index), Some(entries)) => (*entries.get(index)?)?,
            (Some(index), None) => entry(index)?,
        });
    }
    Some(())
}

/// Whether a bit of validity marks a missing value.
fn is_null(validity: Option<*const u8>, at: usize) -> bool {
    // SAFETY: the bitmap of an array has a bit for each value.
    validity.is_some_and(|bits| unsafe { *bits.add(at / 8) } >> (at % 8) & 1 == 0)
}

/// The forms of texts in Arrow.
#[derive(Clone, Copy)]
enum TextForm {
    /// Offsets of 32 bits into one buffer.
    Offsets32,
    /// Offsets of 64 bits into one buffer.
    Offsets64,
    /// Views of 16 bytes, which hold short texts themselves.
    Views,
}

impl TextForm {
    fn of(schema: &ArrowSchema) -> Option<TextForm> {
        match schema.format() {
            _ if schema.dictionary().is_some() => None,
            b"u" => Some(TextForm::Offsets32),
            b"U" => Some(TextForm::Offsets64),
            b"vu" => Some(TextForm::Views),
            _ => None,
        }
    }
}

/// The texts of an array of Arrow.
struct Texts<'a> {
    array: &'a ArrowArray,
    form: TextForm,
    first: usize,
    /// Number of texts.
    count: usize,
}

impl<'a> Texts<'a> {
    /// The texts of an array; `None` if it holds none.
    fn of(schema: &ArrowSchema, array: &'a ArrowArray) -> Option<Texts<'a>> {
        let form = TextForm::of(schema)?;
        Some(Texts { array, form, first: array.offset()?, count: array.length() })
    }

    /// The bytes of a text, `Some(None)` if it is missing. `None` if the index is out of range.
    fn cell(&self, at: usize) -> Option<Option<&'a [u8]>> {
        if at >= self.count {
            return None;
        }
        let at = self.first + at;
        if is_null(self.array.validity(), at) {
            return Some(None);
        }
        let places = self.array.buffer(1)?;
        let bytes = match self.form {
            TextForm::Offsets32 => {
                // SAFETY: an array has one more offset than texts.
                let ends = unsafe { places.cast::<[i32; 2]>().byte_add(4 * at).read_unaligned() };
                self.between(i64::from(ends[0]), i64::from(ends[1]))?
            }
            TextForm::Offsets64 => {
                // SAFETY: an array has one more offset than texts.
                let ends = unsafe { places.cast::<[i64; 2]>().byte_add(8 * at).read_unaligned() };
                self.between(ends[0], ends[1])?
            }
            // SAFETY: an array has a view for each text.
            TextForm::Views => self.bytes_of_view(unsafe { places.add(VIEW_BYTES * at) })?,
        };
        Some(Some(bytes))
    }

    /// The bytes between two offsets.
    fn between(&self, start: i64, end: i64) -> Option<&'a [u8]> {
        let count = usize::try_from(end.checked_sub(start)?).ok()?;
        if count == 0 {
            return Some(&[]);
        }
        let content = self.array.buffer(2)?;
        // SAFETY: the offsets of an array are within its content.
        Some(unsafe { std::slice::from_raw_parts(content.add(usize::try_from(start).ok()?), count) })
    }

    /// The bytes of a view: in the view itself, or at an offset of one of the buffers behind the views.
    fn bytes_of_view(&self, view: *const u8) -> Option<&'a [u8]> {
        // SAFETY: a view has 16 bytes.
        let [count, _, buffer, offset] = unsafe { view.cast::<[i32; 4]>().read_unaligned() };
        let count = usize::try_from(count).ok()?;
        let start = match count {
            ..=MAX_INLINE_BYTES => view.wrapping_add(4),
            _ => {
                let buffer = 2 + usize::try_from(buffer).ok()?;
                // The last buffer holds no text, but the sizes of the other buffers.
                let content = self.array.buffer(buffer).filter(|_| buffer + 1 < self.array.n_buffers())?;
                content.wrapping_add(usize::try_from(offset).ok()?)
            }
        };
        // SAFETY: the bytes of a view are within their buffer.
        Some(unsafe { std::slice::from_raw_parts(start, count) })
    }
}

/// The indices of an array of Arrow with a dictionary.
struct DictionaryIndices<'a> {
    array: &'a ArrowArray,
    first: usize,
    read: fn(*const u8, usize) -> Option<usize>,
}

impl<'a> DictionaryIndices<'a> {
    /// The indices of an array; `None` if its type is none of indices.
    fn of(schema: &ArrowSchema, array: &'a ArrowArray) -> Option<DictionaryIndices<'a>> {
        let read = match schema.format() {
            b"c" => index_at::<i8>,
            b"C" => index_at::<u8>,
            b"s" => index_at::<i16>,
            b"S" => index_at::<u16>,
            b"i" => index_at::<i32>,
            b"I" => index_at::<u32>,
            b"l" => index_at::<i64>,
            b"L" => index_at::<u64>,
            _ => return None,
        };
        Some(DictionaryIndices { array, first: array.offset()?, read })
    }

    /// The index of a row, `Some(None)` if its value is missing. `None` for a number that is no index.
    fn index(&self, row: usize) -> Option<Option<usize>> {
        let at = self.first + row;
        if is_null(self.array.validity(), at) {
            return Some(None);
        }
        (self.read)(self.array.buffer(1)?, at).map(Some)
    }
}

fn index_at<T: Copy + TryInto<usize>>(start: *const u8, at: usize) -> Option<usize> {
    // SAFETY: an array has an index for each row, and its type is that of the schema.
    unsafe { start.cast::<T>().add(at).read_unaligned() }.try_into().ok()
}
