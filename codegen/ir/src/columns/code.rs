//! Loops over runs of columns.

use super::pools::PoolTables;
use super::runs::{ColumnRun, ColumnRuns};
use super::value::{Evaluator, Features, Lanes, index_of};
use crate::lir::{Address, Bin, BufferId, Build, Builder, Scalar, Value};

/// Bytes of columns of a row that are computed together.
const VECTOR: u32 = 64;

/// Fewest columns that are computed together.
const LEAST: i64 = 4;

/// Most columns of a group that are computed without a loop.
const MOST_UNROLLED: i64 = 4;

/// Rows of a block that are computed together: values of 4 bytes fill a register.
const ROWS: u32 = 16;

/// Code that computes columns.
#[derive(Clone, Copy)]
pub struct ColumnCode<'a> {
    /// The columns.
    pub runs: &'a ColumnRuns,
    /// Their pools.
    pub pools: PoolTables<BufferId>,
    /// Whether vectors may compute several columns of a row.
    pub has_vectors: bool,
}

/// Elements of a buffer, from an index on.
#[derive(Clone, Copy)]
pub struct Elements {
    /// The buffer.
    pub buffer: BufferId,
    /// Index of the first element.
    pub first: Value,
}

impl<'a> ColumnCode<'a> {
    /// Stores the columns of a row one after the other.
    pub fn row(&self, b: &mut Builder, features: Features, to: Elements) {
        let element = self.runs.element;
        for run in &self.runs.runs {
            let width = match features {
                Features::OfRow(..) if self.has_vectors => vector_width(run, element),
                _ => 1,
            };
            self.groups(b, run, features, Lanes::One, |b, own, start, size| {
                each_column(b, size, width, |b, nth, lanes| {
                    let column = b.add(start, nth);
                    let value = own.tail(b, column, lanes);
                    let index = b.add_int(column, run.first);
                    let index = b.add(to.first, index);
                    b.store(Address::element(to.buffer, index, element), value);
                });
            });
        }
    }

    /// Stores the columns of a block of rows, which are columns of the same block: column by column.
    pub fn block(&self, b: &mut Builder, from: Elements, to: Elements, rows: u32) {
        let (lanes, zero, end) = (rows.min(ROWS), b.int(0), b.int(rows.into()));
        b.for_loop((zero, end, lanes.into()), &[], |b, ahead, _| {
            let first = b.add(from.first, ahead);
            let to = Elements { first: b.add(to.first, ahead), ..to };
            let features = Features::OfBlock(from.buffer, first, rows);
            self.rows_of_block(b, features, to, (rows, Lanes::Rows(lanes as u16)));
            Vec::new()
        });
    }

    fn rows_of_block(&self, b: &mut Builder, from: Features, to: Elements, (rows, lanes): (u32, Lanes)) {
        let element = self.runs.element;
        for run in &self.runs.runs {
            self.groups(b, run, from, lanes, |b, own, start, size| {
                each_column(b, size, 1, |b, nth, _| {
                    let column = b.add(start, nth);
                    let value = own.tail(b, column, lanes);
                    let index = b.add_int(column, run.first);
                    let index = b.mul_int(index, rows.into());
                    let index = b.add(to.first, index);
                    b.store(Address::element(to.buffer, index, element), value);
                });
            });
        }
    }

    /// Calls `body` for each group of a run, with its head, its first column in the run and its size.
    fn groups(
        &self,
        b: &mut Builder,
        run: &'a ColumnRun,
        features: Features,
        lanes: Lanes,
        body: impl FnOnce(&mut Builder, &Evaluator<'_>, Value, Value),
    ) {
        let element = self.runs.element;
        let values = vec![None; run.nodes.len()];
        let mut own = Evaluator { pools: &self.pools, run, element, features, values };
        let group = |b: &mut Builder, group: Value| {
            own.head(b, group, lanes);
            let start = index_of(b, &self.pools, run.starts, group);
            let size = index_of(b, &self.pools, run.sizes, group);
            body(b, &own, start, size);
        };
        let (zero, end) = (b.int(0), b.int(run.groups));
        if run.groups == 1 {
            return group(b, zero);
        }
        b.for_loop((zero, end, 1), &[], |b, number, _| {
            group(b, number);
            Vec::new()
        });
    }
}

/// Columns of a run that a vector computes; 1 if none does.
fn vector_width(run: &ColumnRun, element: Scalar) -> u16 {
    let widest = i64::from(VECTOR / element.bytes());
    let width = widest.min(1 << run.largest.max(1).ilog2());
    if width < LEAST || run.has_loops() { 1 } else { width as u16 }
}

/// Calls `body` for the numbers below `size`, in steps of `width` columns and then one by one.
fn each_column(b: &mut Builder, size: Value, width: u16, mut body: impl FnMut(&mut Builder, Value, Lanes)) {
    if let Some(few) = b.as_int(size).filter(|size| *size < LEAST.max(width.into()) && *size <= MOST_UNROLLED)
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
