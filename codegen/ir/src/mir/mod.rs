//! MIR: the explicit loop nest with abstract operations on trees and rows. A walk names the layout that
//! the schedule asks for. The plan ([`crate::plan`]) decides later how trees are stored and walked.
//!
//! A [`Walks`] statement is a leaf loop: each iteration walks one tree with one row and adds the leaf's
//! values to its [`SumDestination`]. Row and tree numbers are sums of variables ([`Affine`]). A loop ends at
//! the least of several [`Bound`]s, which is how partial tiles stay in range.
//!
//! [`build()`] makes the nest with every reduction aimed at the output. [`reduce::legalise`] then
//! privatises reductions below parallel tree loops (SilvanForge section 5). Each such loop gets a
//! [`Private`] buffer with one slot per iteration, which is folded after the loop, in iteration order.
//! The buffer of an inner loop lives inside one iteration of the outer loop and is folded into that
//! iteration's slot. A fold covers all rows between the first and the last that its loop touches. If
//! parallel iterations of a row loop interleave their rows, the fold moves behind that loop.
//!
//! [`launch::separate_launches`] then separates the code of a GPU from the host's: each outermost loop with a
//! `gpuDimension` becomes a [`MirLaunch`].

mod affine;
mod block_slots;
mod build;
pub mod columns;
mod guards;
mod inside;
mod last_block;
pub mod launch;
pub mod mapped;
mod owners;
mod print;
pub mod reduce;
mod slots;
mod thread_sums;
mod threads;
mod uses;
mod window;

pub use build::build;
pub use last_block::{
    FoldPiece, LastBlock, PIECE_LOADS, RowMargins, completes_rows, finish_in_last_blocks, folds_in_launch,
};
pub use uses::{LeafUse, LeafUses, WalkRange};
pub(crate) use window::ScratchBytes;

use crate::repr::traverse::StepCounts;
use sched_nest::{Axis, GpuDimension, Layout, Reduce};
use std::ops::Range;

/// A loop variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var(pub u32);

/// Properties of a variable that are known at compile time.
#[derive(Clone, Debug, PartialEq)]
pub struct VarInfo {
    /// The loop's name in the schedule.
    pub name: String,
    /// Whether it counts rows or trees.
    pub axis: Axis,
    /// Least value.
    pub least: i64,
    /// Largest value, unless only the number of rows bounds it.
    pub most: Option<i64>,
    /// Distance between consecutive values.
    pub step: i64,
}

/// A sum of variables and a constant. Variables have no coefficients.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Affine {
    /// The variables.
    pub vars: Vec<Var>,
    /// The constant.
    pub plus: i64,
}

/// Number from which a [`Bound`] subtracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Minuend {
    /// A constant.
    Const(i64),
    /// The number of rows of the call.
    Rows,
}

/// `limit - less`: an exclusive end.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The number from which `less` is subtracted.
    pub limit: Minuend,
    /// The sum that is subtracted from `limit`.
    pub less: Affine,
}

/// The values of a loop: from `start` in steps of `step`, as long as they are below all `stops`.
#[derive(Clone, Debug, PartialEq)]
pub struct Iter {
    /// The variable.
    pub var: Var,
    /// First value.
    pub start: i64,
    /// Distance, at least 1.
    pub step: i64,
    /// Exclusive ends; the least one counts.
    pub stops: Vec<Bound>,
}

/// Execution mode of a loop's iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopMode {
    /// The iterations run one after the other.
    Serial,
    /// The iterations run in parallel.
    Parallel,
    /// One after the other, with a copy of the code for each iteration (`unroll`).
    Unrolled,
    /// One after the other; if remainder rows do not fill the groups of the leaf loop inside, walks of
    /// several iterations are interleaved (`unrollAndJam`).
    UnrollAndJam,
    /// As blocks of a grid, or as threads of a block.
    Mapped(GpuMapping),
}

