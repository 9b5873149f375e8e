//! Columns on GPUs. The blocks of a launch compute them where they copy rows to shared memory, if each block
//! needs only its own rows. Otherwise a launch before all others computes them for all rows of a run, and the
//! other launches read them in place of features.

use super::mapped::any_mapped;
use super::{
    CacheId, CacheRows, Fill, GpuMapping, Iter, LoopMode, Mir, MirLaunch, MirLoop, MirStmt, Private,
    ScratchBytes, VarInfo, WalkedRows, Window,
};
use crate::budget::Budget;
use crate::bytes::scalar;
use crate::columns::runs::ColumnRuns;
use crate::error::CompileError;
use crate::hir::Hir;
use crate::lir::{BlockSlots, Scalar};
use crate::rows::shared_capacity;
use sched_nest::{Axis, GpuLevel};

/// Number of the copy of columns that launches read. Copies inside the nest have smaller numbers.
const LAUNCH_COPY: CacheId = CacheId(u32::MAX);

/// Rows of a block up to which it gets [`LEAST_THREADS`] threads.
const FEW_ROWS: i64 = 8;

/// Fewest threads of a block that computes the columns of few rows.
const LEAST_THREADS: u32 = 128;

/// Bytes of shared memory that a block has on every GPU, for nests that do not name one.
pub const LEAST_SHARED_MEMORY: u64 = 48 << 10;

/// Decides where a nest with launches computes columns, if the forest tests computed ones: in each block, or
/// in a copy around the whole nest.
///
/// # Errors
///
/// If the columns of a single row exceed the budget.
pub fn place_columns_of_launches(mut mir: Mir, hir: &Hir, budget: &Budget) -> Result<Mir, CompileError> {
    let Some(columns) = hir.columns.as_deref().filter(|_| any_mapped(&mir.body)) else { return Ok(mir) };
    let search = BlockSearch::of(&mir, hir, columns);
    if search.fits(hir.nest.shared_memory.unwrap_or(LEAST_SHARED_MEMORY)) {
        compute_in_blocks(&mut mir.body, [1; 3]);
        return Ok(mir);
    }
    let window = Window::all_rows();
    let row_bytes = hir.forest.num_features * hir.forest.types.input.bytes() + columns.stored.row_bytes();
    let mut scratch = ScratchBytes::new(budget);
    scratch.add(&window, row_bytes as u64)?;
    mir.rows_per_run = [mir.rows_per_run, scratch.rows_per_run()].into_iter().flatten().min();
    let walks = mir.uses.since(0);
    let body = std::mem::take(&mut mir.body);
    let copy = CacheRows { id: LAUNCH_COPY, window, fill: Fill::Columns, shared: None, walks, body };
    mir.body = vec![MirStmt::CacheRows(copy)];
    Ok(mir)
}

impl Mir {
    /// Whether the nest has launches.
    pub fn has_launches(&self) -> bool {
        any_mapped(&self.body)
    }

    /// Whether a launch computes the columns of all rows before the launches that walk.
    pub fn computes_columns_in_launch(&self) -> bool {
        self.body.iter().any(|stmt| matches!(stmt, MirStmt::CacheRows(copy) if copy.id == LAUNCH_COPY))
    }
}

/// Lets copies of values compute columns. Copies of bins compute them in any case. Blocks of few rows get
/// more threads, which compute columns and walk no trees.
fn compute_in_blocks(stmts: &mut [MirStmt], block: [u32; 3]) {
    for stmt in stmts {
        let mut block = block;
        match stmt {
            MirStmt::Launch(launch) if launch.walks.ids().next().is_some() => {
                launch.block = threads_for_columns(launch);
                block = launch.block;
            }
            MirStmt::CacheRows(copy) => {
                copy.shared = Some(block);
                if copy.fill == Fill::Values {
                    copy.fill = Fill::Columns;
                }
            }
            _ => {}
        }
        stmt.inside_mut().into_iter().for_each(|body| compute_in_blocks(body, block));
    }
}

/// Threads of the blocks of a launch that computes columns, in each dimension.
fn threads_for_columns(launch: &MirLaunch) -> [u32; 3] {
    let [x, y, z] = launch.block;
    let has_few = rows_of_copy(&launch.body).is_some_and(|rows| rows <= FEW_ROWS);
    [if has_few { x.max(LEAST_THREADS.div_ceil(y * z)) } else { x }, y, z]
}

/// Largest number of rows of the first copy in some statements.
fn rows_of_copy(stmts: &[MirStmt]) -> Option<i64> {
    stmts.iter().find_map(|stmt| match stmt {
        MirStmt::CacheRows(copy) => copy.window.rows(),
        other => other.inside().into_iter().find_map(rows_of_copy),
    })
}

