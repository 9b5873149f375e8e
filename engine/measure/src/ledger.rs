//! The ledger of a schedule: what each of its directives gains where it stands, what is lost without it, and what other
//! numbers in it would do, always beside the plain nest and the schedule that schedc chooses.

mod advice;
mod entrants;
mod plan;
mod ranking;
mod table;

pub use table::{
    Ablation, Advice, Baselines, Figure, Ledger, Line, Predicted, PredictedAdvice, State, Sweep, Table, Tried,
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

/// Rows of a call of a schedule that is for calls of any number.
const ROWS: usize = 1024;

/// What is to be found out.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// What each directive gains where it stands.
    pub prefixes: bool,
    /// What is lost without each directive.
    pub ablations: bool,
    /// What the schedule could say instead, for calls on so many threads.
    pub advice: Option<usize>,
    /// Numbers to try others in place of.
    pub sweeps: Vec<NumberSweep>,
    /// Rows per call; none stand for one size that suits each schedule of the text.
    pub batches: Vec<usize>,
}

/// A number, and what to try in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberSweep {
    /// Which number.
    pub number: SweepNumber,
    /// The values; none stand for those near its own.
    pub values: Vec<i64>,
}

/// A number of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweepNumber {
    /// That of a param.
    Param(String),
    /// The one that is written in a line at a column, both from 1.
    At(usize, usize),
}

/// A schedule with its model, and what its code is for.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The model, for the type of the rows.
    pub model: &'a Model,
    /// The schedule, which has no errors.
    pub source: &'a Source,
    /// Values that it takes from outside.
    pub values: &'a ScheduleValues,
    /// What it is for.
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

/// What is compiled for a question, before anything is timed.
pub struct Prepared {
    /// The schedule that schedc chooses.
    pub chosen: String,
    plans: Vec<Plan>,
    entrants: Entrants,
}

impl Prepared {
    /// Makes all code that a question needs. Advice that the cost model finds to be clearly slower is not compiled.
    ///
    /// # Errors
    ///
    /// When the question does not go with the schedule.
    pub fn new(subject: &Subject, question: &Question) -> Result<Prepared, Failure> {
        let mut prepared = Prepared::without_code(subject, question)?;
        let all = prepared.plans.iter().map(|plan| plan.surely_slower(&prepared.entrants));
        let slower = all.flatten().collect();
        let wanted: BTreeSet<usize> = prepared.plans.iter().flat_map(Plan::needed).collect();
        let but: BTreeSet<usize> = BTreeSet::difference(&slower, &wanted).copied().collect();
        prepared.entrants.compile(subject.model, subject.cpu, &but);
        Ok(prepared)
    }

    /// What is to be found out, with what the cost model says of it where advice is asked for, and no code.
    ///
    /// # Errors
    ///
    /// When the question does not go with the schedule.
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

    /// What the cost model says that the schedule could say instead, for each of its plans.
    pub fn predicted(&self) -> Vec<Predicted> {
        self.plans.iter().map(|plan| plan.predicted(&self.entrants)).collect()
    }

    /// Rows of the largest call.
    pub fn largest_call(&self) -> usize {
        self.plans.iter().map(|plan| plan.batch).max().unwrap_or(1)
    }

    /// Races that there will be for so many numbers of threads, each with a budget of its own.
    pub fn races(&self, threads: &[i32]) -> usize {
        self.plans.len() * threads.len()
    }

    /// Times it all.
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

/// The schedules of a text with the calls that are to be timed.
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
