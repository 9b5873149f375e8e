//! A candidate: a schedule that may be chosen, as data.

use super::layers::{LayerTile, trees_beside_layers};
use sched_ir::MOST_LOOKUP_TREES;
use sched_nest::{Layout, StageInfo};

/// Nodes of a node tile. Their 8 thresholds of 32 bits fill a register of 256 bits. Larger tiles take fewer
/// steps, and larger look-up tables.
const TILE_NODES: u32 = 8;
/// Top levels of sparse trees whose tests precede all decisions (`speculateWalk`). Three levels have 7 tests.
/// Each further level doubles the tests, and hides the latency of one more load.
const SPECULATED_LEVELS: u32 = 3;

/// Bounds of the shapes that a search tries around a fast schedule ([`Candidate::neighbours`]).
mod bounds {
    /// Most rows of a block. Longer blocks share tables among more rows, and leave fewer blocks for threads.
    pub const BLOCK_ROWS: u32 = 1024;
    /// Fewest lanes of a vector: 4 words fill the shortest registers, of 128 bits.
    pub const FEWEST_LANES: u32 = 4;
    /// Most lanes of a vector: 64 bytes fill the longest registers, of 512 bits.
    pub const MOST_LANES: u32 = 64;
    /// Most walks, or vectors of rows, that advance together. There are 32 registers at most, and each vector
    /// needs a few.
    pub const MOST_TOGETHER: u32 = 8;
}

/// Shape of the vectors of a candidate: rows or trees in the lanes, and the walks that advance together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VectorForm {
    /// Vectors of rows: each lane walks another row of a block through the same tree.
    Rows {
        /// Number of rows of a block.
        block: u32,
        /// Number of lanes of a vector; 1 for walks without vectors.
        lanes: u32,
        /// Number of walks, or of vectors of walks, that advance together.
        together: u32,
        /// Whether the block is copied, feature by feature (`cache`).
        copied: bool,
        /// Whether steps pass node tiles.
        tiled: bool,
    },
    /// Vectors of trees: each lane walks the same row through another tree.
    Trees {
        /// Number of lanes of a vector; 1 for walks without vectors.
        lanes: u32,
        /// Number of walks, or of vectors of walks, that advance together.
        together: u32,
    },
}

/// A schedule that may be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// Layout of the trees.
    pub layout: Layout,
    /// Shape of the vectors.
    pub form: VectorForm,
    /// Levels of the straight-line part of walks; 0 for none.
    pub unrolled: u32,
    /// Whether remainder rows of a block walk through several trees at once (`unrollAndJam`).
    pub unroll_and_jam: bool,
    /// Tile of the layers of sums; `None` if the compiler arranges them.
    pub layers: Option<LayerTile>,
}

impl Candidate {
    /// A candidate without further directives.
    pub fn new(layout: Layout, form: VectorForm) -> Candidate {
        Candidate { layout, form, unrolled: 0, unroll_and_jam: false, layers: None }
    }