/// Blocks or threads of a GPU that run the iterations of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuMapping {
    /// The grid's or block's dimension that counts the iterations.
    pub dimension: GpuDimension,
    /// Whether there may be more blocks or threads than iterations, so that each must test whether it
    /// has one.
    pub needs_guard: bool,
}

/// A loop around other statements.
#[derive(Clone, Debug, PartialEq)]
pub struct MirLoop {
    /// The loop's variable and bounds.
    pub iter: Iter,
    /// Execution mode of the iterations.
    pub mode: LoopMode,
    /// Combination of the iterations' partial sums; meaningful for parallel tree loops.
    pub reduce: Option<Reduce>,
    /// The leaf loops inside.
    pub walks: WalkRange,
    /// The repeated statements.
    pub body: Vec<MirStmt>,
}

impl MirLoop {
    /// The leaf loop, with the tree prefetches before it, if the body has nothing else.
    pub fn only_walks(&self) -> Option<(&[MirStmt], &Walks)> {
        let (MirStmt::Walks(walks), before) = self.body.split_last()? else { return None };
        before.iter().all(|stmt| matches!(stmt, MirStmt::CacheTrees(_))).then_some((before, walks))
    }
}

/// Source of the rows that walks read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkedRows {
    /// The call's input.
    Input,
    /// The copy made by this [`CacheRows`].
    Cached(CacheId),
}

/// Number of a [`CacheRows`] in its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CacheId(pub u32);

/// Number of a [`Private`] buffer in its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PrivateId(pub u32);

/// Memory in which sums are accumulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulator {
    /// The call's output.
    Output,
    /// Slot of a private buffer for the current iteration of the loop with this variable, and of the
    /// loops around it that share the buffer.
    Slot(PrivateId, Var),
}

/// Destination of a walk's leaf values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumDestination {
    /// The accumulator.
    pub accumulator: Accumulator,
    /// Whether additions must be atomic.
    pub atomic: bool,
}

/// Number of a leaf loop in its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WalkId(pub u32);

/// A leaf loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Walks {
    /// Identifier.
    pub id: WalkId,
    /// Variable of the leaf loop, and its values.
    pub iter: Iter,
    /// Whether the leaf loop's variable counts rows or trees.
    pub over: Axis,
    /// Number of iterations, or of vectors of iterations, whose walks are interleaved.
    pub group: u32,
    /// Iterations in one vector; 1 for none.
    pub lanes: u32,
    /// On a GPU, number of neighbouring rows whose bins share a word; 1 if bins of rows share none.
    pub packed_rows: u32,
    /// Number of the walked row: the sum of all row loops' variables, the leaf loop's included.
    pub row: Affine,
    /// Number of the walked tree: the sum of all tree loops' variables, the leaf loop's included.
    pub tree: Affine,
    /// Range that contains the numbers of all walked trees.
    pub trees: Range<usize>,
    /// The steps of the walks.
    pub steps: StepCounts,
    /// The layout that the schedule asks for.
    pub layout: Layout,
    /// Largest number of nodes in a node tile (`tileTrees`); 1 without node tiles.
    pub tile_nodes: u32,
    /// Whether every vector begins at a tree whose number is a multiple of the vector's lanes.
    pub aligned: bool,
    /// Source of the rows.
    pub rows: WalkedRows,
    /// Target of the leaf values.
    pub target: SumDestination,
}

/// Code of a GPU: the outermost mapped loop with its body.
#[derive(Clone, Debug, PartialEq)]
pub struct MirLaunch {
    /// Name that profilers show: the loop's name. Lowering numbers launches of a kernel with equal names.
    pub name: String,
    /// For each dimension of the grid, the loops mapped to it, with the largest end that they have in the
    /// launch. The grid has one block for each iteration of the longest of these loops, or one block if there
    /// are none.
    pub grid: [Vec<Iter>; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// The leaf loops inside.
    pub walks: WalkRange,
    /// Code of one thread.
    pub body: Vec<MirStmt>,
    /// Work of the last block of each group at the end of the launch.
    pub last_block: Option<LastBlock>,
}

/// Rows `base + low .. min(base + high, n_rows)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// The sum of the row loops around.
    pub base: Affine,
    /// First row, relative to `base`.
    pub low: i64,
    /// Exclusive end, relative to `base`; `None` if only the number of rows bounds it.
    pub high: Option<i64>,
}

