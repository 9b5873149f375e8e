//! MIR: the explicit loop nest with abstract operations on trees and rows. A walk names the layout that
//! the schedule asks for. The plan ([`crate::plan`]) decides later how trees are stored and walked.
//!
//! A [`Walks`] statement is a leaf loop: each iteration walks one tree with one row and adds the leaf's
//! values to its [`Target`]. Row and tree numbers are sums of variables ([`Affine`]). A loop ends at
//! the least of several [`Bound`]s, which is how partial tiles stay in range.
//!
//! [`build()`] makes the nest with every reduction aimed at the output. [`reduce::legalise`] then
//! privatises reductions below parallel tree loops (SilvanForge section 5). Each such loop gets a
//! [`Private`] buffer with one slot per iteration, which is folded after the loop, in iteration order.
//! The buffer of an inner loop lives inside one iteration of the outer loop and is folded into that
//! iteration's slot. A fold covers all rows between the first and the last that its loop touches. If
//! parallel iterations of a row loop interleave their rows, the fold moves behind that loop.
//!
//! [`launch::separate`] then separates the code of a GPU from the host's: each outermost loop with a
//! `gpuDimension` becomes a [`Launch`].

mod build;
pub mod columns;
pub mod launch;
pub mod mapped;
mod owners;
mod print;
pub mod reduce;
mod settle;
mod slots;
mod thread_sums;
mod threads;
mod uses;
mod window;

pub use build::build;
pub use uses::{LeafUse, Uses, WalkRange};
pub(crate) use window::ScratchBytes;

use crate::repr::traverse::Steps;
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

/// A sum of variables and a constant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Affine {
    /// The variables.
    pub vars: Vec<Var>,
    /// The constant.
    pub plus: i64,
}

/// Starting point of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A constant.
    Const(i64),
    /// The number of rows of the call.
    Rows,
}

/// `limit - less`: an exclusive end.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The number from which `less` is subtracted.
    pub limit: Limit,
    /// The sum that is subtracted from `limit`.
    pub less: Affine,
}

/// The values of a loop: from `start` in steps of `step` while below every one of `stops`.
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
pub enum Mode {
    /// One after the other.
    Serial,
    /// In parallel.
    Parallel,
    /// One after the other, each as code of its own (`unroll`).
    Unrolled,
    /// One after the other, or several together if the leaf loop inside has few rows.
    UnrollAndJam,
    /// As blocks of a grid, or as threads of a block.
    Mapped(Mapping),
}

/// Blocks or threads of a GPU that run the iterations of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The grid's or block's dimension that counts the iterations.
    pub dimension: GpuDimension,
    /// Whether there may be more blocks or threads than iterations, so that each must test whether it
    /// has one.
    pub guarded: bool,
}

/// A loop around other statements.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// The loop's variable and bounds.
    pub iter: Iter,
    /// Execution mode of the iterations.
    pub mode: Mode,
    /// Combination of the iterations' partial sums; meaningful for parallel tree loops.
    pub reduce: Option<Reduce>,
    /// The leaf loops in it.
    pub walks: WalkRange,
    /// The repeated statements.
    pub body: Vec<Stmt>,
}

impl Loop {
    /// The leaf loop, with the tree prefetches before it, if the body has nothing else.
    pub fn only_walks(&self) -> Option<(&[Stmt], &Walks)> {
        let (Stmt::Walks(walks), before) = self.body.split_last()? else { return None };
        before.iter().all(|stmt| matches!(stmt, Stmt::CacheTrees(_))).then_some((before, walks))
    }
}

/// Source of the rows that walks read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// The call's input.
    Input,
    /// The copy made by this [`CacheRows`].
    Cached(CacheId),
}

/// The name of a row cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CacheId(pub u32);

/// The name of a private buffer.
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
pub struct Target {
    /// The accumulator.
    pub accumulator: Accumulator,
    /// Whether additions must be atomic.
    pub atomic: bool,
}

/// The name of a leaf loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WalkId(pub u32);

