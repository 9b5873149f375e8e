//! NumPy's `.npy`: a magic string, a header and the elements of one array.

mod element;
mod header;

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use self::element::Element;
use super::input::Input;
use super::{Batch, Expect, Reader, Values, unreadable};
use crate::codes;
use crate::error::{DataError, count};

/// First bytes of a file.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// An array that is read as rows.
pub(super) struct Npy {
    input: Input,
    name: String,
    element: Element,
    /// Whether elements are stored column by column.
    fortran: bool,
    /// Whether such columns are handed on.
    by_column: bool,
    /// The number of rows of the array.
    rows: usize,
    columns: usize,
    /// The rows still to be read.
    left: Range<usize>,
    /// The position of the first element, in bytes.
    start: u64,
    /// Whether the file is known to be as long as its header says.
    trusted: bool,
    /// All elements of an array that is stored by columns and comes from a pipe.
    whole: Option<Values>,
}

impl Npy {
    /// The array in `input`, whose rows are those that the model expects.
    pub(super) fn new(
        mut input: Input,
        name: &str,
        expect: Expect<'_>,
        by_column: bool,
    ) -> Result<Self, DataError> {
        let (length, columns) = (input.length(), expect.columns);
        let (header, start) = header::read(&mut input, name)?;
        let rows = count_rows(&header.shape, columns, name)?;
        let elements = rows.checked_mul(columns).ok_or_else(|| too_large(name))?;
        let wanted = elements.checked_mul(header.element.bytes()).ok_or_else(|| too_large(name))? as u64;
        if let Some(length) = length {
            let held = length.saturating_sub(start);
            if held != wanted {
                return Err(wrong_length(name, wanted, held));
            }
        }
        Ok(Npy {
            input,
            name: name.to_owned(),
            element: header.element.with_whole(expect.whole.of_arrays),
            fortran: header.fortran && rows > 1 && columns > 1,
            by_column,
            rows,
            columns,
            left: 0..rows,
            start,
            trusted: length.is_some(),
            whole: None,
        })
    }

    /// The values of the next `number` elements of the file.
    fn elements(&mut self, number: usize) -> Result<Values, DataError> {
        let wanted = (self.rows * self.columns * self.element.bytes()) as u64;
        let before = (self.left.start * self.columns * self.element.bytes()) as u64;
        // Memory is reserved at once only where the file is known to be as long as its header says.
        let reserved = if self.trusted { number } else { 0 };
        let stream = self.input.by_ref().take((number * self.element.bytes()) as u64);
        let mut elements = Elements { stream, wanted, before, name: &self.name, reserved };
        Ok(match self.element.wide() {
            false => Values::F32(elements.read(self.element, Element::decode_f32)?),
            true => Values::F64(elements.read(self.element, Element::decode_f64)?),
        })
    }

    /// Rows of an array that is stored by columns.
    fn gather(&mut self, rows: Range<usize>) -> Result<Batch, DataError> {
        let count = rows.len();
        if self.by_column {
            let columns = self.columns_of(rows)?;
            return Ok(Batch { columns, ..Batch::of(Values::F32(Vec::new()), count) });
        }
        if self.input.is_seekable() {
            let values = match self.element.wide() {
                false => self.strided(rows, Element::decode_f32).map(Values::F32)?,
                true => self.strided(rows, Element::decode_f64).map(Values::F64)?,
            };
            return Ok(Batch::of(values, count));
        }
        let all = self.rows;
        let values = match self.whole()? {
            Values::F32(values) => Values::F32(transpose(values, all, rows)),
            Values::F64(values) => Values::F64(transpose(values, all, rows)),
        };
        Ok(Batch::of(values, count))
    }

    /// The columns of some rows.
    fn columns_of(&mut self, rows: Range<usize>) -> Result<Vec<Values>, DataError> {
        let mut columns = Vec::with_capacity(self.columns);
        if !self.input.is_seekable() {
            let (all, number) = (self.rows, self.columns);
            let whole = self.whole()?;
            let of = |column: usize| column * all + rows.start..column * all + rows.end;
            columns.extend((0..number).map(|column| match whole {
                Values::F32(values) => Values::F32(values.get(of(column)).unwrap_or_default().to_vec()),
                Values::F64(values) => Values::F64(values.get(of(column)).unwrap_or_default().to_vec()),
            }));
            return Ok(columns);
        }
        let mut bytes = vec![0; rows.len() * self.element.bytes()];
        for number in 0..self.columns {
            self.column(number, &rows, &mut bytes)?;
            let (mut floats, mut doubles) = (Vec::new(), Vec::new());
            let reserved = match self.element.wide() {
                false => floats.try_reserve_exact(rows.len()),
                true => doubles.try_reserve_exact(rows.len()),
            };
            reserved.map_err(|_| too_large(&self.name))?;
            columns.push(match self.element.wide() {
                false => {
                    Element::decode_f32(self.element, &bytes, &mut floats);
                    Values::F32(floats)
                }
                true => {
                    Element::decode_f64(self.element, &bytes, &mut doubles);
                    Values::F64(doubles)
                }
            });
        }
        Ok(columns)
    }