/// Contents of a copy of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Values of features; or of columns, if an enclosing copy has computed these.
    Values,
    /// Columns, computed from the features while rows are copied.
    Columns,
    /// Bins of the features or columns.
    Bins,
}

/// A local copy of rows for the statements inside.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheRows {
    /// Identifier.
    pub id: CacheId,
    /// The rows copied.
    pub window: Window,
    /// Contents of the copy.
    pub fill: Fill,
    /// In a launch: threads of a block in each dimension. Together they fill the copy in shared memory.
    pub shared: Option<[u32; 3]>,
    /// The leaf loops inside.
    pub walks: WalkRange,
    /// The statements that read the copy.
    pub body: Vec<MirStmt>,
}

/// A prefetch of trees.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheTrees {
    /// The first tree.
    pub from: Affine,
    /// Number of trees; fewer are prefetched at the end of the forest.
    pub count: i64,
    /// The leaf loops that walk them.
    pub walks: WalkRange,
}

/// Copies of trees that the threads of a block make together and share.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareTrees {
    /// The trees.
    pub trees: CacheTrees,
    /// Threads of a block in each dimension.
    pub threads: [u32; 3],
    /// The statements that walk the copies.
    pub body: Vec<MirStmt>,
}

/// Initial value of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartValue {
    /// The base values of the margins.
    Base,
    /// -0.0, which leaves the first summand unchanged.
    NegativeZero,
}

/// Value with which sums start.
#[derive(Clone, Debug, PartialEq)]
pub enum SumStart {
    /// This value, if each of these enclosing loops is in its first iteration; otherwise the value in memory.
    Value(StartValue, Vec<Iter>),
    /// The value in memory.
    Memory,
}

/// Condition under which a thread runs statements.
#[derive(Clone, Debug, PartialEq)]
pub enum Guard {
    /// The loop has an iteration for this thread.
    Exists(Iter),
    /// The variable has this value in the thread.
    Is(Var, i64),
    /// The thread is in the first block, or is the first thread, of this dimension.
    First(GpuDimension),
}

/// Number of a [`ThreadSums`] in its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadSumsId(pub u32);

/// The sums of all rows that one thread of a GPU walks. The thread starts each sum once and stores it once.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadSums {
    /// Identifier of the sums.
    pub id: ThreadSumsId,
    /// Number of a row: the sum of all row loops' variables, those of `loops` included.
    pub row: Affine,
    /// Row loops that the thread runs, outermost first.
    pub loops: Vec<Iter>,
    /// Target of the walks in `body`, and memory for the final sums. While a thread keeps the sums in
    /// registers, its walks add to those instead.
    pub target: SumDestination,
    /// Start of the sums.
    pub start: SumStart,
    /// Conditions under which the thread reads and stores the sums.
    pub guards: Vec<Guard>,
    /// The statements that walk.
    pub body: Vec<MirStmt>,
}

/// The margins of a slot's sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotMargins {
    /// A slot has a sum for each row and each margin.
    All,
    /// All trees of a slot add to one margin: those of slot `s` to margin `s` modulo the number of margins. A
    /// slot has one sum for each row.
    InTurn,
}

/// Slots of sums, one per iteration of a parallel tree loop. Nested tree loops that run as blocks and
/// threads share one buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Private {
    /// Identifier of the buffer.
    pub id: PrivateId,
    /// Tree loops with slots, outermost first. The buffer has one slot for each combination of their
    /// values.
    pub slots: Vec<Iter>,
    /// Number of slots that walks write, from the first one on, if the later ones stay empty. Only
    /// these are folded.
    pub filled_slots: Option<i64>,
    /// The margins of a slot.
    pub margins: SlotMargins,
    /// The rows whose sums the loop adds to.
    pub window: Window,
    /// Whether the buffer is in the shared memory of a block, whose threads fold it together.
    pub shared: bool,
    /// The loop and the fold.
    pub body: Vec<MirStmt>,
}

