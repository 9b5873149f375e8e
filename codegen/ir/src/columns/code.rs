//! Loops over runs of columns.

use super::arranged;
use super::arrangement::Arrangement;
use super::layers::LayerRun;
use super::numbers::index_of;
use super::pools::PoolTables;
use super::runs::{ColumnRun, ColumnRuns, StoredRun};
use super::share::Share;
use super::stage::{ColumnStage, attribute_to_stage};
use super::stored::StoredColumns;
use super::sums::SumCode;
use super::trees::TreesRun;
use super::value::{FeatureSource, Lanes, RunEvaluator};
use super::walks::TreesCode;
use crate::lir::{Address, Bin, BufferId, BuildStmts, Builder, Value};

/// Bytes of the columns of a row that one vector computes.
const VECTOR_BYTES: u32 = 64;

/// Fewest columns of a row that a vector computes.
const LEAST_VECTOR_COLUMNS: i64 = 4;

/// Largest number of columns of a group that are computed without a loop.
const MOST_UNROLLED: i64 = 4;

/// Rows of a block that one vector computes: their values of 4 bytes fill a register.
const VECTOR_ROWS: u32 = 16;

/// Processors with vector registers of at least this many bytes multiply and add in one instruction. A test
/// of the table of processors holds that.
const LEAST_FMA_REGISTER: u32 = 32;

/// Code that computes columns.
#[derive(Clone, Copy)]
pub struct ColumnCode<'a> {
    /// The columns.
    pub runs: &'a ColumnRuns,
    /// The tables with the columns' parameters.
    pub pools: PoolTables<BufferId>,
    /// Bytes of a vector register, if vectors may compute several columns of a row.
    pub register_bytes: Option<u32>,
    /// The stages whose results are columns, in order. `None` if the columns are results of a call, computed
    /// from margins.
    pub stages: Option<&'a [ColumnStage]>,
}

/// Elements of a buffer, from an index on.
#[derive(Clone, Copy)]
pub struct BufferElements {
    /// The buffer.
    pub buffer: BufferId,
    /// Index of the first element.
    pub first: Value,
}

/// A row or a vector of rows: features that columns read, and memory of stored columns.
#[derive(Clone, Copy)]
pub(super) struct LaneRows {
    pub features: FeatureSource,
    pub stored: StoredColumns,
    pub lanes: Lanes,
    /// Share of the rows' work that the running thread does.
    pub share: Share,
}

/// Destination of the columns of a run.
#[derive(Clone, Copy)]
pub(super) enum RunDestination {
    /// Memory for all columns, with the number of elements from a column to the next one.
    Columns(BufferElements, i64),
    /// Memory of stored columns.
    Stored,
}

impl<'a> ColumnCode<'a> {
    /// Runs `body` with memory for the stored columns of a row.
    pub fn with_row_memory<B: BuildStmts>(&self, b: &mut B, body: impl FnOnce(&mut B, StoredColumns)) {
        self.runs.stored.with_memory(b, 1, body);
    }

    /// Runs `body` with memory for stored columns: of all rows of a block if a schedule arranges layers, else
    /// of the rows of a vector. The block has `rows` rows.
    pub fn with_block_memory<B: BuildStmts>(
        &self,
        b: &mut B,
        rows: u32,
        body: impl FnOnce(&mut B, StoredColumns),
    ) {
        let held = if self.is_arranged() { rows } else { rows.min(VECTOR_ROWS) };
        self.runs.stored.with_memory(b, held, body);
    }

    /// Whether a schedule arranges some stage.
    pub fn is_arranged(&self) -> bool {
        self.arrangements().next().is_some()
    }

