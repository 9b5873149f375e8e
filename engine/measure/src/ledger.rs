//! The ledger of a schedule: for each directive the gain when it is added and the loss when it is removed,
//! and the times with other numbers. The plain nest and the schedule that schedc chooses are timed with them.

mod advice;
mod entrants;
mod plan;
mod question;
mod ranking;
mod table;

pub use question::{NumberSweep, Question, Subject, SweepNumber};
pub use table::{
    Ablation, Advice, Baselines, DirectiveEffect, Ledger, LedgerTable, MeasuredTime, PredictedAdvice,
    PredictedTable, PrefixLine, SweepValue, ValueSweep,
};

use crate::calls::Workload;
use crate::race::{RaceLimits, RaceProgress, Timing, race};
use crate::rows::OrderedRows;
use entrants::Entrants;
use plan::{EntrantTimes, TablePlan};
use sched_lang::variations::Variations;
use schedc_driver::{Failure, RowMemory};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Rows per call for a schedule outside of all blocks, if the user gives no number.
const DEFAULT_BATCH: usize = 1024;

/// The experiments of a ledger, with their compiled code. All code is compiled before the first timing.
pub struct LedgerExperiments {
    /// The schedule that schedc chooses.
    pub chosen: String,
    plans: Vec<TablePlan>,
    entrants: Entrants,
}

impl LedgerExperiments {
    /// Plans the experiments of a question, and compiles their code. Skips variations that the cost model
    /// predicts to be clearly slower.
    ///
    /// # Errors
    ///
    /// When the question names a number that the schedule lacks.
    pub fn new(subject: &Subject, question: &Question) -> Result<LedgerExperiments, Failure> {
        let mut prepared = LedgerExperiments::without_code(subject, question)?;
        let all = prepared.plans.iter().map(|plan| plan.surely_slower(&prepared.entrants));
        let slower = all.flatten().collect();
        let wanted: BTreeSet<usize> = prepared.plans.iter().flat_map(TablePlan::requested_entrants).collect();
        let but: BTreeSet<usize> = BTreeSet::difference(&slower, &wanted).copied().collect();
        prepared.entrants.compile(subject.model, subject.cpu, &but);
        Ok(prepared)
    }

    /// Plans the experiments without compiling them. If the question asks for advice, the cost model prices
    /// them.
    ///
    /// # Errors
    ///
    /// When the question names a number that the schedule lacks.
    pub fn without_code(subject: &Subject, question: &Question) -> Result<LedgerExperiments, Failure> {
        let options = subject.options();
        let variations = Variations::new(&subject.source.text, &options);
        let chosen = subject.chosen();
        let mut entrants = Entrants::default();
        let mut plans = Vec::new();
        for (schedule, batch) in measuring_points(&variations, &question.batches) {
            let plan = plan::PlanMaker {
                subject,
                variations: &variations,
                chosen: &chosen,
                entrants: &mut entrants,
            };
            plans.push(plan.make(schedule, batch, question)?);
        }
        if let (Some(threads), [plan, ..]) = (question.advice_threads, plans.as_slice()) {
            entrants.predict(subject.model, subject.cpu, (plan.batch, threads));
        }
        Ok(LedgerExperiments { chosen: chosen.text, plans, entrants })
    }

    /// The cost model's advice for each plan of the schedule.
    pub fn predicted(&self) -> Vec<PredictedTable> {
        self.plans.iter().map(|plan| plan.predicted(&self.entrants)).collect()
    }

    /// Rows of the largest call.
    pub fn largest_batch(&self) -> usize {
        self.plans.iter().map(|plan| plan.batch).max().unwrap_or(1)
    }

    /// The number of races for these numbers of threads; each race has its own budget.
    pub fn races(&self, threads: &[i32]) -> usize {
        self.plans.len() * threads.len()
    }

    /// Times all experiments.
    ///
    /// # Errors
    ///
    /// When a call fails.
    pub fn time(
        &self,
        rows: &OrderedRows,
        threads: &[i32],
        limits: &RaceLimits,
        watch: &mut dyn FnMut(&RaceProgress) -> ControlFlow<()>,
    ) -> Result<Vec<LedgerTable>, Failure> {
        let mut tables = Vec::new();
        for &threads in threads {
            for plan in &self.plans {
                let workload = Workload { rows, batch: plan.batch, threads, rows_in: RowMemory::Host };
                let mut race = |entrants: &[usize], limits: &RaceLimits| -> Result<EntrantTimes, Failure> {
                    let (numbers, contenders) = self.entrants.contenders(entrants);
                    let timings = race(&contenders, &workload, limits, watch)?;
                    Ok(numbers.into_iter().zip(timings.iter().map(Timing::quartiles)).collect())
                };
                let times = race(&plan.entrants(), limits)?;
                let mut table = plan.table(threads, &self.entrants, &times);
                let finalists = plan.finalists(&times);
                if finalists.len() > 1 {
                    let limits =
                        RaceLimits { max_samples: 2 * limits.max_samples, drop_out_ratio: None, ..*limits };
                    table.advice = plan.advice(&self.entrants, &race(&finalists, &limits)?);
                }
                tables.push(table);
            }
        }
        Ok(tables)
    }
}

/// The schedules of a text, each with the rows per call at which it is timed.
fn measuring_points(variations: &Variations, batches: &[usize]) -> Vec<(usize, usize)> {
    let most =
        |schedule| variations.max_rows(schedule).map(|rows| usize::try_from(rows).unwrap_or(usize::MAX));
    if batches.is_empty() {
        return (0..variations.schedule_count())
            .map(|schedule| (schedule, most(schedule).unwrap_or(DEFAULT_BATCH)))
            .collect();
    }
    let serving = |rows: usize| {
        let bounded = (1..variations.schedule_count())
            .filter(|schedule| most(*schedule).is_some_and(|most| rows <= most));
        bounded.min_by_key(|schedule| most(*schedule)).unwrap_or(0)
    };
    batches.iter().map(|rows| (serving(*rows), *rows)).collect()
}
