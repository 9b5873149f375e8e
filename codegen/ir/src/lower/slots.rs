//! The distance between the slots of a block in shared memory, so that the threads of a warp reach different
//! banks.

use super::kernel_builder::KernelBuilder;
use crate::lir::{self, ACCESS_BYTES, GpuLevel, Scalar, WARP};
use crate::mir::{Iter, LoopMode, MirStmt, Private};
use sched_nest::{Axis, GpuAxis};

/// Steps of the loops over threads of a block: for each direction, the slots and the rows from a thread to
/// the next one.
#[derive(Clone, Copy, Debug, Default)]
struct ThreadSteps {
    slots: [i64; 3],
    rows: [i64; 3],
}

/// Elements from a slot to the next one, for slots of `size` sums: `size`, or an odd number if the threads of
/// a warp then access their slots with fewer wavefronts.
///
/// Threads that walk different trees access the same sum of their slots. With eight classes and four rows,
/// slots are 32 sums apart, so that all 32 threads access one bank, one after the other. Slots at an odd
/// distance lose the alignment with which an instruction accesses several adjacent sums, so the distance is
/// odd only if that saves more.
pub(super) fn distance(k: &KernelBuilder, private: &Private, trips: &[i64], size: i64) -> i64 {
    let (Some(threads), margins) = (k.block_threads(), k.ports.margins()) else { return size };
    let mut steps = ThreadSteps::default();
    let is_row = |iter: &Iter| {
        k.ports.lowering.mir.vars.get(iter.var.0 as usize).is_some_and(|var| var.axis == Axis::Row)
    };
    add_steps(
        &private.body,
        &|iter| {
            let at = private.slots.iter().position(|slot| slot.var == iter.var);
            match at {
                Some(at) => (trips.get(at + 1..).unwrap_or_default().iter().product(), 0),
                None if is_row(iter) => (0, iter.step),
                None => (0, 0),
            }
        },
        &mut steps,
    );
    let element = k.ports.accumulator;
    let of = |distance: i64| wavefronts(steps, threads, (distance, margins), element);
    if of(size) > of(size | 1) * adjacent_sums(margins, element) { size | 1 } else { size }
}

/// Adds the steps of the loops over threads in some statements. Of several loops over one direction, the
/// first one counts.
fn add_steps(stmts: &[MirStmt], step: &dyn Fn(&Iter) -> (i64, i64), steps: &mut ThreadSteps) {
    for stmt in stmts {
        if let MirStmt::Loop(this) = stmt
            && let LoopMode::Mapped(mapping) = this.mode
            && mapping.dimension.level == GpuLevel::Block
        {
            let at = match mapping.dimension.axis {
                GpuAxis::X => 0,
                GpuAxis::Y => 1,
                GpuAxis::Z => 2,
            };
            if (steps.slots[at], steps.rows[at]) == (0, 0) {
                (steps.slots[at], steps.rows[at]) = step(&this.iter);
            }
        }
        stmt.inside().into_iter().for_each(|body| add_steps(body, step, steps));
    }
}

/// Adjacent sums of a row that an instruction accesses: their address is a multiple of their size.
fn adjacent_sums(margins: i64, element: Scalar) -> i64 {
    let most = ACCESS_BYTES as i64 / i64::from(element.bytes());
    (1..=most).rev().find(|sums| most % sums == 0 && margins % sums == 0).unwrap_or(1)
}

/// Accesses to the busiest bank when the first warp of a block accesses a sum, one in each thread's slot and
/// row.
fn wavefronts(
    steps: ThreadSteps,
    threads: [u32; 3],
    (distance, margins): (i64, i64),
    element: Scalar,
) -> i64 {
    let [x, y, z] = threads.map(i64::from);
    let bytes = u64::from(element.bytes());
    let range = |lane: i64| {
        let place = [lane % x, lane / x % y, lane / x / y];
        let along = |steps: [i64; 3]| place.iter().zip(steps).map(|(at, step)| at * step).sum::<i64>();
        let sum = along(steps.slots) * distance + along(steps.rows) * margins;
        let start = sum.unsigned_abs() * bytes;
        (start, start + bytes)
    };
    lir::wavefronts((0..WARP.min(x * y * z)).map(range)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_trees_at_odd_distances_have_separate_banks() {
        // Trees in the threads of x, eight sums for each of some rows.
        let trees = ThreadSteps { slots: [1, 0, 0], rows: [0; 3] };
        let of = |distance| wavefronts(trees, [128, 1, 1], (distance, 8), Scalar::F32);
        assert_eq!([8, 9, 16, 17, 32, 33].map(of), [8, 1, 16, 1, 32, 1]);
        // A double takes two words of a bank.
        let of = |distance| wavefronts(trees, [128, 1, 1], (distance, 8), Scalar::F64);
        assert_eq!([8, 9].map(of), [16, 2]);
        // Four rows beside eight trees.
        let both = ThreadSteps { slots: [0, 1, 0], rows: [1, 0, 0] };
        let of = |distance| wavefronts(both, [4, 32, 1], (distance, 8), Scalar::F32);
        assert_eq!([32, 33].map(of), [8, 1]);
    }

    #[test]
    fn adjacent_sums_are_accessed_adjacent() {
        assert_eq!([8, 6, 3].map(|margins| adjacent_sums(margins, Scalar::F32)), [4, 2, 1]);
        assert_eq!(adjacent_sums(8, Scalar::F64), 2);
    }
}
