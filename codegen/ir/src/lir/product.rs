//! Products of matrices by the tensor cores of a GPU.
//!
//! A *tile* is a square of [`TILE`] units and rows. A warp computes a tile at a time, [`TILE_TERMS`] terms in
//! each step, and its threads hold the tile's sums: thread `n` of the warp has those of unit `n / 4` and of
//! the rows `n % 4 * 2` and `n % 4 * 2 + 1`. NVIDIA's PTX manual defines this arrangement for the
//! multiplication of matrices in double precision (`mma.m8n8k4`).

use super::{BufferId, Value};

/// Units, and rows, of a tile.
pub const TILE: i64 = 8;

/// Terms that a step adds to the sums of a tile.
pub const TILE_TERMS: i64 = 4;

/// Threads of a warp that computes tiles.
pub const WARP: i64 = 32;

/// Unit of a tile, and its rows, whose sums thread number `lane` of a warp holds.
pub const fn product_tile(lane: i64) -> (i64, [i64; 2]) {
    let first = lane % TILE_TERMS * 2;
    (lane / TILE_TERMS, [first, first + 1])
}

/// Sums of products in double precision, which the threads of a block compute together:
///
/// `sums[unit][row] = starts[unit] + Σ constants[unit][term] * operands[term][row]`
///
/// Each thread adds the terms of its own sums in order. Tensor cores may add them in any other order and
/// without rounding in between. Threads beyond the last whole warp compute nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockProduct {
    /// Number of the thread in its block, an index.
    pub thread: Value,
    /// Threads of the block.
    pub threads: u32,
    /// Constants of a panel of [`TILE`] units after the other: those of the first term of all units of the
    /// panel, then those of the second term, and so on.
    pub constants: ProductElements,
    /// The first summand of each unit. Sums begin with 0 if `None`.
    pub starts: Option<ProductElements>,
    /// The operand of term 0 and of the first row.
    pub operands: ProductElements,
    /// For each term, the number of distances from `operands` to its operand, as an `i32`. The number of the
    /// term if `None`.
    pub places: Option<ProductElements>,
    /// The sum of unit 0 and of the first row.
    pub sums: ProductElements,
    /// Elements from an operand to the next one, and from a sum to the next one, an index.
    pub distance: Value,
    /// Number of rows, an index. Rows are adjacent.
    pub rows: Value,
    /// Number of terms of a sum.
    pub terms: i64,
    /// Number of panels.
    pub panels: i64,
}

/// Elements of a buffer, from an index on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductElements {
    /// The buffer.
    pub buffer: BufferId,
    /// Number of the first element, an index.
    pub first: Value,
}

impl BlockProduct {
    /// Number of warps that compute tiles.
    pub fn warps(&self) -> i64 {
        i64::from(self.threads) / WARP
    }

    /// The elements that the product reads and writes.
    pub fn elements(&self) -> impl Iterator<Item = ProductElements> {
        let always = [self.constants, self.operands, self.sums];
        always.into_iter().chain(self.starts).chain(self.places)
    }

    /// Mutable elements that the product reads and writes.
    pub(super) fn elements_mut(&mut self) -> impl Iterator<Item = &mut ProductElements> {
        let always = [&mut self.constants, &mut self.operands, &mut self.sums];
        always.into_iter().chain(&mut self.starts).chain(&mut self.places)
    }

    /// The values that the product uses.
    pub fn values(&self) -> impl Iterator<Item = Value> {
        [self.thread, self.distance, self.rows].into_iter().chain(self.elements().map(|of| of.first))
    }
}
