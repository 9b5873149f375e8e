//! Fields: the schedules that a search times against each other, for calls of one size.

use crate::limits::LAST_RACE_SHARE;
use crate::results::CallSpeed;
use crate::state::SearchState;
use crate::task::{SearchProgress, TuningTask};
use sched_lang::{CheckOptions, CheckPurpose, check};
use sched_nest::{Accumulation, Nest, Variants};
use schedc_driver::{Failure, ScheduleSource};
use schedc_measure::{Contender, Draft, Quartiles, RaceLimits, Workload, compile_all, race};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Ratio to the best schedule's time above which a schedule has no further turns in a race.
const DROP_OUT_RATIO: f64 = 1.25;
/// Minimum duration of a sample.
const MIN_SAMPLE: Duration = Duration::from_micros(500);
/// Samples of each schedule in the last race, even if the budget is spent: enough for quartiles that differ.
const LAST_RACE_SAMPLES: usize = 7;

/// A schedule in the field, with its code.
pub struct Entrant {
    /// The schedule's text.
    pub text: String,
    /// Whether its sums are added in the model's order.
    pub exact: bool,
    code: Contender,
    /// The time of a row so far and the number of samples, for each number of threads.
    times: Vec<Option<(Quartiles, usize)>>,
}

impl Entrant {
    /// The geometric mean of its medians over all numbers of threads.
    pub fn time(&self) -> f64 {
        let mut sum = 0.0;
        for time in &self.times {
            let Some((time, _)) = time else { return f64::INFINITY };
            sum += time.median.ln();
        }
        (sum / self.times.len().max(1) as f64).exp()
    }
}

/// A callback that observes a search and can end it.
pub type Watch<'w> = dyn FnMut(&SearchProgress) -> ControlFlow<()> + 'w;

/// The schedules for calls of one size.
pub struct RaceField<'a> {
    task: &'a TuningTask<'a>,
    rows: usize,
    /// The schedules with code, in the order in which the search proposed them.
    pub entrants: Vec<Entrant>,
    /// The start of the whole search.
    began: Instant,
    /// The deadline for this call size, from `began`.
    pub deadline: Duration,
    /// Whether the user has ended the search.
    pub ended: bool,
}

