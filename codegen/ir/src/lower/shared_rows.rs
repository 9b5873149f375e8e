//! Cooperative copies of rows in shared memory.

use super::kernel_builder::{EmitStmt, KernelBuilder};
use super::launch::block_threads;
use super::row_source::RowBuffer;
use super::scope::WindowRows;
use super::shared::limit_shared_bytes;
use crate::columns::cooperative::BlockOfRows;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, Bin, BinTransfer, BufferId, BuildStmts, Cmp, Scalar, Space, Ty};
use crate::mir::{CacheRows, Fill};
use crate::quantize::encode::Quantizer;
use crate::quantize::shared::{SharedBlock, SharedSource};
use crate::rows::{BlockThreads, RowPlacement, has_odd_columns, shared_capacity};

/// Columns of tested features that neighbouring threads copy from a row before they go on to the next row.
/// More columns read fewer sectors of device memory, and fewer columns have fewer conflicts of banks. The sum
/// of sectors and wavefronts of a copy of 64 rows, by the simulator, for 1, 2, 4, 8, 16 and all columns:
/// 34,000, 19,000, 13,000, 15,000, 23,000 and 40,000 if the first 500 of 692 features are tested, and 20,400,
/// 16,200, 17,400, 19,800, 25,200 and 36,100 if every sixth feature up to the 300th one is.
const GROUP_COLUMNS: i64 = 4;

/// Copies at most `most` rows to shared memory, feature by feature, and emits the body with the copy. Threads
/// that walk neighbouring rows read different banks, even if their nodes test different features.
pub(super) fn emit(k: &mut KernelBuilder, cache: &CacheRows, threads: [u32; 3], most: i64) {
    let rows = k.window(&cache.window);
    let plan = k.ports.lowering.plan.copies.get(&cache.id).copied().unwrap_or_default();
    let tested = k.ports.tested_features().filter(|_| plan.holds_tested);
    let quantizer = k.ports.quantizer().filter(|_| cache.fill == Fill::Bins);
    let (name, element, columns) = match &quantizer {
        Some(quantizer) => ("shared_bins", quantizer.bins.element(), i64::from(quantizer.bins.columns())),
        None => ("shared_rows", k.ports.input, tested.map_or_else(|| k.copied_columns(), |(n, _)| n)),
    };
    let spread = plan.spreads_rows;
    let packed = cache.fill == Fill::Bins && !spread;
    let fault = i64::from(seeded(Fault::BankSwapped));
    let capacity = shared_capacity(most, element, packed) + fault;
    let bytes = capacity.saturating_mul(columns).saturating_mul(element.bytes().into());
    let bytes = k.b.int(limit_shared_bytes(bytes));
    let placement = if spread && !has_odd_columns(most, packed) {
        RowPlacement::spread(element)
    } else {
        RowPlacement::IN_ORDER
    };
    k.alloc_in(Space::Shared, name, element, bytes, |k, buffer| {
        let block_threads = block_threads(k, threads);
        let WindowRows { first, count } = rows;
        let block = SharedBlock { copy: buffer, count, max_rows: most, capacity, placement };
        let fill = SharedFill { rows, block, threads: block_threads };
        match (quantizer, k.ports.bins, tested) {
            (Some(_), Some(transfer), _) => fill.copy_bins(k, transfer),
            (Some(quantizer), None, _) => fill.quantize(k, quantizer),
            (None, _, Some(tested)) => fill.copy_tested(k, tested),
            (None, _, None) => fill.copy_values(k),
        }
        if !seeded(Fault::BarrierDropped) {
            k.b.barrier();
        }
        let block_rows = u32::try_from(capacity).ok();
        let copy = RowBuffer {
            buffer,
            first_row: first,
            block_rows,
            element,
            columns,
            single_block: true,
            placement,
        };
        k.with_copy(cache.id, copy, |k| cache.body.emit(k));
        // Later copies may reuse this memory.
        k.b.barrier();
    });
}

/// A copy to fill, by all threads of a block.
struct SharedFill {
    rows: WindowRows,
    block: SharedBlock,
    threads: BlockThreads,
}

impl SharedFill {
    /// Stores bins of the input's values, or of the columns that the block computes from them.
    fn quantize(&self, k: &mut KernelBuilder, quantizer: Quantizer) {
        let SharedFill { rows, block, threads } = *self;
        let Some(code) = k.block_columns() else {
            let (buffer, columns) = k.input_rows();
            let first = k.b.mul_int(rows.first, columns);
            let from = SharedSource { buffer, first, row_step: columns, column_step: 1 };
            return quantizer.quantize_shared(&mut k.b, from, block, threads);
        };
        let element = k.ports.input;
        let capacity = shared_capacity(block.max_rows, element, false);
        let bytes = capacity.saturating_mul(code.runs.count as i64 * i64::from(element.bytes()));
        let bytes = k.b.int(limit_shared_bytes(bytes));
        k.alloc_in(Space::Shared, "shared_columns", element, bytes, |k, columns| {
            let of_columns = self.block_of_rows(k);
            code.store_cooperatively(&mut k.b, of_columns, (columns, capacity), threads);
            let first = k.b.int(0);
            let from = SharedSource { buffer: columns, first, row_step: 1, column_step: capacity };
            quantizer.quantize_shared(&mut k.b, from, block, threads);
        });
    }

    /// The rows whose columns the block computes.
    fn block_of_rows(&self, k: &KernelBuilder) -> BlockOfRows {
        let WindowRows { first, count } = self.rows;
        BlockOfRows { features: k.ports.rows, first, count, max_rows: self.block.max_rows }
    }

