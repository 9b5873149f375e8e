//! Reads the scalars and arrays of a checkpoint, in place.

use sched_diagnostics::Place;

use crate::codes;
use crate::error::ModelError;
use crate::forest::Float;

/// A cursor over the bytes of a checkpoint.
pub(super) struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    pub fn new(all: &'a [u8]) -> Bytes<'a> {
        Bytes { all, at: 0 }
    }

    /// The number of bytes that are not read yet.
    pub fn remaining(&self) -> usize {
        self.all.len() - self.at
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8], ModelError> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.all.len());
        let Some(end) = end else {
            let message = format!(
                "the file has {} bytes after byte {}, and {count} are needed",
                self.remaining(),
                self.at
            );
            return Err(ModelError::new(codes::SYNTAX, message)
                .at(Place::Byte(self.all.len()))
                .help("the file was probably damaged or cut short; copy it again or save the model again"));
        };
        let taken = &self.all[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn word<const N: usize>(&mut self) -> Result<[u8; N], ModelError> {
        let mut word = [0; N];
        word.copy_from_slice(self.take(N)?);
        Ok(word)
    }

    pub fn u8(&mut self) -> Result<u8, ModelError> {
        Ok(self.word::<1>()?[0])
    }

    pub fn i32(&mut self) -> Result<i32, ModelError> {
        Ok(i32::from_le_bytes(self.word()?))
    }

    pub fn u64(&mut self) -> Result<u64, ModelError> {
        Ok(u64::from_le_bytes(self.word()?))
    }

    pub fn f32(&mut self) -> Result<f32, ModelError> {
        Ok(f32::from_le_bytes(self.word()?))
    }

    /// Reads the length of an array, and returns the bytes of its elements of `size` bytes each.
    fn elements(&mut self, size: usize) -> Result<&'a [u8], ModelError> {
        let count = usize::try_from(self.u64()?).unwrap_or(usize::MAX);
        self.take(count.saturating_mul(size))
    }

    pub fn array<const N: usize>(&mut self) -> Result<ElementArray<'a, N>, ModelError> {
        Ok(ElementArray(self.elements(N)?))
    }

    pub fn floats(&mut self, float: Float) -> Result<Floats<'a>, ModelError> {
        Ok(match float {
            Float::F32 => Floats::F32(self.array()?),
            Float::F64 => Floats::F64(self.array()?),
        })
    }

    /// Skips the optional fields, which later releases may add, each with a name.
    pub fn skip_fields(&mut self) -> Result<(), ModelError> {
        for _ in 0..self.i32()? {
            self.array::<1>()?;
            let size = self.u64()?;
            let count = self.u64()?;
            self.take(usize::try_from(size.saturating_mul(count)).unwrap_or(usize::MAX))?;
        }
        Ok(())
    }
}

/// An array with elements of `N` bytes each.
#[derive(Clone, Copy)]
pub(super) struct ElementArray<'a, const N: usize>(&'a [u8]);

impl<'a, const N: usize> ElementArray<'a, N> {
    pub fn len(&self) -> usize {
        self.0.len() / N
    }

    pub fn bytes(&self) -> &'a [u8] {
        self.0
    }

    fn get(&self, index: usize) -> Option<[u8; N]> {
        let start = index.checked_mul(N)?;
        let bytes = self.0.get(start..start.checked_add(N)?)?;
        let mut element = [0; N];
        element.copy_from_slice(bytes);
        Some(element)
    }
}

impl ElementArray<'_, 1> {
    pub fn u8(&self, index: usize) -> Option<u8> {
        self.get(index).map(|[byte]| byte)
    }
}

impl ElementArray<'_, 4> {
    pub fn i32(&self, index: usize) -> Option<i32> {
        self.get(index).map(i32::from_le_bytes)
    }

    pub fn u32(&self, index: usize) -> Option<u32> {
        self.get(index).map(u32::from_le_bytes)
    }

    pub fn i32s(&self) -> Vec<i32> {
        (0..self.len()).filter_map(|index| self.i32(index)).collect()
    }
}

impl ElementArray<'_, 8> {
    pub fn u64(&self, index: usize) -> Option<u64> {
        self.get(index).map(u64::from_le_bytes)
    }

    pub fn f64(&self, index: usize) -> Option<f64> {
        self.get(index).map(f64::from_le_bytes)
    }
}

/// An array of numbers in the model's type.
#[derive(Clone, Copy)]
pub(super) enum Floats<'a> {
    F32(ElementArray<'a, 4>),
    F64(ElementArray<'a, 8>),
}

impl Floats<'_> {
    pub fn len(&self) -> usize {
        match self {
            Floats::F32(array) => array.len(),
            Floats::F64(array) => array.len(),
        }
    }

    pub fn get(&self, index: usize) -> Option<f64> {
        match self {
            Floats::F32(array) => array.get(index).map(|bytes| f64::from(f32::from_le_bytes(bytes))),
            Floats::F64(array) => array.f64(index),
        }
    }
}