    /// Reads the bytes of a column's values in some rows.
    fn column(&mut self, number: usize, rows: &Range<usize>, bytes: &mut [u8]) -> Result<(), DataError> {
        let first = ((number * self.rows + rows.start) * self.element.bytes()) as u64;
        let read =
            self.input.seek(SeekFrom::Start(self.start + first)).and_then(|_| self.input.read_exact(bytes));
        read.map_err(|error| unreadable(&self.name, &error))
    }

    /// All elements of an array that comes from a pipe.
    fn whole(&mut self) -> Result<&Values, DataError> {
        if self.whole.is_none() {
            // No element has been read yet, so the whole array follows, also if only some rows are wanted.
            let left = std::mem::replace(&mut self.left, 0..self.rows);
            self.whole = Some(self.elements(self.rows * self.columns)?);
            self.left = left;
        }
        Ok(self.whole.get_or_insert(Values::F32(Vec::new())))
    }

    /// Rows of an array that is stored by columns in a file: a piece of each column.
    fn strided<T: Copy + Default>(
        &mut self,
        rows: Range<usize>,
        decode: impl Fn(Element, &[u8], &mut Vec<T>),
    ) -> Result<Vec<T>, DataError> {
        let mut values = Vec::new();
        values.try_reserve_exact(rows.len() * self.columns).map_err(|_| too_large(&self.name))?;
        values.resize(rows.len() * self.columns, T::default());
        let mut bytes = vec![0; rows.len() * self.element.bytes()];
        let mut column = Vec::with_capacity(rows.len());
        for number in 0..self.columns {
            self.column(number, &rows, &mut bytes)?;
            column.clear();
            decode(self.element, &bytes, &mut column);
            let places = values.iter_mut().skip(number).step_by(self.columns);
            places.zip(&column).for_each(|(place, value)| *place = *value);
        }
        Ok(values)
    }

    /// Refuses bytes after the last element.
    fn end(&mut self) -> Result<(), DataError> {
        let trailing = self.input.read(&mut [0]).map_err(|error| unreadable(&self.name, &error))?;
        let wanted = (self.rows * self.columns * self.element.bytes()) as u64;
        if trailing == 0 { Ok(()) } else { Err(wrong_length(&self.name, wanted, wanted + 1)) }
    }
}

impl Reader for Npy {
    fn next(&mut self, most: usize) -> Result<Option<Batch>, DataError> {
        let rows = most.min(self.left.len());
        if rows == 0 {
            // An array without rows may be followed by something, too.
            return if self.rows == 0 && !self.trusted { self.end().map(|()| None) } else { Ok(None) };
        }
        let next = self.left.start..self.left.start + rows;
        let batch = match self.fortran {
            false => Batch::of(self.elements(rows * self.columns)?, rows),
            true => self.gather(next.clone())?,
        };
        self.left.start = next.end;
        if next.end == self.rows && !self.trusted {
            self.end()?;
        }
        Ok(Some(batch))
    }

    fn rows(&self) -> Option<u64> {
        Some(self.left.len() as u64)
    }

    fn is_array(&self) -> bool {
        true
    }

    fn parts(&self) -> Option<u64> {
        Some(self.rows as u64)
    }

    fn select(&mut self, parts: Range<u64>) -> Result<(), DataError> {
        let within = |part: u64| usize::try_from(part).unwrap_or(self.rows).min(self.rows);
        self.left = within(parts.start)..within(parts.end);
        if !self.fortran {
            let before = (self.left.start * self.columns * self.element.bytes()) as u64;
            self.input.skip(before).map_err(|error| unreadable(&self.name, &error))?;
        }
        Ok(())
    }
}

