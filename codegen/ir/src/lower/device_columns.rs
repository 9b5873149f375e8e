//! Columns that a separate launch computes on a device, one row in each thread. If a layer is a product of
//! matrices, the threads of a block compute its sums together.

use super::kernel_builder::KernelBuilder;
use crate::columns::code::{BufferElements, ColumnCode};
use crate::columns::cooperative::BlockOfRows;
use crate::columns::stored::StoredColumns;
use crate::columns::value::FeatureSource;
use crate::lir::{Bin, BufferId, BuildStmts, Cmp, GpuAxis, GpuDimension, GpuLevel, Value};
use crate::mir::CacheRows;
use crate::rows::BlockThreads;

/// Threads of a block in the launch that computes columns.
const THREADS: u32 = 128;

/// Emits the launch, then the body, which reads the launch's columns in place of the call's rows. Kernels
/// whose input is bins need no columns, and have no such launch.
pub(super) fn emit(k: &mut KernelBuilder, cache: &CacheRows) {
    use super::kernel_builder::EmitStmt;
    let Some(code) = k.ports.column_code().filter(|_| k.ports.bins.is_none()) else {
        return cache.body.emit(k);
    };
    let (element, count) = (k.ports.input, code.runs.count as i64);
    let n_rows = k.b.n_rows();
    let elements = k.b.mul_int(n_rows, count);
    let bytes = k.b.mul_int(elements, element.bytes().into());
    k.alloc("columns", element, bytes, |k, buffer| {
        code.runs.stored.with_memory_of_call(k, n_rows, |k, stored| {
            launch(k, code, n_rows, (buffer, stored));
        });
        k.with_device_columns(buffer, |k| cache.body.emit(k));
    });
}

/// Computes the columns of all rows.
fn launch(
    k: &mut KernelBuilder,
    code: ColumnCode,
    n_rows: Value,
    (buffer, stored): (BufferId, StoredColumns),
) {
    let more = k.b.add_int(n_rows, i64::from(THREADS) - 1);
    let threads = k.b.int(THREADS.into());
    let (blocks, one) = (k.b.bin(Bin::IDiv, more, threads), k.b.int(1));
    k.launch("columns", [blocks, one, one], [THREADS, 1, 1], |k| {
        let id = |level| GpuDimension { level, axis: GpuAxis::X };
        let (block, thread) = (k.b.id(id(GpuLevel::Grid)), k.b.id(id(GpuLevel::Block)));
        let first = k.b.mul_int(block, THREADS.into());
        if code.has_products() {
            let left = k.b.sub(n_rows, first);
            let all = k.b.int(THREADS.into());
            let count = k.b.bin(Bin::Min, left, all);
            let rows = BlockOfRows { features: k.ports.rows, first, count, max_rows: THREADS.into() };
            let threads = BlockThreads { thread, count: THREADS.into() };
            return code.store_block_of_call(&mut k.b, rows, (buffer, stored), threads);
        }
        let row = k.b.add(first, thread);
        let exists = k.b.cmp(Cmp::Lt, row, n_rows);
        let (rows, features) = (k.ports.rows, k.ports.features());
        k.when(exists, |k| {
            let from = k.b.mul_int(row, features);
            let first = k.b.mul_int(row, code.runs.count as i64);
            let to = BufferElements { buffer, first };
            code.store_row(&mut k.b, FeatureSource::OfRow(rows, from), stored.from_row(row), to);
        });
    });
}
