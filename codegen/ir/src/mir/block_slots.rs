//! The slots of a block in shared memory, as the threads of a warp use them.

use super::slots::slot_count;
use super::{Accumulator, Iter, LoopMode, Mir, MirStmt, Private, PrivateId, SlotMargins, VarInfo, Window};
use crate::lir::{BlockSlots, WARP, greatest_common_divisor};
use sched_nest::{Axis, GpuAxis, GpuLevel};

/// Slots and rows from a thread of a block to the next one, in each dimension.
#[derive(Clone, Copy, Debug, Default)]
struct ThreadSteps {
    slots: [i64; 3],
    rows: [i64; 3],
}

impl Mir {
    /// Margins of the slots of an accumulator. The output has all margins.
    pub fn slot_margins(&self, of: Accumulator) -> SlotMargins {
        fn find(stmts: &[MirStmt], id: PrivateId) -> Option<SlotMargins> {
            stmts.iter().find_map(|stmt| match stmt {
                MirStmt::Private(private) if private.id == id => Some(private.margins),
                other => other.inside().into_iter().find_map(|body| find(body, id)),
            })
        }
        match of {
            Accumulator::Output => SlotMargins::All,
            Accumulator::Slot(id, _) => find(&self.body, id).unwrap_or(SlotMargins::All),
        }
    }
}

impl Private {
    /// The slots of a block of `threads` threads whose sums have `sum_bytes` bytes. `None` if the block may
    /// have any number of rows.
    pub fn block_slots(
        &self,
        vars: &[VarInfo],
        threads: [u32; 3],
        (margins, sum_bytes): (u64, u64),
    ) -> Option<BlockSlots> {
        let rows = u64::try_from(self.window.rows()?).ok()?;
        let mut steps = ThreadSteps::default();
        self.add_steps(&self.body, vars, &mut steps);
        let [x, y, z] = threads.map(i64::from);
        let place = |lane: i64| {
            let place = [lane % x, lane / x % y, lane / x / y];
            let along = |steps: [i64; 3]| {
                let steps = place.iter().zip(steps).map(|(at, step)| at.saturating_mul(step));
                steps.fold(0, i64::saturating_add).unsigned_abs()
            };
            (along(steps.slots), along(steps.rows))
        };
        Some(BlockSlots {
            rows,
            margins,
            margins_of_slot: if self.margins == SlotMargins::InTurn { 1 } else { margins },
            sum_bytes,
            lanes: (0..WARP.min(x * y * z)).map(place).collect(),
            thread_rows: adjacent_rows(&self.body, vars, &self.window).unwrap_or(1).max(1),
        })
    }

    /// Number of slots that walks write; `None` if a bound is unknown.
    pub fn used_slots(&self) -> Option<i64> {
        self.filled_slots.or_else(|| slot_count(&self.slots))
    }

    /// Adds the steps of the loops over threads in some statements. Of several loops over one direction, the
    /// first one counts.
    fn add_steps(&self, stmts: &[MirStmt], vars: &[VarInfo], steps: &mut ThreadSteps) {
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
                    (steps.slots[at], steps.rows[at]) = self.steps_of(&this.iter, vars);
                }
            }
            stmt.inside().into_iter().for_each(|body| self.add_steps(body, vars, steps));
        }
    }

    /// Slots and rows from an iteration of a loop to the next one.
    fn steps_of(&self, iter: &Iter, vars: &[VarInfo]) -> (i64, i64) {
        let inside = self.slots.iter().position(|slot| slot.var == iter.var).map(|at| &self.slots[at + 1..]);
        match inside {
            Some(inside) => (slot_count(inside).unwrap_or(1), 0),
            None if vars[iter.var.0 as usize].axis == Axis::Row => (0, iter.step),
            None => (0, 0),
        }
    }
}

/// Adjacent rows whose sums each thread keeps in registers: a divisor of their number, and of the distances
/// of the first row of a thread from those of other threads and from the window's first row. `None` if no
/// thread keeps sums.
fn adjacent_rows(stmts: &[MirStmt], vars: &[VarInfo], window: &Window) -> Option<u64> {
    let of_stmt = |stmt: &MirStmt| match stmt {
        MirStmt::ThreadSums(sums) => {
            let rows = sums.max_rows(vars).filter(|_| sums.is_dense(vars)).unwrap_or(1);
            let outer = sums.outer_row();
            let starts: i64 = sums.loops.iter().map(|iter| iter.start).sum();
            let first = outer.plus + starts - window.base.plus - window.low;
            let inside = outer.vars.iter().filter(|var| !window.base.vars.contains(var));
            let distances = inside.map(|var| &vars[var.0 as usize]).flat_map(|var| [var.step, var.least]);
            let distances = distances.chain([first]).map(i64::unsigned_abs);
            Some(distances.fold(rows.unsigned_abs(), greatest_common_divisor))
        }
        other => {
            let inside = other.inside().into_iter();
            inside.filter_map(|body| adjacent_rows(body, vars, window)).reduce(greatest_common_divisor)
        }
    };
    stmts.iter().filter_map(of_stmt).reduce(greatest_common_divisor)
}
