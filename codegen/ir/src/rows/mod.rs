//! Rows as walks read them: the address of each feature value, and copies of rows as column-major
//! blocks.
//!
//! A walk reads a row from the call's input, from a copy of rows, or from a copy in transposed blocks.
//! In a transposed block, one feature of all rows is contiguous ([`transpose`]). Such a copy has only
//! the features that some tree tests ([`features`]). If the call's input is columns, copies are filled
//! from these directly ([`input`]). Copies hold values, or bins if rows are quantized.

pub mod features;
pub mod input;
pub mod transpose;

use crate::lir::{self, Address, Bin, BufferId, Builder, Cast, Cmp, Gather, Keep, Scalar, Ty, Value};

/// Address of a walk's row, or of the rows of a vector of walks. The value of feature `f` is element
/// `index + f * stride` of `buffer`, `offset` bytes further.
#[derive(Clone, Copy, Debug)]
pub struct RowAddress {
    /// The buffer of rows.
    pub buffer: BufferId,
    /// Index of the element of feature 0 of the first row.
    pub index: Value,
    /// Bytes to add, a multiple of the element's size.
    pub offset: u32,
    /// Element type of the rows.
    pub element: Scalar,
    /// Distance from one feature to the next, in elements.
    pub stride: u32,
    /// Rows of a vector of walks; `None` for a single walk.
    pub lanes: Option<RowLanes>,
    /// All values of the row as a look-up table, if all lanes walk one row.
    pub table: Option<Value>,
}

/// The rows of a vector of walks.
#[derive(Clone, Copy, Debug)]
pub struct RowLanes {
    /// Distance of each lane's row from the first row in elements, a vector of `i32`. `None` if all
    /// lanes walk one row.
    pub distance: Option<Value>,
    /// Whether the distances are 0, 1, 2 and so on, so that a feature of all lanes is contiguous.
    pub adjacent: bool,
    /// Mask of lanes with a row; `None` if all lanes have one.
    pub mask: Option<Value>,
}

/// Rows of a copy.
#[derive(Clone, Copy, Debug)]
pub struct CopiedRows {
    /// First row.
    pub first: Value,
    /// Number of rows.
    pub count: Value,
    /// Number of rows for which the copy has space: `count` rounded up to whole blocks.
    pub capacity: Value,
}

/// Order of rows in a column of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPlacement {
    /// Number of rows that share a word: rows that are [`BANKS`] rows apart. 1 if rows are in ascending
    /// order.
    per_word: i64,
}

/// Number of banks of shared memory, as an index.
const BANKS: i64 = lir::BANKS as i64;

/// Bytes that all banks of shared memory deliver at once.
const LINE: i64 = 128;

/// Number of rows of a block below which several threads of a warp walk one row, each through other trees.
/// Then consecutive columns of a row should be in different banks.
const FEW_ROWS: i64 = 32;

/// Whether consecutive columns of a row are in different banks of shared memory, in a block of at most `most`
/// rows. Packed rows share words and begin in the first bank.
pub fn has_odd_columns(most: i64, is_packed: bool) -> bool {
    most < FEW_ROWS && !is_packed
}

/// Number of rows for which a column in shared memory has space if a block has at most `most` rows: an odd
/// number, or whole lines, so that each column begins in the first bank.
pub fn shared_capacity(most: i64, element: Scalar, is_packed: bool) -> i64 {
    let line = LINE / i64::from(element.bytes());
    if has_odd_columns(most, is_packed) { most | 1 } else { (most + line - 1) / line * line }
}

/// Threads that share work: a thread takes the pieces `thread`, `thread + count` and so on.
#[derive(Clone, Copy, Debug)]
pub struct BlockThreads {
    /// The number of the running thread, an index.
    pub thread: Value,
    /// Number of threads.
    pub count: i64,
}

impl RowPlacement {
    /// Rows in ascending order.
    pub const IN_ORDER: RowPlacement = RowPlacement { per_word: 1 };

    /// Neighbouring rows in neighbouring banks, so that a word has rows that are [`BANKS`] rows apart.
    pub fn spread(element: Scalar) -> RowPlacement {
        RowPlacement { per_word: i64::from(Scalar::I32.bytes() / element.bytes()).max(1) }
    }

