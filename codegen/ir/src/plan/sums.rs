//! Chooses how leaf values are added to sums, and the number of interleaved vectors for remainder rows.

use super::{SumAccess, ThreadRegisterSums};
use crate::hir::Hir;
use crate::mir::{Accumulator, LoopMode, Mir, MirLoop, MirStmt, SlotMargins, ThreadSumsId, Walks};
use sched_nest::Axis;
use std::collections::BTreeMap;

/// The surroundings of a leaf loop.
#[derive(Clone, Copy, Default)]
pub struct LeafSurroundings<'m> {
    /// The unroll-and-jam loop over trees that contains the leaf loop and nothing else.
    pub unroll_and_jam_loop: Option<&'m MirLoop>,
    /// Whether an enclosing copy of rows has the rows' sums, too.
    pub sums_are_copied: bool,
    /// Whether the leaf loop runs in a thread of a GPU.
    pub in_launch: bool,
}

impl LeafSurroundings<'_> {
    /// The surroundings of the statements of a loop.
    pub fn inside_loop<'m>(self, this: &'m MirLoop) -> LeafSurroundings<'m> {
        let unroll_and_jam = this.mode == LoopMode::UnrollAndJam && this.only_walks().is_some();
        LeafSurroundings { unroll_and_jam_loop: unroll_and_jam.then_some(this), ..self }
    }

    /// The way in which a leaf loop adds to its sums.
    pub fn sum_access(self, walks: &Walks, hir: &Hir) -> SumAccess {
        let margins = hir.forest.num_margins;
        let vectors = hir.forest.has_leaf_vectors();
        // Threads of a GPU add the values of a leaf vector one after the other.
        let by_row = vectors && !self.in_launch;
        // If some leaves are vectors and others linear, the terms are added to sums in memory.
        let fits = margins == 1 || by_row && margins <= MOST_REGISTER_MARGINS;
        if walks.over == Axis::Tree && fits && !(vectors && hir.forest.has_linear_leaves()) {
            return SumAccess::Register;
        }
        let in_columns = self.sums_in_blocks(walks);
        let adjacent = walks.iter.step == 1 && (in_columns || margins == 1);
        let rows = walks.over == Axis::Row && adjacent && (by_row || !vectors);
        match walks.target.atomic {
            false if rows => SumAccess::RowVector,
            false if by_row => SumAccess::LeafVector,
            _ => SumAccess::EachValue,
        }
    }

    fn sums_in_blocks(self, walks: &Walks) -> bool {
        self.sums_are_copied && walks.target.accumulator == Accumulator::Output
    }

    /// Number of vectors, of several trees, that are interleaved if rows fill fewer vectors: the group size
    /// of the leaf loop. 1 if the schedule has no `unrollAndJam`, or walks are not in vectors of adjacent
    /// rows.
    pub fn unroll_and_jam(self, walks: &Walks) -> u32 {
        let unroll_and_jam =
            self.unroll_and_jam_loop.is_some_and(|context| walks.tree.vars.contains(&context.iter.var));
        let rows = walks.over == Axis::Row && walks.iter.step == 1 && walks.lanes > 1;
        if unroll_and_jam && rows { walks.group } else { 1 }
    }
}

/// Largest number of margins of a row whose sums are in registers while its trees are walked. With more
/// margins, registers would spill.
const MOST_REGISTER_MARGINS: usize = 32;

/// Largest number of sums that a thread of a GPU keeps in registers. A thread has at most 255 registers, and
/// its walks need some of them.
const MOST_THREAD_SUMS: i64 = 64;

/// Collects the thread sums that fit registers: at most `MOST_THREAD_SUMS` sums, of adjacent rows.
pub fn thread_sums(
    stmts: &[MirStmt],
    mir: &Mir,
    hir: &Hir,
    into: &mut BTreeMap<ThreadSumsId, ThreadRegisterSums>,
) {
    for stmt in stmts {
        match stmt {
            MirStmt::ThreadSums(sums) => {
                let rows = sums.max_rows(&mir.vars).filter(|_| sums.is_dense(&mir.vars));
                let margins = match mir.slot_margins(sums.target.accumulator) {
                    SlotMargins::All => hir.forest.num_margins as i64,
                    SlotMargins::InTurn => 1,
                };
                let few = |rows: &i64| rows.saturating_mul(margins) <= MOST_THREAD_SUMS;
                if let Some(rows) = rows.filter(few) {
                    into.insert(sums.id, ThreadRegisterSums { rows });
                }
            }
            MirStmt::Loop(this) => thread_sums(&this.body, mir, hir, into),
            MirStmt::Case(_, arms) => arms.iter().for_each(|(_, body)| thread_sums(body, mir, hir, into)),
            MirStmt::CacheRows(copy) => thread_sums(&copy.body, mir, hir, into),
            MirStmt::Private(private) => thread_sums(&private.body, mir, hir, into),
            MirStmt::Launch(launch) => thread_sums(&launch.body, mir, hir, into),
            MirStmt::When(_, body) => thread_sums(body, mir, hir, into),
            MirStmt::ShareTrees(copy) => thread_sums(&copy.body, mir, hir, into),
            MirStmt::Walks(_)
            | MirStmt::Base(_)
            | MirStmt::CacheTrees(_)
            | MirStmt::Zero(..)
            | MirStmt::ZeroAll(_)
            | MirStmt::Fold(_) => {}
        }
    }
}