    /// The schedule as text, for a model with these stages.
    pub fn text(&self, stages: &[StageInfo]) -> String {
        let mut lines: Vec<String> = Vec::new();
        // Beside arranged layers, a loop of the trees needs the name of their stage.
        let trees = self.layers.and_then(|_| trees_beside_layers(stages));
        let trees = trees.map_or_else(String::new, |trees| format!("{trees}."));
        // Candidates of the layout `array` are for sums alone, which have no nodes to store.
        let has_nodes = self.layout != Layout::Array;
        let representation = has_nodes.then(|| format!("representation({})", self.layout.word()));
        match self.form {
            VectorForm::Rows { block, lanes, together, copied, tiled } => {
                lines.push(format!("tile({trees}batch, b0, b1, {block})"));
                lines.push("reorder(b0, tree, b1)".to_string());
                lines.push("parallel(b0)".to_string());
                lines.extend(copied.then(|| "cache(b0)".to_string()));
                lines.extend(representation);
                lines.extend(tiled.then(|| format!("tileTrees({TILE_NODES})")));
                lines.extend((lanes > 1).then(|| format!("vectorize(b1, {lanes})")));
                lines.extend((together > 1).then(|| format!("interleave(b1, {together})")));
                lines.extend((self.unrolled > 0).then(|| format!("unrollWalk(b1, {})", self.unrolled)));
                lines.extend(self.unroll_and_jam.then(|| "unrollAndJam(tree)".to_string()));
                let speculates = self.layout == Layout::Sparse && lanes > 1;
                lines.extend(speculates.then(|| format!("speculateWalk(b1, {SPECULATED_LEVELS})")));
            }
            VectorForm::Trees { lanes, together } => {
                lines.push("parallel(batch)".to_string());
                lines.extend(self.layout.compares_bins().then(|| "cache(batch)".to_string()));
                lines.extend(representation);
                lines.extend((lanes > 1).then(|| format!("vectorize(tree, {lanes})")));
                lines.extend((together > 1).then(|| format!("interleave(tree, {together})")));
            }
        }
        let layers = self.layers.iter().flat_map(|tile| stages.iter().map(|stage| tile.directives(stage)));
        lines.extend(layers.flatten());
        lines.join("\n") + "\n"
    }

    /// Rows of a vector.
    pub fn vector_rows(&self) -> Option<usize> {
        match self.form {
            VectorForm::Rows { lanes, .. } => Some(lanes as usize),
            VectorForm::Trees { .. } => None,
        }
    }

    /// Whether more than `MOST_LOOKUP_TREES` vectors advance together, whose code may not fit the cache of
    /// instructions.
    pub fn may_exceed_instruction_cache(&self) -> bool {
        match self.form {
            VectorForm::Rows { lanes, together, .. } => lanes > 1 && together > MOST_LOOKUP_TREES,
            VectorForm::Trees { .. } => false,
        }
    }

    /// Candidates that differ in one number or in the layout. Some of them are illegal for some models.
    pub fn neighbours(&self) -> Vec<Candidate> {
        let mut all = Vec::new();
        let around = |n: u32, least: u32, most: u32| {
            [n / 2, n * 2].into_iter().filter(move |other| (least..=most).contains(other))
        };
        match self.form {
            VectorForm::Rows { block, lanes, together, copied, tiled } => {
                let form = |block: u32, lanes: u32, together: u32, copied: bool| {
                    let block = block.max(lanes * together);
                    Candidate { form: VectorForm::Rows { block, lanes, together, copied, tiled }, ..*self }
                };
                let group = lanes * together;
                all.extend(
                    around(block, group, bounds::BLOCK_ROWS)
                        .map(|block| form(block, lanes, together, copied)),
                );
                let widths = around(lanes, bounds::FEWEST_LANES, bounds::MOST_LANES).filter(|_| lanes > 1);
                all.extend(widths.map(|lanes| form(block, lanes, together, copied)));
                all.extend(
                    around(together, 1, bounds::MOST_TOGETHER)
                        .map(|together| form(block, lanes, together, copied)),
                );
                all.extend((!self.layout.compares_bins()).then(|| form(block, lanes, together, !copied)));
                all.push(Candidate {
                    unroll_and_jam: !self.unroll_and_jam && lanes > 1 && together > 1,
                    ..*self
                });
            }
            VectorForm::Trees { lanes, together } => {
                let form =
                    |lanes, together| Candidate { form: VectorForm::Trees { lanes, together }, ..*self };
                all.extend(
                    around(lanes, bounds::FEWEST_LANES, bounds::MOST_LANES)
                        .filter(|_| lanes > 1)
                        .map(|lanes| form(lanes, together)),
                );
                all.extend(
                    around(together, 1, 2 * bounds::MOST_TOGETHER).map(|together| form(lanes, together)),
                );
            }
        }
        all.extend(self.layout.cpu_alternative().map(|layout| Candidate { layout, ..*self }));
        all.retain(|one| one != self);
        all
    }
}
