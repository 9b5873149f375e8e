//! How leaves are added up, and how many trees are walked together where rows are few.

use super::SumAccess;
use crate::hir::Hir;
use crate::mir::{Accumulator, Loop, Mode, Stmt, Walks};
use sched_forest::Target;
use sched_nest::Axis;

/// What surrounds a leaf loop.
#[derive(Clone, Copy, Default)]
pub struct WalkContext<'m> {
    /// The serial loop whose only statement it is.
    pub only_in: Option<&'m Loop>,
    /// Whether the sums of its rows are copied.
    pub copied_sums: bool,
}

impl WalkContext<'_> {
    /// What surrounds the statements of a loop.
    pub fn inside<'m>(self, this: &'m Loop) -> WalkContext<'m> {
        let only = matches!(this.body.as_slice(), [Stmt::Walks(_)]) && this.mode == Mode::Serial;
        WalkContext { only_in: only.then_some(this), copied_sums: self.copied_sums }
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

    /// How many vectors of rows, those of several trees, advance together where the rows fill fewer: as many
    /// as the schedule asks for, if the trees' walks are independent and the sums of a vector are one piece
    /// of memory. Every row's sum still adds the trees in their order.
    pub fn unroll_and_jam(self, walks: &Walks, hir: &Hir) -> u32 {
        let Some(context) = self.only_in else { return 1 };
        let var = context.iter.var;
        let independent = walks.iter.stops.iter().all(|stop| !stop.less.vars.contains(&var));
        let rows = walks.over == Axis::Row && walks.iter.step == 1 && walks.lanes > 1;
        let trees = walks.tree.vars.contains(&var);
        let vectors = self.sum_access(walks, hir) == SumAccess::Vector;
        if independent && rows && trees && vectors { walks.group } else { 1 }
    }
}

/// Whether some leaf holds a value for every margin.
pub fn has_leaf_vectors(hir: &Hir) -> bool {
    hir.forest.trees.iter().any(|tree| tree.target == Target::All)
}