/// A leaf loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Walks {
    /// Identifier.
    pub id: WalkId,
    /// The leaf loop's values.
    pub iter: Iter,
    /// Whether the leaf loop's variable counts rows or trees.
    pub over: Axis,
    /// Iterations, or vectors of iterations, walked together.
    pub group: u32,
    /// Iterations in one vector; 1 for none.
    pub lanes: u32,
    /// Neighbouring rows of a group whose bins share a word, in the code of a GPU; 1 if there are none.
    pub packed: u32,
    /// The row walked, the leaf loop's variable included if it counts rows.
    pub row: Affine,
    /// The tree walked, the leaf loop's variable included if it counts trees.
    pub tree: Affine,
    /// Covers the numbers of all trees walked.
    pub trees: Range<usize>,
    /// The steps of the walks.
    pub steps: Steps,
    /// The layout that the schedule asks for.
    pub layout: Layout,
    /// Most nodes of a tile, of which a step passes one; 1 for single nodes.
    pub tile: u32,
    /// Whether every vector begins at a tree whose number is a multiple of the vector's lanes.
    pub aligned: bool,
    /// Source of the rows.
    pub rows: Rows,
    /// Target of the leaf values.
    pub target: Target,
}

/// Code of a GPU: the outermost mapped loop with its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Name that profilers show: that of the loop. Launches of one kernel with equal names get numbers.
    pub name: String,
    /// Loops mapped to each direction of the grid. The number of blocks in a direction is that of the
    /// iterations of the longest loop, for any values of the launch's variables around it. One block if
    /// no loop is mapped.
    pub grid: [Vec<Iter>; 3],
    /// Threads of a block in each direction.
    pub block: [u32; 3],
    /// The leaf loops in it.
    pub walks: WalkRange,
    /// Code of one thread.
    pub body: Vec<Stmt>,
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
    /// The values of features, or of columns if these were computed around the copy.
    Values,
    /// Columns, which are computed from features.
    Columns,
    /// Bins.
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
    /// In a launch: the threads of a block, which copy the rows together into shared memory, feature by
    /// feature.
    pub shared: Option<[u32; 3]>,
    /// The leaf loops in it.
    pub walks: WalkRange,
    /// The statements that read the copy.
    pub body: Vec<Stmt>,
}

/// A prefetch of trees.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheTrees {
    /// The first tree.
    pub from: Affine,
    /// Largest number of trees; the end of the forest cuts them.
    pub count: i64,
    /// The leaf loops that walk them.
    pub walks: WalkRange,
}

/// Copies of trees that the threads of a block make together and share.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareTrees {
    /// The trees.
    pub trees: CacheTrees,
    /// The threads of a block.
    pub threads: [u32; 3],
    /// The statements that walk the copies.
    pub body: Vec<Stmt>,
}

/// Initial value of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seed {
    /// The base values.
    Base,
    /// -0.0, which leaves the first summand unchanged.
    Nothing,
}

/// Start of sums.
#[derive(Clone, Debug, PartialEq)]
pub enum Opening {
    /// A seed in the first iteration of all these enclosing loops, the value in memory in later
    /// iterations.
    Seed(Seed, Vec<Iter>),
    /// The value in memory.
    Memory,
}

/// Condition under which a thread runs statements.
#[derive(Clone, Debug, PartialEq)]
pub enum Guard {
    /// The loop has an iteration for this thread.
    Exists(Iter),
    /// A variable has a value.
    Is(Var, i64),
    /// The thread is in the first block, or is the first thread, of a direction.
    First(GpuDimension),
}

/// The name of the sums of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadSumsId(pub u32);

/// The sums of all rows that one thread of a GPU walks, opened once and stored once.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadSums {
    /// Identifier of the sums.
    pub id: ThreadSumsId,
    /// The row, the variables of `loops` included.
    pub row: Affine,
    /// Row loops inside, outermost first.
    pub loops: Vec<Iter>,
    /// Memory that the sums are stored to, which is also the target of the walks inside.
    pub target: Target,
    /// Start of the sums.
    pub opening: Opening,
    /// Conditions under which the thread reads and stores the sums.
    pub guards: Vec<Guard>,
    /// The statements that walk.
    pub body: Vec<Stmt>,
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
    pub filled: Option<i64>,
    /// The rows summed inside the loop.
    pub window: Window,
    /// Whether the buffer is in the shared memory of a block, whose threads fold it together.
    pub shared: bool,
    /// The loop and the fold.
    pub body: Vec<Stmt>,
}

