//! Work at the end of the launch that computes sums, in place of a second launch: folds of slots, and
//! predictions from the margins of rows.
//!
//! The blocks of a grid that walk the same rows with different trees are a *group*. The last block of a group
//! that has filled its slots adds up the slots of the group's rows, with all its threads. Each sum adds the
//! same slots in the same order as in a second launch, so it has the same bits. If the group has computed all
//! margins of its rows then, its last block can also compute their predictions.

use super::thread_sums::adds_to;
use super::window::{difference_range, window_of};
use super::{
    Accumulator, Affine, Fold, Iter, Minuend, Mir, MirLaunch, MirLoop, MirStmt, Private, SlotMargins, Var,
    VarInfo, Window,
};
use sched_nest::{Axis, GpuAxis, GpuDimension, GpuLevel};

/// Loads of slots that the threads of a block make one after the other in the time of a launch. On an H100, a
/// launch was measured to take 2.1 µs. By the fitted figures of the cost model, a load takes 28.6 cycles, and
/// a cycle 0.57 ns.
const LOADS_OF_A_LAUNCH: u64 = 129;

/// Work at the end of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct LastBlock {
    /// Loops over rows whose iterations are blocks, with their dimensions of the grid. The blocks of a group
    /// have the same iteration of each.
    pub groups: Vec<(Iter, GpuDimension)>,
    /// The other dimensions of the grid that loops are mapped to. The blocks of a group differ in these. If
    /// there are none, each block is a group.
    pub members: Vec<GpuDimension>,
    /// The rows of a group.
    pub window: Window,
    /// The folds, in their order.
    pub folds: Vec<Fold>,
    /// Whether all margins of the group's rows are complete then, so that the block can compute predictions
    /// from them.
    pub completes_rows: bool,
}

/// Whether the last block of a group folds slots in less time than a second launch. A launch has a thread for
/// each sum. A block has `threads` threads for the `sums` sums of a group's rows, each with `slots` slots.
pub fn folds_in_launch(slots: u64, sums: u64, threads: u64) -> bool {
    let further_rounds = sums.div_ceil(threads.max(1)).saturating_sub(1);
    further_rounds.saturating_mul(slots) <= LOADS_OF_A_LAUNCH
}

/// Loads of slots that a thread makes for a piece of a fold. More let larger pieces arrive within one wait,
/// and take more shared memory.
pub const PIECE_LOADS: u64 = 4;

/// Smallest number of slots of a sum in a piece. Waiting for smaller pieces takes longer than loading the
/// slots one by one, with some ten loads in flight.
const LEAST_PIECE: u64 = 32;

/// Largest number of slots that a thread loads itself: not many more than it has loads in flight.
const MOST_DIRECT_SLOTS: u64 = 16;

/// A piece of a fold: slots that the threads of a block load together before they add them up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldPiece {
    /// Sums that are folded at a time, with a thread for each.
    pub sums: u64,
    /// Slots of each of these sums that the threads load with one instruction.
    pub slots_of_load: u64,
}

impl FoldPiece {
    /// The piece in which the `threads` threads of a block fold `sums` sums of `slots` slots each. `None` if
    /// each thread loads the slots of its sum itself.
    pub fn of(slots: u64, sums: u64, threads: u64) -> Option<FoldPiece> {
        let sums = sums.clamp(1, threads.max(1));
        let piece = FoldPiece { sums, slots_of_load: threads / sums };
        (slots > MOST_DIRECT_SLOTS && piece.slots() >= LEAST_PIECE).then_some(piece)
    }

    /// Slots of each sum.
    pub fn slots(self) -> u64 {
        self.slots_of_load * PIECE_LOADS
    }
}

/// Moves folds of slots in device memory from behind a launch to its end, where the last block of a group
/// can fold in less time than a second launch. If predictions need all `margins` of a row, finds the launches
/// whose last blocks can compute them. `max_rows` bounds the rows of the calls of this nest.
pub fn finish_in_last_blocks(mut mir: Mir, margins: RowMargins, max_rows: Option<u32>) -> Mir {
    let mut body = std::mem::take(&mut mir.body);
    let rows = [max_rows.map(i64::from), mir.rows_per_run].into_iter().flatten().min();
    let pass = Finisher { mir: &mir, margins: margins.count as u64, rows };
    pass.move_all_folds(&mut body);
    if margins.together {
        pass.complete_rows(&mut body, &Affine::default());
    }
    Mir { body, ..mir }
}

/// Whether the last blocks of some launch can compute the predictions of all rows.
pub fn completes_rows(stmts: &[MirStmt]) -> bool {
    stmts.iter().any(|stmt| match stmt {
        MirStmt::Launch(launch) => launch.last_block.as_ref().is_some_and(|last| last.completes_rows),
        other => other.inside().into_iter().any(completes_rows),
    })
}

