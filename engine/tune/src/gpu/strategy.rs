//! Strategies: the order in which a search proposes schedules.

use sched_nest::Layout;
use schedc_driver::choice::gpu::candidates::sharing_threads;
use schedc_driver::choice::gpu::shape::{GpuCandidate, MOST_THREADS, ThreadMapping};
use serde::Serialize;

/// A search strategy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Candidates of all forms, then neighbours of the best ones.
    #[default]
    Neighbours,
    /// Algorithm 1 of SilvanForge (SOSP 2024): a grid over its template, then sums in shared memory for the
    /// best three.
    Silvanforge,
}

/// Sizes of a model and of its calls, from which strategies derive the shapes to try.
#[derive(Clone, Copy, Debug)]
pub struct ProblemSize {
    /// Number of rows per call.
    pub rows: usize,
    /// Number of features of a row.
    pub features: usize,
    /// Number of trees of the model.
    pub trees: u32,
    /// Classes to which trees add in turn; 1 if they do not.
    pub classes: u32,
    /// Depth of the deepest tree, in edges.
    pub depth: u32,
}

/// Most steps of a walk as straight-line code. Deeper trees would need too much padding.
const MAX_UNROLLED_STEPS: u32 = 10;

impl ProblemSize {
    /// Steps of a walk as straight-line code, for shapes that have such steps.
    fn unrolled_steps(&self) -> u32 {
        self.depth.min(MAX_UNROLLED_STEPS)
    }
}

/// A schedule with its price: the predicted or measured time of a call.
#[derive(Clone, Copy, Debug)]
pub struct PricedShape {
    /// The schedule.
    pub shape: GpuCandidate,
    /// Microseconds of a call; infinite if it is not legal or cannot be compiled.
    pub us: f64,
}

/// A search in steps. Each step proposes schedules from the results so far.
pub trait ShapeProposer {
    /// The next schedules, given all results so far. An empty list ends the search.
    fn next(&mut self, known: &[PricedShape]) -> Vec<GpuCandidate>;
}

impl Strategy {
    /// The first step of the strategy. `is_timed` says whether a GPU measures the proposed schedules.
    pub fn begin(self, size: ProblemSize, is_timed: bool) -> Box<dyn ShapeProposer> {
        match self {
            Strategy::Neighbours => {
                Box::new(NeighbourSearch { size, is_timed, begun: false, centres: Vec::new() })
            }
            Strategy::Silvanforge => Box::new(Silvanforge { size, phase: 0 }),
        }
    }

    /// The name of the strategy in options and messages.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Neighbours => "neighbours",
            Strategy::Silvanforge => "silvanforge",
        }
    }
}

/// The `count` fastest legal shapes, the fastest first.
fn best(known: &[PricedShape], count: usize) -> Vec<GpuCandidate> {
    let mut all: Vec<&PricedShape> = known.iter().filter(|one| one.us.is_finite()).collect();
    all.sort_by(|a, b| a.us.total_cmp(&b.us));
    all.into_iter().take(count).map(|one| one.shape).collect()
}

/// SilvanForge's algorithm 1.
struct Silvanforge {
    size: ProblemSize,
    phase: u32,
}

/// Rows per call up to which SilvanForge's algorithm tries small blocks and many threads over trees; it also
/// does so above [`MANY_FEATURES`] features.
const SMALL_BATCH: usize = 2048;
const MANY_FEATURES: usize = 128;
/// Number of best schedules that the last step tries with sums in shared memory.
const SHARED_SUM_CANDIDATES: usize = 3;

impl Silvanforge {
    fn grid(&self) -> Vec<GpuCandidate> {
        let small = self.size.rows <= SMALL_BATCH || self.size.features > MANY_FEATURES;
        let (blocks, threads) = if small { ([8, 32], [20, 50]) } else { ([32, 64], [2, 10]) };
        let mut all = Vec::new();
        for (block, trees) in blocks.into_iter().flat_map(|block| threads.map(|trees| (block, trees))) {
            // The algorithm does not fix the rows of a thread. These are the fewest for which the block has
            // threads.
            let Some(rows) = [1, 2, 4].into_iter().find(|rows| block / rows * trees <= MOST_THREADS) else {
                continue;
            };
            let layouts = || Layout::ALL.iter().copied().filter(|layout| layout.is_in_silvanforge());
            let pairs = [1, 2, 4].into_iter().flat_map(|together| layouts().map(move |one| (together, one)));
            for (together, layout) in pairs {
                let form = ThreadMapping::Template { block, rows, trees };
                let unrolled = if together > 1 { self.size.unrolled_steps() } else { 0 };
                all.push(GpuCandidate { form, layout, cached: true, together, unrolled, shared: false });
            }
        }
        all
    }
}

