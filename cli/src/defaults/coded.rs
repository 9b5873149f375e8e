//! Rows whose values are coded, a byte each, and walked by levels of complete trees.

use super::vectors::Vectors;
use super::{
    BLOCK_BYTES, Chosen, FEW, Kept, LONGEST_CODES, Processor, SHORT_LIMIT, blocks, single_rows, text,
};
use sched_ir::quantize::QuantizedRows;
use sched_nest::ModelFacts;

/// Columns of codes whose finding costs as much as walking one tree with thresholds costs more than with codes.
const COLUMNS_PER_TREE: u32 = 2;
/// Deepest trees whose tests fit a word: of more, most are made for nothing.
const AT_ONCE_LIMIT: u32 = 6;

/// Whether coding rows pays: codes are bytes, and trees are enough to make up for finding them.
pub(super) fn pays_to_code(facts: &ModelFacts, codes: &QuantizedRows) -> bool {
    codes.in_bytes && codes.columns / COLUMNS_PER_TREE <= facts.num_trees
}

/// Walks of coded rows in the lanes of vectors.
pub(super) struct Coded {
    /// Codes of a row, a byte each.
    columns: u32,
}

impl Coded {
    /// Walks of rows with such codes.
    pub(super) fn of(codes: &QuantizedRows) -> Coded {
        Coded { columns: codes.columns }
    }

    /// Trees in lanes for few rows, short vectors of rows for some more, else long ones.
    pub(super) fn chosen(&self, facts: &ModelFacts, processor: Processor, kept: Kept) -> Chosen {
        // Four vectors of short walks take 0.78 of the time of two, of long ones 0.98; and up to twice the time to compile,
        // most where rows have many sums.
        let brief = facts.max_depth() <= SHORT_LIMIT && (facts.num_classes <= 1 || kept == Kept::File);
        let (lanes, vectors) = match processor.lookup_bits {
            ..512 => (32, 1),
            _ => (64, if brief { 4 } else { 2 }),
        };
        // A short vector takes as long for one level as a long one for two more.
        let short = if lanes == 64 && facts.max_depth() > SHORT_LIMIT { 32 } else { 16 };
        let few = text(self.over_trees(facts, processor, kept));
        Chosen::only(text(self.rows(lanes, vectors))).up_to(FEW, few).up_to(short, text(self.rows(16, 2)))
    }

    /// One row after the other: all tests of a tree at once where that pays, else trees in lanes.
    pub(super) fn over_trees(&self, facts: &ModelFacts, processor: Processor, kept: Kept) -> Vec<String> {
        if self.walks_single_rows(facts, processor) {
            return single_rows("quantized", 4);
        }
        Vectors::of_levels(facts, processor, kept).over_trees()
    }

    /// Whether all tests of a tree are made at once for single rows: they are few and the row fits a register.
    pub(super) fn walks_single_rows(&self, facts: &ModelFacts, processor: Processor) -> bool {
        let small = facts.max_depth() <= AT_ONCE_LIMIT && self.columns <= LONGEST_CODES;
        // Trees in lanes gather, which shorter registers do no faster.
        let short = processor.lookup_bits == 256 && self.columns <= LONGEST_CODES / 2;
        small || short
    }

    pub(super) fn rows(&self, lanes: u32, vectors: u32) -> Vec<String> {
        let fitting = (BLOCK_BYTES / self.columns.max(1)).clamp(128, 256);
        let mut lines = blocks(1 << fitting.ilog2());
        lines.push("cache(b0)".to_string());
        lines.push("representation(quantized)".to_string());
        lines.push(format!("vectorize(b1, {lanes})"));
        if vectors > 1 {
            lines.push(format!("interleave(b1, {vectors})"));
        }
        lines
    }
}