/// A look at the launches of a nest, which finds out whether the blocks of one launch can compute columns.
struct BlockSearch<'a> {
    hir: &'a Hir,
    columns: &'a ColumnRuns,
    vars: &'a [VarInfo],
    /// Threads of a block of the launch, in each dimension.
    threads: [u32; 3],
    /// Number of launches that walk trees.
    launches: usize,
    /// Number of copies of rows.
    copies: usize,
    /// Whether each row is in one copy of one block, which all its walks read.
    is_exclusive: bool,
    /// Bytes of the shared memory of a block. Copies of trees are not counted.
    shared_bytes: u64,
}

impl<'a> BlockSearch<'a> {
    fn of(mir: &'a Mir, hir: &'a Hir, columns: &'a ColumnRuns) -> BlockSearch<'a> {
        let mut search = BlockSearch {
            hir,
            columns,
            vars: &mir.vars,
            threads: [1; 3],
            launches: 0,
            copies: 0,
            is_exclusive: true,
            shared_bytes: 0,
        };
        search.all(&mir.body, false);
        search
    }

    /// Whether blocks compute columns within this many bytes of shared memory.
    fn fits(&self, most_bytes: u64) -> bool {
        (self.launches, self.copies) == (1, 1) && self.is_exclusive && self.shared_bytes <= most_bytes
    }

    /// Looks at statements, which may be inside of a loop over trees.
    fn all(&mut self, stmts: &[MirStmt], in_trees: bool) {
        stmts.iter().for_each(|stmt| self.stmt(stmt, in_trees));
    }

    fn stmt(&mut self, stmt: &MirStmt, mut in_trees: bool) {
        match stmt {
            MirStmt::Launch(launch) => {
                self.launches += usize::from(launch.walks.ids().next().is_some());
                self.threads = threads_for_columns(launch);
            }
            // Several iterations or blocks over trees would compute the columns of a row several times.
            MirStmt::Loop(MirLoop { iter, mode, .. }) if self.counts_trees(iter) => {
                in_trees = true;
                let is_grid = |mapping: &GpuMapping| mapping.dimension.level == GpuLevel::Grid;
                self.is_exclusive &= !matches!(mode, LoopMode::Mapped(mapping) if is_grid(mapping));
            }
            MirStmt::CacheRows(copy) => {
                self.copies += 1;
                self.is_exclusive &= !in_trees;
                self.shared_bytes = self.shared_bytes.saturating_add(self.bytes_of_copy(copy));
            }
            MirStmt::Walks(walks) => self.is_exclusive &= walks.rows != WalkedRows::Input,
            // Only the plan knows the bytes of trees.
            MirStmt::ShareTrees(_) => self.is_exclusive = false,
            MirStmt::Private(private) if private.shared => {
                self.shared_bytes =
                    self.shared_bytes.saturating_add(self.bytes_of_slots(private, self.threads));
            }
            _ => {}
        }
        stmt.inside().into_iter().for_each(|body| self.all(body, in_trees));
    }
}

/// Sizes.
impl BlockSearch<'_> {
    fn counts_trees(&self, iter: &Iter) -> bool {
        self.vars.get(iter.var.0 as usize).is_some_and(|var| var.axis != Axis::Row)
    }

    /// Bytes of a copy with computed columns: these, the stored columns that they read, and bins.
    fn bytes_of_copy(&self, copy: &CacheRows) -> u64 {
        let types = &self.hir.forest.types;
        let Some(most) = copy.window.rows() else { return u64::MAX };
        let capacity = |element: Scalar, packed: bool| shared_capacity(most, element, packed) as u64;
        let of_columns = self.columns.count * types.input.bytes() + self.columns.stored.row_bytes();
        let columns = capacity(scalar(types.input), false).saturating_mul(of_columns as u64);
        let bins = self.hir.bins.as_ref().filter(|_| copy.fill == Fill::Bins);
        columns.saturating_add(
            bins.map_or(0, |bins| capacity(bins.element(), true).saturating_mul(bins.row_bytes())),
        )
    }

    /// Bytes of the slots of a block of `threads` threads in shared memory.
    fn bytes_of_slots(&self, private: &Private, threads: [u32; 3]) -> u64 {
        let forest = &self.hir.forest;
        let sums = (forest.num_margins as u64, forest.types.accumulator.bytes() as u64);
        let slots = private.used_slots().and_then(|slots| u64::try_from(slots).ok());
        let block = private.block_slots(self.vars, threads, sums);
        let of = |(slots, block): (u64, BlockSlots)| {
            slots.saturating_mul(block.places().slot.saturating_mul(sums.1))
        };
        slots.zip(block).map_or(u64::MAX, of)
    }
}