/// The number of rows in an array of this shape, if it holds rows of `columns` values.
fn count_rows(shape: &[usize], columns: usize, name: &str) -> Result<usize, DataError> {
    let features = count(columns, "feature");
    match *shape {
        // Any number of such rows fits into an empty file: too good an offer to be taken.
        [rows, 0] if rows > 0 => {
            Err(DataError::new(codes::UNSUPPORTED_ARRAY, name, "the array's rows have no columns")
                .help(format!("save an array of shape (rows, {columns})")))
        }
        [rows, width] if width == columns => Ok(rows),
        [rows, width] => {
            let message = format!("rows have {}, and the model wants {features}", count(width, "column"));
            let help = match rows == columns {
                true => "rows and columns seem to be swapped: save the transposed array",
                false => "save the features that the model was trained on, in their order",
            };
            Err(DataError::new(codes::COLUMNS, name, message).help(help))
        }
        [length] if length == columns => Ok(1),
        [length] if columns == 1 => Ok(length),
        [length] => {
            let message = format!(
                "a one-dimensional array is one row, but this one has {}, and the model wants {features}",
                count(length, "value")
            );
            Err(DataError::new(codes::COLUMNS, name, message)
                .help(format!("reshape the array to (rows, {columns}) before saving it")))
        }
        _ => {
            let message = format!("the array has {}", count(shape.len(), "dimension"));
            Err(DataError::new(codes::UNSUPPORTED_ARRAY, name, message)
                .help(format!("reshape the array to (rows, {columns}) before saving it")))
        }
    }
}

/// The elements of an array, still to be read.
struct Elements<'a, R> {
    stream: io::Take<R>,
    /// The number of bytes of the array's elements.
    wanted: u64,
    /// The number of these bytes that have been read before.
    before: u64,
    name: &'a str,
    reserved: usize,
}

impl<R: Read> Elements<'_, R> {
    /// Reads all of them, in the file's order.
    fn read<T>(
        &mut self,
        element: Element,
        decode: impl Fn(Element, &[u8], &mut Vec<T>),
    ) -> Result<Vec<T>, DataError> {
        let announced = self.stream.limit();
        let mut values = Vec::new();
        values.try_reserve_exact(self.reserved).map_err(|_| too_large(self.name))?;
        // Decoded block by block: the file's bytes and their values need not be in memory together.
        let mut block = vec![0; usize::try_from(self.stream.limit()).unwrap_or(BLOCK).min(BLOCK)];
        while self.stream.limit() > 0 {
            let filled = fill(&mut self.stream, &mut block).map_err(|error| unreadable(self.name, &error))?;
            let whole = filled - filled % element.bytes();
            let bytes = block.get(..whole).unwrap_or_default();
            values.try_reserve(whole / element.bytes()).map_err(|_| too_large(self.name))?;
            decode(element, bytes, &mut values);
            if filled < block.len() {
                break;
            }
        }
        match self.stream.limit() {
            0 => Ok(values),
            lacking => Err(wrong_length(self.name, self.wanted, self.before + announced - lacking)),
        }
    }
}

/// Bytes decoded at a time: a multiple of every element's size that stays in the second-level cache.
const BLOCK: usize = 1 << 18;

/// Reads until `block` is full or the stream ends; the number of bytes read.
fn fill(stream: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = block.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match stream.read(rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Some rows of column-major values, of `rows` in all, one after the other.
fn transpose<T: Copy>(values: &[T], rows: usize, wanted: Range<usize>) -> Vec<T> {
    let mut transposed = Vec::with_capacity(values.len() / rows.max(1) * wanted.len());
    for row in wanted {
        transposed.extend(values.iter().skip(row).step_by(rows));
    }
    transposed
}

/// The error for a file that holds `held` bytes of elements where its header announces `wanted`.
fn wrong_length(name: &str, wanted: u64, held: u64) -> DataError {
    let announced = format!("the header announces {wanted} bytes of data");
    let (message, help) = match held < wanted {
        true => (
            format!("{announced}, and there are only {held}"),
            "the file seems to be cut off: save or copy it again",
        ),
        false => (format!("{announced}, and there are more"), "save one array per file, with numpy.save"),
    };
    DataError::new(codes::LENGTH, name, message).help(help)
}

/// The error for an array beyond memory or address space.
fn too_large(name: &str) -> DataError {
    DataError::new(codes::TOO_LARGE, name, "the array does not fit into memory")
        .help("split it into files of fewer rows")
}
