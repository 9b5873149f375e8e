//! Copies of rows: whether each is transposed, and whether the sums of its rows are copied, too.
//!
//! A block of a transposed copy has as many rows as the vectors that walk it have lanes. With several
//! margins, the sums of a block's rows are copied, too, margin by margin. One instruction then adds the leaf
//! values of a vector of rows. They are read from the output before the first tree, and written back after
//! the last. Leaf vectors are added in this way if that takes no more instructions than adding them row by
//! row.

use super::CopyPlan;
use super::margins::adds_by_margin;
use crate::budget::Budget;
use crate::error::CompileError;
use crate::hir::Hir;
use crate::mir::mapped::any_mapped;
use crate::mir::{
    Accumulator, Affine, CacheId, CacheRows, Fill, LeafUse, LoopMode, Minuend, Mir, MirStmt, ScratchBytes,
    Var, WalkedRows, Walks, Window,
};
use sched_nest::Axis;
use std::collections::BTreeMap;

/// The plans of all copies of a nest, and the largest number of rows of a run whose copied sums fit the
/// budget.
///
/// # Errors
///
/// When the sums of a single row exceed the budget.
pub fn plan_copies(
    mir: &Mir,
    hir: &Hir,
    budget: &Budget,
) -> Result<(BTreeMap<CacheId, CopyPlan>, Option<i64>), CompileError> {
    let mut copies = BTreeMap::new();
    for_each_copy(&mir.body, CopySurroundings::default(), &mut |copy, _| {
        let block_rows = transposed_block_rows(mir.uses.of(&copy.walks), &copy.window.base)
            .filter(|_| copy.shared.is_none());
        let is_shared = copy.shared.is_some();
        let packs_rows = |leaf: &LeafUse| leaf.packed_rows > 1 && leaf.rows == WalkedRows::Cached(copy.id);
        let spreads_rows =
            is_shared && copy.fill == Fill::Bins && !mir.uses.of(&copy.walks).iter().any(packs_rows);
        // Computed columns are all tested.
        let holds_tested = is_shared && copy.fill == Fill::Values && hir.columns.is_none();
        let plan = CopyPlan { block_rows, copies_sums: false, is_shared, spreads_rows, holds_tested };
        copies.insert(copy.id, plan);
        Ok(())
    })?;
    let forest = &hir.forest;
    let single = !hir.forest.has_leaf_vectors();
    let mut scratch = ScratchBytes::new(budget);
    if forest.num_margins > 1 {
        let row_bytes = (forest.num_margins * forest.types.accumulator.bytes()) as u64;
        for_each_copy(&mir.body, CopySurroundings::default(), &mut |copy, around| {
            let plan = copies.entry(copy.id).or_default();
            let adds = |walks: &Walks| {
                let all = !around.in_parallel_loop || walks_whole_copy(walks, &copy.window);
                all && adds_to_output(walks) && (single || adds_by_margin(hir, walks))
            };
            plan.copies_sums = !around.in_copy
                && plan.block_rows.is_some()
                && copy.body.iter().all(|stmt| only_adds(stmt, &adds));
            if plan.copies_sums { scratch.add(&copy.window, row_bytes) } else { Ok(()) }
        })?;
    }
    Ok((copies, scratch.rows_per_run()))
}

/// Whether a call may pass its rows as input columns. Only copies may read the input, not linear leaves, and
/// copies of bins must be transposed. GPUs take rows alone.
pub fn can_take_columns(
    body: &[MirStmt],
    hir: &Hir,
    loops: &[&Walks],
    copies: &BTreeMap<CacheId, CopyPlan>,
) -> bool {
    let from_copies = loops.iter().all(|walks| matches!(walks.rows, WalkedRows::Cached(_)));
    let mut fits = true;
    let seen = for_each_copy(body, CopySurroundings::default(), &mut |copy, _| {
        let in_blocks = copies.get(&copy.id).is_some_and(|plan| plan.block_rows.is_some());
        fits &= in_blocks || copy.fill != Fill::Bins;
        Ok(())
    });
    let reads_call = hir.forest.has_linear_leaves() && !hir.linear_leaves_read_walked_rows();
    seen.is_ok() && fits && from_copies && !reads_call && !any_mapped(body)
}

/// The surroundings of a copy of rows.
#[derive(Clone, Copy, Default)]
struct CopySurroundings {
    /// Whether the copy is inside another copy.
    in_copy: bool,
    /// Whether the copy is inside a loop whose iterations run in parallel.
    in_parallel_loop: bool,
}

