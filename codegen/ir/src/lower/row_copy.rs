//! Code that fills copies of rows, from rows or from columns.

use super::kernel_builder::KernelBuilder;
use crate::lir::{Address, BufferId, Build, Cmp, Ty, Value};
use crate::quantize::encode::Quantizer;
use crate::quantize::of_columns::Blocks;
use crate::rows::CopiedRows;
use crate::rows::input::InputColumns;
use crate::rows::transpose::Transpose;

/// A copy to fill.
pub(super) struct CopyFill<'a> {
    /// Quantizer, if the copy holds bins.
    pub(super) quantizer: Option<Quantizer<'a>>,
    /// Transposition, if the copy has blocks.
    pub(super) transpose: Option<Transpose<'a>>,
    /// Rows per block.
    pub(super) blocks: Option<u32>,
    /// Buffer of the copy.
    pub(super) buffer: BufferId,
    /// Rows of the copy.
    pub(super) rows: CopiedRows,
}

impl KernelBuilder<'_> {
    /// Fills a copy. `elements` is its number of elements if rows are consecutive in it.
    pub(super) fn fill_copy(&mut self, copy: &CopyFill, elements: Value) {
        let Some(columns) = self.ports.columns() else { return self.fill_from_rows(copy, elements) };
        let given = columns.given(&mut self.b);
        self.if_else(
            given,
            |k| {
                k.fill_from_columns(copy, columns);
                Vec::new()
            },
            |k| {
                k.fill_from_rows(copy, elements);
                Vec::new()
            },
        );
    }

    fn fill_from_rows(&mut self, copy: &CopyFill, elements: Value) {
        let CopyFill { quantizer, transpose, blocks, buffer, rows } = copy;
        match (quantizer, transpose.zip(*blocks)) {
            (Some(quantizer), _) => quantizer.rows(&mut self.b, *buffer, *rows, *blocks),
            (None, Some((transpose, width))) => transpose.rows(&mut self.b, *buffer, *rows, width),
            (None, None) => self.copy_rows(*buffer, rows.first, elements),
        }
    }

    /// Fills a copy from columns. If all blocks are full, no masks are needed.
    fn fill_from_columns(&mut self, copy: &CopyFill, from: InputColumns) {
        let rows = copy.rows;
        let are_full = self.b.cmp(Cmp::Eq, rows.count, rows.held);
        self.if_else(
            are_full,
            |k| {
                k.fill_blocks(copy, from, true);
                Vec::new()
            },
            |k| {
                k.fill_blocks(copy, from, false);
                Vec::new()
            },
        );
    }

    /// Fills the blocks of a copy from columns. The plan stores bins in blocks if rows may be columns.
    fn fill_blocks(&mut self, copy: &CopyFill, from: InputColumns, are_full: bool) {
        let CopyFill { quantizer, transpose, blocks, buffer, rows } = copy;
        match (quantizer.zip(*blocks), transpose.zip(*blocks)) {
            (Some((quantizer, width)), _) => {
                quantizer.columns(&mut self.b, from, *rows, Blocks { copy: *buffer, width, are_full });
            }
            (None, Some((transpose, width))) => {
                transpose.columns_of(&mut self.b, from, *rows, (*buffer, width), are_full);
            }
            (None, None) => self.copy_columns(*buffer, *rows, from),
        }
    }

    fn copy_rows(&mut self, buffer: BufferId, first_row: Value, elements: Value) {
        let (input, rows) = (self.ports.input, self.ports.rows);
        let zero = self.b.int(0);
        let from = self.b.mul_int(first_row, self.ports.features());
        self.for_loop((zero, elements, 1), &[], |k, index, _| {
            let source = k.b.add(from, index);
            let value = k.b.load(Ty::of(input), Address::element(rows, source, input));
            k.b.store(Address::element(buffer, index, input), value);
            Vec::new()
        });
    }

    /// Copies columns to consecutive rows.
    fn copy_columns(&mut self, buffer: BufferId, rows: CopiedRows, from: InputColumns) {
        let (input, features) = (self.ports.input, self.ports.features());
        let (zero, end) = (self.b.int(0), self.b.int(features));
        self.for_loop((zero, end, 1), &[], |k, feature, _| {
            let start = from.start(&mut k.b, feature);
            let start = k.b.add(start, rows.first);
            k.for_loop((zero, rows.count, 1), &[], |k, row, _| {
                let source = k.b.add(start, row);
                let value = k.b.load(Ty::of(input), Address::element(from.values, source, input));
                let index = k.b.mul_int(row, features);
                let index = k.b.add(index, feature);
                k.b.store(Address::element(buffer, index, input), value);
                Vec::new()
            });
            Vec::new()
        });
    }
}
