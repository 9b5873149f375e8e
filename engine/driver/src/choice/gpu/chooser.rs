//! The choice among schedules for GPUs.

use super::groups::Groups;
use super::texts::{Layouts, plain, text};
use crate::model::Model;
use sched_forest::SetTests;
use sched_ir::quantize::QuantizedRows;
use sched_lang::device::Limits;
use sched_lang::{Options, Supported, Target, check};
use sched_nest::{Accumulation, ModelInfo, Variants};
use std::sync::Arc;

/// Rows per multiprocessor below which trees are distributed over threads, too. With fewer rows, threads
/// would be idle; with more, the reduction that this adds would cost more than it gains.
const FEW_ROWS: u32 = 128;
/// Rows per multiprocessor below which blocks are small. Larger blocks would then leave multiprocessors idle.
const SEVERAL_ROWS: u32 = 1024;
/// Number of columns whose quantization costs about as much as bins save in the walk of one tree.
const COLUMNS_PER_TREE: u32 = 2;

/// Fast schedules for a model on a GPU, by the number of rows.
pub fn chosen_for(model: &Model, target: &Target) -> Variants<String> {
    let bins = model.forests().tested(SetTests::OfColumns).quantized_rows();
    chosen(&model.facts(), bins.as_ref(), target)
}

/// Fast schedules for a model with these properties, by the number of rows. `bins` is the form of its
/// quantized rows, if it has one.
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

/// The inputs of the checks that decide whether a schedule is chosen.
struct TryOut<'a> {
    facts: Arc<ModelInfo>,
    target: &'a Target,
}

impl TryOut<'_> {
    /// The first schedule that is legal and adds trees in the model's order.
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

/// Whether quantizing rows pays: bins are bytes, and the model has enough trees to outweigh the search of
/// bins.
fn pays_to_quantize(model: &ModelInfo, bins: &QuantizedRows) -> bool {
    bins.in_bytes && bins.columns / COLUMNS_PER_TREE <= model.num_trees
}
