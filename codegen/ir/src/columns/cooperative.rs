//! Columns of the rows of a GPU's block, which the threads of the block compute together in shared memory.
//!
//! Each run of columns is divided into parts. A thread computes one part for some rows, and neighbouring
//! threads have neighbouring rows. So threads have work even if the block has few rows. Stored columns and
//! the columns that trees test lie column by column. All threads finish a run before the next one, which may
//! read it.

use super::code::{BufferElements, ColumnCode, LaneRows, RunDestination};
use super::layers::LayerRun;
use super::runs::{ColumnRun, StoredRun};
use super::share::Share;
use super::stage::ColumnStage;
use super::stored::StoredColumns;
use super::value::{FeatureSource, Lanes};
use crate::fault::{Fault, seeded};
use crate::lir::{Bin, BufferId, BuildStmts, Builder, Cmp, Value, WARP};
use crate::rows::BlockThreads;

/// Fewest threads that compute the same part of different rows, if the block has as many rows: a warp, whose
/// threads then load the same constants.
const ROWS_AT_ONCE: i64 = 32;

/// Rows whose columns the threads of a block compute.
#[derive(Clone, Copy)]
pub struct BlockOfRows {
    /// Buffer of the features of all rows of the call.
    pub features: BufferId,
    /// Number of the first row in the call.
    pub first: Value,
    /// Number of rows.
    pub count: Value,
    /// Largest number of rows.
    pub max_rows: i64,
}

/// Memory of a block's columns.
#[derive(Clone, Copy)]
enum ColumnMemory {
    /// Shared memory, column by column. A column has space for a number of rows.
    Shared { capacity: i64 },
    /// The device's memory, which has the columns of all rows of the call, row by row.
    OfCall,
}

/// Code of a block: its rows, the memory of their columns, and the threads that compute these.
#[derive(Clone, Copy)]
struct BlockCode<'a> {
    code: ColumnCode<'a>,
    rows: BlockOfRows,
    /// The stored columns, from the block's first row on.
    stored: StoredColumns,
    to: BufferId,
    memory: ColumnMemory,
    threads: BlockThreads,
}

impl ColumnCode<'_> {
    /// Stores the columns of the rows of a block in `to`, in shared memory, column by column. A column has
    /// space for `capacity` rows. The columns are visible to all threads afterwards.
    pub fn store_cooperatively(
        &self,
        b: &mut Builder,
        rows: BlockOfRows,
        (to, capacity): (BufferId, i64),
        threads: BlockThreads,
    ) {
        let memory = ColumnMemory::Shared { capacity };
        self.runs.stored.with_shared_memory(b, capacity, |b, stored| {
            BlockCode { code: *self, rows, stored, to, memory, threads }.emit(b);
        });
    }

    /// Stores the columns of the rows of a block in `to`, which has the columns of all rows of the call, as
    /// `stored` has their stored columns.
    pub fn store_block_of_call(
        &self,
        b: &mut Builder,
        rows: BlockOfRows,
        (to, stored): (BufferId, StoredColumns),
        threads: BlockThreads,
    ) {
        let (stored, memory) = (stored.from_row(rows.first), ColumnMemory::OfCall);
        BlockCode { code: *self, rows, stored, to, memory, threads }.emit(b);
    }

    /// Whether a stage is a product of matrices, which the threads of a block compute together.
    pub fn has_products(&self) -> bool {
        self.stored_runs().any(|(run, stage)| product_of(run, stage).is_some())
    }
}

/// The layers of a run that are products of matrices.
fn product_of<'a>(run: &'a StoredRun, stage: Option<&ColumnStage>) -> Option<&'a LayerRun> {
    let is_product = stage?.arrangement.as_ref()?.is_product;
    match run {
        StoredRun::Layers(run) if is_product && run.fits_tiles() => Some(run),
        _ => None,
    }
}