    /// Position of a row in its column, as an index.
    pub fn position(self, b: &mut Builder, row: Value) -> Value {
        if self.per_word == 1 {
            return row;
        }
        let [banks, last, most] = [BANKS, BANKS - 1, self.per_word - 1].map(|n| b.int(n));
        let (bank, line) = (b.bin(Bin::And, row, last), b.bin(Bin::IDiv, row, banks));
        let in_word = b.bin(Bin::And, line, most);
        let before = b.sub(line, in_word);
        let (before, bank) = (b.mul_int(before, BANKS), b.mul_int(bank, self.per_word));
        let place = b.add(before, bank);
        b.add(place, in_word)
    }
}

impl RowAddress {
    /// Loads the values of a feature: an index for a single row, a vector of `i32` for a vector of
    /// walks. Bins are zero-extended to these types.
    pub fn load(&self, b: &mut Builder, feature: Value) -> Value {
        let Some(lanes) = self.lanes else {
            let feature = b.mul_int(feature, i64::from(self.stride));
            let index = b.add(self.index, feature);
            let at =
                Address { buffer: self.buffer, index, stride: self.element.bytes(), offset: self.offset };
            let value = b.load(Ty::of(self.element), at);
            return if self.element.is_float() { value } else { b.to_index(value) };
        };
        if let Some(table) = self.table {
            return b.lookup(table, feature);
        }
        let ty = b.ty(feature);
        let stride = b.int_of(ty, i64::from(self.stride));
        let feature = if self.stride == 1 { feature } else { b.mul(feature, stride) };
        let index = lanes.distance.map_or(feature, |distance| b.add(feature, distance));
        let gather = Gather {
            buffer: self.buffer,
            base: self.index,
            index,
            stride: self.element.bytes(),
            offset: self.offset,
            mask: lanes.mask,
        };
        if self.element.is_float() {
            return b.gather(self.element, gather);
        }
        // Gathers fetch whole words only.
        let word = b.gather(Scalar::I32, gather);
        b.extract_bits(word, 0, 8 * self.element.bytes())
    }

    /// Whether a feature of all rows of the vector is contiguous.
    pub fn is_adjacent(&self) -> bool {
        self.lanes.is_some_and(|lanes| lanes.adjacent)
    }

    /// Loads the byte-sized bins of one column for all lanes. `column` is a scalar of the index type.
    pub fn load_bytes(&self, b: &mut Builder, column: Value, lanes: u16) -> Value {
        if self.is_adjacent() {
            return self.load_column(b, column, lanes);
        }
        let column = b.cast(Cast::Trunc, column, Ty::of(Scalar::I32));
        let column = b.splat(column, lanes);
        let bins = self.load(b, column);
        b.cast(Cast::Trunc, bins, Ty::vector(Scalar::I8, lanes))
    }

    /// Loads the values of one feature for `width` rows. They must be contiguous
    /// ([`RowAddress::is_adjacent`]). `feature` is a scalar of the index type.
    pub fn load_column(&self, b: &mut Builder, feature: Value, width: u16) -> Value {
        self.load_column_with_reuse(b, Keep::Invariant, feature, width)
    }

    /// Loads as [`RowAddress::load_column`] does. Later loads may reuse the value as `keep` says.
    pub fn load_column_with_reuse(&self, b: &mut Builder, keep: Keep, feature: Value, width: u16) -> Value {
        let distance = b.mul_int(feature, i64::from(self.stride));
        self.load_rows(b, keep, distance, width)
    }

    /// Loads adjacent values of all lanes, `distance` elements after those of feature 0.
    pub fn load_rows(&self, b: &mut Builder, keep: Keep, distance: Value, width: u16) -> Value {
        let first =
            Address { offset: self.offset, ..Address::element(self.buffer, self.index, self.element) };
        let at = match b.as_int(distance) {
            Some(elements) => b.address_after(first, elements),
            None => Address { index: b.add(self.index, distance), ..first },
        };
        b.load_with_reuse(keep, Ty::vector(self.element, width), at)
    }
}

/// Mask of the `lanes` lanes whose number is below `count`, an index.
pub fn lanes_below(b: &mut Builder, count: Value, lanes: u16) -> Value {
    let ty = Ty::vector(Scalar::I32, lanes);
    let all = b.int(i64::from(lanes));
    let count = b.min(count, all);
    let count = b.cast(Cast::Trunc, count, Ty::of(Scalar::I32));
    let count = b.splat(count, lanes);
    let numbers = b.iota(ty);
    b.cmp(Cmp::Lt, numbers, count)
}