    fn arrangements(&self) -> impl Iterator<Item = &'a Arrangement> {
        self.stages.unwrap_or_default().iter().filter_map(|stage| stage.arrangement.as_ref())
    }

    /// The runs of stored columns, each with its stage.
    pub(super) fn stored_runs(
        &self,
    ) -> impl Iterator<Item = (&'a StoredRun, Option<&'a ColumnStage>)> + use<'a> {
        let mut stages = self.stages.unwrap_or_default().iter();
        self.runs.stored_runs.iter().map(move |run| match run {
            StoredRun::Values(_) => (run, None),
            StoredRun::Layers(_) | StoredRun::Trees(_) => (run, stages.next()),
        })
    }

    /// Attributes the code of `body` to columns, and to their stage if they have one.
    pub(super) fn attribute(
        &self,
        b: &mut Builder,
        stage: Option<&ColumnStage>,
        body: impl FnOnce(&mut Builder),
    ) {
        match self.stages {
            Some(_) => attribute_to_stage(b, stage, body),
            None => body(b),
        }
    }

    /// Number of rows that arranged stages compute together, rounded up to whole blocks of `width` rows; 0
    /// without such layers.
    pub fn group_rows(&self, width: u32) -> u32 {
        let rows = self.arrangements().map(|arrangement| arrangement.rows).max();
        rows.map_or(0, |rows| u32::try_from(rows).unwrap_or(0).max(width).next_multiple_of(width.max(1)))
    }

    /// Stores the columns of a row in consecutive elements.
    pub fn store_row(
        &self,
        b: &mut Builder,
        features: FeatureSource,
        stored: StoredColumns,
        to: BufferElements,
    ) {
        let rows = LaneRows { features, stored, lanes: Lanes::One, share: Share::Whole };
        self.store_rows(b, rows, RunDestination::Columns(to, 1));
    }

    /// Stores the columns of a block of rows, column by column. Features are read from a block of as many
    /// rows.
    pub fn store_block(
        &self,
        b: &mut Builder,
        (from, stored): (BufferElements, StoredColumns),
        to: BufferElements,
        n_rows: u32,
    ) {
        if self.is_arranged() {
            return self.store_group(b, (from, stored), to, (n_rows, n_rows));
        }
        let (lanes, zero, end) = (n_rows.min(VECTOR_ROWS), b.int(0), b.int(n_rows.into()));
        b.for_loop((zero, end, lanes.into()), &[], |b, ahead, _| {
            let first = b.add(from.first, ahead);
            let to = BufferElements { first: b.add(to.first, ahead), ..to };
            let features = FeatureSource::OfBlock(from.buffer, first, n_rows);
            let lanes = Lanes::Rows(lanes as u16);
            let rows = LaneRows { features, stored, lanes, share: Share::Whole };
            self.store_rows(b, rows, RunDestination::Columns(to, n_rows.into()));
            Vec::new()
        });
    }

    /// Stores the columns of a group of blocks, one run after the other. `sizes` are the rows of a block, and
    /// of all blocks.
    pub fn store_group(
        &self,
        b: &mut Builder,
        (from, stored): (BufferElements, StoredColumns),
        to: BufferElements,
        sizes: (u32, u32),
    ) {
        for (run, stage) in self.stored_runs() {
            self.attribute(b, stage, |b| self.store_group_of_run(b, (run, stage), (from, stored), sizes));
        }
        let columns = self.runs.count as i64;
        self.attribute(b, None, |b| {
            for run in &self.runs.runs {
                self.each_lanes(b, from, stored, sizes, |b, rows, (block, ahead)| {
                    let before = b.mul_int(block, columns * i64::from(sizes.0));
                    let first = b.add(to.first, before);
                    let to = BufferElements { first: b.add(first, ahead), ..to };
                    self.store_run(b, run, rows, RunDestination::Columns(to, sizes.0.into()));
                });
            }
        });
    }

    /// Stores the columns of one run for all rows of a group of blocks.
    fn store_group_of_run(
        &self,
        b: &mut Builder,
        (run, stage): (&'a StoredRun, Option<&ColumnStage>),
        (from, stored): (BufferElements, StoredColumns),
        sizes: (u32, u32),
    ) {
        let arrangement = stage.and_then(|stage| stage.arrangement.as_ref());
        let fitting = arrangement.filter(|arrangement| arrangement.rows <= sizes.1.into());
        if let Some(arrangement) = fitting {
            return each_group_start(b, arrangement.rows, sizes.1.into(), |b, row| {
                self.store_arranged(b, run, arrangement, (stored, Some(row)));
            });
        }
        self.each_lanes(b, from, stored, sizes, |b, rows, _| self.store_stored_run(b, run, None, rows));
    }

    /// Calls `body` for each vector of rows of a group of blocks, with the numbers of its block and of its
    /// first row there.
    fn each_lanes(
        &self,
        b: &mut Builder,
        from: BufferElements,
        stored: StoredColumns,
        (width, all): (u32, u32),
        mut body: impl FnMut(&mut Builder, LaneRows, (Value, Value)),
    ) {
        let lanes = width.min(VECTOR_ROWS);
        let (zero, blocks, end) = (b.int(0), b.int((all / width.max(1)).into()), b.int(width.into()));
        b.for_loop((zero, blocks, 1), &[], |b, block, _| {
            b.for_loop((zero, end, lanes.into()), &[], |b, ahead, _| {
                let before = b.mul_int(block, self.runs.inputs.count() as i64 * i64::from(width));
                let first = b.add(from.first, before);
                let features = FeatureSource::OfBlock(from.buffer, b.add(first, ahead), width);
                let row = b.mul_int(block, width.into());
                let row = b.add(row, ahead);
                let (stored, lanes) = (stored.from_row(row), Lanes::Rows(lanes as u16));
                let rows = LaneRows { features, stored, lanes, share: Share::Whole };
                body(b, rows, (block, ahead));
                Vec::new()
            });
            Vec::new()
        });
    }

    fn store_rows(&self, b: &mut Builder, rows: LaneRows, to: RunDestination) {
        for (run, stage) in self.stored_runs() {
            let arrangement = stage.and_then(|stage| stage.arrangement.as_ref());
            self.attribute(b, stage, |b| self.store_stored_run(b, run, arrangement, rows));
        }
        self.attribute(b, None, |b| {
            self.runs.runs.iter().for_each(|run| self.store_run(b, run, rows, to));
        });
    }

    /// Stores the columns of one run for a row or a vector of rows. The arrangement serves single rows.
    pub(super) fn store_stored_run(
        &self,
        b: &mut Builder,
        run: &'a StoredRun,
        arrangement: Option<&Arrangement>,
        rows: LaneRows,
    ) {
        if let Some(arrangement) = arrangement.filter(|_| rows.lanes == Lanes::One) {
            let arrangement = arrangement.for_single_row().without_vectors_unless(self.register_bytes);
            return self.store_arranged(b, run, &arrangement, (rows.stored, None));
        }
        match run {
            StoredRun::Values(run) => self.store_run(b, run, rows, RunDestination::Stored),
            StoredRun::Trees(run) => self.trees_code(run, rows.stored).emit(b, rows.lanes),
            StoredRun::Layers(run) => self.sum_code(run, rows.stored).emit(b, rows.lanes, rows.share),
        }
    }

    /// Stores the columns of a stage by the loops of its arrangement: of a group of rows that begins with
    /// `row`, or of a single row.
    fn store_arranged(
        &self,
        b: &mut Builder,
        run: &'a StoredRun,
        arrangement: &Arrangement,
        (stored, row): (StoredColumns, Option<Value>),
    ) {
        match run {
            // Values belong to no stage.
            StoredRun::Values(_) => {}
            StoredRun::Trees(run) => self.trees_code(run, stored).emit_arranged(b, arrangement, row),
            StoredRun::Layers(run) => arranged::emit(b, self.sum_code(run, stored), arrangement, row),
        }
    }

    fn trees_code(&self, run: &'a TreesRun, stored: StoredColumns) -> TreesCode<'_> {
        TreesCode { run, pools: &self.pools, stored }
    }

    pub(super) fn sum_code(&self, run: &'a LayerRun, stored: StoredColumns) -> SumCode<'_> {
        SumCode { run, pools: &self.pools, stored, register_bytes: self.register_bytes }
    }

    /// Stores the columns of a run.
    pub(super) fn store_run(&self, b: &mut Builder, run: &'a ColumnRun, rows: LaneRows, to: RunDestination) {
        let has_lanes = match rows.features {
            FeatureSource::OfRow(..) => true,
            FeatureSource::OfColumns(..) => !run.reads_features(),
            FeatureSource::OfBlock(..) => false,
        };
        let width = if has_lanes && self.register_bytes.is_some() { vector_width(run) } else { 1 };
        self.for_each_group(b, run, rows, |b, own, start, size| {
            let share = if run.groups == 1 { rows.share } else { Share::Whole };
            each_column(b, (size, width), share, |b, nth, lanes| {
                let lanes = if lanes == Lanes::One { rows.lanes } else { lanes };
                let column = b.add(start, nth);
                let value = own.tail(b, column, lanes);
                let column = b.add_int(column, run.first);
                let (buffer, index) = match to {
                    RunDestination::Stored => (rows.stored.buffer(run.element), rows.stored.index(b, column)),
                    RunDestination::Columns(to, stride) => {
                        let index = b.mul_int(column, stride);
                        (to.buffer, b.add(to.first, index))
                    }
                };
                b.store(Address::element(buffer, index, run.element), value);
            });
        });
    }

    /// Calls `body` for each group of a run, with the group's evaluated head, first column in the run, and
    /// number of columns.
    fn for_each_group(
        &self,
        b: &mut Builder,
        run: &'a ColumnRun,
        rows: LaneRows,
        body: impl FnOnce(&mut Builder, &RunEvaluator<'_>, Value, Value),
    ) {
        let (element, LaneRows { features, stored, lanes, share }) = (self.runs.element, rows);
        let values = vec![None; run.nodes.len()];
        let has_fma = self.register_bytes.is_some_and(|bytes| bytes >= LEAST_FMA_REGISTER);
        let mut own = RunEvaluator { pools: &self.pools, run, element, features, stored, has_fma, values };
        let group = |b: &mut Builder, group: Value| {
            own.head(b, group, lanes);
            let start = index_of(b, &self.pools, run.starts, group);
            let size = index_of(b, &self.pools, run.sizes, group);
            body(b, &own, start, size);
        };
        if run.groups == 1 {
            let zero = b.int(0);
            return group(b, zero);
        }
        let end = b.int(run.groups);
        share.for_each(b, end, 1, group);
    }
}

/// Calls `body` with the first row of each group of `rows` rows. If `all` is no multiple of `rows`, the last
/// group overlaps the one before.
fn each_group_start(b: &mut Builder, rows: i64, all: i64, mut body: impl FnMut(&mut Builder, Value)) {
    let rows = rows.max(1);
    let (zero, whole) = (b.int(0), all - all % rows);
    if whole == rows {
        body(b, zero);
    } else {
        let end = b.int(whole);
        b.for_loop((zero, end, rows), &[], |b, row, _| {
            body(b, row);
            Vec::new()
        });
    }
    if whole < all {
        let last = b.int(all - rows);
        body(b, last);
    }
}

/// Number of columns of a run that one vector computes; 1 without vectors.
fn vector_width(run: &ColumnRun) -> u16 {
    let widest = i64::from(VECTOR_BYTES / run.element.bytes());
    let width = widest.min(1 << run.largest_group.max(1).ilog2());
    if width < LEAST_VECTOR_COLUMNS || run.has_loops() { 1 } else { width as u16 }
}

/// Calls `body` for the columns of a group, of which there are `size`: in vectors of `width` columns, then
/// one by one. A thread that has a part of the work calls it for a part of the columns.
fn each_column(
    b: &mut Builder,
    (size, width): (Value, u16),
    share: Share,
    mut body: impl FnMut(&mut Builder, Value, Lanes),
) {
    if let Share::Part { .. } = share {
        return share.for_each(b, size, 1, |b, nth| body(b, nth, Lanes::One));
    }
    if let Some(few) =
        b.as_int(size).filter(|size| *size < LEAST_VECTOR_COLUMNS.max(width.into()) && *size <= MOST_UNROLLED)
    {
        for nth in 0..few {
            let nth = b.int(nth);
            body(b, nth, Lanes::One);
        }
        return;
    }
    let zero = b.int(0);
    let whole = match width {
        1 => zero,
        _ => {
            let mask = b.int(-i64::from(width));
            b.bin(Bin::And, size, mask)
        }
    };
    if width > 1 {
        b.for_loop((zero, whole, width.into()), &[], |b, nth, _| {
            body(b, nth, Lanes::Columns(width));
            Vec::new()
        });
    }
    if whole != size {
        b.for_loop((whole, size, 1), &[], |b, nth, _| {
            body(b, nth, Lanes::One);
            Vec::new()
        });
    }
}
