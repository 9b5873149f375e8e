//! Work of the last block of a group at the end of a launch: folds of slots, and predictions of rows.

use super::kernel_builder::KernelBuilder;
use super::launch::block_threads;
use super::scope::{InScope, WindowRows};
use crate::fault::{Fault, seeded};
use crate::lir::{Address, BuildStmts, Cmp, GpuDimension, Scalar, Space, Task, Ty, Value};
use crate::mir::{Iter, LastBlock, MirLaunch};

/// Whether a kernel has work for the last blocks of a launch.
pub(super) fn has_work(k: &KernelBuilder, last: &LastBlock) -> bool {
    let predicts = last.completes_rows && k.ports.row_predictions.is_some();
    k.ports.results.are_sums() && (!last.folds.is_empty() || predicts)
}

/// Emits the code around and inside of a launch whose last blocks have work. `grid` are the extents of the
/// launch, and `body` emits its other statements.
pub(super) fn launch_with_last_blocks<'a>(
    k: &mut KernelBuilder<'a>,
    (launch, last): (&MirLaunch, &LastBlock),
    grid: [Value; 3],
    body: impl FnOnce(&mut KernelBuilder<'a>),
) {
    let extent = |dimension: &GpuDimension| grid[dimension.axis as usize];
    let product = |k: &mut KernelBuilder<'a>, dimensions: &mut dyn Iterator<Item = &GpuDimension>| {
        let one = k.b.int(1);
        dimensions.fold(one, |all, dimension| k.b.mul(all, extent(dimension)))
    };
    if last.members.is_empty() {
        // A block waits for its own threads alone.
        return k.launch(&launch.name, grid, launch.block, |k| {
            body(k);
            if !(last.folds.is_empty() && seeded(Fault::MarginsNotAwaited)) {
                k.b.barrier();
            }
            finish_group(k, last, launch.block);
        });
    }
    let groups = product(k, &mut last.groups.iter().map(|(_, dimension)| dimension));
    let blocks = product(k, &mut last.members.iter());
    let newest = k.b.add_int(blocks, if seeded(Fault::TicketMiscounted) { -2 } else { -1 });
    let bytes = k.b.mul_int(groups, Scalar::I32.bytes().into());
    k.alloc_in(Space::Counters, "counters", Scalar::I32, bytes, |k, counters| {
        k.launch(&launch.name, grid, launch.block, |k| {
            body(k);
            let mut group = k.b.int(0);
            for (_, dimension) in &last.groups {
                let id = k.b.id(*dimension);
                group = k.b.mul(group, extent(dimension));
                group = k.b.add(group, id);
            }
            take_ticket(k, (last, launch.block), Address::element(counters, group, Scalar::I32), newest);
        });
    });
}

/// Emits the code of a block that has stored its sums: a ticket for the block, and the work of the group's
/// last block, if its ticket is the last one.
fn take_ticket(
    k: &mut KernelBuilder,
    (last, threads): (&LastBlock, [u32; 3]),
    counter: Address,
    newest: Value,
) {
    let bytes = k.b.int(Scalar::I32.bytes().into());
    k.alloc_in(Space::Shared, "ticket", Scalar::I32, bytes, |k, shared| {
        k.b.barrier();
        fence(k);
        let number = k.b.ticket(counter, shared);
        let number = k.b.to_index(number);
        let is_last = k.b.cmp(Cmp::Eq, number, newest);
        k.when(is_last, |k| {
            fence(k);
            k.b.barrier();
            if !seeded(Fault::CounterKept) {
                let (thread, zero) = (block_threads(k, threads).thread, k.b.int(0));
                let is_first = k.b.cmp(Cmp::Eq, thread, zero);
                k.when(is_first, |k| {
                    let zero = k.b.int_of(Ty::of(Scalar::I32), 0);
                    k.b.store(counter, zero);
                });
            }
            finish_group(k, last, threads);
        });
    });
}

fn fence(k: &mut KernelBuilder) {
    if !seeded(Fault::FenceDropped) {
        k.b.fence();
    }
}

/// Emits the folds of a group's rows, and their predictions, by the threads of a block.
fn finish_group(k: &mut KernelBuilder, last: &LastBlock, threads: [u32; 3]) {
    let mut loops = last.groups.iter();
    with_groups(k, &mut loops, &mut |k| {
        let rows = k.window(&last.window);
        k.attribute_to_task(Task::Sums, |k| {
            let window = (rows, last.window.rows());
            last.folds.iter().for_each(|fold| fold.emit_rows(k, window, threads));
            if last.completes_rows {
                predict(k, rows, threads, !last.folds.is_empty());
            }
        });
    });
}

/// Emits the predictions of some rows by the threads of a block, in kernels that compute predictions.
/// `waits` says whether threads must wait for the sums of others.
fn predict(k: &mut KernelBuilder, rows: WindowRows, threads: [u32; 3], waits: bool) {
    let Some(predictions) = k.ports.row_predictions.clone() else { return };
    if waits && !seeded(Fault::MarginsNotAwaited) {
        k.b.barrier();
    }
    let block_threads = block_threads(k, threads);
    let (first, end) = (k.b.add(rows.first, block_threads.thread), k.b.add(rows.first, rows.count));
    k.for_loop((first, end, block_threads.count), &[], |k, row, _| {
        predictions.store(&mut k.b, row);
        Vec::new()
    });
}

/// Runs `body` with the variables of the row loops of the block's group in scope.
fn with_groups<'l>(
    k: &mut KernelBuilder,
    loops: &mut dyn Iterator<Item = &'l (Iter, GpuDimension)>,
    body: &mut dyn FnMut(&mut KernelBuilder),
) {
    let Some((iter, dimension)) = loops.next() else { return body(k) };
    let iteration = k.b.id(*dimension);
    let bound = InScope::of_iteration(&mut k.b, iter, iteration);
    k.with_var(iter.var, bound, |k| with_groups(k, loops, body));
}