impl ShapeProposer for Silvanforge {
    fn next(&mut self, known: &[PricedShape]) -> Vec<GpuCandidate> {
        self.phase += 1;
        match self.phase {
            1 => self.grid(),
            2 => best(known, SHARED_SUM_CANDIDATES)
                .into_iter()
                .map(|shape| GpuCandidate { shared: true, ..shape })
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// Candidates of all forms, then the neighbours of the best ones.
struct NeighbourSearch {
    size: ProblemSize,
    /// Whether a GPU measures the schedules.
    is_timed: bool,
    begun: bool,
    /// Shapes whose neighbours were proposed.
    centres: Vec<GpuCandidate>,
}

/// Most trees of a group. A block has one thread for each of its rows and each tree of the group.
const MAX_GROUP_TREES: u32 = 32;
/// Fewest rows per call for which blocks of many rows are tried.
const MIN_ROWS_FOR_LARGE_BLOCKS: usize = 128;
/// Most threads of a block with one row, among the first candidates.
const MAX_TREE_THREADS: u32 = 512;
/// Number of best schedules whose neighbours one step proposes.
const CENTRES_PER_STEP: usize = 2;

impl NeighbourSearch {
    /// The layouts to try. The cost model was fitted to no times of layouts that schedc does not choose, so
    /// they are tried only where a GPU measures them.
    fn layouts(&self) -> Vec<Layout> {
        let all = Layout::in_gpu_trial_order().into_iter();
        all.filter(|layout| self.is_timed || layout.trial_position().is_some()).collect()
    }

    /// The first candidates: common mappings, each over all layouts.
    fn candidates(&self) -> Vec<GpuCandidate> {
        let ProblemSize { rows, trees, classes, .. } = self.size;
        let (trees, classes) = (trees.max(1), classes.max(1));
        let threads = sharing_threads((trees, classes), MAX_TREE_THREADS);
        let groups = trees.div_ceil(MAX_GROUP_TREES);
        let plain = GpuCandidate {
            form: ThreadMapping::Trees { threads: (trees > MAX_TREE_THREADS).then_some(threads) },
            layout: Layout::Array,
            cached: true,
            together: 1,
            unrolled: 0,
            shared: true,
        };
        let template =
            |block, threads: u32| ThreadMapping::Template { block, rows: 1, trees: threads.min(trees) };
        let in_step = GpuCandidate { together: 4, unrolled: self.size.unrolled_steps(), ..plain };
        let group = ThreadMapping::Groups { block: 32, trees: trees.div_ceil(groups) };
        let mut shapes = vec![
            GpuCandidate { form: template(8, 50), ..in_step },
            GpuCandidate { form: template(32, 8), ..in_step },
            plain,
            GpuCandidate { form: group, shared: groups == 1, ..plain },
            GpuCandidate { form: template(32, 2), ..in_step },
        ];
        // Small calls fill no large blocks.
        if rows >= MIN_ROWS_FOR_LARGE_BLOCKS {
            shapes.push(GpuCandidate { form: template(64, 10), ..in_step });
            shapes.push(GpuCandidate {
                form: ThreadMapping::Rows { block: 128, rows: 1 },
                shared: false,
                ..plain
            });
        }
        let layouts = self.layouts();
        let with = |shape| layouts.iter().map(move |layout| GpuCandidate { layout: *layout, ..shape });
        let mut all: Vec<GpuCandidate> = shapes.into_iter().flat_map(with).collect();
        if rows >= MIN_ROWS_FOR_LARGE_BLOCKS {
            let four = |block| ThreadMapping::Rows { block, rows: 4 };
            let quantized = GpuCandidate { layout: Layout::Quantized, shared: false, ..plain };
            all.extend([256, 1024].map(|block| GpuCandidate { form: four(block), ..quantized }));
        }
        all
    }
}

impl ShapeProposer for NeighbourSearch {
    fn next(&mut self, known: &[PricedShape]) -> Vec<GpuCandidate> {
        if !self.begun {
            self.begun = true;
            return self.candidates();
        }
        let layouts = self.layouts();
        let of_model = (self.size.trees, self.size.classes.max(1), self.size.unrolled_steps());
        let mut next = Vec::new();
        for centre in best(known, CENTRES_PER_STEP) {
            if !self.centres.contains(&centre) {
                self.centres.push(centre);
                next.extend(centre.neighbours(&layouts, of_model));
            }
        }
        let mut new: Vec<GpuCandidate> = Vec::new();
        for shape in next {
            if !new.contains(&shape) && !known.iter().any(|one| one.shape == shape) {
                new.push(shape);
            }
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const SIZE: ProblemSize = ProblemSize { rows: 1024, features: 28, trees: 100, classes: 1, depth: 8 };

    #[test]
    fn silvanforges_grid_is_that_of_the_paper() {
        let mut steps = Strategy::Silvanforge.begin(SIZE, false);
        let grid = steps.next(&[]);
        assert_eq!(grid.len(), 2 * 2 * 3 * 3);
        assert!(grid.iter().all(|one| one.cached && !one.shared && (one.unrolled > 0) == (one.together > 1)));
        let known: Vec<PricedShape> = grid
            .iter()
            .zip(0..)
            .map(|(shape, us)| PricedShape { shape: *shape, us: f64::from(us) })
            .collect();
        let sums = steps.next(&known);
        assert_eq!(sums, [0, 1, 2].map(|at| GpuCandidate { shared: true, ..grid[at] }));
        assert!(steps.next(&known).is_empty(), "it has two phases");
        let large = Strategy::Silvanforge.begin(ProblemSize { rows: 4096, ..SIZE }, false).next(&[]);
        assert!(
            large
                .iter()
                .all(|one| matches!(one.form, ThreadMapping::Template { block: 32 | 64, trees: 2 | 10, .. }))
        );
        // Many features take small blocks, however many rows there are.
        let wide =
            Strategy::Silvanforge.begin(ProblemSize { rows: 4096, features: 200, ..SIZE }, false).next(&[]);
        assert_eq!(wide, grid);
    }

    #[test]
    fn layouts_without_times_are_tried_where_a_gpu_measures() {
        let layouts = |is_timed| -> BTreeSet<Layout> {
            let first = Strategy::Neighbours.begin(SIZE, is_timed).next(&[]);
            first.into_iter().map(|shape| shape.layout).collect()
        };
        let all: BTreeSet<Layout> = Layout::in_gpu_trial_order().into_iter().collect();
        assert_eq!(layouts(true), all);
        let untimed: Vec<Layout> = all.difference(&layouts(false)).copied().collect();
        assert_eq!(untimed, [Layout::Hybrid]);
    }

    #[test]
    fn threads_that_share_trees_stay_multiples_of_the_classes() {
        let size = ProblemSize { trees: 1400, classes: 7, ..SIZE };
        let first = Strategy::Neighbours.begin(size, false).next(&[]);
        let is_by_tree = |one: &&GpuCandidate| matches!(one.form, ThreadMapping::Trees { .. });
        let by_tree = *first.iter().find(is_by_tree).expect("a block for each row");
        assert_eq!(by_tree.form, ThreadMapping::Trees { threads: Some(350) });
        let near = by_tree.neighbours(&[], (1400, 7, 8));
        let threads: BTreeSet<u32> = near
            .iter()
            .filter_map(|one| match one.form {
                ThreadMapping::Trees { threads } => threads,
                _ => None,
            })
            .collect();
        assert_eq!(threads, BTreeSet::from([175, 350, 700]));
        let odd = GpuCandidate { form: ThreadMapping::FewRows { block: 2, threads: 175 }, ..by_tree };
        let rounds_down = |one: &GpuCandidate| one.form == ThreadMapping::FewRows { block: 2, threads: 84 };
        assert!(odd.neighbours(&[], (1400, 7, 8)).iter().any(rounds_down));
    }

    #[test]
    fn neighbours_end_where_none_is_new() {
        let mut steps = Strategy::Neighbours.begin(SIZE, false);
        let mut known: Vec<PricedShape> = Vec::new();
        // The best one has blocks of 512 rows: it is two steps from a candidate.
        let us = |shape: &GpuCandidate| match shape.form {
            ThreadMapping::Rows { block, rows: 1 } if shape.layout == Layout::Array => {
                f64::from(block.abs_diff(512))
            }
            _ => 1e6,
        };
        for _ in 0..20 {
            let next = steps.next(&known);
            if next.is_empty() {
                break;
            }
            known.extend(next.into_iter().map(|shape| PricedShape { shape, us: us(&shape) }));
        }
        assert!(steps.next(&known).is_empty());
        assert_eq!(best(&known, 1)[0].form, ThreadMapping::Rows { block: 512, rows: 1 });
        let unique = known
            .iter()
            .enumerate()
            .all(|(at, one)| known[..at].iter().all(|other| other.shape != one.shape));
        assert!(unique, "nothing is looked at twice");
    }
}
