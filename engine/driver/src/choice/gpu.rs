//! The schedules that are used on GPUs where none is given.
//!
//! A kernel is limited by the words that shared memory delivers: a step of a walk reads a node and a value of its row. So
//! the best is what reads the fewest: bins instead of values, and four rows for one node (docs/gpu.md counts them). The
//! possibilities stand in that order, and the first one is taken that is legal, which says also that it fits the memory of
//! a block, and adds trees in the model's order: a row's result is then the same in calls of all sizes.
//!
//! Where rows alone give too few multiprocessors work, trees are blocks and threads, too (`gpu/groups.rs`).

mod groups;
mod price;

pub use price::Pricer;

use crate::model::Model;
use groups::Groups;
use sched_forest::SetTests;
use sched_ir::quantize::{BinMap, QuantizedRows};
use sched_lang::device::Limits;
use sched_lang::{Options, Supported, Target, check};
use sched_nest::{Accumulation, ModelInfo, Variants};
use std::sync::Arc;

/// Deepest trees that are padded to complete ones.
const COMPLETE_LIMIT: u32 = 10;
/// Most threads of a block over trees.
const TREE_THREADS: u32 = 512;
/// Small-batch limit: the rows of a block that each multiprocessor has one of, where trees are in threads, too, below that.
const FEW_ROWS: u32 = 128;
/// Small-batch limit: the rows of such a block where smaller blocks are taken below that.
const SEVERAL_ROWS: u32 = 1024;

/// Good schedules for a model that was read, by the number of rows.
pub fn chosen_for(model: &Model, target: &Target) -> Variants<String> {
    let bins = BinMap::rows_of(&model.forest, SetTests::OfColumns);
    chosen(&model.facts(), bins.as_ref(), target)
}

/// Good schedules for a model, by the number of rows.
pub fn chosen(model: &ModelInfo, bins: Option<&QuantizedRows>, target: &Target) -> Variants<String> {
    let try_out = TryOut { facts: Arc::new(model.clone()), target };
    let quantized = bins.is_some_and(|bins| pays_to_quantize(model, bins));
    let layouts = Layouts::of(model, quantized);
    let words = [1024, 512, 256, 128].into_iter().filter_map(|rows| layouts.four_rows(rows));
    let many = words.chain([256, 128, 64].into_iter().flat_map(|rows| layouts.rows(rows)));
    let mut chosen = Variants::only(try_out.first(many).unwrap_or_else(|| text(plain(256))));
    let mut insert = |max_rows: u32, schedule: Option<String>| {
        if let Some(schedule) = schedule {
            let _kept = chosen.insert(max_rows, schedule);
        }
    };
    let multiprocessors = Limits::of(target).gpu.multiprocessors;
    let few = multiprocessors * FEW_ROWS;
    insert(
        multiprocessors * SEVERAL_ROWS,
        try_out.first([128, 64].into_iter().flat_map(|rows| layouts.rows(rows))),
    );
    let groups = Groups::of(model, multiprocessors);
    let above = groups.pay_above().filter(|rows| *rows < few);
    let grouped = above.zip(try_out.first(groups.schedules(&layouts)));
    let by_row = grouped.as_ref().map_or(few, |(above, _)| *above);
    insert(few, grouped.map(|(_, schedule)| schedule));
    if by_row > 0 {
        insert(by_row, try_out.first(layouts.trees(model)));
    }
    chosen
}

/// What decides whether a schedule can be taken.
struct TryOut<'a> {
    facts: Arc<ModelInfo>,
    target: &'a Target,
}

impl TryOut<'_> {
    /// The first one that is legal and adds in the model's order.
    fn first(&self, candidates: impl IntoIterator<Item = Vec<String>>) -> Option<String> {
        candidates.into_iter().map(text).find(|schedule| self.is_good(schedule))
    }

    fn is_good(&self, schedule: &str) -> bool {
        let options = Options {
            model: Some(Arc::clone(&self.facts)),
            target: Some(self.target.clone()),
            supported: Supported::Compilable,
            ..Options::default()
        };
        let nests = check(schedule, &options).nests;
        nests.is_some_and(|nests| nests.rest().accumulation == Accumulation::Exact)
    }
}

/// The layouts that are worth a try.
struct Layouts {
    /// Of bins, the best first.
    of_bins: Vec<&'static str>,
    complete: bool,
}

impl Layouts {
    fn of(model: &ModelInfo, quantized: bool) -> Layouts {
        let complete = model.max_depth() <= COMPLETE_LIMIT;
        let of_bins = match (quantized, complete) {
            (false, _) => vec![],
            (true, false) => vec!["preorder"],
            (true, true) => vec!["quantized", "preorder"],
        };
        Layouts { of_bins, complete }
    }

    /// Four rows for each thread, whose bins are the bytes of a word.
    fn four_rows(&self, rows: u32) -> Option<Vec<String>> {
        let quantized = self.of_bins.first().filter(|layout| **layout == "quantized")?;
        Some(lines([
            format!("tile(batch, b0, r, {rows})"),
            "tile(r, b1, b2, 4)".to_string(),
            "reorder(b0, b1, tree, b2)".to_string(),
            "gpuDimension(b0, grid.x)".to_string(),
            "gpuDimension(b1, block.x)".to_string(),
            "cache(b0)".to_string(),
            format!("representation({quantized})"),
            "vectorize(b2, 4)".to_string(),
        ]))
    }

    /// A row for each thread.
    fn rows(&self, rows: u32) -> Vec<Vec<String>> {
        let layouts = self.of_bins.iter().map(|layout| format!("representation({layout})"));
        let with = |more: Vec<String>| plain(rows).into_iter().chain(more).collect::<Vec<_>>();
        let cached = || "cache(b0)".to_string();
        let sparse = || "representation(sparse)".to_string();
        let mut all: Vec<Vec<String>> = layouts.map(|layout| with(vec![cached(), layout])).collect();
        if self.complete {
            all.push(with(vec![cached()]));
        }
        all.push(with(vec![cached(), sparse()]));
        all.push(with(vec![sparse()]));
        all
    }

    /// A block for each row, whose threads walk a tree each.
    fn trees(&self, model: &ModelInfo) -> Vec<Vec<String>> {
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
            all.extend(self.of_bins.iter().map(|layout| with(Some(format!("representation({layout})")))));
            all.push(with((!self.complete).then(|| "representation(sparse)".to_string())));
        }
        all
    }
}

/// A row for each thread, which walks all trees.
fn plain(rows: u32) -> Vec<String> {
    lines([
        format!("tile(batch, b0, b1, {rows})"),
        "gpuDimension(b0, grid.x)".to_string(),
        "gpuDimension(b1, block.x)".to_string(),
    ])
}

fn lines<const N: usize>(lines: [String; N]) -> Vec<String> {
    lines.to_vec()
}

/// Quantizing this many columns costs what walking one tree by bins saves.
const COLUMNS_PER_TREE: u32 = 2;

/// Whether quantizing rows pays: bins are bytes, and there are enough trees to make up for finding them.
fn pays_to_quantize(model: &ModelInfo, bins: &QuantizedRows) -> bool {
    bins.in_bytes && bins.columns / COLUMNS_PER_TREE <= model.num_trees
}

fn text(lines: Vec<String>) -> String {
    lines.join("\n") + "\n"
}
