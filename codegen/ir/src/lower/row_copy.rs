//! Copies of rows in local memory, filled from rows or from columns.

use super::kernel_builder::{Emit, KernelBuilder};
use super::row_source::RowCopy;
use super::{shared_rows, sums};
use crate::lir::{Address, Bin, BufferId, Build, Cmp, Task, Ty, Value};
use crate::mir::CacheRows;
use crate::quantize::encode::{Quantizer, TAIL};
use crate::quantize::of_columns::Blocks;
use crate::rows::input::InputColumns;
use crate::rows::transpose::Transpose;
use crate::rows::{CopiedRows, RowPlacement};

/// A copy to fill.
struct CopyFill<'a> {
    /// Quantizer, if the copy holds bins.
    quantizer: Option<Quantizer<'a>>,
    /// Transposition, if the copy has blocks.
    transpose: Option<Transpose<'a>>,
    /// Rows per block.
    blocks: Option<u32>,
    /// Buffer of the copy.
    buffer: BufferId,
    /// Rows of the copy.
    rows: CopiedRows,
    /// Number of elements, if rows are consecutive.
    elements: Value,
}

impl Emit for CacheRows {
    fn emit(&self, k: &mut KernelBuilder) {
        match (self.shared, self.window.high) {
            (Some(threads), Some(high)) => shared_rows::emit(k, self, threads, high - self.window.low),
            _ => local_copy(k, self),
        }
    }
}

/// Copies the window's rows to local memory, and emits the body with the copy.
fn local_copy(k: &mut KernelBuilder, cache: &CacheRows) {
    let window = k.window(&cache.window);
    let (first_row, count) = (window.first, window.count);
    let plan = k.ports.lowering.plan.copies.get(&cache.id).copied().unwrap_or_default();
    let quantizer = k.ports.quantizer().filter(|_| cache.quantized);
    let transpose = k.ports.transpose().filter(|_| plan.blocks.is_some());
    let (element, columns) = match (&quantizer, &transpose) {
        (Some(quantizer), _) => (quantizer.bins.element(), i64::from(quantizer.bins.columns())),
        (None, Some(transpose)) => (k.ports.input, transpose.columns()),
        (None, None) => (k.ports.input, k.ports.features()),
    };
    let held = plan.blocks.map_or(count, |width| whole_blocks(k, count, width));
    let elements = k.b.mul_int(held, columns);
    let mut bytes = k.b.mul_int(elements, i64::from(element.bytes()));
    if quantizer.is_some() {
        bytes = k.b.add_int(bytes, TAIL);
    }
    let name = if quantizer.is_some() { "quantized_rows" } else { "cached_rows" };
    let rows = CopiedRows { first: first_row, count, held };
    k.alloc(name, element, bytes, |k, buffer| {
        let fill = CopyFill { quantizer, transpose, blocks: plan.blocks, buffer, rows, elements };
        k.doing(Task::Copies, |k| fill.emit(k));
        let (blocks, places) = (plan.blocks, RowPlacement::IN_ORDER);
        let copy = RowCopy { buffer, first_row, blocks, element, columns, single_block: false, places };
        k.with_copy(cache.id, copy, |k| match plan.blocks {
            Some(block) if plan.sums && k.ports.results.are_sums() => {
                sums::copied(k, rows, block, |k| cache.body.emit(k));
            }
            _ => cache.body.emit(k),
        });
    });
}

/// `count` rounded up to whole blocks, so that no vector reaches beyond the copy.
fn whole_blocks(k: &mut KernelBuilder, count: Value, width: u32) -> Value {
    let more = k.b.add_int(count, i64::from(width) - 1);
    let width = k.b.int(i64::from(width));
    let blocks = k.b.bin(Bin::IDiv, more, width);
    k.b.mul(blocks, width)
}

impl Emit for CopyFill<'_> {
    fn emit(&self, k: &mut KernelBuilder) {
        let Some(columns) = k.ports.columns() else { return self.fill_from_rows(k) };
        let given = columns.given(&mut k.b);
        k.if_else(
            given,
            |k| {
                self.fill_from_columns(k, columns);
                Vec::new()
            },
            |k| {
                self.fill_from_rows(k);
                Vec::new()
            },
        );
    }
}

impl CopyFill<'_> {
    fn fill_from_rows(&self, k: &mut KernelBuilder) {
        let CopyFill { quantizer, transpose, blocks, buffer, rows, .. } = self;
        match (quantizer, transpose.zip(*blocks)) {
            (Some(quantizer), _) => quantizer.rows(&mut k.b, *buffer, *rows, *blocks),
            (None, Some((transpose, width))) => transpose.rows(&mut k.b, *buffer, *rows, width),
            (None, None) => self.copy_rows(k),
        }
    }

    /// Fills a copy from columns. If all blocks are full, no masks are needed.
    fn fill_from_columns(&self, k: &mut KernelBuilder, from: InputColumns) {
        let are_full = k.b.cmp(Cmp::Eq, self.rows.count, self.rows.held);
        k.if_else(
            are_full,
            |k| {
                self.blocks_of_columns(k, from, true);
                Vec::new()
            },
            |k| {
                self.blocks_of_columns(k, from, false);
                Vec::new()
            },
        );
    }

    /// Fills the blocks of a copy from columns. The plan stores bins in blocks if rows may be columns.
    fn blocks_of_columns(&self, k: &mut KernelBuilder, from: InputColumns, are_full: bool) {
        let CopyFill { quantizer, transpose, blocks, buffer, rows, .. } = self;
        match (quantizer.zip(*blocks), transpose.zip(*blocks)) {
            (Some((quantizer, width)), _) => {
                quantizer.columns(&mut k.b, from, *rows, Blocks { copy: *buffer, width, are_full });
            }
            (None, Some((transpose, width))) => {
                transpose.columns_of(&mut k.b, from, *rows, (*buffer, width), are_full);
            }
            (None, None) => self.copy_columns(k, from),
        }
    }

    fn copy_rows(&self, k: &mut KernelBuilder) {
        let (input, rows) = (k.ports.input, k.ports.rows);
        let zero = k.b.int(0);
        let from = k.b.mul_int(self.rows.first, k.ports.features());
        k.for_loop((zero, self.elements, 1), &[], |k, index, _| {
            let source = k.b.add(from, index);
            let value = k.b.load(Ty::of(input), Address::element(rows, source, input));
            k.b.store(Address::element(self.buffer, index, input), value);
            Vec::new()
        });
    }

    /// Copies columns to consecutive rows.
    fn copy_columns(&self, k: &mut KernelBuilder, from: InputColumns) {
        let (input, features) = (k.ports.input, k.ports.features());
        let (zero, end) = (k.b.int(0), k.b.int(features));
        k.for_loop((zero, end, 1), &[], |k, feature, _| {
            let start = from.start(&mut k.b, feature);
            let start = k.b.add(start, self.rows.first);
            k.for_loop((zero, self.rows.count, 1), &[], |k, row, _| {
                let source = k.b.add(start, row);
                let value = k.b.load(Ty::of(input), Address::element(from.values, source, input));
                let index = k.b.mul_int(row, features);
                let index = k.b.add(index, feature);
                k.b.store(Address::element(self.buffer, index, input), value);
                Vec::new()
            });
            Vec::new()
        });
    }
}
