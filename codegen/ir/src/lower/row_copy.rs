//! Copies of rows in local memory, filled from rows or from columns.

use super::kernel_builder::{EmitStmt, KernelBuilder};
use super::row_source::RowBuffer;
use super::{device_columns, shared_rows, sums};
use crate::columns::blocks::{BlockSource, CopyBlocks, RowBlocks};
use crate::columns::code::{BufferElements, ColumnCode};
use crate::columns::value::FeatureSource;
use crate::lir::{Address, Bin, BufferId, BuildStmts, Cmp, Task, Ty, Value};
use crate::mir::{CacheRows, Fill};
use crate::quantize::encode::{Quantizer, TAIL};
use crate::quantize::of_columns::BinBlocks;
use crate::rows::input::InputColumns;
use crate::rows::{CopiedRows, RowPlacement};

/// A copy to fill.
struct CopyFill<'a> {
    /// Quantizer, if the copy holds bins.
    quantizer: Option<Quantizer<'a>>,
    /// Code that fills blocks, and the rows of each, if the copy holds values in blocks.
    blocks: Option<(RowBlocks<'a>, u32)>,
    /// Code of the columns, if rows have computed columns.
    code: Option<ColumnCode<'a>>,
    /// Rows of a block, if the copy has blocks.
    width: Option<u32>,
    /// Buffer of the copy.
    buffer: BufferId,
    /// Rows of the copy.
    rows: CopiedRows,
    /// Number of elements of the copy.
    elements: Value,
}

impl EmitStmt for CacheRows {
    fn emit(&self, k: &mut KernelBuilder) {
        match (self.shared, self.window.high) {
            (Some(threads), Some(high)) => shared_rows::emit(k, self, threads, high - self.window.low),
            _ if k.is_on_device() => device_columns::emit(k, self),
            _ => local_copy(k, self),
        }
    }
}

/// Copies the window's rows to local memory, and emits the body with the copy.
fn local_copy(k: &mut KernelBuilder, cache: &CacheRows) {
    let window = k.window(&cache.window);
    let (first_row, count) = (window.first, window.count);
    let plan = k.ports.lowering.plan.copies.get(&cache.id).copied().unwrap_or_default();
    let quantizer = k.ports.quantizer().filter(|_| cache.fill == Fill::Bins);
    let blocks = k.ports.row_blocks().zip(plan.block_rows);
    let (element, columns) = match (&quantizer, &blocks) {
        (Some(quantizer), _) => (quantizer.bins.element(), i64::from(quantizer.bins.columns())),
        (None, Some((blocks, _))) => (k.ports.input, blocks.columns()),
        (None, None) => (k.ports.input, k.ports.tested_columns()),
    };
    let capacity = plan.block_rows.map_or(count, |width| whole_blocks(k, count, width));
    let elements = k.b.mul_int(capacity, columns);
    let mut bytes = k.b.mul_int(elements, i64::from(element.bytes()));
    if quantizer.is_some() {
        bytes = k.b.add_int(bytes, TAIL);
    }
    let name = if quantizer.is_some() { "quantized_rows" } else { "cached_rows" };
    let rows = CopiedRows { first: first_row, count, capacity };
    k.alloc(name, element, bytes, |k, buffer| {
        let code = k.ports.column_code();
        let fill = CopyFill { quantizer, blocks, code, width: plan.block_rows, buffer, rows, elements };
        k.attribute_to_task(Task::Copies, |k| fill.emit(k));
        let (block_rows, placement) = (plan.block_rows, RowPlacement::IN_ORDER);
        let copy =
            RowBuffer { buffer, first_row, block_rows, element, columns, single_block: false, placement };
        k.with_copy(cache.id, copy, |k| match plan.block_rows {
            Some(block) if plan.copies_sums && k.ports.results.are_sums() => {
                sums::emit_copied(k, rows, block, |k| cache.body.emit(k));
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

impl EmitStmt for CopyFill<'_> {
    fn emit(&self, k: &mut KernelBuilder) {
        let Some(columns) = k.ports.columns() else { return self.fill_from_rows(k) };
        let given = columns.are_passed(&mut k.b);
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
        let CopyFill { quantizer, blocks, width, buffer, rows, .. } = *self;
        match (quantizer, blocks) {
            (Some(quantizer), _) => quantizer.quantize_rows(&mut k.b, buffer, rows, width),
            (None, Some((blocks, width))) => {
                blocks.copy_rows(&mut k.b, CopyBlocks { copy: buffer, rows, width }, BlockSource::Rows);
            }
            (None, None) => self.copy_rows(k),
        }
    }

    /// Fills a copy from columns, with separate code for copies whose blocks are all full, which needs no
    /// masks.
    fn fill_from_columns(&self, k: &mut KernelBuilder, from: InputColumns) {
        let are_full = k.b.cmp(Cmp::Eq, self.rows.count, self.rows.capacity);
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
    fn blocks_of_columns(&self, k: &mut KernelBuilder, columns: InputColumns, are_full: bool) {
        let CopyFill { quantizer, blocks, width, buffer: copy, rows, .. } = *self;
        match (quantizer.zip(width), blocks) {
            (Some((quantizer, width)), _) => {
                quantizer.quantize_columns(&mut k.b, columns, rows, BinBlocks { copy, width, are_full });
            }
            (None, Some((blocks, width))) => {
                let source = BlockSource::Columns { columns, are_full };
                blocks.copy_rows(&mut k.b, CopyBlocks { copy, rows, width }, source);
            }
            (None, None) => self.copy_columns(k, columns),
        }
    }

    fn copy_rows(&self, k: &mut KernelBuilder) {
        if let Some(code) = self.code {
            return self.compute_rows(k, code, None);
        }
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
        if let Some(code) = self.code {
            return self.compute_rows(k, code, Some(from));
        }
        let (input, features) = (k.ports.input, k.ports.features());
        let (zero, end) = (k.b.int(0), k.b.int(features));
        k.for_loop((zero, end, 1), &[], |k, feature, _| {
            let start = from.feature_start(&mut k.b, feature);
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
    /// Stores the computed columns of consecutive rows.
    fn compute_rows(&self, k: &mut KernelBuilder, code: ColumnCode, columns: Option<InputColumns>) {
        let (rows, features) = (k.ports.rows, k.ports.features());
        let zero = k.b.int(0);
        code.with_row_memory(k, |k, stored| {
            k.for_loop((zero, self.rows.count, 1), &[], |k, number, _| {
                let row = k.b.add(self.rows.first, number);
                let features = match columns {
                    Some(columns) => FeatureSource::OfColumns(columns, row),
                    None => FeatureSource::OfRow(rows, k.b.mul_int(row, features)),
                };
                let first = k.b.mul_int(number, code.runs.count as i64);
                code.store_row(&mut k.b, features, stored, BufferElements { buffer: self.buffer, first });
                Vec::new()
            });
        });
    }
}