/// The margins of a row.
#[derive(Clone, Copy, Debug)]
pub struct RowMargins {
    /// Their number.
    pub count: usize,
    /// Whether predictions need all of them together.
    pub together: bool,
}

struct Finisher<'m> {
    /// The nest, without its statements.
    mir: &'m Mir,
    /// Sums of a row.
    margins: u64,
    /// Largest number of rows of a run, if it is known.
    rows: Option<i64>,
}

impl Finisher<'_> {
    fn move_all_folds(&self, stmts: &mut [MirStmt]) {
        for stmt in stmts {
            if let MirStmt::Private(private) = stmt
                && let Some(last_block) = self.last_block(private)
            {
                move_folds(private, last_block);
                continue;
            }
            stmt.inside_mut().into_iter().for_each(|body| self.move_all_folds(body));
        }
    }

    /// Folds for the end of the launch in a buffer of slots, or in nested ones. `None` if there is no such
    /// launch, or if they must stay behind it.
    fn last_block(&self, private: &Private) -> Option<LastBlock> {
        let (mut buffers, mut folds) = (Vec::new(), Vec::new());
        let launch = launch_of(private, &mut buffers, &mut folds)?;
        let is_output = |fold: &Fold| fold.into.accumulator == Accumulator::Output && !fold.into.atomic;
        let adds = launch.body.iter().any(|stmt| adds_to(stmt, Accumulator::Output));
        if adds || !folds.iter().all(is_output) {
            return None;
        }
        let mut last_block = self.groups(launch, &private.window.base)?;
        let rows = [last_block.window.rows(), self.rows].into_iter().flatten().min()?;
        let sums = u64::try_from(rows).ok()?.saturating_mul(self.margins);
        let slots = buffers.iter().try_fold(0, |all: u64, buffer| {
            let slots = u64::try_from(buffer.used_slots()?).ok()?;
            let of_sum = match buffer.margins {
                SlotMargins::All => slots,
                SlotMargins::InTurn => slots.div_ceil(self.margins),
            };
            all.checked_add(of_sum)
        })?;
        let threads = launch.block.iter().map(|extent| u64::from(*extent)).product();
        last_block.folds = folds;
        folds_in_launch(slots, sums, threads).then_some(last_block)
    }

    /// Marks the launch at the end of which the margins of its groups' rows are complete, if its blocks
    /// compute predictions in less time than a second launch. `base` is the sum of the row loops around
    /// `stmts`.
    fn complete_rows(&self, stmts: &mut [MirStmt], base: &Affine) {
        let Some((last, before)) = stmts.split_last_mut() else { return };
        if before.iter().any(walks) {
            return;
        }
        match last {
            MirStmt::Launch(launch) => self.complete_rows_of(launch, base),
            MirStmt::Loop(this) if self.info(this.iter.var).axis == Axis::Row => {
                let base = base.clone().with(this.iter.var);
                self.complete_rows(&mut this.body, &base);
            }
            MirStmt::CacheRows(copy) => self.complete_rows(&mut copy.body, base),
            MirStmt::Private(private) => self.complete_rows(&mut private.body, base),
            _ => {}
        }
    }

    fn complete_rows_of(&self, launch: &mut MirLaunch, base: &Affine) {
        let Some(mut last_block) = launch.last_block.clone().or_else(|| self.groups(launch, base)) else {
            return;
        };
        let rows = [last_block.window.rows(), self.rows].into_iter().flatten().min();
        let rows = rows.and_then(|rows| u64::try_from(rows).ok());
        let threads = launch.block.iter().map(|extent| u64::from(*extent)).product();
        if rows.is_some_and(|rows| folds_in_launch(self.margins, rows, threads)) {
            last_block.completes_rows = true;
            launch.last_block = Some(last_block);
        }
    }

    /// The groups of a launch's blocks, without work. `None` if rows of one group may be between those of
    /// another, or if a grid may have no blocks. `base` is the sum of the row loops around the launch.
    fn groups(&self, launch: &MirLaunch, base: &Affine) -> Option<LastBlock> {
        let (mut groups, mut members, mut row) = (Vec::new(), Vec::new(), base.clone());
        for (axis, loops) in [GpuAxis::X, GpuAxis::Y, GpuAxis::Z].into_iter().zip(&launch.grid) {
            let dimension = GpuDimension { level: GpuLevel::Grid, axis };
            match loops.as_slice() {
                [] => {}
                [iter] if self.info(iter.var).axis == Axis::Row => {
                    // The end of the loop must not depend on other loops of the launch.
                    loop_of(&launch.body, iter.var).filter(|this| this.iter == *iter)?;
                    row = row.with(iter.var);
                    groups.push((iter.clone(), dimension));
                }
                some if some.iter().all(|iter| self.info(iter.var).axis != Axis::Row) => {
                    some.iter().find(|iter| has_iterations(iter))?;
                    members.push(dimension);
                }
                _ => return None,
            }
        }
        let uses = self.mir.uses.of(&launch.walks);
        let in_groups = |row: &Affine| groups.iter().all(|(iter, _)| row.vars.contains(&iter.var));
        if !uses.iter().all(|leaf| in_groups(&leaf.row)) {
            return None;
        }
        let window = window_of(uses, &row, &self.mir.vars);
        let (folds, completes_rows) = (Vec::new(), false);
        self.are_apart(&groups, &window).then_some(LastBlock {
            groups,
            members,
            window,
            folds,
            completes_rows,
        })
    }

    /// Whether each row is in one group: the rows of a group reach no further than the smallest distance
    /// between groups, all groups of one loop no further than the next larger distance, and so on.
    fn are_apart(&self, groups: &[(Iter, GpuDimension)], window: &Window) -> bool {
        let mut loops: Vec<&Iter> = groups.iter().map(|(iter, _)| iter).collect();
        loops.sort_by_key(|iter| iter.step);
        let mut rows = window.rows();
        for iter in loops {
            if rows.is_none_or(|rows| rows > iter.step) {
                return false;
            }
            let (low, high) = difference_range(&Affine::var(iter.var), &Affine::default(), &self.mir.vars);
            rows = rows.zip(high).map(|(rows, high)| rows.saturating_add(high - low));
        }
        true
    }

    fn info(&self, var: Var) -> &VarInfo {
        &self.mir.vars[var.0 as usize]
    }
}

