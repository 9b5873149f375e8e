//! Schedules for calls whose rows alone occupy too few multiprocessors. Each lane of a warp has a row, and
//! the trees are distributed over the warps of a block and over blocks. A slot holds the result of one tree.
//! A second launch adds the slots up in the model's order.
//!
//! Counts decide for which numbers of rows these schedules are best. A multiprocessor (SM) reads one line of
//! 128 bytes per cycle from its cache. If each lane has a tree, each reads a line of its own in each step. If
//! each lane has a row, lanes share the lines of a tree's first levels. In return, each group of trees copies
//! the rows, and slots need a second launch.

use super::texts::{Layouts, lines, representation};
use sched_ir::Budget;
use sched_nest::{Layout, ModelInfo};

/// Rows of a block: one for each lane of a warp.
const ROWS: u32 = 32;
/// Most trees of a block: the largest block has 32 warps.
const TREES: u32 = 32;
/// Lines that a multiprocessor reads in the 2 µs before a launch begins: one line per cycle at about 2 GHz.
const LINES_OF_A_LAUNCH: u64 = 4096;
/// Steps of the search for a bin of 8 bits.
const STEPS_OF_A_SEARCH: u64 = 8;
/// Fewest bytes of a slot for each margin.
const SLOT_BYTES: u32 = 4;

/// Trees in groups of equal size.
pub(super) struct Groups<'m> {
    model: &'m ModelInfo,
    multiprocessors: u32,
    count: u32,
    /// Trees of a group.
    size: u32,
}

impl Groups<'_> {
    /// The groups of a model, of at most `TREES` trees.
    pub(super) fn of(model: &ModelInfo, multiprocessors: u32) -> Groups<'_> {
        let count = model.num_trees.div_ceil(TREES).max(1);
        Groups { model, multiprocessors, count, size: model.num_trees.div_ceil(count).max(1) }
    }

    /// Number of rows above which groups pay: all multiprocessors have blocks, and the lines that groups save
    /// would take longer to read than a launch. `None` if the slots of a call of this size exceed the scratch
    /// memory of a run.
    pub(super) fn pay_above(&self) -> Option<u32> {
        let (trees, depth) = (u64::from(self.model.num_trees), u64::from(self.model.max_depth()));
        let tiles = self.multiprocessors.div_ceil(self.count);
        let busy = (tiles - 1) * ROWS;
        let lines_of_a_row = trees.max(1) * (depth + 1);
        let saved = LINES_OF_A_LAUNCH * u64::from(self.multiprocessors) / lines_of_a_row;
        let above = busy.max(u32::try_from(saved).unwrap_or(u32::MAX));
        let slots = trees
            * u64::from(self.model.num_classes.max(1))
            * u64::from(self.model.sum_bytes.max(SLOT_BYTES));
        let rows_of_a_run = Budget::default().scratch / slots.max(1);
        (u64::from(above) < rows_of_a_run).then_some(above)
    }

    /// Schedules, the best first. They quantize rows if the search of bins takes fewer steps than the walks
    /// of a group. They copy values if the walks of a group read at least as many.
    pub(super) fn schedules(&self, layouts: &Layouts) -> Vec<Vec<String>> {
        let steps = u64::from(self.size) * u64::from(self.model.max_depth());
        let copied = |layout: Layout| u64::from(self.model.copied_features(layout));
        let mut all = Vec::new();
        if copied(Layout::Quantized) * STEPS_OF_A_SEARCH <= steps {
            all.extend(layouts.of_bins.iter().map(|layout| self.schedule(Some(*layout))));
        }
        if copied(Layout::Array) <= steps {
            all.extend(layouts.complete.then(|| self.schedule(None)));
            all.push(self.schedule(Some(Layout::Sparse)));
        }
        all
    }

    fn schedule(&self, layout: Option<Layout>) -> Vec<String> {
        let tile = format!("tile(batch, b0, b1, {ROWS})");
        let mut all = match self.count {
            1 => lines([
                tile,
                "reorder(b0, b1, tree)".to_string(),
                "gpuDimension(b0, grid.x)".to_string(),
                "gpuDimension(b1, block.x)".to_string(),
                "gpuDimension(tree, block.y)".to_string(),
                "sharedReduce(tree)".to_string(),
            ]),
            _ => lines([
                tile,
                format!("tile(tree, t0, t1, {})", self.size),
                "reorder(b0, t0, b1, t1)".to_string(),
                "gpuDimension(b0, grid.x)".to_string(),
                "gpuDimension(t0, grid.y)".to_string(),
                "gpuDimension(b1, block.x)".to_string(),
                "gpuDimension(t1, block.y)".to_string(),
            ]),
        };
        all.push("cache(b0)".to_string());
        all.extend(layout.map(representation));
        all
    }
}
