//! Transposed copies of rows: in a block of rows, the values of one feature are contiguous.
//!
//! Rows are read in pieces of adjacent features. The pieces of several rows fill vectors and form squares,
//! which are transposed in registers. Rows that do not fill a block are gathered under a mask.

use super::features::FeatureSubset;
use super::input::{FEATURES_AHEAD, InputColumns, RowRange};
use super::{CopiedRows, lanes_below};
use crate::lir::{Address, BufferId, BuildStmts, Builder, Cmp, Gather, Scalar, Ty, Value};

/// Largest number of rows of a block that is transposed in registers.
const MOST_TRANSPOSED_ROWS: u32 = 64;

/// A block of rows, and the destination of its copy.
pub struct RowBlock {
    /// Index of the first row's first value in the input.
    pub from: Value,
    /// Index of the block's first value in the copy.
    pub to: Value,
    /// The copy.
    pub copy: BufferId,
    /// Rows of a full block.
    pub rows: u32,
}

/// Transposition of consecutive rows into a subset of their features.
#[derive(Clone, Copy)]
pub struct Transpose<'a> {
    /// The rows.
    pub rows: BufferId,
    /// Element type of the rows.
    pub input: Scalar,
    /// Number of features of a row.
    pub features: i64,
    /// Features that are copied.
    pub subset: &'a FeatureSubset,
    /// Table with the first feature of each piece of the subset.
    pub pieces: BufferId,
}