/// The launch in a buffer of slots in device memory, or in nested ones. Adds the buffers and their folds to
/// the lists, the innermost first. `None` if there are other statements around the launch.
fn launch_of<'m>(
    private: &'m Private,
    buffers: &mut Vec<&'m Private>,
    folds: &mut Vec<Fold>,
) -> Option<&'m MirLaunch> {
    let body = match private.body.as_slice() {
        [MirStmt::ZeroAll(_), rest @ ..] | rest => rest,
    };
    let (launch, fold) = match body {
        [MirStmt::Launch(launch), MirStmt::Fold(fold)] => (launch, fold),
        [MirStmt::Private(inner), MirStmt::Fold(fold)] => (launch_of(inner, buffers, folds)?, fold),
        _ => return None,
    };
    buffers.push(private);
    folds.push(fold.clone());
    Some(launch)
}

/// Removes the folds behind the launch in a buffer of slots, and puts them at the launch's end.
fn move_folds(private: &mut Private, last_block: LastBlock) {
    private.body.retain(|stmt| !matches!(stmt, MirStmt::Fold(_)));
    match private.body.last_mut() {
        Some(MirStmt::Launch(launch)) => launch.last_block = Some(last_block),
        Some(MirStmt::Private(inner)) => move_folds(inner, last_block),
        _ => {}
    }
}

/// The loop with this variable in some statements.
fn loop_of(stmts: &[MirStmt], var: Var) -> Option<&MirLoop> {
    stmts.iter().find_map(|stmt| match stmt {
        MirStmt::Loop(this) if this.iter.var == var => Some(this),
        other => other.inside().into_iter().find_map(|body| loop_of(body, var)),
    })
}

/// Whether a statement walks trees.
fn walks(stmt: &MirStmt) -> bool {
    matches!(stmt, MirStmt::Walks(_)) || stmt.inside().into_iter().flatten().any(walks)
}

/// Whether a loop certainly has an iteration.
fn has_iterations(iter: &Iter) -> bool {
    iter.stops.iter().all(|stop| match stop.limit {
        Minuend::Const(end) => stop.less.vars.is_empty() && end - stop.less.plus > iter.start,
        Minuend::Rows => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_folds_what_takes_less_than_a_launch() {
        // A thread for each sum: as in a launch.
        assert!(folds_in_launch(1000, 128, 128));
        assert!(folds_in_launch(129, 256, 128));
        assert!(!folds_in_launch(130, 256, 128));
        assert!(!folds_in_launch(25, 1024, 128));
    }

    #[test]
    fn blocks_with_many_threads_for_each_sum_fold_in_pieces() {
        let slots = |slots, sums, threads| FoldPiece::of(slots, sums, threads).map(FoldPiece::slots);
        assert_eq!(slots(1000, 32, 800), Some(100));
        assert_eq!(slots(1000, 33, 800), Some(96), "eight threads have no sum");
        assert_eq!(slots(1000, 32, 224), None, "28 slots in a wait");
        assert_eq!(slots(1000, 2000, 800), None);
        assert_eq!(slots(16, 32, 800), None);
    }
}
