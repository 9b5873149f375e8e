//! The schedules that are compared for a model on a GPU.
//!
//! On an H100, each came near the fastest schedule of some call size (docs/gpu/speed.md): rows in threads,
//! trees in threads, or both. If both are, the block adds up the slots of the trees in order.

use super::shape::{GpuCandidate, ThreadMapping};
use sched_ir::quantize::QuantizedRows;
use sched_nest::{Layout, ModelInfo, Nodes};

/// Deepest trees, in levels, that are padded to complete ones. Each level more doubles the nodes, and saves
/// the loads of child indices.
const MOST_COMPLETE_LEVELS: u32 = 10;
/// Deepest trees, in levels, that are padded to complete ones if their nodes are quantized. Such nodes take a
/// quarter of the bytes, so that deeper trees fit.
const MOST_QUANTIZED_LEVELS: u32 = 16;
/// Most columns per tree for which quantized layouts are tried: quantizing this many columns takes the time
/// that walking one tree by bins saves.
const COLUMNS_PER_TREE: u32 = 2;
/// Numbers of threads of a block to try if each thread walks all trees with one row.
const BLOCK_SIZES: [u32; 3] = [64, 128, 256];
/// Rows of a block if each thread walks all trees with four rows: the block is one warp. Larger blocks were
/// up to twice as slow on an H100.
const FOUR_ROWS_BLOCK: u32 = 128;
/// Most threads of a block that has one row. The threads share the trees.
const MOST_THREADS_OF_A_ROW: u32 = 512;
/// Number of trees that a thread walks interleaved.
const TOGETHER: u32 = 4;
/// Numbers of threads to try for the trees of one row, in blocks whose threads share both rows and trees.
const TREE_THREADS: [u32; 3] = [8, 16, 32];

/// The layouts that are tried for a model.
#[derive(Clone, Debug)]
pub struct Layouts {
    /// Layouts for threads that walk all trees with one row.
    of_rows: Vec<Layout>,
    /// Layouts for threads that share the trees of a row.
    of_trees: Vec<Layout>,
    /// The layout for threads that walk all trees with four rows, whose bins share a word.
    of_four: Option<Layout>,
}

impl Layouts {
    /// The layouts for a model whose quantized rows have the form `bins`, if they have one.
    pub fn of(model: &ModelInfo, bins: Option<&QuantizedRows>) -> Layouts {
        let quantized = bins.is_some_and(|bins| bins.columns / COLUMNS_PER_TREE <= model.num_trees);
        let depth = model.max_depth();
        let suits = |layout: &Layout| {
            let levels = if layout.compares_bins() { MOST_QUANTIZED_LEVELS } else { MOST_COMPLETE_LEVELS };
            layout.gpu_trial_position().is_some()
                && (quantized || !layout.compares_bins())
                && (layout.nodes() == Nodes::Existing || depth <= levels)
        };
        let of_trees: Vec<Layout> = Layout::in_trial_order().into_iter().filter(suits).collect();
        let of_rows = of_trees.iter().copied().filter(|layout| !layout.has_adjacent_trees()).collect();
        let bytes = bins.is_some_and(|bins| bins.in_bytes);
        let of_four = of_trees.iter().copied().find(|layout| bytes && layout.gpu_lanes() == 4);
        Layouts { of_rows, of_trees, of_four }
    }
}

