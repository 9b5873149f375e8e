//! Quantization of input columns into a copy in column-major blocks. The first thresholds of a feature are
//! loaded once for all rows.

use super::encode::Quantizer;
use super::levels::{FeatureThresholds, ThresholdLevels};
use crate::columns::blocks::BlockSource;
use crate::lir::{Address, BufferId, BuildStmts, Builder, Value};
use crate::quantize::bins::SearchGroup;
use crate::quantize::encode::VECTOR_ROWS;
use crate::rows::CopiedRows;
use crate::rows::input::{FEATURES_AHEAD, InputColumns, RowRange};

/// Destination of bins: blocks of rows.
#[derive(Clone, Copy)]
pub struct BinBlocks {
    /// The copy.
    pub copy: BufferId,
    /// Rows of a block.
    pub width: u32,
    /// Whether every block has `width` existing rows.
    pub are_full: bool,
}

impl Quantizer<'_> {
    /// Stores the bins of rows in blocks: the first bin of all rows of a block, then the second bin,
    /// and so on.
    pub fn quantize_columns(&self, b: &mut Builder, from: InputColumns, rows: CopiedRows, to: BinBlocks) {
        if let Some(blocks) = self.blocks.filter(|blocks| blocks.code.is_some()) {
            let source = BlockSource::Columns { columns: from, are_full: to.are_full };
            self.quantize_blocks(b, to.copy, rows, (to.width, blocks, source));
            return self.store_tail(b, to.copy, rows);
        }
        for group in self.bins.groups() {
            self.each_feature(b, group, 1, |b, feature| {
                self.quantize_column(b, group, feature, (from, rows, to))
            });
        }
        self.store_tail(b, to.copy, rows);
    }

    fn quantize_column(
        &self,
        b: &mut Builder,
        group: &SearchGroup,
        feature: Value,
        (from, rows, to): (InputColumns, CopiedRows, BinBlocks),
    ) {
        let lanes = to.width.min(VECTOR_ROWS);
        let number = self.model_feature(b, feature);
        let start = from.feature_start(b, number);
        let next = self.later_start(b, group, feature, from);
        let nth = b.add_int(feature, -(group.features.start as i64));
        let first = b.mul_int(nth, 1 << group.depth);
        let first = b.add_int(first, group.first_threshold as i64);
        let run = FeatureThresholds { table: self.tables.thresholds, first };
        let near = ThresholdLevels::of(self.bins).hoisted_levels(b, run, (group.depth, lanes as u16));
        let zero = b.int(0);
        b.for_loop((zero, rows.capacity, i64::from(to.width)), &[], |b, block, _| {
            let before = b.mul_int(block, self.bins.columns().into());
            for ahead in (0..to.width).step_by(lanes as usize) {
                let row = b.add_int(block, ahead.into());
                let count = (!to.are_full).then(|| b.sub(rows.count, row));
                let left = RowRange { first: b.add(rows.first, row), count };
                from.prefetch_rows(b, next, left.first, lanes);
                let x = from.load_rows(b, start, left, lanes as u16);
                let bin = self.search(b, group.depth, x, |b, node, level| {
                    ThresholdLevels::of(self.bins).look_up_hoisted(b, run, &near, (node, level, group.depth))
                });
                for (column, bin) in self.bins_to_store(b, group, x, bin) {
                    let column = b.add_int(nth, column);
                    let column = b.mul_int(column, i64::from(to.width));
                    let index = b.add(before, column);
                    let index = b.add_int(index, ahead.into());
                    b.store(Address::element(to.copy, index, self.bins.element()), bin);
                }
            }
            Vec::new()
        });
    }

    /// First element of a later feature of the group, which is prefetched: the feature [`FEATURES_AHEAD`]
    /// features later, or the last one.
    fn later_start(&self, b: &mut Builder, group: &SearchGroup, feature: Value, from: InputColumns) -> Value {
        let later = b.add_int(feature, FEATURES_AHEAD);
        let last = b.int(group.features.end as i64 - 1);
        let later = b.min(later, last);
        let number = self.model_feature(b, later);
        from.feature_start(b, number)
    }
}