/// Calls `see` for every copy of rows with its surroundings.
fn for_each_copy(
    stmts: &[MirStmt],
    around: CopySurroundings,
    see: &mut impl FnMut(&CacheRows, CopySurroundings) -> Result<(), CompileError>,
) -> Result<(), CompileError> {
    for stmt in stmts {
        match stmt {
            MirStmt::CacheRows(copy) => {
                see(copy, around)?;
                for_each_copy(&copy.body, CopySurroundings { in_copy: true, ..around }, see)?;
            }
            MirStmt::Loop(this) => {
                let in_parallel_loop =
                    around.in_parallel_loop || matches!(this.mode, LoopMode::Parallel | LoopMode::Mapped(_));
                for_each_copy(&this.body, CopySurroundings { in_parallel_loop, ..around }, see)?;
            }
            MirStmt::Private(private) => for_each_copy(&private.body, around, see)?,
            MirStmt::Case(_, arms) => {
                arms.iter().try_for_each(|(_, body)| for_each_copy(body, around, see))?;
            }
            MirStmt::Launch(launch) => for_each_copy(&launch.body, around, see)?,
            MirStmt::When(_, body) => for_each_copy(body, around, see)?,
            MirStmt::ThreadSums(sums) => for_each_copy(&sums.body, around, see)?,
            MirStmt::ShareTrees(copy) => for_each_copy(&copy.body, around, see)?,
            MirStmt::Base(_)
            | MirStmt::Walks(_)
            | MirStmt::CacheTrees(_)
            | MirStmt::Zero(..)
            | MirStmt::ZeroAll(_)
            | MirStmt::Fold(_) => {}
        }
    }
    Ok(())
}

/// Whether a leaf loop over rows of a transposed copy walks them all, to the end of the copy or of the call.
/// Otherwise an iteration that runs at the same time may add to the other rows' sums, which writing copied
/// sums back would overwrite.
fn walks_whole_copy(walks: &Walks, window: &Window) -> bool {
    window.high.is_some_and(|high| {
        walks.iter.stops.iter().all(|stop| match stop.limit {
            Minuend::Rows => true,
            Minuend::Const(end) => stop.less.vars.is_empty() && end - stop.less.plus >= high,
        })
    })
}

/// Rows of a block of a transposed copy: the number of lanes of the vectors that walk it. `None` unless all
/// walks are in vectors of rows, of one width, each of which is a block.
fn transposed_block_rows(uses: &[LeafUse], base: &Affine) -> Option<u32> {
    let width = |leaf: &LeafUse| {
        let base = leaf.in_case(base);
        let inner: Vec<Var> = leaf.row.vars.iter().copied().filter(|var| !base.vars.contains(var)).collect();
        let aligned = inner == [leaf.var]
            && leaf.over == Axis::Row
            && leaf.step == 1
            && leaf.start % i64::from(leaf.lanes) == 0
            && leaf.row.plus == base.plus;
        if aligned { leaf.lanes } else { 1 }
    };
    let first = width(uses.first()?);
    (first > 1 && uses.iter().all(|leaf| width(leaf) == first)).then_some(first)
}

fn adds_to_output(walks: &Walks) -> bool {
    walks.target.accumulator == Accumulator::Output && !walks.target.atomic
}

/// Whether nothing but leaf loops for which `adds` holds changes sums in a statement.
fn only_adds(stmt: &MirStmt, adds: &dyn Fn(&Walks) -> bool) -> bool {
    let all = |body: &[MirStmt]| body.iter().all(|stmt| only_adds(stmt, adds));
    match stmt {
        MirStmt::Walks(walks) => adds(walks),
        MirStmt::Loop(this) => all(&this.body),
        MirStmt::Case(_, arms) => arms.iter().all(|(_, body)| all(body)),
        MirStmt::When(_, body) => all(body),
        MirStmt::CacheTrees(_) => true,
        MirStmt::Base(_)
        | MirStmt::Launch(_)
        | MirStmt::ThreadSums(_)
        | MirStmt::ShareTrees(_)
        | MirStmt::CacheRows(_)
        | MirStmt::Private(_)
        | MirStmt::Zero(..)
        | MirStmt::ZeroAll(_)
        | MirStmt::Fold(_) => false,
    }
}
