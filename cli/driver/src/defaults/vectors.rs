//! Rows or trees in the lanes of vectors, by the values of rows as they are.

use super::{
    BLOCK_BYTES, Chosen, CodeDestination, Processor, RowVectors, blocks, pays_to_unroll_and_jam, text,
};
use sched_nest::ModelInfo;

/// Features of rows that fit a cache line or a few.
const FEW_FEATURES: u32 = 64;
/// Transposing this many features of a row costs what walking one tree without gathers saves.
const FEATURES_PER_TREE: u32 = 20;
/// Rows of the smallest blocks: four vectors of sixteen advance together.
const BLOCK: u32 = 64;
/// Largest transposed block of rows, in bytes, that leaves room for the rows themselves in the second-level cache. A larger
/// block is halved, although only two vectors advance together then.
const TRANSPOSED_BYTES: u32 = 256 << 10;
/// Vectors of trees that advance together where their nodes are loaded lane by lane. Of complete trees twice as many are a
/// tenth faster, and take twice the time to compile.
const LANE_BY_LANE: u32 = 2;

/// Walks in the lanes of vectors.
pub(super) struct Vectors {
    layout: &'static str,
    pub(super) lanes: u32,
    /// Vectors of rows that advance together.
    rows: u32,
    /// Vectors of trees that advance together.
    pub(super) trees: u32,
    /// Rows of the largest call whose rows are better walked one by one, with trees in lanes.
    pub(super) few: u32,
    /// Rows of a block that is too large for its cache.
    least: u32,
}

impl Vectors {
    /// Nodes of trees of any form, for trees in lanes in calls of at most `few` rows.
    pub(super) fn of_nodes(processor: Processor, few: u32) -> Vectors {
        let trees = if processor.gathers_slowly { LANE_BY_LANE } else { 4 };
        Vectors { layout: "sparse", lanes: processor.lookup_bits / 32, rows: 8, trees, few, least: BLOCK }
    }

    /// Trees in lanes for few rows, else rows.
    pub(super) fn chosen(&self, model: &ModelInfo, destination: CodeDestination) -> Chosen {
        Chosen::only(text(self.over_rows(model, destination))).up_to(self.few, text(self.over_trees()))
    }

    /// Levels of complete trees in registers, as many as the processor has room for beside the tables.
    pub(super) fn of_levels(
        model: &ModelInfo,
        processor: Processor,
        destination: CodeDestination,
    ) -> Vectors {
        let rows = if processor.lookup_bits < 512 || processor.gathers_slowly { 4 } else { 8 };
        let trees = match (processor.gathers_slowly, destination) {
            (true, CodeDestination::Memory) => LANE_BY_LANE,
            (true, CodeDestination::Artefact) => 2 * LANE_BY_LANE,
            (false, _) => 8,
        };
        // Waiting for gathers that are fast needs more than two vectors.
        let transposed =
            if pays_to_transpose(model) { model.num_features.saturating_mul(4 * BLOCK) } else { 0 };
        let least = if processor.gathers_slowly && transposed > TRANSPOSED_BYTES { BLOCK / 2 } else { BLOCK };
        Vectors { layout: "levels", lanes: 16, rows, trees, few: largest_small_call(model), least }
    }

    /// Rows in lanes.
    fn over_rows(&self, model: &ModelInfo, destination: CodeDestination) -> Vec<String> {
        let features = model.num_features.max(1);
        let sums = if model.num_classes > 1 { model.num_classes } else { 0 };
        let fitting = (BLOCK_BYTES / 4 / features.saturating_add(sums)).clamp(self.least, 256);
        let block = 1 << fitting.ilog2();
        let mut lines = blocks(block);
        if pays_to_transpose(model) {
            lines.push("cache(b0)".to_string());
        }
        lines.push(format!("representation({})", self.layout));
        // Sums that are several, and not copied, are added to one by one.
        let unroll_and_jam = pays_to_unroll_and_jam(model, destination)
            && (model.num_classes <= 1 || pays_to_transpose(model));
        let vectors = self.rows.min(block / self.lanes);
        lines.extend(RowVectors { lanes: self.lanes, vectors, unroll_and_jam }.lines());
        if self.layout == "sparse" {
            // Seven tests at once cost less than three steps that gather their nodes.
            lines.push("speculateWalk(b1, 3)".to_string());
        }
        lines
    }

    /// Trees in lanes.
    pub(super) fn over_trees(&self) -> Vec<String> {
        vec![
            "parallel(batch)".to_string(),
            format!("representation({})", self.layout),
            format!("vectorize(tree, {})", self.lanes),
            format!("interleave(tree, {})", self.trees),
        ]
    }
}

/// Whether transposing a block of rows pays: if features are few, or if there are enough trees to read most of them.
fn pays_to_transpose(model: &ModelInfo) -> bool {
    model.num_features <= FEW_FEATURES || model.num_features / FEATURES_PER_TREE <= model.num_trees
}

/// Small-batch limit: calls of at most this many rows are walked row by row, with trees in lanes. A vector of 16 rows takes
/// the same time however few of them there are, and longer where its values lie far apart.
fn largest_small_call(model: &ModelInfo) -> u32 {
    match pays_to_transpose(model) {
        true if model.num_features <= FEW_FEATURES => 8,
        true => 12,
        false => 16,
    }
}