impl Transpose<'_> {
    /// Number of columns of a copy.
    pub fn columns(&self) -> i64 {
        self.subset.count() as i64
    }

    /// Copies rows of input columns into a block.
    pub fn copy_block_of_columns(
        &self,
        b: &mut Builder,
        from: InputColumns,
        rows: RowRange,
        block: &RowBlock,
    ) {
        let piece = i64::from(self.piece());
        let (zero, pieces) = (b.int(0), b.int(self.columns() / piece));
        b.for_loop((zero, pieces, 1), &[], |b, number, _| {
            let feature = b.load_index(Scalar::I32, Address::element(self.pieces, number, Scalar::I32));
            let column = b.mul_int(number, piece * i64::from(block.rows));
            let to = b.add(block.to, column);
            for ahead in 0..piece {
                let feature = b.add_int(feature, ahead);
                let start = from.feature_start(b, feature);
                let values = from.load_rows(b, start, rows, block.rows as u16);
                let at = Address::element(block.copy, to, self.input);
                let at = b.address_after(at, ahead * i64::from(block.rows));
                b.store(at, values);
            }
            Vec::new()
        });
    }

    /// Copies input columns into blocks of `width` rows, one feature after the other. A block holds the first
    /// column of all its rows, then the second column, and so on. Missing rows of the last block are zeros.
    pub fn copy_columns(
        &self,
        b: &mut Builder,
        from: InputColumns,
        rows: CopiedRows,
        (copy, width): (BufferId, u32),
        are_full: bool,
    ) {
        let piece = i64::from(self.piece());
        let (zero, pieces) = (b.int(0), b.int(self.columns() / piece));
        b.for_loop((zero, pieces, 1), &[], |b, number, _| {
            let feature = b.load_index(Scalar::I32, Address::element(self.pieces, number, Scalar::I32));
            let later = b.add_int(number, FEATURES_AHEAD / piece);
            let last = b.add_int(pieces, -1);
            let later = b.min(later, last);
            let later = b.load_index(Scalar::I32, Address::element(self.pieces, later, Scalar::I32));
            for ahead in 0..piece {
                let feature = b.add_int(feature, ahead);
                let start = from.feature_start(b, feature);
                let later = b.add_int(later, ahead);
                let next = from.feature_start(b, later);
                let column = b.mul_int(number, piece);
                let column = b.add_int(column, ahead);
                let column = b.mul_int(column, i64::from(width));
                b.for_loop((zero, rows.capacity, i64::from(width)), &[], |b, block, _| {
                    let count = (!are_full).then(|| b.sub(rows.count, block));
                    let left = RowRange { first: b.add(rows.first, block), count };
                    from.prefetch_rows(b, next, left.first, width);
                    let values = from.load_rows(b, start, left, width as u16);
                    let before = b.mul_int(block, self.columns());
                    let index = b.add(before, column);
                    b.store(Address::element(copy, index, self.input), values);
                    Vec::new()
                });
            }
            Vec::new()
        });
    }

    /// Copies a block of which `n_rows` rows exist.
    pub fn copy_block(&self, b: &mut Builder, block: &RowBlock, n_rows: Value) {
        if !self.fits_registers(block.rows) {
            return self.gather_block(b, block, n_rows);
        }
        let all = b.int(i64::from(block.rows));
        let full = b.cmp(Cmp::Le, all, n_rows);
        b.if_else(
            full,
            |b| {
                self.copy_full_block(b, block);
                Vec::new()
            },
            |b| {
                self.gather_block(b, block, n_rows);
                Vec::new()
            },
        );
    }

    /// Number of features of a piece, which are transposed together.
    fn piece(&self) -> u32 {
        self.subset.piece_width()
    }

    /// Whether a block of `rows` rows splits into squares of pieces, and 32-bit offsets reach from its
    /// first row to its last.
    fn fits_registers(&self, rows: u32) -> bool {
        let far = self.features.saturating_mul(i64::from(self.input.bytes()) * i64::from(rows));
        let piece = self.piece();
        let squares = rows.is_power_of_two() && (piece..=MOST_TRANSPOSED_ROWS).contains(&rows);
        squares && piece > 1 && u32::try_from(far).is_ok()
    }

    /// Calls `body` for each piece, with the index of its first feature in the first row and the index
    /// of its first column in the copy.
    fn each_piece(
        &self,
        b: &mut Builder,
        block: &RowBlock,
        mut body: impl FnMut(&mut Builder, Value, Value),
    ) {
        let piece = i64::from(self.piece());
        let (zero, end) = (b.int(0), b.int(self.columns() / piece));
        b.for_loop((zero, end, 1), &[], |b, number, _| {
            let feature = b.load_index(Scalar::I32, Address::element(self.pieces, number, Scalar::I32));
            let from = b.add(block.from, feature);
            let column = b.mul_int(number, piece * i64::from(block.rows));
            let to = b.add(block.to, column);
            body(b, from, to);
            Vec::new()
        });
    }

    /// Copies a block with all rows.
    fn copy_full_block(&self, b: &mut Builder, block: &RowBlock) {
        let (bytes, piece) = (self.input.bytes(), self.piece());
        let row_bytes = self.features as u32 * bytes;
        let ty = Ty::vector(self.input, piece as u16);
        self.each_piece(b, block, |b, from, to| {
            let mut load = |row: u32| {
                let at = Address { buffer: self.rows, index: from, stride: bytes, offset: row * row_bytes };
                b.load(ty, at)
            };
            // Vector `first` holds the pieces of rows `first`, `first + piece` and so on. Each piece is a row
            // of a square.
            let rows: Vec<Vec<Value>> = (0..piece)
                .map(|first| (first..block.rows).step_by(piece as usize).map(&mut load).collect())
                .collect();
            let squares = rows.into_iter().map(|rows| concatenate(b, rows)).collect();
            for (column, values) in (0..).zip(transpose_squares(b, squares)) {
                let at = Address {
                    buffer: block.copy,
                    index: to,
                    stride: bytes,
                    offset: column * block.rows * bytes,
                };
                b.store(at, values);
            }
        });
    }

    /// Copies a block of which `n_rows` rows exist.
    fn gather_block(&self, b: &mut Builder, block: &RowBlock, n_rows: Value) {
        let (input, piece) = (self.input, self.piece());
        let lanes = block.rows as u16;
        let ty = Ty::vector(Scalar::I32, lanes);
        let (numbers, all) = (b.iota(ty), b.int_of(ty, self.features));
        let distance = b.mul(numbers, all);
        let mask = Some(lanes_below(b, n_rows, lanes));
        self.each_piece(b, block, |b, from, to| {
            for column in 0..piece {
                let (stride, offset) = (input.bytes(), column * input.bytes());
                let gather = Gather { buffer: self.rows, base: from, index: distance, stride, offset, mask };
                let values = b.gather(input, gather);
                let offset = column * block.rows * stride;
                b.store(Address { buffer: block.copy, index: to, stride, offset }, values);
            }
        });
    }
}

/// Concatenates vectors, whose number is a power of two.
fn concatenate(b: &mut Builder, mut parts: Vec<Value>) -> Value {
    while parts.len() > 1 {
        parts = parts.chunks(2).map(|pair| b.concat(pair[0], pair[1])).collect();
    }
    parts[0]
}

/// Transposes all squares of `rows`: lanes `k * n` to `k * n + n - 1` of the `n` vectors are square `k`.
fn transpose_squares(b: &mut Builder, mut rows: Vec<Value>) -> Vec<Value> {
    let mut size = rows.len() / 2;
    while size > 0 {
        for upper in (0..rows.len()).filter(|row| row & size == 0) {
            let (first, second) = (rows[upper], rows[upper + size]);
            rows[upper] = b.transpose_step(first, second, size as u16, 0);
            rows[upper + size] = b.transpose_step(first, second, size as u16, 1);
        }
        size /= 2;
    }
    rows
}
