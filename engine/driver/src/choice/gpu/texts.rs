//! Schedules for GPUs as lines of text.

use sched_nest::{Layout, ModelInfo, Nodes, Shapes};

/// Most levels of trees that are padded to complete ones. Each further level doubles the nodes; complete
/// trees need no loads of child indices.
const MOST_COMPLETE_LEVELS: u32 = 10;
/// Most threads of a block whose threads walk a tree each. Larger blocks sum more trees in shared memory, and
/// fewer of them fit a multiprocessor.
const TREE_THREADS: u32 = 512;

/// The layouts to try for a model.
pub struct Layouts {
    /// Layouts whose nodes compare bins, in the order of the trials.
    pub of_bins: Vec<Layout>,
    /// Whether trees are shallow enough to be completed.
    pub complete: bool,
}

impl Layouts {
    /// The layouts for a model, including those of bins if `quantized` is true.
    pub fn of(model: &ModelInfo, quantized: bool) -> Layouts {
        let complete = model.max_depth() <= MOST_COMPLETE_LEVELS;
        let is_tried = |layout: &Layout| {
            let is_general = layout.is_coded() && layout.shapes() == Shapes::Any;
            quantized && is_general && (complete || layout.nodes() == Nodes::Existing)
        };
        Layouts { of_bins: Layout::by_turn().into_iter().filter(is_tried).collect(), complete }
    }

    /// The schedule with four rows for each thread, whose bins are the bytes of a word, and `rows` rows a
    /// block.
    pub fn four_rows(&self, rows: u32) -> Option<Vec<String>> {
        let quantized = self.of_bins.iter().find(|layout| layout.gpu_lanes() == 4)?;
        Some(lines([
            format!("tile(batch, b0, r, {rows})"),
            "tile(r, b1, b2, 4)".to_string(),
            "reorder(b0, b1, tree, b2)".to_string(),
            "gpuDimension(b0, grid.x)".to_string(),
            "gpuDimension(b1, block.x)".to_string(),
            "cache(b0)".to_string(),
            representation(*quantized),
            "vectorize(b2, 4)".to_string(),
        ]))
    }

    /// Schedules with a row for each thread, in blocks of `rows` threads.
    pub fn rows(&self, rows: u32) -> Vec<Vec<String>> {
        let layouts = self.of_bins.iter().map(|layout| representation(*layout));
        let with = |more: Vec<String>| plain(rows).into_iter().chain(more).collect::<Vec<_>>();
        let cached = || "cache(b0)".to_string();
        let sparse = || representation(Layout::Sparse);
        let mut all: Vec<Vec<String>> = layouts.map(|layout| with(vec![cached(), layout])).collect();
        if self.complete {
            all.push(with(vec![cached()]));
        }
        all.push(with(vec![cached(), sparse()]));
        all.push(with(vec![sparse()]));
        all
    }

    /// Schedules with a block for each row, whose threads walk a tree each.
    pub fn trees(&self, model: &ModelInfo) -> Vec<Vec<String>> {
        let (mapped, mut loops) = match model.num_trees {
            ..=TREE_THREADS => ("tree", vec![]),
            _ => ("t1", vec![format!("tile(tree, t0, t1, {TREE_THREADS})")]),
        };
        loops.insert(0, "gpuDimension(batch, grid.x)".to_string());
        loops.push(format!("gpuDimension({mapped}, block.x)"));
        loops.push("cache(batch)".to_string());
        let sums = [Some(format!("sharedReduce({mapped})")), None];
        let mut all = Vec::new();
        for sum in sums {
            let with = |layout: Option<String>| {
                loops.iter().cloned().chain(sum.clone()).chain(layout).collect::<Vec<_>>()
            };
            all.extend(self.of_bins.iter().map(|layout| with(Some(representation(*layout)))));
            all.push(with((!self.complete).then(|| representation(Layout::Sparse))));
        }
        all
    }
}

/// The lines of a schedule in which each thread walks all trees for a row.
pub fn plain(rows: u32) -> Vec<String> {
    lines([
        format!("tile(batch, b0, b1, {rows})"),
        "gpuDimension(b0, grid.x)".to_string(),
        "gpuDimension(b1, block.x)".to_string(),
    ])
}

/// Converts an array of lines to a list.
pub fn lines<const N: usize>(lines: [String; N]) -> Vec<String> {
    lines.to_vec()
}

/// The line that names a layout.
pub fn representation(layout: Layout) -> String {
    format!("representation({})", layout.word())
}

/// A schedule from its lines.
pub fn text(lines: Vec<String>) -> String {
    lines.join("\n") + "\n"
}