/// Adds all slots of a private buffer into a target, in iteration order.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// The private buffer.
    pub from: PrivateId,
    /// Target of the sums.
    pub into: Target,
    /// Start of the target's sums.
    pub opening: Opening,
    /// Number of sums that one instruction adds.
    pub width: u32,
}

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// A loop around other statements.
    Loop(Loop),
    /// A leaf loop.
    Walks(Walks),
    /// Sets the sums of the rows of a window to the base values.
    Base(Window),
    /// Code that a GPU runs.
    Launch(Launch),
    /// In a launch: statements that only some blocks or threads run.
    When(Vec<Guard>, Vec<Stmt>),
    /// The sums of a thread.
    ThreadSums(ThreadSums),
    /// One body per value of a variable.
    Case(Var, Vec<(i64, Vec<Stmt>)>),
    /// A local copy of rows.
    CacheRows(CacheRows),
    /// A prefetch of trees.
    CacheTrees(CacheTrees),
    /// Copies of trees that a block shares.
    ShareTrees(ShareTrees),
    /// A private buffer.
    Private(Private),
    /// Sets the current iteration's slot to zero.
    Zero(PrivateId, Var),
    /// Sets all slots to zero.
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
    pub body: Vec<Stmt>,
    /// Rows and trees that each leaf loop uses.
    pub uses: Uses,
    /// Most rows of a run. Longer calls are cut into runs.
    pub rows_per_run: Option<i64>,
}

impl Bound {
    /// Largest value of the bound, where `rows` is the largest number of rows; `None` if the number of
    /// rows decides and has no known limit.
    pub fn most(&self, vars: &[VarInfo], rows: Option<i64>) -> Option<i64> {
        let limit = match self.limit {
            Limit::Const(limit) => limit,
            Limit::Rows => rows?,
        };
        let least: i64 = self.less.vars.iter().map(|var| vars[var.0 as usize].least).sum();
        Some(limit - least - self.less.plus)
    }
}

impl ThreadSums {
    /// Sum of the row loops around the thread.
    pub fn row_around(&self) -> Affine {
        let mut row = self.row.clone();
        row.vars.truncate(row.vars.len() - self.loops.len().min(row.vars.len()));
        row
    }

    /// Largest number of rows, unless the number of rows of the call decides.
    pub fn rows_in_all(&self, vars: &[VarInfo]) -> Option<i64> {
        self.loops.iter().try_fold(1, |rows: i64, iter| rows.checked_mul(iter.most_trips(vars)?))
    }

    /// Whether the rows are consecutive if all loops run to their ends.
    pub fn is_dense(&self, vars: &[VarInfo]) -> bool {
        let last = |iter: &Iter| (iter.most_trips(vars)? - 1).checked_mul(iter.step);
        let span = self.loops.iter().try_fold(1, |span: i64, iter| span.checked_add(last(iter)?));
        span.is_some() && span == self.rows_in_all(vars)
    }
}

impl Iter {
    /// Largest number of iterations, unless the number of rows decides.
    pub fn most_trips(&self, vars: &[VarInfo]) -> Option<i64> {
        let stop = self.stops.iter().filter_map(|stop| stop.most(vars, None)).min()?;
        Some(((stop - self.start + self.step - 1) / self.step).max(0))
    }
}

impl Affine {
    /// One variable.
    pub fn var(var: Var) -> Affine {
        Affine { vars: vec![var], plus: 0 }
    }

    /// The sum with `value` in place of a variable.
    pub fn fixed(&self, var: Var, value: i64) -> Affine {
        let mut sum = self.clone();
        if let Some(at) = sum.vars.iter().position(|v| *v == var) {
            sum.vars.remove(at);
            sum.plus += value;
        }
        sum
    }

    /// The sum with another variable.
    pub fn with(&self, var: Var) -> Affine {
        let mut sum = self.clone();
        sum.vars.push(var);
        sum
    }
}
