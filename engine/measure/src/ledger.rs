//! The ledger of a schedule: for each directive the gain when it is added and the loss when it is removed,
//! and the effect of other numbers. The plain nest and schedc's own choice run beside all of them.

mod advice;
mod entrants;
mod plan;
mod ranking;
mod table;

pub use table::{
    Ablation, Advice, Baselines, Figure, Ledger, Predicted, PredictedAdvice, PrefixLine, State, Sweep, Table,
    Tried,
};

use crate::race::{Progress, Rule, Timing, Workload, race};
use crate::rows::Ordered;
use entrants::Entrants;
use plan::{Plan, Times};
use sched_lang::variations::Variations;
use sched_lang::{Options, Supported, Target};
use sched_llvm::Cpu;
use schedc_driver::{CodeDestination, Failure, Model, ScheduleValues, Source};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Rows per call for a schedule outside of all blocks, if the user gives no number.
const ROWS: usize = 1024;

/// The experiments of a ledger.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Whether to time the nest after each directive, for the directive's gain.
    pub prefixes: bool,
    /// Whether to time the schedule without each directive, for the loss.
    pub ablations: bool,
    /// Threads of the calls for which to search better directives; `None` for no search.
    pub advice: Option<usize>,
    /// Numbers of the schedule to replace by others.
    pub sweeps: Vec<NumberSweep>,
    /// Rows per call; if empty, one size that suits each schedule of the text.
    pub batches: Vec<usize>,
}

/// A number of the schedule, and values to try in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberSweep {
    /// The number to replace.
    pub number: SweepNumber,
    /// The values to try; if empty, values near the present one.
    pub values: Vec<i64>,
}

/// A number of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweepNumber {
    /// The value of a param.
    Param(String),
    /// The number at a line and a column, both from 1.
    At(usize, usize),
}

/// A schedule with its model, its target and its processor.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The model, for the type of the rows.
    pub model: &'a Model,
    /// The schedule, which has no errors.
    pub source: &'a Source,
    /// Values of params and properties from the command line.
    pub values: &'a ScheduleValues,
    /// The target of its code.
    pub target: &'a Target,
    /// The processor.
    pub cpu: Cpu,
}

impl Subject<'_> {
    fn options(&self) -> Options {
        let options = Source::options(Some(self.model), self.values);
        Options { supported: Supported::Compilable, target: Some(self.target.clone()), ..options }
    }

    /// The schedule that schedc chooses.
    fn chosen(&self) -> Source {
        Source::chosen_for(self.model, Some(self.target), self.cpu, CodeDestination::Artefact)
    }
}

/// The compiled code for a question. All code is compiled before the first timing.
pub struct Prepared {
    /// The schedule that schedc chooses.
    pub chosen: String,
    plans: Vec<Plan>,
    entrants: Entrants,
}

impl Prepared {
    /// Compiles all code that a question needs. Skips advice that the cost model predicts to be clearly
    /// slower.
    ///
    /// # Errors
    ///
    /// When the question names a number that the schedule lacks.
    pub fn new(subject: &Subject, question: &Question) -> Result<Prepared, Failure> {
        let mut prepared = Prepared::without_code(subject, question)?;
        let all = prepared.plans.iter().map(|plan| plan.surely_slower(&prepared.entrants));
        let slower = all.flatten().collect();
        let wanted: BTreeSet<usize> = prepared.plans.iter().flat_map(Plan::needed).collect();
        let but: BTreeSet<usize> = BTreeSet::difference(&slower, &wanted).copied().collect();
        prepared.entrants.compile(subject.model, subject.cpu, &but);
        Ok(prepared)
    }

    /// Plans the experiments without compiling; with advice, the cost model prices them.
    ///
    /// # Errors
    ///
    /// When the question names a number that the schedule lacks.
    pub fn without_code(subject: &Subject, question: &Question) -> Result<Prepared, Failure> {
        let options = subject.options();
        let variations = Variations::new(&subject.source.text, &options);
        let chosen = subject.chosen();
        let mut entrants = Entrants::default();
        let mut plans = Vec::new();
        for (schedule, batch) in points(&variations, &question.batches) {
            let plan =
                plan::Maker { subject, variations: &variations, chosen: &chosen, entrants: &mut entrants };
            plans.push(plan.make(schedule, batch, question)?);
        }
        if let (Some(threads), [plan, ..]) = (question.advice, plans.as_slice()) {
            entrants.predict(subject.model, subject.cpu, (plan.batch, threads));
        }
        Ok(Prepared { chosen: chosen.text, plans, entrants })
    }

    /// The cost model's advice for each plan of the schedule.
    pub fn predicted(&self) -> Vec<Predicted> {
        self.plans.iter().map(|plan| plan.predicted(&self.entrants)).collect()
    }

    /// Rows of the largest call.
    pub fn largest_call(&self) -> usize {
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
        rows: &Ordered,
        threads: &[i32],
        rule: &Rule,
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Vec<Table>, Failure> {
        let mut tables = Vec::new();
        for &threads in threads {
            for plan in &self.plans {
                let workload = Workload { rows, batch: plan.batch, threads };
                let mut race = |entrants: &[usize], rule: &Rule| -> Result<Times, Failure> {
                    let (numbers, contenders) = self.entrants.contenders(entrants);
                    let timings = race(&contenders, &workload, rule, watch)?;
                    Ok(numbers.into_iter().zip(timings.iter().map(Timing::quartiles)).collect())
                };
                let times = race(&plan.entrants(), rule)?;
                let mut table = plan.table(threads, &self.entrants, &times);
                let finalists = plan.finalists(&times);
                if finalists.len() > 1 {
                    let rule = Rule { samples: 2 * rule.samples, behind: None, ..*rule };
                    table.advice = plan.advice(&self.entrants, &race(&finalists, &rule)?);
                }
                tables.push(table);
            }
        }
        Ok(tables)
    }
}

/// The schedules of a text, each with the rows per call at which it is timed.
fn points(variations: &Variations, batches: &[usize]) -> Vec<(usize, usize)> {
    let most =
        |schedule| variations.max_rows(schedule).map(|rows| usize::try_from(rows).unwrap_or(usize::MAX));
    if batches.is_empty() {
        return (0..variations.schedules())
            .map(|schedule| (schedule, most(schedule).unwrap_or(ROWS)))
            .collect();
    }
    let serving = |rows: usize| {
        let bounded =
            (1..variations.schedules()).filter(|schedule| most(*schedule).is_some_and(|most| rows <= most));
        bounded.min_by_key(|schedule| most(*schedule)).unwrap_or(0)
    };
    batches.iter().map(|rows| (serving(*rows), *rows)).collect()
}
