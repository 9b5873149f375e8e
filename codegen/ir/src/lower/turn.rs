//! Copies of rows that lie feature by feature: blocks of rows are turned on their side.
//!
//! Rows are read a piece of neighbouring features at a time. The pieces of as many rows as fill vectors make squares, which
//! are turned in registers; rows that do not fill a block are gathered under a mask.

use super::nest::address;
use super::scope::Kernel;
use crate::lir::{Address, BufferId, Build, Cmp, Gather, Scalar, Ty, Value};

/// Most rows of a block that is turned in registers.
const MOST_ROWS: u32 = 64;

/// A block of rows and where its copy goes.
pub(super) struct Block {
    /// The first element of the first row.
    pub from: Value,
    /// The first element of the copy.
    pub to: Value,
    pub copy: BufferId,
    /// Rows of a full block.
    pub rows: u32,
}

impl Kernel<'_> {
    /// Copies rows in blocks of `width`; a block holds the first column of all its rows, then the second one, and so on.
    /// The rows that the last block lacks are zeros.
    pub(super) fn turn_rows(
        &mut self,
        copy: BufferId,
        first_row: Value,
        (count, held): (Value, Value),
        width: u32,
    ) {
        let (features, columns) = (self.features(), self.columns());
        let zero = self.b.int(0);
        self.for_loop((zero, held, i64::from(width)), &[], |k, first, _| {
            let row = k.b.add(first_row, first);
            let (from, to) = (k.b.mul_int(row, features), k.b.mul_int(first, columns));
            let block = Block { from, to, copy, rows: width };
            let left = k.b.sub(count, first);
            k.turn(&block, left);
            Vec::new()
        });
    }

    /// Copies a block of which so many rows exist.
    pub(super) fn turn(&mut self, block: &Block, left: Value) {
        if !self.fits_registers(block.rows) {
            return self.gather_block(block, left);
        }
        let all = self.b.int(i64::from(block.rows));
        let full = self.b.cmp(Cmp::Le, all, left);
        self.if_else(
            full,
            |k| {
                k.turn_block(block);
                Vec::new()
            },
            |k| {
                k.gather_block(block, left);
                Vec::new()
            },
        );
    }

    /// Features of a piece that are turned together.
    fn piece(&self) -> u32 {
        self.lowering.columns.as_ref().map_or(1, |(columns, _)| columns.width())
    }

    /// Whether blocks of so many rows are squares of pieces, and the last row can be reached from the first.
    fn fits_registers(&self, rows: u32) -> bool {
        let far = self.features().saturating_mul(i64::from(self.input.bytes()) * i64::from(rows));
        let piece = self.piece();
        let squares = rows.is_power_of_two() && (piece..=MOST_ROWS).contains(&rows);
        squares && piece > 1 && u32::try_from(far).is_ok()
    }

    /// Calls `body` for each piece with the place of its first feature in the first row, and that of its first column.
    fn each_piece(&mut self, block: &Block, mut body: impl FnMut(&mut Self, Value, Value)) {
        let Some(table) = self.pieces else { return };
        let piece = i64::from(self.piece());
        let (zero, end) = (self.b.int(0), self.b.int(self.columns() / piece));
        self.for_loop((zero, end, 1), &[], |k, number, _| {
            let feature = k.b.load_index(Scalar::I32, address(table, number, Scalar::I32.bytes()));
            let from = k.b.add(block.from, feature);
            let column = k.b.mul_int(number, piece * i64::from(block.rows));
            let to = k.b.add(block.to, column);
            body(k, from, to);
            Vec::new()
        });
    }

    /// Copies a full block.
    fn turn_block(&mut self, block: &Block) {
        let (bytes, piece) = (self.input.bytes(), self.piece());
        let row_bytes = self.features() as u32 * bytes;
        let ty = Ty::vector(self.input, piece as u16);
        self.each_piece(block, |k, from, to| {
            let mut load = |row: u32| {
                let at = Address { buffer: k.rows, index: from, stride: bytes, offset: row * row_bytes };
                k.b.load(ty, at)
            };
            // Each vector holds every so many-th row, so that groups of its lanes are the rows of squares.
            let rows: Vec<Vec<Value>> = (0..piece)
                .map(|first| (first..block.rows).step_by(piece as usize).map(&mut load).collect())
                .collect();
            let squares = rows.into_iter().map(|rows| k.joined(rows)).collect();
            for (column, values) in (0..).zip(k.turned(squares)) {
                let at = Address {
                    buffer: block.copy,
                    index: to,
                    stride: bytes,
                    offset: column * block.rows * bytes,
                };
                k.b.store(at, values);
            }
        });
    }

    /// Vectors one after the other as one; their number is a power of two.
    fn joined(&mut self, mut parts: Vec<Value>) -> Value {
        while parts.len() > 1 {
            parts = parts.chunks(2).map(|pair| self.b.concat(pair[0], pair[1])).collect();
        }
        parts[0]
    }

    /// Turns squares, which lie side by side in as many vectors as a square has rows.
    fn turned(&mut self, mut rows: Vec<Value>) -> Vec<Value> {
        let mut size = rows.len() / 2;
        while size > 0 {
            for upper in (0..rows.len()).filter(|row| row & size == 0) {
                let (a, b) = (rows[upper], rows[upper + size]);
                rows[upper] = self.b.transpose_step(a, b, size as u16, 0);
                rows[upper + size] = self.b.transpose_step(a, b, size as u16, 1);
            }
            size /= 2;
        }
        rows
    }

    /// Copies a block of which only so many rows exist.
    fn gather_block(&mut self, block: &Block, left: Value) {
        let (features, input, piece) = (self.features(), self.input, self.piece());
        let lanes = block.rows as u16;
        let ty = Ty::vector(Scalar::I32, lanes);
        let (numbers, all) = (self.b.iota(ty), self.b.int_of(ty, features));
        let distance = self.b.mul(numbers, all);
        let mask = Some(self.lanes_below(left, lanes));
        self.each_piece(block, |k, from, to| {
            for column in 0..piece {
                let (stride, offset) = (input.bytes(), column * input.bytes());
                let gather = Gather { buffer: k.rows, base: from, index: distance, stride, offset, mask };
                let values = k.b.gather(input, gather);
                let offset = column * block.rows * stride;
                k.b.store(Address { buffer: block.copy, index: to, stride, offset }, values);
            }
        });
    }
}
