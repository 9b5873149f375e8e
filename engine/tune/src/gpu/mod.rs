//! The search for GPUs: a strategy proposes schedules, and a GPU times them or the cost model prices them.

mod judge;
pub(crate) mod strategy;

pub use strategy::Strategy;

use crate::field::Watch;
use crate::results::{BestSchedule, SearchResult};
use crate::search::choose_shared;
use crate::state::SearchState;
use crate::task::TuningTask;
use judge::Judge;
use schedc_driver::Failure;
use schedc_driver::choice::gpu::candidates::classes_in_turn;
use schedc_driver::choice::gpu::{Pricer, chosen_for};
use schedc_driver::choice::last_where;
use std::time::{Duration, Instant};
use strategy::ProblemSize;

/// Bisection steps in the search for the number of rows at which one schedule becomes slower than the next.
const BISECTIONS: u32 = 4;

/// Searches the best schedule for each call size.
pub fn search(
    task: &TuningTask,
    state: &mut SearchState,
    watch: &mut Watch,
) -> Result<SearchResult, Failure> {
    if let Some(start) = task.start {
        return Err(Failure::usage(
            format!("the params of {} are not varied for GPUs", start.name),
            "search all schedules with --target gpu in place of -s, or time values of a param by `schedc \
             bench MODEL -s FILE --target gpu --sweep PARAM`",
        ));
    }
    let facts = task.model.info();
    let pricer = Pricer::new(&facts, task.target)?;
    let own = chosen_for(task.model, task.target);
    let began = Instant::now();
    let (mut found, mut near): (SearchResult, Vec<Vec<BestSchedule>>) = Default::default();
    for (number, rows) in task.sizes.iter().enumerate() {
        let until = task.budget.mul_f64((number + 1) as f64 / task.sizes.len() as f64);
        let until = until.max(began.elapsed() + Duration::from_millis(50));
        let size = ProblemSize {
            rows: *rows,
            features: task.model.forest().num_features,
            trees: facts.num_trees,
            classes: classes_in_turn(&facts),
            depth: facts.max_depth(),
        };
        let mut judge = Judge::new(task, &pricer, *rows, (began, until), state);
        let mut steps = task.gpu.strategy.begin(size, task.gpu.is_timed());
        judge.begin(own.for_rows(*rows), watch)?;
        loop {
            let next = steps.next(judge.priced_shapes());
            if next.is_empty() || judge.is_over() {
                break;
            }
            judge.price_shapes(&next, watch)?;
        }
        near.push(judge.end(state, watch)?);
        if judge.ended {
            found.ended_early = true;
            break;
        }
    }
    found.best = choose_shared(near);
    found.bounds = found.best.windows(2).map(|pair| bound(task, &pricer, pair)).collect();
    Ok(found)
}

/// The approximate largest number of rows for which the first of two schedules is better.
fn bound(task: &TuningTask, pricer: &Pricer, pair: &[BestSchedule]) -> usize {
    let [few, many] = pair else { return 0 };
    if few.schedule == many.schedule {
        return few.rows;
    }
    let cost = |best: &BestSchedule, rows: usize| {
        let nest = judge::legal_nest(task, &best.schedule, rows)?;
        Some(pricer.price(&nest, rows as u64)?.us)
    };
    let (low, high) = (few.rows as f64, many.rows as f64);
    let step = |at: usize| (low * (high / low).powf(at as f64 / f64::from(1 << BISECTIONS))) as usize;
    let is_better = |at: usize| match (cost(few, step(at)), cost(many, step(at))) {
        (Some(few), Some(many)) => few <= many,
        _ => at < 1 << (BISECTIONS - 1),
    };
    step(last_where((0, 1 << BISECTIONS), is_better))
}
