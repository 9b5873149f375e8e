//! Fields: the schedules that a search times against each other, for calls of one size.

use crate::limits::LAST;
use crate::results::Figure;
use crate::state::State;
use crate::task::{Progress, Task};
use sched_lang::{Options, Supported, check};
use sched_nest::Variants;
use schedc_driver::{Failure, Source};
use schedc_measure::{Contender, Draft, Quartiles, Rule, Workload, compile_all, race};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Ratio to the best schedule's time above which a schedule has no further turns in a race.
const BEHIND: f64 = 1.25;
/// Minimum duration of a sample.
const BRIEF: Duration = Duration::from_micros(500);
/// Samples of each schedule in the last race, even if the budget is spent: enough for quartiles that differ.
const FEWEST: usize = 7;

/// A schedule in the field, with its code.
pub struct Entrant {
    /// The schedule's text.
    pub text: String,
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
pub type Watch<'w> = dyn FnMut(&Progress) -> ControlFlow<()> + 'w;

/// The schedules for calls of one size.
pub struct Field<'a> {
    task: &'a Task<'a>,
    rows: usize,
    /// The schedules with code, in the order in which the search proposed them.
    pub entrants: Vec<Entrant>,
    /// The start of the whole search.
    began: Instant,
    /// The deadline for this call size, from `began`.
    pub until: Duration,
    /// Whether the user has ended the search.
    pub ended: bool,
}

impl<'a> Field<'a> {
    /// An empty field. `began` is the start of the whole search, `until` the deadline for this call size,
    /// from `began`.
    pub fn new(task: &'a Task, rows: usize, began: Instant, until: Duration) -> Field<'a> {
        Field { task, rows, entrants: Vec::new(), began, until, ended: false }
    }

    /// The time left for this call size.
    pub fn left(&self) -> Duration {
        self.until.saturating_sub(self.began.elapsed())
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
        let mut kept: Vec<&String> = Vec::new();
        for text in texts {
            let known = self.entrants.iter().any(|entrant| entrant.text == *text) || kept.contains(&text);
            let Some(draft) = self.draft(text).filter(|_| !known) else { continue };
            if !drafts.iter().any(|other| other.nests == draft.nests) {
                drafts.push(draft);
                kept.push(text);
            }
        }
        let code = compile_all(self.task.model, self.task.cpu, &drafts);
        for (text, code) in kept.into_iter().zip(code) {
            if let Ok(code) = code {
                let times = vec![None; self.task.threads.len()];
                self.entrants.push(Entrant { text: text.clone(), code, times });
            }
        }
        (first..self.entrants.len()).collect()
    }

    /// The nest of a text for calls of this size, ready to compile.
    fn draft(&self, text: &str) -> Option<Draft> {
        let known = Source::options(Some(self.task.model), self.task.values);
        let target = Some(self.task.target.clone());
        let options = Options { supported: Supported::Compilable, target, ..known };
        let checked = check(text, &options);
        let nest = checked.nests?.into_for_rows(self.rows);
        Some(Draft { name: String::new(), nests: Variants::only(nest), target: checked.target })
    }

    /// Times some entrants in turns, within `part` of the remaining time.
    ///
    /// # Errors
    ///
    /// When a call fails.
    pub fn race(&mut self, numbers: &[usize], part: f64, watch: &mut Watch) -> Result<(), Failure> {
        self.time(numbers, part, Rule { behind: Some(BEHIND), ..Rule::default() }, watch)
    }

    /// Times the entrants of the result, in most of the remaining time. Each has several samples.
    ///
    /// # Errors
    ///
    /// When a call fails.
    pub fn last_race(&mut self, numbers: &[usize], watch: &mut Watch) -> Result<(), Failure> {
        self.time(numbers, LAST, Rule { fewest: FEWEST, ..Rule::default() }, watch)
    }

    fn time(&mut self, numbers: &[usize], part: f64, rule: Rule, watch: &mut Watch) -> Result<(), Failure> {
        let budget = self.left().mul_f64(part).div_f64(self.task.threads.len().max(1) as f64);
        let rule = Rule { samples: 60, sample: BRIEF, budget: Some(budget), ..rule };
        for (at, threads) in self.task.threads.iter().enumerate() {
            let workload = Workload { rows: self.task.rows, batch: self.rows, threads: *threads };
            let contenders: Vec<Contender> =
                numbers.iter().filter_map(|number| Some(self.entrants.get(*number)?.code.clone())).collect();
            let (mut ended, best) = (false, self.best().map(|best| best.1));
            let (began, all, rows) = (self.began, self.task.budget, self.rows);
            let mut see = |progress: &schedc_measure::Progress| {
                let now = progress.best.map(|(_, time)| time);
                let best = [best, now].into_iter().flatten().reduce(f64::min);
                let spent = began.elapsed().as_secs_f64() / all.as_secs_f64().max(1e-9);
                let answer = watch(&Progress { spent, rows, best });
                ended |= answer.is_break();
                answer
            };
            let timings = race(&contenders, &workload, &rule, &mut see)?;
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
    pub fn figures(&self, best: usize, chosen: usize) -> Vec<Figure> {
        let (Some(best), Some(chosen)) = (self.entrants.get(best), self.entrants.get(chosen)) else {
            return Vec::new();
        };
        let times = best.times.iter().zip(&chosen.times).zip(self.task.threads);
        let figures = times.filter_map(|((best, chosen), threads)| {
            let (us_per_row, samples) = (*best)?;
            let (chosen_us_per_row, _) = chosen.unwrap_or((us_per_row, samples));
            Some(Figure { threads: *threads, us_per_row, samples, chosen_us_per_row })
        });
        figures.collect()
    }

    /// Adds the measured times to the saved state.
    pub fn remember(&self, state: &mut State) {
        for entrant in self.entrants.iter().filter(|entrant| entrant.time().is_finite()) {
            state.put(self.rows, &entrant.text, entrant.time());
        }
    }
}