impl BlockCode<'_> {
    fn emit(&self, b: &mut Builder) {
        for (run, stage) in self.code.stored_runs() {
            self.code.attribute(b, stage, |b| match product_of(run, stage) {
                Some(layers) if self.threads.count >= WARP => {
                    self.code.sum_code(layers, self.stored).multiply(b, self.threads, self.rows.count);
                }
                _ => self.stored_run(b, run, stage),
            });
            wait(b);
        }
        self.code.attribute(b, None, |b| {
            for run in &self.code.runs.runs {
                self.each_part(b, self.pieces_of(run), |b, rows, to| {
                    self.code.store_run(b, run, rows, to);
                });
            }
        });
        wait(b);
    }

    /// Stores the columns of a run, each thread some of them.
    fn stored_run(&self, b: &mut Builder, run: &StoredRun, stage: Option<&ColumnStage>) {
        let arrangement = stage.and_then(|stage| stage.arrangement.as_ref());
        let arrangement = arrangement.filter(|arrangement| !arrangement.is_product);
        let pieces = if arrangement.is_some() { 1 } else { self.pieces_of_stored(run) };
        self.each_part(b, pieces, |b, rows, _| {
            self.code.store_stored_run(b, run, arrangement, rows);
        });
    }

    /// Number of threads of the block for each of its rows, if it has all of them.
    fn threads_of_row(&self) -> i64 {
        (self.threads.count / self.rows.max_rows.max(1)).max(1)
    }

    /// Number of pieces of a run that different threads can compute.
    fn pieces_of_stored(&self, run: &StoredRun) -> i64 {
        match run {
            StoredRun::Values(run) => self.pieces_of(run),
            StoredRun::Layers(run) => self.code.sum_code(run, self.stored).pieces(self.threads_of_row()),
            // One thread walks all trees of a row, since their leaf values are added in order.
            StoredRun::Trees(_) => 1,
        }
    }

    fn pieces_of(&self, run: &ColumnRun) -> i64 {
        if run.groups == 1 { run.largest_group } else { run.groups }
    }

    /// Calls `body` for the rows and the part of the work of each thread, with the first element of a row's
    /// columns. A run has as many parts as it has pieces, if these leave each part [`ROWS_AT_ONCE`] threads,
    /// or one for each row of the block.
    fn each_part(
        &self,
        b: &mut Builder,
        pieces: i64,
        body: impl FnOnce(&mut Builder, LaneRows, RunDestination),
    ) {
        let BlockOfRows { features, first, count, max_rows } = self.rows;
        let BlockThreads { thread, count: threads } = self.threads;
        let most = threads / max_rows.clamp(1, ROWS_AT_ONCE);
        let parts = pieces.min(most).max(1);
        let (each, zero) = (threads / parts, b.int(0));
        let of_part = b.int(each);
        let part = if parts == 1 { zero } else { b.bin(Bin::IDiv, thread, of_part) };
        let before = b.mul(part, of_part);
        let start = b.sub(thread, before);
        let share = if parts == 1 { Share::Whole } else { Share::Part { part, parts } };
        let rows = |b: &mut Builder| {
            b.for_loop((start, count, each), &[], |b, row, _| {
                let of_call = b.add(first, row);
                let from = b.mul_int(of_call, self.code.runs.features as i64);
                let features = FeatureSource::OfRow(features, from);
                let (stored, destination) = self.memory_of(b, row, of_call);
                body(b, LaneRows { features, stored, lanes: Lanes::One, share }, destination);
                Vec::new()
            });
        };
        // The last threads have no part if the parts do not divide the threads.
        if parts * each == threads {
            return rows(b);
        }
        let end = b.int(parts);
        let has_part = b.cmp(Cmp::Lt, part, end);
        b.when(has_part, rows);
    }

    /// The memory of a row's stored columns and of its others, by its number in the block and in the call.
    fn memory_of(&self, b: &mut Builder, row: Value, of_call: Value) -> (StoredColumns, RunDestination) {
        let to = |first| BufferElements { buffer: self.to, first };
        match self.memory {
            ColumnMemory::Shared { capacity } => {
                (self.stored.from_row(row), RunDestination::Columns(to(row), capacity))
            }
            ColumnMemory::OfCall => {
                let first = b.mul_int(of_call, self.code.runs.count as i64);
                (self.stored.from_row(of_call), RunDestination::Columns(to(first), 1))
            }
        }
    }
}

/// Lets all threads of the block wait for each other.
fn wait(b: &mut Builder) {
    if !seeded(Fault::BarrierDropped) {
        b.barrier();
    }
}
