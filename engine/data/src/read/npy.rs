//! NumPy's `.npy`: a magic string, a header and the elements of one array.

mod element;
mod header;

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::Field;

use self::element::NpyType;
use super::arrow::{RowFloat, put};
use super::batch::FeatureValues;
use super::expect::{Expect, Precision};
use super::input::OpenedSource;
use super::numbers::{batch_of_columns, batch_of_rows};
use super::reader::{RowReader, within};
use super::source::unreadable;
use crate::codes;
use crate::error::{DataError, count};

/// First bytes of a file.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// An array that is read as rows.
pub(super) struct Npy {
    input: OpenedSource,
    name: String,
    element: NpyType,
    /// Whether elements are stored column by column.
    fortran: bool,
    /// Whether an array that is stored by columns is returned as columns.
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
    whole: Option<ArrayRef>,
    /// Bytes of the file that are being decoded.
    block: Vec<u8>,
}

impl Npy {
    /// The array in `input`, whose rows are those that the model expects.
    pub(super) fn new(
        mut input: OpenedSource,
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
            block: Vec::new(),
        })
    }

    /// The values of the next `number` elements of the file.
    fn elements(&mut self, number: usize) -> Result<FeatureValues, DataError> {
        Ok(match self.element.precision() {
            Precision::Single => FeatureValues::F32(self.decoded(number)?),
            Precision::Double => FeatureValues::F64(self.decoded(number)?),
        })
    }

    /// The values of the next `number` elements of the file, as numbers of one type.
    fn decoded<T: RowFloat>(&mut self, number: usize) -> Result<Vec<T>, DataError> {
        let mut values = Vec::new();
        // All memory is reserved at once only if the file is known to be as long as its header claims.
        if self.trusted {
            values.try_reserve_exact(number).map_err(|_| too_large(&self.name))?;
        }
        self.decode(number, &mut values)?;
        Ok(values)
    }

    /// Appends the values of the next `number` elements of the file.
    fn decode<T: RowFloat>(&mut self, number: usize, values: &mut Vec<T>) -> Result<(), DataError> {
        let wanted = (self.rows * self.columns * self.element.bytes()) as u64;
        let before = (self.left.start * self.columns * self.element.bytes()) as u64;
        let stream = self.input.by_ref().take((number * self.element.bytes()) as u64);
        ElementStream { stream, wanted, before, name: &self.name }.read(self.element, &mut self.block, values)
    }

    /// The values of a column in some rows of an array that is stored by columns.
    fn column(&mut self, number: usize, rows: &Range<usize>) -> Result<ArrayRef, DataError> {
        if !self.input.is_seekable() {
            return Ok(self.whole()?.slice(number * self.rows + rows.start, rows.len()));
        }
        self.seek(number, rows.start)?;
        self.elements(rows.len()).map(FeatureValues::into_column)
    }

    /// Moves the file position to an element of a column, in an array that is stored by columns.
    fn seek(&mut self, column: usize, row: usize) -> Result<(), DataError> {
        let element = ((column * self.rows + row) * self.element.bytes()) as u64;
        let sought = self.input.seek(SeekFrom::Start(self.start + element));
        sought.map(drop).map_err(|error| unreadable(&self.name, &error))
    }

    /// Some rows of an array that is stored by columns. A block of rows is complete before the next one
    /// begins, so that its memory stays in the cache while the columns are put into it.
    fn gather<T: RowFloat>(&mut self, rows: &Range<usize>) -> Result<Vec<T>, DataError> {
        let width = self.columns;
        let (mut values, mut column) = (Vec::new(), Vec::new());
        values.try_reserve_exact(rows.len() * width).map_err(|_| too_large(&self.name))?;
        let step = (BLOCK / (width * size_of::<T>())).max(LEAST_ROWS);
        for first in rows.clone().step_by(step) {
            let block = first..rows.end.min(first + step);
            let start = values.len();
            values.resize(start + block.len() * width, T::MISSING);
            for number in 0..width {
                let places = values.iter_mut().skip(start + number).step_by(width);
                if self.input.is_seekable() {
                    self.seek(number, block.start)?;
                    column.clear();
                    self.decode(block.len(), &mut column)?;
                    places.zip(&column).for_each(|(place, value)| *place = *value);
                } else {
                    put(&self.column(number, &block)?, Precision::Double, places);
                }
            }
        }
        Ok(values)
    }

    /// All elements of an array that comes from a pipe.
    fn whole(&mut self) -> Result<ArrayRef, DataError> {
        if let Some(whole) = &self.whole {
            return Ok(Arc::clone(whole));
        }
        // No element has been read yet, so the whole array follows, also if only some rows are wanted.
        let left = std::mem::replace(&mut self.left, 0..self.rows);
        let whole = self.elements(self.rows * self.columns)?.into_column();
        self.left = left;
        Ok(Arc::clone(self.whole.insert(whole)))
    }

    /// Refuses bytes after the last element.
    fn end(&mut self) -> Result<(), DataError> {
        let trailing = self.input.read(&mut [0]).map_err(|error| unreadable(&self.name, &error))?;
        let wanted = (self.rows * self.columns * self.element.bytes()) as u64;
        if trailing == 0 { Ok(()) } else { Err(wrong_length(&self.name, wanted, wanted + 1)) }
    }
}

