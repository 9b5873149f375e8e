//! Level look-ups over quantized rows, whose bins have a byte each.

use super::vectors::Vectors;
use super::{
    BLOCK_BYTES, Chosen, CodeDestination, FEW, MAX_BINS, Processor, RowVectors, SHORT_LIMIT, SHORT_REGISTER,
    blocks, pays_to_unroll_and_jam, single_rows, text,
};
use sched_ir::quantize::QuantizedRows;
use sched_nest::{Layout, ModelInfo};

/// Quantizing this many columns costs what walking one tree by bins saves.
const COLUMNS_PER_TREE: u32 = 2;
/// Deepest trees whose tests are all made at once for single rows: their outcomes fit one word, and in deeper ones most
/// tests are of no use.
const TEST_MASK_LIMIT: u32 = 6;

/// Whether quantizing rows pays: bins are bytes, and there are enough trees to make up for finding them.
pub(super) fn pays_to_quantize(model: &ModelInfo, bins: &QuantizedRows) -> bool {
    bins.in_bytes && bins.columns / COLUMNS_PER_TREE <= model.num_trees
}

/// Walks of quantized rows in the lanes of vectors.
pub(super) struct Quantized {
    /// Bins of a row, a byte each.
    columns: u32,
    layout: Layout,
}

impl Quantized {
    /// Walks of rows with these bins.
    pub(super) fn of(bins: &QuantizedRows) -> Quantized {
        Quantized { columns: bins.columns, layout: Layout::Quantized }
    }

    /// The same down trees of which each level makes one test.
    pub(super) fn oblivious(bins: &QuantizedRows) -> Quantized {
        Quantized { columns: bins.columns, layout: Layout::Oblivious }
    }

    /// Trees in lanes for few rows, short vectors of rows for some more, else long ones.
    pub(super) fn chosen(
        &self,
        model: &ModelInfo,
        processor: Processor,
        destination: CodeDestination,
    ) -> Chosen {
        // Four vectors of short walks take 0.78 of the time of two, of long ones 0.98; and up to twice the time to compile,
        // most where rows have many sums.
        let brief = model.max_depth() <= SHORT_LIMIT
            && (model.num_classes <= 1 || destination == CodeDestination::Artefact);
        let (lanes, vectors) = match processor.lookup_bits {
            SHORT_REGISTER => (16, 1),
            ..512 => (32, 1),
            _ => (64, if brief { 4 } else { 2 }),
        };
        // A short vector takes as long for one level as a long one for two more.
        let short = if lanes == 64 && model.max_depth() > SHORT_LIMIT { 32 } else { 16 };
        let few = text(self.over_trees(model, processor, destination));
        let unroll_and_jam = pays_to_unroll_and_jam(model, destination);
        let main = Chosen::only(text(self.rows(lanes, vectors, unroll_and_jam)));
        main.up_to(FEW, few).up_to(short, text(self.rows(16, 2, unroll_and_jam)))
    }

    /// One row after the other: all tests of a tree at once where that pays, else trees in lanes.
    pub(super) fn over_trees(
        &self,
        model: &ModelInfo,
        processor: Processor,
        destination: CodeDestination,
    ) -> Vec<String> {
        // All tests of a tree at once are faster than one after the other, though they are more.
        if self.layout == Layout::Oblivious && !self.makes_all_tests(model) {
            return single_rows(self.layout.word(), 4);
        }
        if self.walks_single_rows(model, processor) {
            return single_rows("quantized", 4);
        }
        Vectors::of_levels(model, processor, destination).over_trees()
    }

    /// Whether all tests of a tree are made at once for single rows: they are few and the row fits a register.
    pub(super) fn walks_single_rows(&self, model: &ModelInfo, processor: Processor) -> bool {
        let small = self.makes_all_tests(model);
        // Trees in lanes gather, which shorter registers do no faster.
        let short = processor.lookup_bits == 256 && self.columns <= MAX_BINS / 2;
        small || short
    }

    /// Whether trees are small enough for all their tests to be made at once, whatever the registers.
    fn makes_all_tests(&self, model: &ModelInfo) -> bool {
        model.max_depth() <= TEST_MASK_LIMIT && self.columns <= MAX_BINS
    }

    /// Vectors of rows. Where there are few, those of several trees advance together if it `unroll_and_jam`.
    pub(super) fn rows(&self, lanes: u32, vectors: u32, unroll_and_jam: bool) -> Vec<String> {
        let fitting = (BLOCK_BYTES / self.columns.max(1)).clamp(128, 256);
        let mut lines = blocks(1 << fitting.ilog2());
        lines.push("cache(b0)".to_string());
        lines.push(format!("representation({})", self.layout.word()));
        lines.extend(RowVectors { lanes, vectors, unroll_and_jam }.lines());
        lines
    }
}
