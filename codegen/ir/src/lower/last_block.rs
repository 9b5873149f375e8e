//! Folds of slots by the last block of a group, at the end of the launch that fills the slots.

use super::kernel_builder::KernelBuilder;
use super::launch::block_threads;
use super::scope::InScope;
use crate::fault::{Fault, seeded};
use crate::lir::{Address, BuildStmts, Cmp, GpuDimension, Scalar, Space, Task, Ty, Value};
use crate::mir::{Iter, LastBlock, MirLaunch};

/// Emits the code around and inside of a launch whose last blocks fold slots. `grid` are the extents of the
/// launch, and `body` emits its other statements.
pub(super) fn launch_with_folds<'a>(
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
            k.b.barrier();
            fold(k, last, launch.block);
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

/// Emits the code of a block that has filled its slots: a ticket for the block, and the folds, if its ticket
/// is the group's last one.
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
            fold(k, last, threads);
        });
    });
}

fn fence(k: &mut KernelBuilder) {
    if !seeded(Fault::FenceDropped) {
        k.b.fence();
    }
}

/// Emits the folds of a group's rows by the threads of a block.
fn fold(k: &mut KernelBuilder, last: &LastBlock, threads: [u32; 3]) {
    let mut loops = last.groups.iter();
    with_groups(k, &mut loops, &mut |k| {
        let rows = k.window(&last.window);
        k.attribute_to_task(Task::Sums, |k| {
            last.folds.iter().for_each(|fold| fold.emit_rows(k, rows, threads));
        });
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
