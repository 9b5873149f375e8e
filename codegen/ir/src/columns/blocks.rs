//! Blocks of rows, column by column: values of features, or columns that are computed from these.
//!
//! Features of a block are transposed first. Computed columns then read and store whole vectors of rows.

use super::code::{BufferElements, ColumnCode};
use super::stored::StoredColumns;
use crate::lir::{Bin, BufferId, BuildStmts, Builder, Value};
use crate::rows::CopiedRows;
use crate::rows::input::{InputColumns, RowRange};
use crate::rows::transpose::{RowBlock, Transpose};

/// Fills blocks of rows.
#[derive(Clone, Copy)]
pub struct RowBlocks<'a> {
    /// Transposition of the features that blocks have, or that columns are computed from.
    pub transpose: Transpose<'a>,
    /// Code of the computed columns, if there are some.
    pub code: Option<ColumnCode<'a>>,
}

/// The blocks of a copy, to be filled in the order of rows.
#[derive(Clone, Copy)]
pub struct CopyBlocks {
    /// The copy.
    pub copy: BufferId,
    /// The rows.
    pub rows: CopiedRows,
    /// Rows of a block.
    pub width: u32,
}

/// Source of the rows that blocks hold.
#[derive(Clone, Copy)]
pub enum BlockSource {
    /// The rows of the call.
    Rows,
    /// The input columns of the call.
    Columns {
        /// The columns.
        columns: InputColumns,
        /// Whether no row of any block is beyond the call's end.
        are_full: bool,
    },
}

/// Memory for the features and the stored columns of a block, if columns are computed.
pub type ColumnScratch = Option<(BufferId, StoredColumns)>;

impl RowBlocks<'_> {
    /// Number of columns.
    pub fn columns(&self) -> i64 {
        self.code.map_or(self.transpose.columns(), |code| code.runs.count as i64)
    }

    /// Copies rows in blocks. A block holds the first column of all its rows, then the second column, and so
    /// on. Missing rows of the last block have columns of zeros.
    pub fn copy_rows(&self, b: &mut Builder, to: CopyBlocks, source: BlockSource) {
        if let (None, BlockSource::Columns { columns, are_full }) = (self.code, source) {
            return self.transpose.copy_columns(b, columns, to.rows, (to.copy, to.width), are_full);
        }
        let group = self.code.map_or(0, |code| code.group_rows(to.width));
        self.with_scratch(b, group.max(to.width), |b, scratch| {
            let mut first = b.int(0);
            if group > to.width {
                first = self.copy_groups(b, (to, group), scratch, source);
            }
            b.for_loop((first, to.rows.capacity, to.width.into()), &[], |b, number, _| {
                let first = b.add(to.rows.first, number);
                let from = b.mul_int(first, self.transpose.features);
                let start = b.mul_int(number, self.columns());
                let left = b.sub(to.rows.count, number);
                let block = RowBlock { from, to: start, copy: to.copy, rows: to.width };
                self.fill_block(b, scratch, (&block, source), RowRange { first, count: Some(left) });
                Vec::new()
            });
        });
    }

    /// Copies rows in whole groups of `group` rows, and returns the number of these rows.
    fn copy_groups(
        &self,
        b: &mut Builder,
        (to, group): (CopyBlocks, u32),
        scratch: ColumnScratch,
        source: BlockSource,
    ) -> Value {
        let zero = b.int(0);
        let (Some(code), Some((features, stored))) = (self.code, scratch) else { return zero };
        let groups = b.int(group.into());
        let groups = b.bin(Bin::IDiv, to.rows.capacity, groups);
        let whole = b.mul_int(groups, group.into());
        b.for_loop((zero, whole, group.into()), &[], |b, number, _| {
            let blocks = b.int((group / to.width).into());
            b.for_loop((zero, blocks, 1), &[], |b, block, _| {
                let before = b.mul_int(block, to.width.into());
                let number = b.add(number, before);
                let first = b.add(to.rows.first, number);
                let from = b.mul_int(first, self.transpose.features);
                let start = b.mul_int(before, self.transpose.columns());
                let left = b.sub(to.rows.count, number);
                let block = RowBlock { from, to: start, copy: features, rows: to.width };
                self.fill_transposed(b, (&block, source), RowRange { first, count: Some(left) });
                Vec::new()
            });
            let start = b.mul_int(number, self.columns());
            let (from, to_group) = (
                BufferElements { buffer: features, first: zero },
                BufferElements { buffer: to.copy, first: start },
            );
            code.store_group(b, (from, stored), to_group, (to.width, group));
            Vec::new()
        });
        whole
    }

    /// Runs `body` with memory for the features and stored columns of `rows` rows, if columns are computed.
    pub fn with_scratch(&self, b: &mut Builder, rows: u32, body: impl FnOnce(&mut Builder, ColumnScratch)) {
        let Some(code) = self.code else { return body(b, None) };
        let element = self.transpose.input;
        let bytes = b.int(i64::from(rows) * self.transpose.columns() * i64::from(element.bytes()));
        b.alloc("block_features", element, bytes, |b, features| {
            code.with_block_memory(b, rows, |b, stored| body(b, Some((features, stored))));
        });
    }

    /// Fills a block with `rows`, which may be fewer than the block has.
    pub fn fill_block(
        &self,
        b: &mut Builder,
        scratch: ColumnScratch,
        (block, source): (&RowBlock, BlockSource),
        rows: RowRange,
    ) {
        self.fill_computed(b, scratch, block, |b, block| self.fill_transposed(b, (block, source), rows));
    }

    /// Fills a block with the values of features.
    fn fill_transposed(&self, b: &mut Builder, (block, source): (&RowBlock, BlockSource), rows: RowRange) {
        match source {
            BlockSource::Rows => {
                let left = rows.count.unwrap_or_else(|| b.int(block.rows.into()));
                self.transpose.copy_block(b, block, left);
            }
            BlockSource::Columns { columns, are_full } => {
                let rows = RowRange { count: rows.count.filter(|_| !are_full), ..rows };
                self.transpose.copy_block_of_columns(b, columns, rows, block);
            }
        }
    }

    /// Fills a block by `transposed`. If columns are computed, `transposed` fills the scratch memory with
    /// features, and the block gets their columns.
    fn fill_computed(
        &self,
        b: &mut Builder,
        scratch: ColumnScratch,
        block: &RowBlock,
        transposed: impl FnOnce(&mut Builder, &RowBlock),
    ) {
        let (Some(code), Some((features, stored))) = (self.code, scratch) else {
            return transposed(b, block);
        };
        let zero = b.int(0);
        transposed(b, &RowBlock { to: zero, copy: features, ..*block });
        let from = BufferElements { buffer: features, first: zero };
        code.store_block(
            b,
            (from, stored),
            BufferElements { buffer: block.copy, first: block.to },
            block.rows,
        );
    }
}
