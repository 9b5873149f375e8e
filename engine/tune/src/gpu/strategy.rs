//! Strategies: the order in which a search proposes schedules.

use sched_nest::Layout;
use schedc_driver::choice::gpu::shape::{Form, MOST_THREADS, Shape};
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
pub struct Setting {
    /// Number of rows per call.
    pub rows: usize,
    /// Number of features of a row.
    pub features: usize,
    /// Number of trees of the model.
    pub trees: u32,
    /// Depth of the deepest tree, in edges.
    pub depth: u32,
}

/// Most steps of a walk as straight-line code. Deeper trees would need too much padding.
const UNROLLED: u32 = 10;

impl Setting {
    /// Steps of a walk as straight-line code, for shapes that have such steps.
    fn unrolled(&self) -> u32 {
        self.depth.min(UNROLLED)
    }
}

/// A schedule with its price: the predicted or measured time of a call.
#[derive(Clone, Copy, Debug)]
pub struct PricedShape {
    /// The schedule.
    pub shape: Shape,
    /// Microseconds of a call; infinite if it is not legal or cannot be compiled.
    pub us: f64,
}

/// A search in steps. Each step proposes schedules from the results so far.
pub trait Steps {
    /// The next schedules, given all results so far. An empty list ends the search.
    fn next(&mut self, known: &[PricedShape]) -> Vec<Shape>;
}

