//! Code that quantizes rows: finds each feature value's bin, the number of the feature's thresholds
//! that it goes right of ([`BinMap`]).
//!
//! If bins are stored in blocks of rows, the values of a block are transposed first. The lanes of vectors are
//! then rows, which look up the thresholds of one feature in tables. Otherwise each row is quantized by
//! itself, and lanes are the thresholds of one feature. If a feature has too many thresholds, lanes are
//! features of the row, whose thresholds are gathered.

use super::bins::{BinMap, SEARCH_WIDTH, SearchGroup};
use super::levels::{FeatureThresholds, ThresholdLevels, ThresholdNodes};
use crate::columns::blocks::{BlockSource, ColumnScratch, RowBlocks};
use crate::columns::code::{BufferElements, ColumnCode};
use crate::columns::value::FeatureSource;
use crate::lir::{Address, BufferId, BuildStmts, Builder, Cast, Cmp, Gather, Scalar, Space, Ty, Value};
use crate::rows::input::RowRange;
use crate::rows::transpose::RowBlock;
use crate::rows::{CopiedRows, lanes_below};

/// Bytes behind the last bin of a copy, so that a whole register can be loaded from any bin on.
pub const TAIL: i64 = 64;
/// Number of features of a single row that one vector quantizes by gathers.
const VECTOR_FEATURES: u16 = 16;
/// Number of rows that one vector quantizes: their values of 4 bytes fill a register. Blocks of bins may have
/// more rows.
pub(super) const VECTOR_ROWS: u32 = 16;

/// Tables for the quantization of rows, as table numbers or as declared buffers.
#[derive(Clone, Copy, Debug)]
pub struct QuantizerTables<T> {
    /// The thresholds of each feature as a complete tree in level order.
    pub thresholds: T,
    /// The ordered thresholds of each feature ([`BinMap::ordered_thresholds`]).
    pub ordered_thresholds: T,
    /// The feature of the model of each quantized feature or run.
    pub features: T,
    /// The column in transposed rows of each quantized feature or run.
    pub columns: T,
}

impl QuantizerTables<u32> {
    /// Declares the tables of these numbers as buffers.
    pub fn declare(self, b: &mut Builder, bins: &BinMap) -> QuantizerTables<BufferId> {
        let value = bins.compared_element();
        QuantizerTables {
            thresholds: b.buffer("bin_thresholds", Space::ModelTable(self.thresholds), value),
            ordered_thresholds: b.buffer(
                "ordered_thresholds",
                Space::ModelTable(self.ordered_thresholds),
                value,
            ),
            features: b.buffer("bin_features", Space::ModelTable(self.features), Scalar::I32),
            columns: b.buffer("bin_columns", Space::ModelTable(self.columns), Scalar::I32),
        }
    }
}

/// Emits code that quantizes rows of the input.
#[derive(Clone, Copy)]
pub struct Quantizer<'a> {
    /// The bins.
    pub bins: &'a BinMap,
    /// Tables of the bins.
    pub tables: QuantizerTables<BufferId>,
    /// Buffer of the rows, which are consecutive.
    pub rows: BufferId,
    /// Element type of the rows.
    pub input: Scalar,
    /// Number of features of a row.
    pub features: i64,
    /// Code that fills transposed blocks; `None` if no copy has blocks.
    pub blocks: Option<RowBlocks<'a>>,
    /// Code of the columns that have bins, if these are computed from the rows.
    pub code: Option<ColumnCode<'a>>,
}

/// A row (or the first row of a block) and the destination of its bins.
#[derive(Clone, Copy)]
struct RowTarget {
    /// Row number in the copy.
    number: Value,
    /// Index of the row's first value.
    from: Value,
    /// Index of the row's first bin.
    to: Value,
}

/// Code and buffers for the rows of a block that are quantized together.
struct QuantizeBlock<'a> {
    blocks: RowBlocks<'a>,
    /// Source of the rows.
    source: BlockSource,
    /// Memory for features and stored columns of the rows.
    scratch: ColumnScratch,
    /// First row of the copy.
    first: Value,
    /// Values of the rows, feature by feature.
    values: BufferId,
    /// Buffer of the bins.
    copy: BufferId,
    /// Number of rows that are quantized together, a divisor of `width`.
    rows: u32,
    /// Rows of a block.
    width: u32,
}

