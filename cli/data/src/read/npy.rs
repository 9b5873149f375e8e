//! NumPy's `.npy`: a magic string, a header and the elements of one array.

mod element;
mod header;

use std::io::{self, Read};

use self::element::Element;
use super::{Rows, Values, unreadable};
use crate::codes;
use crate::error::{DataError, count};

/// What a file starts with.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads the array in `stream`, which holds `length` bytes where that is known, as rows of `columns` values.
pub(super) fn read(
    mut stream: impl Read,
    length: Option<u64>,
    name: &str,
    columns: usize,
) -> Result<Rows, DataError> {
    let (header, size) = header::read(&mut stream, name)?;
    let rows = count_rows(&header.shape, columns, name)?;
    let elements = rows.checked_mul(columns).ok_or_else(|| too_large(name))?;
    let wanted = elements.checked_mul(header.element.bytes()).ok_or_else(|| too_large(name))? as u64;
    if let Some(length) = length {
        let held = length.saturating_sub(size);
        if held != wanted {
            return Err(wrong_length(name, wanted, held));
        }
    }

    // Memory is reserved at once only where the file is known to be as long as its header says.
    let reserved = if length.is_some() { elements } else { 0 };
    let mut elements = Elements { stream: stream.take(wanted), wanted, name, reserved };
    let values = match header.element.wide() {
        false => Values::F32(elements.read(header.element, Element::decode_f32)?),
        true => Values::F64(elements.read(header.element, Element::decode_f64)?),
    };
    let mut rest = elements.stream.into_inner();
    let trailing = rest.read(&mut [0]).map_err(|error| unreadable(name, &error))?;
    if trailing != 0 {
        return Err(wrong_length(name, wanted, wanted + 1));
    }

    let values = match values {
        values if !header.fortran => values,
        Values::F32(values) => Values::F32(transpose(&values, rows)),
        Values::F64(values) => Values::F64(transpose(&values, rows)),
    };
    Ok(Rows { values, rows, columns, names: None, notes: Vec::new() })
}

/// The number of rows in an array of this shape, if it holds rows of `columns` values.
fn count_rows(shape: &[usize], columns: usize, name: &str) -> Result<usize, DataError> {
    let features = count(columns, "feature");
    match *shape {
        // Any number of such rows fits into an empty file: too good an offer to be taken.
        [rows, 0] if rows > 0 => {
            Err(DataError::new(codes::UNSUPPORTED_ARRAY, name, "the array's rows have no columns"))
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
    wanted: u64,
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
        let mut values = Vec::new();
        values.try_reserve_exact(self.reserved).map_err(|_| too_large(self.name))?;
        // Decoded block by block: the file's bytes and their values need not be in memory together.
        let mut block = vec![0; usize::try_from(self.wanted).unwrap_or(BLOCK).min(BLOCK)];
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
            lacking => Err(wrong_length(self.name, self.wanted, self.wanted - lacking)),
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

/// Row-major values from column-major ones.
fn transpose<T: Copy>(values: &[T], rows: usize) -> Vec<T> {
    let mut transposed = Vec::with_capacity(values.len());
    for row in 0..rows {
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