impl Strategy {
    /// The first step of the strategy.
    pub fn begin(self, setting: Setting) -> Box<dyn Steps> {
        match self {
            Strategy::Neighbours => Box::new(Neighbours { setting, begun: false, centres: Vec::new() }),
            Strategy::Silvanforge => Box::new(Silvanforge { setting, phase: 0 }),
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
fn best(known: &[PricedShape], count: usize) -> Vec<Shape> {
    let mut all: Vec<&PricedShape> = known.iter().filter(|one| one.us.is_finite()).collect();
    all.sort_by(|a, b| a.us.total_cmp(&b.us));
    all.into_iter().take(count).map(|one| one.shape).collect()
}

/// SilvanForge's algorithm 1.
struct Silvanforge {
    setting: Setting,
    phase: u32,
}

/// Rows per call up to which SilvanForge's algorithm tries small blocks and many threads over trees; it also
/// does so above [`MANY_FEATURES`] features.
const SMALL_BATCH: usize = 2048;
const MANY_FEATURES: usize = 128;
/// Number of best schedules that the last step tries with sums in shared memory.
const TOP: usize = 3;

impl Silvanforge {
    fn grid(&self) -> Vec<Shape> {
        let small = self.setting.rows <= SMALL_BATCH || self.setting.features > MANY_FEATURES;
        let (blocks, threads) = if small { ([8, 32], [20, 50]) } else { ([32, 64], [2, 10]) };
        let mut all = Vec::new();
        for (block, trees) in blocks.into_iter().flat_map(|block| threads.map(|trees| (block, trees))) {
            // The algorithm does not fix the rows of a thread. These are the fewest for which the block has
            // threads.
            let Some(rows) = [1, 2, 4].into_iter().find(|rows| block / rows * trees <= MOST_THREADS) else {
                continue;
            };
            for (together, layout) in [1, 2, 4]
                .into_iter()
                .flat_map(|n| [Layout::Array, Layout::Sparse, Layout::Reorg].map(|l| (n, l)))
            {
                let form = Form::Template { block, rows, trees };
                let unrolled = if together > 1 { self.setting.unrolled() } else { 0 };
                all.push(Shape { form, layout, cached: true, together, unrolled, shared: false });
            }
        }
        all
    }
}

impl Steps for Silvanforge {
    fn next(&mut self, known: &[PricedShape]) -> Vec<Shape> {
        self.phase += 1;
        match self.phase {
            1 => self.grid(),
            2 => best(known, TOP).into_iter().map(|shape| Shape { shared: true, ..shape }).collect(),
            _ => Vec::new(),
        }
    }
}

/// Candidates of all forms, then the neighbours of the best ones.
struct Neighbours {
    setting: Setting,
    begun: bool,
    /// Shapes whose neighbours were proposed.
    centres: Vec<Shape>,
}

/// Layouts to try.
const LAYOUTS: [Layout; 5] =
    [Layout::Quantized, Layout::Array, Layout::Reorg, Layout::Sparse, Layout::Preorder];
/// Most trees of a group. A block has one thread for each of its rows and each tree of the group.
const GROUP: u32 = 32;
/// Fewest rows per call for which blocks of many rows are tried.
const SEVERAL: usize = 128;
/// Most threads of a block with one row, among the first candidates.
const TREE_THREADS: u32 = 512;
/// Number of best schedules whose neighbours one step proposes.
const WIDTH: usize = 2;

impl Neighbours {
    /// The first candidates: common mappings, each over all layouts.
    fn candidates(&self) -> Vec<Shape> {
        let Setting { rows, trees, .. } = self.setting;
        let trees = trees.max(1);
        let groups = trees.div_ceil(GROUP);
        let plain = Shape {
            form: Form::Trees { threads: (trees > TREE_THREADS).then_some(TREE_THREADS) },
            layout: Layout::Array,
            cached: true,
            together: 1,
            unrolled: 0,
            shared: true,
        };
        let template = |block, threads: u32| Form::Template { block, rows: 1, trees: threads.min(trees) };
        let in_step = Shape { together: 4, unrolled: self.setting.unrolled(), ..plain };
        let group = Form::Groups { block: 32, trees: trees.div_ceil(groups) };
        let mut shapes = vec![
            Shape { form: template(8, 50), ..in_step },
            Shape { form: template(32, 8), ..in_step },
            plain,
            Shape { form: group, shared: groups == 1, ..plain },
            Shape { form: template(32, 2), ..in_step },
        ];
        // Small calls fill no large blocks.
        if rows >= SEVERAL {
            shapes.push(Shape { form: template(64, 10), ..in_step });
            shapes.push(Shape { form: Form::Rows { block: 128, rows: 1 }, shared: false, ..plain });
        }
        let with = |shape: Shape| LAYOUTS.map(|layout| Shape { layout, ..shape });
        let mut all: Vec<Shape> = shapes.into_iter().flat_map(with).collect();
        if rows >= SEVERAL {
            let four = |block| Form::Rows { block, rows: 4 };
            let quantized = Shape { layout: Layout::Quantized, shared: false, ..plain };
            all.extend([256, 1024].map(|block| Shape { form: four(block), ..quantized }));
        }
        all
    }
}

impl Steps for Neighbours {
    fn next(&mut self, known: &[PricedShape]) -> Vec<Shape> {
        if !self.begun {
            self.begun = true;
            return self.candidates();
        }
        let mut next = Vec::new();
        for centre in best(known, WIDTH) {
            if !self.centres.contains(&centre) {
                self.centres.push(centre);
                next.extend(centre.neighbours(&LAYOUTS, (self.setting.trees, self.setting.unrolled())));
            }
        }
        let mut new: Vec<Shape> = Vec::new();
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

    const SETTING: Setting = Setting { rows: 1024, features: 28, trees: 100, depth: 8 };

    #[test]
    fn silvanforges_grid_is_that_of_the_paper() {
        let mut steps = Strategy::Silvanforge.begin(SETTING);
        let grid = steps.next(&[]);
        assert_eq!(grid.len(), 2 * 2 * 3 * 3);
        assert!(grid.iter().all(|one| one.cached && !one.shared && (one.unrolled > 0) == (one.together > 1)));
        let known: Vec<PricedShape> = grid
            .iter()
            .zip(0..)
            .map(|(shape, us)| PricedShape { shape: *shape, us: f64::from(us) })
            .collect();
        let sums = steps.next(&known);
        assert_eq!(sums, [0, 1, 2].map(|at| Shape { shared: true, ..grid[at] }));
        assert!(steps.next(&known).is_empty(), "it has two phases");
        let large = Strategy::Silvanforge.begin(Setting { rows: 4096, ..SETTING }).next(&[]);
        assert!(
            large.iter().all(|one| matches!(one.form, Form::Template { block: 32 | 64, trees: 2 | 10, .. }))
        );
        // Many features take small blocks, however many rows there are.
        let wide = Strategy::Silvanforge.begin(Setting { rows: 4096, features: 200, ..SETTING }).next(&[]);
        assert_eq!(wide, grid);
    }

    #[test]
    fn neighbours_end_where_none_is_new() {
        let mut steps = Strategy::Neighbours.begin(SETTING);
        let mut known: Vec<PricedShape> = Vec::new();
        // The best one has blocks of 512 rows: it is two steps from a candidate.
        let us = |shape: &Shape| match shape.form {
            Form::Rows { block, rows: 1 } if shape.layout == Layout::Array => f64::from(block.abs_diff(512)),
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
        assert_eq!(best(&known, 1)[0].form, Form::Rows { block: 512, rows: 1 });
        let unique = known
            .iter()
            .enumerate()
            .all(|(at, one)| known[..at].iter().all(|other| other.shape != one.shape));
        assert!(unique, "nothing is looked at twice");
    }
}