impl<'a> RaceField<'a> {
    /// An empty field. `began` is the start of the whole search, `deadline` the time from `began` until the
    /// search for this call size ends.
    pub fn new(task: &'a TuningTask, rows: usize, began: Instant, deadline: Duration) -> RaceField<'a> {
        RaceField { task, rows, entrants: Vec::new(), began, deadline, ended: false }
    }

    /// The time left for this call size.
    pub fn remaining_time(&self) -> Duration {
        self.deadline.saturating_sub(self.began.elapsed())
    }

    /// Whether two texts have the same nests for calls of this size.
    pub fn have_same_nests(&self, one: &str, other: &str) -> bool {
        let nests = |text| self.draft(text).map(|draft| draft.nests);
        nests(one).is_some_and(|nests_of_one| Some(nests_of_one) == nests(other))
    }

    /// Compiles texts and returns the numbers of the new entrants. Skips texts that equal another entrant or
    /// do not compile.
    pub fn enter(&mut self, texts: &[String]) -> Vec<usize> {
        let first = self.entrants.len();
        let mut drafts: Vec<Draft> = Vec::new();
        let mut kept: Vec<(&String, bool)> = Vec::new();
        for text in texts {
            let known = self.entrants.iter().any(|entrant| entrant.text == *text)
                || kept.iter().any(|(other, _)| *other == text);
            let Some(draft) = self.draft(text).filter(|_| !known) else { continue };
            if !drafts.iter().any(|other| other.nests == draft.nests) {
                let is_exact = |nest: &Nest| nest.accumulation == Accumulation::Exact;
                kept.push((text, draft.nests.iter().all(|(_, nest)| is_exact(nest))));
                drafts.push(draft);
            }
        }
        let code = compile_all(self.task.model, self.task.cpu, &drafts);
        for ((text, exact), code) in kept.into_iter().zip(code) {
            if let Ok(code) = code {
                let times = vec![None; self.task.threads.len()];
                self.entrants.push(Entrant { text: text.clone(), exact, code, times });
            }
        }
        (first..self.entrants.len()).collect()
    }

    /// The nest of a text for calls of this size, ready to compile.
    fn draft(&self, text: &str) -> Option<Draft> {
        let known = ScheduleSource::options(Some(self.task.model), self.task.values);
        let target = Some(self.task.target.clone());
        let options = CheckOptions { purpose: CheckPurpose::Compile, target, ..known };
        let checked = check(text, &options);
        let nest = checked.nests?.into_for_rows(self.rows);
        Some(Draft { name: String::new(), nests: Variants::only(nest), target: checked.target })
    }

    /// Times some entrants in turns, within `budget_share` of the remaining time.
    ///
    /// # Errors
    ///
    /// When a call fails.
    pub fn race(&mut self, numbers: &[usize], budget_share: f64, watch: &mut Watch) -> Result<(), Failure> {
        self.time(
            numbers,
            budget_share,
            RaceLimits { drop_out_ratio: Some(DROP_OUT_RATIO), ..RaceLimits::default() },
            watch,
        )
    }

    /// Times the entrants of the result, in most of the remaining time. Each has several samples.
    ///
    /// # Errors
    ///
    /// When a call fails.
    pub fn last_race(&mut self, numbers: &[usize], watch: &mut Watch) -> Result<(), Failure> {
        self.time(
            numbers,
            LAST_RACE_SHARE,
            RaceLimits { min_samples: LAST_RACE_SAMPLES, ..RaceLimits::default() },
            watch,
        )
    }

    fn time(
        &mut self,
        numbers: &[usize],
        budget_share: f64,
        limits: RaceLimits,
        watch: &mut Watch,
    ) -> Result<(), Failure> {
        let budget =
            self.remaining_time().mul_f64(budget_share).div_f64(self.task.threads.len().max(1) as f64);
        let limits = RaceLimits { max_samples: 60, min_sample: MIN_SAMPLE, budget: Some(budget), ..limits };
        for (at, threads) in self.task.threads.iter().enumerate() {
            let rows_in = self.task.rows_in();
            let workload = Workload {
                rows: self.task.rows,
                batch: self.rows,
                threads: *threads,
                rows_in: rows_in.unwrap_or_default(),
            };
            let contenders: Vec<Contender> =
                numbers.iter().filter_map(|number| Some(self.entrants.get(*number)?.code.clone())).collect();
            let (mut ended, best) = (false, self.best().map(|best| best.1));
            let (began, all, rows) = (self.began, self.task.budget, self.rows);
            let mut see = |progress: &schedc_measure::RaceProgress| {
                let now = progress.best.map(|(_, time)| time);
                let best = [best, now].into_iter().flatten().reduce(f64::min);
                let spent = began.elapsed().as_secs_f64() / all.as_secs_f64().max(1e-9);
                let answer = watch(&SearchProgress { spent, rows, rows_in, best });
                ended |= answer.is_break();
                answer
            };
            let timings = race(&contenders, &workload, &limits, &mut see)?;
            self.ended |= ended;
            for (number, timing) in numbers.iter().zip(timings) {
                if let (Some(entrant), Some(time)) = (self.entrants.get_mut(*number), timing.quartiles())
                    && let Some(place) = entrant.times.get_mut(at)
                {
                    *place = Some((time, timing.samples.len()));
                }
            }
        }
        Ok(())
    }

    /// The fastest entrant, with its time.
    pub fn best(&self) -> Option<(usize, f64)> {
        let times = self.entrants.iter().map(Entrant::time).enumerate();
        times.filter(|(_, time)| time.is_finite()).min_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    /// The `count` fastest entrants, the best first.
    pub fn fastest(&self, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.entrants.len()).collect();
        let time = |number: &usize| self.entrants.get(*number).map_or(f64::INFINITY, Entrant::time);
        all.sort_by(|a, b| time(a).total_cmp(&time(b)));
        all.retain(|number| time(number).is_finite());
        all.truncate(count);
        all
    }

    /// The times of the entrant `best`, each with that of schedc's own choice, the entrant `chosen`.
    pub fn figures(&self, best: usize, chosen: usize) -> Vec<CallSpeed> {
        let (Some(best), Some(chosen)) = (self.entrants.get(best), self.entrants.get(chosen)) else {
            return Vec::new();
        };
        let times = best.times.iter().zip(&chosen.times).zip(self.task.threads);
        let figures = times.filter_map(|((best, chosen), threads)| {
            let (us_per_row, samples) = (*best)?;
            let (chosen_us_per_row, _) = chosen.unwrap_or((us_per_row, samples));
            let (threads, rows_in) = (*threads, self.task.rows_in());
            Some(CallSpeed { threads, rows_in, us_per_row, samples, chosen_us_per_row })
        });
        figures.collect()
    }

    /// Adds the measured times to the saved state.
    pub fn save_times(&self, state: &mut SearchState) {
        for entrant in self.entrants.iter().filter(|entrant| entrant.time().is_finite()) {
            state.put(self.rows, &entrant.text, entrant.time());
        }
    }
}