impl RowReader for Npy {
    fn next(&mut self, most: usize) -> Result<Option<RecordBatch>, DataError> {
        let rows = most.min(self.left.len());
        if rows == 0 {
            // Bytes after an array without rows are an error, too.
            return if self.rows == 0 && !self.trusted { self.end().map(|()| None) } else { Ok(None) };
        }
        let next = self.left.start..self.left.start + rows;
        let batch = if self.fortran && self.by_column {
            let columns = (0..self.columns).map(|number| self.column(number, &next));
            let columns = columns.collect::<Result<Vec<_>, _>>()?.into_iter();
            let fields = columns.clone().map(|column| Field::new("", column.data_type().clone(), false));
            batch_of_columns(fields.map(Arc::new).zip(columns), rows, &self.name)?
        } else {
            let values = match (self.fortran, self.element.precision()) {
                (false, _) => self.elements(rows * self.columns)?,
                (true, Precision::Single) => FeatureValues::F32(self.gather(&next)?),
                (true, Precision::Double) => FeatureValues::F64(self.gather(&next)?),
            };
            batch_of_rows((values, self.columns, rows), [], &self.name)?
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
        self.left = within(parts, self.rows);
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
        // An array without columns can claim any number of rows without a byte of data.
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
struct ElementStream<'a, R> {
    stream: io::Take<R>,
    /// The number of bytes of the array's elements.
    wanted: u64,
    /// The number of these bytes that have been read before.
    before: u64,
    name: &'a str,
}

impl<R: Read> ElementStream<'_, R> {
    /// Appends all elements to `values`, in the file's order. `block` is a buffer for the file's bytes.
    fn read<T: RowFloat>(
        mut self,
        element: NpyType,
        block: &mut Vec<u8>,
        values: &mut Vec<T>,
    ) -> Result<(), DataError> {
        let announced = self.stream.limit();
        // Decoded block by block: the file's bytes and their values need not be in memory together.
        let size = usize::try_from(announced).unwrap_or(BLOCK).min(BLOCK);
        if block.len() < size {
            block.resize(size, 0);
        }
        let block = block.get_mut(..size).unwrap_or_default();
        while self.stream.limit() > 0 {
            let filled = fill(&mut self.stream, block).map_err(|error| unreadable(self.name, &error))?;
            let whole = filled - filled % element.bytes();
            let bytes = block.get(..whole).unwrap_or_default();
            values.try_reserve(whole / element.bytes()).map_err(|_| too_large(self.name))?;
            element.decode(bytes, values);
            if filled < block.len() {
                break;
            }
        }
        match self.stream.limit() {
            0 => Ok(()),
            lacking => Err(wrong_length(self.name, self.wanted, self.before + announced - lacking)),
        }
    }
}

/// Bytes decoded at a time: a multiple of every element's size that stays in the second-level cache.
const BLOCK: usize = 1 << 18;

/// Fewest rows of a block that is gathered from columns. Shorter reads mostly cost the system call.
const LEAST_ROWS: usize = 1024;

/// Reads until `block` is full or the stream ends. Returns the number of bytes.
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

/// The error for a file that holds `held` bytes of elements although its header claims `wanted`.
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