/// The schedules to compare for a model.
pub fn candidates(model: &ModelInfo, layouts: &Layouts) -> Vec<GpuCandidate> {
    let mut all = Vec::new();
    let plain =
        |form, layout| GpuCandidate { form, layout, cached: true, together: 1, unrolled: 0, shared: false };
    let of_model = (model.num_trees, classes_in_turn(model));
    let threads = TREE_THREADS.map(|threads| divisor(of_model, threads));
    for layout in layouts.of_trees.iter().copied() {
        for threads in [None, Some(sharing_threads(of_model, MOST_THREADS_OF_A_ROW))] {
            all.push(GpuCandidate { shared: true, ..plain(ThreadMapping::Trees { threads }, layout) });
        }
        for (block, most) in [(1, 256), (2, 128), (2, 512), (4, 128), (4, 256)] {
            let threads = sharing_threads(of_model, most.min(model.num_trees));
            all.push(GpuCandidate {
                shared: true,
                ..plain(ThreadMapping::FewRows { block, threads }, layout)
            });
        }
    }
    for layout in layouts.of_rows.iter().copied() {
        for block in BLOCK_SIZES {
            let rows = plain(ThreadMapping::Rows { block, rows: 1 }, layout);
            all.push(rows);
            if layout == Layout::Array && model.num_trees >= TOGETHER {
                all.push(GpuCandidate { together: TOGETHER, ..rows });
            }
            if !layout.compares_bins() {
                all.push(GpuCandidate { cached: false, ..rows });
            }
            all.extend([10, 25].map(|trees| plain(ThreadMapping::Pieces { block, trees }, layout)));
        }
        for trees in threads {
            let shared = |block| GpuCandidate {
                shared: true,
                ..plain(ThreadMapping::Slots { block, rows: 1, trees }, layout)
            };
            all.extend([32, 64, 128].map(shared));
            let groups = |block| {
                let shared = trees >= model.num_trees;
                GpuCandidate { shared, ..plain(ThreadMapping::Groups { block, trees }, layout) }
            };
            all.extend([32, 64].map(groups));
        }
    }
    if let Some(layout) = layouts.of_four {
        all.push(plain(ThreadMapping::Rows { block: FOUR_ROWS_BLOCK, rows: 4 }, layout));
        for block in BLOCK_SIZES {
            let slots = |trees| GpuCandidate {
                shared: true,
                ..plain(ThreadMapping::Slots { block, rows: 4, trees }, layout)
            };
            all.extend(threads.map(slots));
        }
    }
    all
}

/// Classes to which trees add in turn; 1 if they do not. If a multiple of this number of threads share trees,
/// all trees of a thread add to one class.
pub fn classes_in_turn(model: &ModelInfo) -> u32 {
    if model.takes_margins_in_turn { model.num_classes.max(1) } else { 1 }
}

/// The largest divisor of a number of trees in `most / 2..=most`, so that no tile is partial; else `most`. If
/// trees add to at most `most` classes in turn, the largest multiple of the classes that is such a divisor;
/// else their largest multiple.
fn divisor((trees, classes): (u32, u32), most: u32) -> u32 {
    let classes = if classes <= most { classes } else { 1 };
    let multiple = most / classes * classes;
    let multiples = (most.div_ceil(2)..=multiple).rev().step_by(classes as usize);
    multiples.into_iter().find(|threads| trees.is_multiple_of(*threads)).unwrap_or(multiple)
}

/// Threads that share `trees` trees: `most`. If these trees add to at most `most` classes in turn, a multiple
/// of the classes, and if possible a divisor of the trees.
pub fn sharing_threads((trees, classes): (u32, u32), most: u32) -> u32 {
    if (2..=most).contains(&classes) { divisor((trees, classes), most) } else { most }
}

#[cfg(test)]
mod tests {
    use super::{divisor, sharing_threads};

    #[test]
    fn tiles_are_whole_where_a_divisor_is_near() {
        assert_eq!([8, 16, 32].map(|most| divisor((100, 1), most)), [5, 10, 25]);
        assert_eq!([8, 16, 32].map(|most| divisor((800, 1), most)), [8, 16, 32]);
        assert_eq!([8, 16, 32].map(|most| divisor((101, 1), most)), [8, 16, 32], "a prime has none");
    }

    #[test]
    fn threads_are_multiples_of_the_classes() {
        let of = |trees, classes| [8, 16, 32].map(|most| divisor((trees, classes), most));
        assert_eq!(of(800, 8), [8, 16, 32]);
        assert_eq!(of(700, 7), [7, 14, 28]);
        assert_eq!(of(707, 7), [7, 14, 28], "no multiple divides 101 rounds");
        assert_eq!(of(720, 12), [8, 12, 24], "eight threads cannot share twelve classes");
        assert_eq!(of(1000, 100), [8, 10, 25]);
    }

    #[test]
    fn only_classes_in_turn_limit_the_threads_of_a_few_rows() {
        let of = |trees, classes| [128, 256, 512].map(|most| sharing_threads((trees, classes), most));
        assert_eq!(of(700, 1), [128, 256, 512]);
        assert_eq!(of(700, 7), [70, 175, 350]);
        assert_eq!(of(707, 7), [126, 252, 511]);
        assert_eq!(of(1000, 200), [128, 200, 400]);
    }
}
