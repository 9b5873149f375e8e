//! Code that quantizes the rows of a GPU's block, into bins in shared memory.

use super::bins::SearchGroup;
use super::encode::Quantizer;
use crate::lir::{Address, Bin, BufferId, BuildStmts, Builder, Cmp, Ty, Value};
use crate::rows::{BlockThreads, RowPlacement};

/// Rows whose bins the threads of a block share, stored as one block.
#[derive(Clone, Copy)]
pub struct SharedBlock {
    /// Buffer of the bins.
    pub copy: BufferId,
    /// Number of rows.
    pub count: Value,
    /// Largest number of rows.
    pub max_rows: i64,
    /// Number of rows for which a column has space.
    pub capacity: i64,
    /// Order of the rows in a column.
    pub placement: RowPlacement,
}

/// Values of the rows of a shared block, from which bins are made.
#[derive(Clone, Copy)]
pub struct SharedSource {
    /// Buffer of the values.
    pub buffer: BufferId,
    /// Index of the first value of the first row.
    pub first: Value,
    /// Number of elements from a row to the next one.
    pub row_step: i64,
    /// Number of elements from a column to the next one.
    pub column_step: i64,
}

/// One value of a shared block.
#[derive(Clone, Copy)]
struct SharedValue {
    /// Row number in the block.
    row: Value,
    /// Position of the feature in its group.
    nth: Value,
}

impl Quantizer<'_> {
    /// Stores the bins of rows that threads share, feature by feature. Each thread of a block quantizes some
    /// values. Neighbouring threads quantize neighbouring rows, so they search the thresholds of one feature
    /// and store adjacent bins.
    pub fn quantize_shared(
        &self,
        b: &mut Builder,
        from: SharedSource,
        block: SharedBlock,
        threads: BlockThreads,
    ) {
        for group in self.bins.groups() {
            let features = (group.features.end - group.features.start) as i64;
            let all = b.int(features * block.max_rows);
            b.for_loop((threads.thread, all, threads.count), &[], |b, number, _| {
                let most = b.int(block.max_rows);
                let nth = b.bin(Bin::IDiv, number, most);
                let before = b.mul(nth, most);
                let row = b.sub(number, before);
                let exists = b.cmp(Cmp::Lt, row, block.count);
                b.when(exists, |b| self.quantize_value(b, group, (from, block), SharedValue { row, nth }));
                Vec::new()
            });
        }
    }

    /// Searches and stores the bins of one value of a shared block.
    fn quantize_value(
        &self,
        b: &mut Builder,
        group: &SearchGroup,
        (from, block): (SharedSource, SharedBlock),
        of: SharedValue,
    ) {
        let SharedValue { row, nth } = of;
        let feature = b.add_int(nth, group.features.start as i64);
        let column = self.model_feature(b, feature);
        let ahead = b.mul_int(row, from.row_step);
        let index = b.add(from.first, ahead);
        let column = b.mul_int(column, from.column_step);
        let index = b.add(index, column);
        let x = b.load(Ty::of(self.input), Address::element(from.buffer, index, self.input));
        let start = b.mul_int(nth, 1 << group.depth);
        let start = b.add_int(start, group.first_threshold as i64);
        let compared = self.bins.compared_element();
        let bin = self.search(b, group.depth, x, |b, node, _| {
            let node = b.to_index(node);
            let index = b.add(start, node);
            b.load(Ty::of(compared), Address::element(self.tables.thresholds, index, compared))
        });
        let place = block.placement.position(b, row);
        for (column, bin) in self.bins_to_store(b, group, x, bin) {
            let column = b.add_int(nth, column);
            let column = b.mul_int(column, block.capacity);
            let index = b.add(column, place);
            b.store(Address::element(block.copy, index, self.bins.element()), bin);
        }
    }
}
