//! How leaves are added up, and how many trees are walked together where rows are few.

use super::SumAccess;
use crate::hir::Hir;
use crate::mir::{Accumulator, Loop, Mode, Walks};
use sched_forest::Target;
use sched_nest::Axis;

/// What surrounds a leaf loop.
#[derive(Clone, Copy, Default)]
pub struct WalkContext<'m> {
    /// The loop that contains nothing else to repeat and walks several of its trees together where rows are few.
    pub tree_loop: Option<&'m Loop>,
    /// Whether the sums of its rows are copied.
    pub copied_sums: bool,
}

impl WalkContext<'_> {
    /// What surrounds the statements of a loop.
    pub fn inside<'m>(self, this: &'m Loop) -> WalkContext<'m> {
        let unroll_and_jam = this.mode == Mode::UnrollAndJam && this.only_walks().is_some();
        WalkContext { tree_loop: unroll_and_jam.then_some(this), copied_sums: self.copied_sums }
    }

    /// How a leaf loop adds its leaves up.
    pub fn sum_access(self, walks: &Walks, hir: &Hir) -> SumAccess {
        if walks.over == Axis::Tree {
            return if hir.forest.num_margins == 1 { SumAccess::Register } else { SumAccess::Each };
        }
        let in_columns = self.sums_in_blocks(walks);
        let adjacent = walks.iter.step == 1 && (in_columns || hir.forest.num_margins == 1);
        if adjacent && !walks.target.atomic && !has_leaf_vectors(hir) {
            SumAccess::Vector
        } else {
            SumAccess::Each
        }
    }

    fn sums_in_blocks(self, walks: &Walks) -> bool {
        self.copied_sums && walks.target.accumulator == Accumulator::Output
    }

    /// How many vectors of rows, those of several trees, advance together where the rows fill fewer, if the
    /// schedule asks for that: as many as for one tree. Walks that are not in vectors, as of rows that lie too far
    /// apart for them, have none to share.
    pub fn unroll_and_jam(self, walks: &Walks) -> u32 {
        let unroll_and_jam =
            self.tree_loop.is_some_and(|context| walks.tree.vars.contains(&context.iter.var));
        let rows = walks.over == Axis::Row && walks.iter.step == 1 && walks.lanes > 1;
        if unroll_and_jam && rows { walks.group } else { 1 }
    }
}

/// Whether some leaf holds a value for every margin.
pub fn has_leaf_vectors(hir: &Hir) -> bool {
    hir.forest.trees.iter().any(|tree| tree.target == Target::All)
}