/// Adds all slots of a private buffer into a target, in iteration order.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// The private buffer.
    pub from: PrivateId,
    /// Target of the sums.
    pub into: SumDestination,
    /// Start of the target's sums.
    pub start: SumStart,
    /// Number of sums that one instruction adds.
    pub width: u32,
}

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub enum MirStmt {
    /// A loop around other statements.
    Loop(MirLoop),
    /// A leaf loop.
    Walks(Walks),
    /// Sets the sums of the rows of a window to the base values.
    Base(Window),
    /// Code that a GPU runs.
    Launch(MirLaunch),
    /// In a launch: statements that only some blocks or threads run.
    When(Vec<Guard>, Vec<MirStmt>),
    /// The sums of a thread.
    ThreadSums(ThreadSums),
    /// For each value of the variable, the statements of that case (`specialize`).
    Case(Var, Vec<(i64, Vec<MirStmt>)>),
    /// A local copy of rows.
    CacheRows(CacheRows),
    /// A prefetch of trees.
    CacheTrees(CacheTrees),
    /// Copies of trees that a block shares.
    ShareTrees(ShareTrees),
    /// A private buffer.
    Private(Private),
    /// Sets the slot of the current iteration of the variable's loop to -0.0.
    Zero(PrivateId, Var),
    /// Sets all slots of a buffer to -0.0.
    ZeroAll(PrivateId),
    /// Adds the slots of a private buffer into their target.
    Fold(Fold),
}

/// A kernel as a loop nest.
#[derive(Clone, Debug, PartialEq)]
pub struct Mir {
    /// All variables, by number.
    pub vars: Vec<VarInfo>,
    /// The nest.
    pub body: Vec<MirStmt>,
    /// Rows and trees that each leaf loop uses.
    pub uses: LeafUses,
    /// Largest number of rows of a run. Calls of more rows are cut into runs.
    pub rows_per_run: Option<i64>,
}

impl Bound {
    /// Largest value of the bound in calls of at most `rows` rows. `None` if the bound depends on the number
    /// of rows and `rows` is `None`.
    pub fn most(&self, vars: &[VarInfo], rows: Option<i64>) -> Option<i64> {
        let limit = match self.limit {
            Minuend::Const(limit) => limit,
            Minuend::Rows => rows?,
        };
        let least: i64 = self.less.vars.iter().map(|var| vars[var.0 as usize].least).sum();
        Some(limit - least - self.less.plus)
    }
}

impl ThreadSums {
    /// Sum of the row loops around the thread.
    pub fn outer_row(&self) -> Affine {
        let mut row = self.row.clone();
        row.vars.truncate(row.vars.len() - self.loops.len().min(row.vars.len()));
        row
    }

    /// Largest number of rows of the thread; `None` if only the number of rows of the call bounds it.
    pub fn max_rows(&self, vars: &[VarInfo]) -> Option<i64> {
        self.loops.iter().try_fold(1, |rows: i64, iter| rows.checked_mul(iter.most_trips(vars)?))
    }

    /// Whether the rows are consecutive if all loops run to their ends.
    pub fn is_dense(&self, vars: &[VarInfo]) -> bool {
        let last = |iter: &Iter| (iter.most_trips(vars)? - 1).checked_mul(iter.step);
        let span = self.loops.iter().try_fold(1, |span: i64, iter| span.checked_add(last(iter)?));
        span.is_some() && span == self.max_rows(vars)
    }
}

impl Iter {
    /// Largest number of iterations; `None` if only the number of rows bounds it.
    pub fn most_trips(&self, vars: &[VarInfo]) -> Option<i64> {
        let stop = self.stops.iter().filter_map(|stop| stop.most(vars, None)).min()?;
        Some(((stop - self.start + self.step - 1) / self.step).max(0))
    }
}