    /// Copies values in the order of the input, so that neighbouring threads read neighbouring values. If the
    /// block computes columns, stores these instead.
    fn copy_values(&self, k: &mut KernelBuilder) {
        let SharedFill { rows, block: SharedBlock { copy, capacity, .. }, threads } = *self;
        if let Some(code) = k.block_columns() {
            let of_columns = self.block_of_rows(k);
            return code.store_cooperatively(&mut k.b, of_columns, (copy, capacity), threads);
        }
        let element = k.ports.input;
        let (input, columns) = k.input_rows();
        let mut all = k.b.mul_int(rows.count, columns);
        if seeded(Fault::CopyStopsShort) {
            all = k.b.add_int(all, -1);
        }
        let from = k.b.mul_int(rows.first, columns);
        k.for_loop((threads.thread, all, threads.count), &[], |k, number, _| {
            let source = k.b.add(from, number);
            let value = k.b.load(Ty::of(element), Address::element(input, source, element));
            let per_row = k.b.int(columns);
            let row = k.b.bin(Bin::IDiv, number, per_row);
            let before = k.b.mul(row, per_row);
            let feature = k.b.sub(number, before);
            let place = k.b.mul_int(feature, capacity);
            let place = k.b.add(place, row);
            k.b.store(Address::element(copy, place, element), value);
            Vec::new()
        });
    }

    /// Copies the values of the `columns` tested features, whose numbers are in the table `features`.
    ///
    /// Neighbouring threads take neighbouring columns of a row, and so read neighbouring entries of the table
    /// and, if the features are adjacent, neighbouring values. In blocks of few rows, whose columns begin in
    /// different banks of shared memory, they take all columns of a row. In other blocks all columns begin in
    /// the first bank, and 32 threads that store values of one row wait for each other. There a warp takes
    /// [`GROUP_COLUMNS`] columns of eight rows.
    ///
    /// Code for each run of adjacent features would need no table, but single features would read a row in
    /// each thread, and the code would grow with the runs. The table costs a load of 32 adjacent numbers, or
    /// of four, for each load of values.
    fn copy_tested(&self, k: &mut KernelBuilder, (columns, features): (i64, BufferId)) {
        let SharedFill { rows, block, threads } = *self;
        let SharedBlock { copy, max_rows: most, capacity, .. } = block;
        let element = k.ports.input;
        let (input, row_values) = k.input_rows();
        let width = if has_odd_columns(most, false) { columns } else { columns.min(GROUP_COLUMNS) };
        let groups = (columns + width - 1) / width;
        let mut all = k.b.int(groups * most * width);
        if seeded(Fault::CopyStopsShort) {
            all = k.b.add_int(all, -width * most);
        }
        let from = k.b.mul_int(rows.first, row_values);
        k.for_loop((threads.thread, all, threads.count), &[], |k, number, _| {
            let (before, in_group) = k.b.divide(number, width);
            let (group, row) = if groups > 1 { k.b.divide(before, most) } else { (k.b.int(0), before) };
            let start = k.b.mul_int(group, width);
            let column = k.b.add(start, in_group);
            let mut exists = k.b.cmp(Cmp::Lt, row, rows.count);
            if groups * width > columns {
                let end = k.b.int(columns);
                let is_column = k.b.cmp(Cmp::Lt, column, end);
                exists = k.b.bin(Bin::And, exists, is_column);
            }
            k.when(exists, |k| {
                let feature = match seeded(Fault::UntestedFeaturesCopied) {
                    true => column,
                    false => k.b.load_index(Scalar::I32, Address::element(features, column, Scalar::I32)),
                };
                let ahead = k.b.mul_int(row, row_values);
                let source = k.b.add(from, ahead);
                let source = k.b.add(source, feature);
                let value = k.b.load(Ty::of(element), Address::element(input, source, element));
                let place = k.b.mul_int(column, capacity);
                let place = k.b.add(place, row);
                k.b.store(Address::element(copy, place, element), value);
            });
            Vec::new()
        });
    }

    /// Copies bins from device memory to the shared memory of a block. Neighbouring threads copy bins of
    /// neighbouring rows, which are adjacent in both memories.
    fn copy_bins(&self, k: &mut KernelBuilder, transfer: BinTransfer) {
        let SharedFill { rows: WindowRows { first, count }, block, threads } = *self;
        let SharedBlock { copy, max_rows: most, capacity, placement, .. } = block;
        let columns = i64::from(transfer.row_bytes);
        let mut all = k.b.int(columns * most);
        if seeded(Fault::CopyStopsShort) {
            all = k.b.add_int(all, -most);
        }
        k.for_loop((threads.thread, all, threads.count), &[], |k, number, _| {
            let per_column = k.b.int(most);
            let column = k.b.bin(Bin::IDiv, number, per_column);
            let before = k.b.mul(column, per_column);
            let row = k.b.sub(number, before);
            let exists = k.b.cmp(Cmp::Lt, row, count);
            k.when(exists, |k| {
                let from = k.b.add(first, row);
                let width = k.b.int(transfer.block_rows.into());
                let of_block = k.b.bin(Bin::IDiv, from, width);
                let start = k.b.mul(of_block, width);
                let in_block = k.b.sub(from, start);
                let start = k.b.mul_int(start, columns);
                let before = k.b.mul_int(column, transfer.block_rows.into());
                let index = k.b.add(start, before);
                let index = k.b.add(index, in_block);
                let bin = k.b.load(Ty::of(Scalar::I8), Address::element(k.ports.rows, index, Scalar::I8));
                let place = placement.position(&mut k.b, row);
                let before = k.b.mul_int(column, capacity);
                let index = k.b.add(before, place);
                k.b.store(Address::element(copy, index, Scalar::I8), bin);
            });
            Vec::new()
        });
    }
}