impl Quantizer<'_> {
    /// Stores the bins of the rows of a copy, and arbitrary bins for missing rows of the last block.
    pub fn quantize_rows(&self, b: &mut Builder, copy: BufferId, rows: CopiedRows, blocks: Option<u32>) {
        match (blocks.zip(self.blocks), self.code) {
            (Some((width, blocks)), _) => {
                self.quantize_blocks(b, copy, rows, (width, blocks, BlockSource::Rows))
            }
            (None, None) => self.each_row(b, rows, 1, |b, row| self.quantize_row(b, row, copy)),
            (None, Some(code)) => {
                let bytes = b.int(code.runs.count as i64 * i64::from(self.input.bytes()));
                b.alloc("row_columns", self.input, bytes, |b, columns| {
                    let (zero, of_columns) = (b.int(0), Quantizer { rows: columns, ..*self });
                    code.with_row_memory(b, |b, stored| {
                        self.each_row(b, rows, 1, |b, row| {
                            let features = FeatureSource::OfRow(self.rows, row.from);
                            code.store_row(
                                b,
                                features,
                                stored,
                                BufferElements { buffer: columns, first: zero },
                            );
                            of_columns.quantize_row(b, RowTarget { from: zero, ..row }, copy);
                        });
                    });
                });
            }
        }
        self.store_tail(b, copy, rows);
    }

    /// Stores the bins of one row.
    fn quantize_row(&self, b: &mut Builder, row: RowTarget, copy: BufferId) {
        for group in self.bins.groups() {
            match group.ordered_entries() {
                Some(each) => self.quantize_row_by_counting(b, group, each, row, copy),
                None => self.quantize_row_by_search(b, group, row, copy),
            }
        }
    }

    /// Stores the [`TAIL`] zeros behind the last bin of a copy.
    pub(super) fn store_tail(&self, b: &mut Builder, copy: BufferId, rows: CopiedRows) {
        let columns = i64::from(self.bins.columns());
        let end = b.mul_int(rows.capacity, columns * i64::from(self.bins.element().bytes()));
        let nothing = b.int_of(Ty::vector(Scalar::I8, TAIL as u16), 0);
        b.store(Address::element(copy, end, Scalar::I8), nothing);
    }

    /// Loads the feature of the model that belongs to a quantized feature or run; both are indices.
    pub(super) fn model_feature(&self, b: &mut Builder, feature: Value) -> Value {
        b.load_index(Scalar::I32, Address::element(self.tables.features, feature, Scalar::I32))
    }

    /// Stores the bins of rows in blocks of `width` rows: the first bin of all rows of a block, then
    /// the second bin, and so on.
    pub fn quantize_blocks(
        &self,
        b: &mut Builder,
        copy: BufferId,
        rows: CopiedRows,
        (width, blocks, source): (u32, RowBlocks, BlockSource),
    ) {
        let held = width.min(VECTOR_ROWS);
        let values = b.int(i64::from(held) * blocks.columns() * i64::from(self.input.bytes()));
        b.alloc("transposed_rows", self.input, values, |b, values| {
            blocks.with_scratch(b, held, |b, scratch| {
                let first = rows.first;
                let part = QuantizeBlock { blocks, source, scratch, first, values, copy, rows: held, width };
                self.each_row(b, rows, width, |b, block| {
                    let left = b.sub(rows.count, block.number);
                    self.quantize_block(b, &part, block, left);
                });
            });
        });
    }

    /// Calls `body` for every `step`-th row of a copy.
    fn each_row(
        &self,
        b: &mut Builder,
        rows: CopiedRows,
        step: u32,
        mut body: impl FnMut(&mut Builder, RowTarget),
    ) {
        let zero = b.int(0);
        b.for_loop((zero, rows.capacity, i64::from(step)), &[], |b, number, _| {
            let row = b.add(rows.first, number);
            let from = b.mul_int(row, self.features);
            let to = b.mul_int(number, i64::from(self.bins.columns()));
            body(b, RowTarget { number, from, to });
            Vec::new()
        });
    }

    /// Quantizes a block, of which `left` rows exist, `part.rows` rows at a time.
    fn quantize_block(&self, b: &mut Builder, part: &QuantizeBlock, block: RowTarget, left: Value) {
        let (zero, width) = (b.int(0), b.int(part.width.into()));
        b.for_loop((zero, width, i64::from(part.rows)), &[], |b, first, _| {
            let left = b.sub(left, first);
            let ahead = b.mul_int(first, self.features);
            let (from, to) = (b.add(block.from, ahead), b.add(block.to, first));
            let some = b.cmp(Cmp::Lt, zero, left);
            b.if_else(
                some,
                |b| {
                    let values = RowBlock { from, to: zero, copy: part.values, rows: part.rows };
                    let first = match part.source {
                        BlockSource::Rows => first,
                        BlockSource::Columns { .. } => {
                            let number = b.add(block.number, first);
                            b.add(part.first, number)
                        }
                    };
                    let range = RowRange { first, count: Some(left) };
                    part.blocks.fill_block(b, part.scratch, (&values, part.source), range);
                    self.bins.groups().iter().for_each(|group| self.quantize_group(b, part, group, to));
                    Vec::new()
                },
                |b| {
                    self.clear_missing_rows(b, part, to);
                    Vec::new()
                },
            );
            Vec::new()
        });
    }

    /// Quantizes the features of a group for transposed rows.
    fn quantize_group(&self, b: &mut Builder, part: &QuantizeBlock, group: &SearchGroup, to: Value) {
        self.each_feature(b, group, 1, |b, feature| {
            let column =
                b.load_index(Scalar::I32, Address::element(self.tables.columns, feature, Scalar::I32));
            let column = b.mul_int(column, i64::from(part.rows));
            let values = Address::element(part.values, column, self.input);
            let x = b.load(Ty::vector(self.input, part.rows as u16), values);
            let nth = b.add_int(feature, -(group.features.start as i64));
            let first = b.mul_int(nth, 1 << group.depth);
            let first = b.add_int(first, group.first_threshold as i64);
            let run = FeatureThresholds { table: self.tables.thresholds, first };
            let bin = self.search(b, group.depth, x, |b, node, level| {
                ThresholdLevels::of(self.bins).look_up(
                    b,
                    run,
                    ThresholdNodes { node, level, depth: group.depth },
                )
            });
            for (column, bin) in self.bins_to_store(b, group, x, bin) {
                let column = b.add_int(nth, column);
                let column = b.mul_int(column, i64::from(part.width));
                let index = b.add(to, column);
                b.store(Address::element(part.copy, index, self.bins.element()), bin);
            }
        });
    }

    /// Calls `body` for every `step`-th feature of a group.
    pub(super) fn each_feature(
        &self,
        b: &mut Builder,
        group: &SearchGroup,
        step: i64,
        mut body: impl FnMut(&mut Builder, Value),
    ) {
        let range = (b.int(group.features.start as i64), b.int(group.features.end as i64), step);
        b.for_loop(range, &[], |b, feature, _| {
            body(b, feature);
            Vec::new()
        });
    }

    /// Stores zeros as bins of missing rows, since walks read whole blocks.
    fn clear_missing_rows(&self, b: &mut Builder, part: &QuantizeBlock, to: Value) {
        let element = self.bins.element();
        let nothing = b.int_of(Ty::vector(element, part.rows as u16), 0);
        let range = (b.int(0), b.int(self.bins.columns().into()), 1);
        b.for_loop(range, &[], |b, column, _| {
            let column = b.mul_int(column, i64::from(part.width));
            let index = b.add(to, column);
            b.store(Address::element(part.copy, index, element), nothing);
            Vec::new()
        });
    }

    /// Quantizes the features of a group for one row, one feature at a time, by counting smaller thresholds.
    /// Each feature has `each` entries in the ordered table.
    fn quantize_row_by_counting(
        &self,
        b: &mut Builder,
        group: &SearchGroup,
        each: u32,
        row: RowTarget,
        copy: BufferId,
    ) {
        self.each_feature(b, group, 1, |b, feature| {
            let number = self.model_feature(b, feature);
            let index = b.add(row.from, number);
            let x = b.load(Ty::of(self.input), Address::element(self.rows, index, self.input));
            let nth = b.add_int(feature, -(group.features.start as i64));
            let first = b.mul_int(nth, each.into());
            let first = b.add_int(first, group.first_ordered_threshold as i64);
            let bin = self.count_smaller_thresholds(
                b,
                group,
                x,
                FeatureThresholds { table: self.tables.ordered_thresholds, first },
            );
            for (column, bin) in self.bins_to_store(b, group, x, bin) {
                let column = b.add_int(nth, column);
                let index = b.add(row.to, column);
                b.store(Address::element(copy, index, self.bins.element()), bin);
            }
        });
    }

    /// Quantizes the features of a group for one row by binary search, [`VECTOR_FEATURES`] features at a
    /// time.
    fn quantize_row_by_search(&self, b: &mut Builder, group: &SearchGroup, row: RowTarget, copy: BufferId) {
        let (input, compared) = (self.input, self.bins.compared_element());
        let ty = Ty::vector(Scalar::I32, VECTOR_FEATURES);
        let trees = b.iota(ty);
        let size = b.int_of(ty, 1 << group.depth);
        let trees = b.mul(trees, size);
        let end = b.int(group.features.end as i64);
        self.each_feature(b, group, i64::from(VECTOR_FEATURES), |b, feature| {
            let left = b.sub(end, feature);
            let mask = lanes_below(b, left, VECTOR_FEATURES);
            let numbers = Address::element(self.tables.features, feature, Scalar::I32);
            let index = b.load_masked(ty, numbers, mask);
            let (stride, offset, mask) = (input.bytes(), 0, Some(mask));
            let x =
                b.gather(input, Gather { buffer: self.rows, base: row.from, index, stride, offset, mask });
            let nth = b.add_int(feature, -(group.features.start as i64));
            let base = b.mul_int(nth, 1 << group.depth);
            let base = b.add_int(base, group.first_threshold as i64);
            let bin = self.search(b, group.depth, x, |b, node, _| {
                let (buffer, index) = (self.tables.thresholds, b.add(trees, node));
                b.gather(compared, Gather { buffer, base, index, stride: compared.bytes(), offset, mask })
            });
            for (column, bin) in self.bins_to_store(b, group, x, bin) {
                let column = b.add_int(nth, column);
                let index = b.add(row.to, column);
                let at = Address::element(copy, index, self.bins.element());
                mask.into_iter().for_each(|mask| b.store_masked(at, bin, mask));
            }
        });
    }

    /// Number of a feature's ordered thresholds that a value goes right of, as an index.
    fn count_smaller_thresholds(
        &self,
        b: &mut Builder,
        group: &SearchGroup,
        x: Value,
        run: FeatureThresholds,
    ) -> Value {
        let among = |b: &mut Builder, index: Value, size: u32| {
            let ty = Ty::vector(self.bins.compared_element(), size as u16);
            let thresholds = b.load(ty, Address::element(run.table, index, self.bins.compared_element()));
            let x = b.splat(x, ty.lanes);
            let right = b.cmp(self.bins.threshold_cmp(), thresholds, x);
            let bits = b.mask_bits(right);
            let count = b.pop_count(bits);
            b.to_index(count)
        };
        let whole = among(b, run.first, SEARCH_WIDTH);
        let Some(block) = group.block_size() else { return whole };
        let before = b.mul_int(whole, block.into());
        let index = b.add(run.first, before);
        let index = b.add_int(index, SEARCH_WIDTH.into());
        let rest = among(b, index, block);
        b.add(before, rest)
    }

    /// Number of thresholds that each value goes right of, by binary search: a walk down the complete tree of
    /// a feature's thresholds. `threshold` loads the thresholds of nodes.
    pub(super) fn search(
        &self,
        b: &mut Builder,
        depth: u32,
        x: Value,
        mut threshold: impl FnMut(&mut Builder, Value, u32) -> Value,
    ) -> Value {
        let ty = b.ty(x).with(Scalar::I32);
        let mut node = b.int_of(ty, 1);
        for level in 0..depth {
            let threshold = threshold(b, node, level);
            let right = b.cmp(self.bins.threshold_cmp(), threshold, x);
            let right = b.cast(Cast::ZExt, right, ty);
            let left = b.add(node, node);
            node = b.add(left, right);
        }
        b.extract_bits(node, 0, depth)
    }

    /// Bins to store for a value, each with the group's first column for it. `bin` is the lowest bin for a
    /// missing value, since no comparison with it holds. For nodes that send missing values right, the
    /// highest bin replaces it.
    pub(super) fn bins_to_store(
        &self,
        b: &mut Builder,
        group: &SearchGroup,
        x: Value,
        bin: Value,
    ) -> Vec<(i64, Value)> {
        let ty = b.ty(bin);
        let narrow = ty.with(self.bins.element());
        let mut sides = Vec::new();
        if let Some(column) = group.first_missing_left {
            sides.push((i64::from(column), b.cast(Cast::Trunc, bin, narrow)));
        }
        if let Some(column) = group.first_missing_right {
            let missing = b.cmp(Cmp::Uno, x, x);
            let highest = b.int_of(ty, (1 << (8 * self.bins.element().bytes())) - 1);
            let bin = b.select(missing, highest, bin);
            sides.push((i64::from(column), b.cast(Cast::Trunc, bin, narrow)));
        }
        sides
    }
}
