//! The nesting depth of the columns of a Parquet file.
//!
//! The Parquet crate builds the tree of columns with a recursive call for each level. A file of a few MiB can
//! claim more levels than any stack holds, which would end the process. So this module checks the list of
//! columns first. The list is part of an index in the compact protocol of Thrift, of which this module reads
//! as much as it needs to skip everything else.

/// Maximum nesting of groups.
const MOST_LEVELS: usize = 64;
/// Maximum nesting of the structures in one entry of the index.
const MOST_NESTED: usize = 32;

/// Field number of the list of columns in the index, and of the number of children in a column's entry.
const COLUMNS: i16 = 2;
const CHILDREN: i16 = 5;

/// Types of the protocol.
const BYTE: u8 = 3;
const INTEGERS: std::ops::RangeInclusive<u8> = 4..=6;
const DOUBLE: u8 = 7;
const TEXT: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCTURE: u8 = 12;

/// Whether the nesting of columns is within the limit, by the index of a file; `None` if the index is
/// unreadable.
pub(super) fn is_shallow(index: &[u8]) -> Option<bool> {
    let mut cursor = ThriftBytes { rest: index };
    let mut field = 0;
    while let Some(kind) = cursor.field(&mut field)? {
        if (field, kind) == (COLUMNS, LIST) {
            return cursor.columns();
        }
        cursor.skip(kind, MOST_NESTED)?;
    }
    // An index without columns has no nesting.
    Some(true)
}

/// The bytes that are still to be read.
struct ThriftBytes<'a> {
    rest: &'a [u8],
}

impl ThriftBytes<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn bytes(&mut self, number: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(number).ok()?..)?;
        Some(())
    }

    /// A number of any length up to 64 bits.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A number with its sign in the last bit.
    fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// The type of the next field of a structure; puts its number into `field`. `Some(None)` is the end of
    /// the structure.
    fn field(&mut self, field: &mut i16) -> Option<Option<u8>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Some(None);
        }
        *field = match byte >> 4 {
            0 => i16::try_from(self.signed()?).ok()?,
            more => field.checked_add(i16::from(more))?,
        };
        Some(Some(byte & 0xf))
    }

    /// The length of a list and the type of its elements.
    fn list(&mut self) -> Option<(u64, u8)> {
        let byte = self.byte()?;
        let length = if byte >> 4 == 0xf { self.number()? } else { u64::from(byte >> 4) };
        Some((length, byte & 0xf))
    }

    /// Steps over a value.
    fn skip(&mut self, kind: u8, nested: usize) -> Option<()> {
        let nested = nested.checked_sub(1)?;
        match kind {
            // Truth values of structures are part of their types.
            1 | 2 => Some(()),
            BYTE => self.bytes(1),
            kind if INTEGERS.contains(&kind) => self.number().map(drop),
            DOUBLE => self.bytes(8),
            TEXT => {
                let length = self.number()?;
                self.bytes(length)
            }
            LIST | SET => {
                let (length, kind) = self.list()?;
                (0..length).try_for_each(|_| self.element(kind, nested))
            }
            MAP => {
                let length = self.number()?;
                let kinds = if length > 0 { self.byte()? } else { 0 };
                (0..length).try_for_each(|_| {
                    self.element(kinds >> 4, nested)?;
                    self.element(kinds & 0xf, nested)
                })
            }
            STRUCTURE => {
                let mut field = 0;
                while let Some(kind) = self.field(&mut field)? {
                    self.skip(kind, nested)?;
                }
                Some(())
            }
            _ => None,
        }
    }

    /// Steps over an element of a list, in which each truth value takes a byte.
    fn element(&mut self, kind: u8, nested: usize) -> Option<()> {
        if matches!(kind, 1 | 2) { self.bytes(1) } else { self.skip(kind, nested) }
    }

    /// Walks the list of columns, in which each group precedes its children and states their number. Returns
    /// whether the nesting is within the limit.
    fn columns(&mut self) -> Option<bool> {
        let (length, kind) = self.list()?;
        if kind != STRUCTURE {
            return None;
        }
        let mut open: Vec<u64> = Vec::new();
        for _ in 0..length {
            let (mut field, mut children) = (0, 0);
            while let Some(kind) = self.field(&mut field)? {
                if field == CHILDREN && INTEGERS.contains(&kind) {
                    children = u64::try_from(self.signed()?).ok()?;
                } else {
                    self.skip(kind, MOST_NESTED)?;
                }
            }
            if let Some(left) = open.last_mut() {
                *left = left.saturating_sub(1);
            }
            open.push(children);
            // Complete groups still count here: the crate returns from them only after this element.
            if open.len() > MOST_LEVELS {
                return Some(false);
            }
            while open.last() == Some(&0) {
                open.pop();
            }
        }
        Some(true)
    }
}
