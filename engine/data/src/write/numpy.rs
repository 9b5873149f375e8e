//! Arrays of NumPy: `.npy`, and `.npz` with one of them.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use arrow_array::ArrayRef;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::encode::{Encode, TableOut};
use super::layout::{NumberType, ResultNumbers, TableLayout};

/// Bytes before the elements: the header has room for any number of rows, which is known at the end only.
const HEADER: usize = 128;

/// The name of the array in an archive: the one that `numpy.savez` gives to the first array without a name.
const MEMBER: &str = "arr_0.npy";

/// The destination of an array.
pub(super) enum Sink {
    /// A file, which can be written at any position.
    File(File),
    /// A pipe or device, which cannot seek.
    Pipe(TableOut),
}

/// An array that is written row by row.
pub(super) struct ArrayEncoder {
    /// The array: in the output file, or in an unnamed temporary file until it is complete.
    array: BufWriter<File>,
    /// The destination to which the whole array is copied at the end, if it cannot be written in place.
    copy: Option<Sink>,
    zipped: bool,
    number: NumberType,
    columns: usize,
    values: u64,
    /// The labels as elements of an array, all of one length.
    labels: Vec<Vec<u8>>,
}

impl ArrayEncoder {
    pub(super) fn create(place: Sink, zipped: bool, layout: &TableLayout) -> io::Result<Self> {
        let (file, copy) = match place {
            Sink::File(file) if !zipped => (file, None),
            place => (tempfile::tempfile()?, Some(place)),
        };
        let mut array = BufWriter::with_capacity(1 << 16, file);
        array.write_all(&[0; HEADER])?;
        let (columns, labels) = (layout.headings.len(), elements(&layout.labels));
        Ok(ArrayEncoder { array, copy, zipped, number: layout.number, columns, values: 0, labels })
    }

    fn header(&self) -> io::Result<Vec<u8>> {
        let element = match self.number {
            NumberType::F32 => "<f4".to_owned(),
            NumberType::F64 => "<f8".to_owned(),
            NumberType::I32 => "<i4".to_owned(),
            NumberType::I64 => "<i8".to_owned(),
            NumberType::Label => format!("<U{}", self.labels.first().map_or(0, |label| label.len() / LETTER)),
        };
        let rows = self.values / self.columns.max(1) as u64;
        let shape = match self.columns {
            1 => format!("({rows},)"),
            columns => format!("({rows}, {columns})"),
        };
        let text = format!("{{'descr': '{element}', 'fortran_order': False, 'shape': {shape}, }}");
        let mut header = b"\x93NUMPY\x01\x00".to_vec();
        header.extend((HEADER as u16 - 10).to_le_bytes());
        header.extend(text.as_bytes());
        if header.len() >= HEADER {
            return Err(io::Error::other("the array has too many rows"));
        }
        header.resize(HEADER - 1, b' ');
        header.push(b'\n');
        Ok(header)
    }
}

impl Encode for ArrayEncoder {
    fn write(&mut self, numbers: ResultNumbers<'_>, _: &[ArrayRef]) -> io::Result<()> {
        self.values += numbers.len() as u64;
        let out = &mut self.array;
        match numbers {
            ResultNumbers::F32(values) => {
                values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
            }
            ResultNumbers::F64(values) => {
                values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
            }
            ResultNumbers::I32(values) => {
                values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
            }
            ResultNumbers::I64(values) => {
                values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
            }
            ResultNumbers::Label(values) => {
                let text =
                    |value: &u32| self.labels.get(*value as usize).map(Vec::as_slice).unwrap_or_default();
                values.iter().try_for_each(|value| out.write_all(text(value)))
            }
        }
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let header = self.header()?;
        let mut array = self.array.into_inner().map_err(io::IntoInnerError::into_error)?;
        array.seek(SeekFrom::Start(0))?;
        array.write_all(&header)?;
        array.seek(SeekFrom::Start(0))?;
        match (self.copy, self.zipped) {
            (None, _) => Ok(()),
            (Some(Sink::File(file)), true) => zip(&mut array, file).map(drop),
            (Some(Sink::File(mut file)), false) => io::copy(&mut array, &mut file).map(drop),
            (Some(Sink::Pipe(mut out)), zipped) => {
                let mut whole = if zipped { zip(&mut array, tempfile::tempfile()?)? } else { array };
                whole.seek(SeekFrom::Start(0))?;
                io::copy(&mut whole, &mut out)?;
                out.flush()
            }
        }
    }
}

/// Bytes of a letter in an array of texts.
const LETTER: usize = 4;

/// Texts as elements of a NumPy array: letters of 4 bytes, then zeros up to the length of the
/// longest text.
fn elements(labels: &[String]) -> Vec<Vec<u8>> {
    let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0).max(1);
    let element = |label: &String| {
        let mut bytes: Vec<u8> = label.chars().flat_map(|letter| (letter as u32).to_le_bytes()).collect();
        bytes.resize(longest * LETTER, 0);
        bytes
    };
    labels.iter().map(element).collect()
}

/// Writes an archive that holds the array, as `numpy.savez` does: not compressed.
fn zip(array: &mut File, into: File) -> io::Result<File> {
    let mut archive = ZipWriter::new(BufWriter::with_capacity(1 << 16, into));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    archive.start_file(MEMBER, options)?;
    io::copy(array, &mut archive)?;
    archive.finish()?.into_inner().map_err(io::IntoInnerError::into_error)
}
