//! Compares the schedules of a search for calls of one size: by time on a GPU, or by predicted cost.

use super::strategy::{PricedShape, Strategy};
use crate::field::{RaceField, Watch};
use crate::limits::{CANDIDATES_RACE_SHARE, MAX_COST_RATIO, MIN_GAIN_OVER_CHOSEN, NEARLY_BEST_RATIO};
use crate::results::BestSchedule;
use crate::results::PredictedSpeed;
use crate::state::SearchState;
use crate::task::{SearchProgress, TuningTask};
use sched_lang::{CheckOptions, CheckPurpose, check};
use sched_nest::{Accumulation, Nest};
use schedc_driver::choice::gpu::shape::GpuCandidate;
use schedc_driver::choice::gpu::{Pricer, is_compilable};
use schedc_driver::{Failure, ScheduleSource};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Most schedules of an earlier search that are timed again.
const MAX_RETIMED_SCHEDULES: usize = 8;

/// A schedule with its predicted cost.
struct PricedSchedule {
    text: String,
    nest: Nest,
    /// Microseconds of a call, predicted.
    us: f64,
}

/// The schedules of a search for calls of one size, with their costs.
pub struct Judge<'a> {
    task: &'a TuningTask<'a>,
    pricer: &'a Pricer<'a>,
    rows: usize,
    began: Instant,
    /// Time from `began` to the start of the search for this size.
    since: Duration,
    until: Duration,
    entries: Vec<PricedSchedule>,
    known: Vec<PricedShape>,
    /// The schedule that schedc chooses.
    chosen: String,
    /// The timing of schedules on a GPU; `None` if the cost model compares candidates.
    field: Option<RaceField<'a>>,
    /// Schedules of earlier searches, with their microseconds for a row.
    earlier: Vec<(String, f64)>,
    /// Whether the user has ended the search.
    pub ended: bool,
}

/// The nest of a text for calls of `rows` rows, if it is legal.
pub fn legal_nest(task: &TuningTask, text: &str, rows: usize) -> Option<Nest> {
    let known = ScheduleSource::options(Some(task.model), task.values);
    let options = CheckOptions { purpose: CheckPurpose::Compile, target: Some(task.target.clone()), ..known };
    Some(check(text, &options).nests?.into_for_rows(rows))
}

impl<'a> Judge<'a> {
    /// A judge without schedules. `began` is the start of the whole search, `until` the deadline for this
    /// call size.
    pub fn new(
        task: &'a TuningTask<'a>,
        pricer: &'a Pricer<'a>,
        rows: usize,
        (began, until): (Instant, Duration),
        state: &SearchState,
    ) -> Judge<'a> {
        let field = task.gpu.is_timed().then(|| RaceField::new(task, rows, began, until));
        let earlier =
            state.fastest(rows).into_iter().map(|one| (one.schedule.clone(), one.us_per_row)).collect();
        let (entries, known, chosen) = (Vec::new(), Vec::new(), String::new());
        let since = began.elapsed();
        Judge {
            task,
            pricer,
            rows,
            began,
            since,
            until,
            entries,
            known,
            chosen,
            field,
            earlier,
            ended: false,
        }
    }

    /// The priced schedules so far.
    pub fn priced_shapes(&self) -> &[PricedShape] {
        &self.known
    }

    /// Whether the time for this size is spent.
    pub fn is_over(&self) -> bool {
        self.ended || self.began.elapsed() >= self.until
    }

    /// Prices the schedule that schedc chooses, and the best schedules of an earlier search.
    pub fn begin(&mut self, chosen: &str, watch: &mut Watch) -> Result<(), Failure> {
        self.chosen = chosen.to_string();
        let mut texts = vec![self.chosen.clone()];
        if self.field.is_some() {
            texts.extend(self.earlier.drain(..).take(MAX_RETIMED_SCHEDULES).map(|(text, _)| text));
        }
        self.price(&texts, watch);
        self.time(&texts, watch)
    }

    /// Prices schedules, and times the promising ones if there is a GPU.
    pub fn price_shapes(&mut self, shapes: &[GpuCandidate], watch: &mut Watch) -> Result<(), Failure> {
        let texts: Vec<String> = shapes.iter().map(GpuCandidate::text).collect();
        let numbers = self.price(&texts, watch);
        let least = self.entries.iter().map(|one| one.us).fold(f64::INFINITY, f64::min);
        let promising = |number: &Option<usize>| number.and_then(|number| self.entries.get(number));
        let near = numbers.iter().filter_map(promising).filter(|one| one.us <= MAX_COST_RATIO * least);
        let near: Vec<String> = near.map(|one| one.text.clone()).collect();
        self.time(&near, watch)?;
        for (shape, number) in shapes.iter().zip(numbers) {
            let us = number.map_or(f64::INFINITY, |number| self.us(number));
            self.known.push(PricedShape { shape: *shape, us });
        }
        Ok(())
    }

    /// Microseconds of a call: measured if schedules are timed, else predicted.
    fn us(&self, number: usize) -> f64 {
        let Some(entry) = self.entries.get(number) else { return f64::INFINITY };
        let Some(field) = &self.field else { return entry.us };
        let timed = field.entrants.iter().find(|one| one.text == entry.text);
        timed.map_or(f64::INFINITY, |one| one.time() * self.rows as f64)
    }

    /// Predicts the costs of texts without a cost. Returns for each text the number of the entry with its
    /// nest; `None` if the text is illegal or the time for this size is spent.
    fn price(&mut self, texts: &[String], watch: &mut Watch) -> Vec<Option<usize>> {
        let mut numbers = vec![None; texts.len()];
        let mut new: Vec<(usize, &String, Nest)> = Vec::new();
        let mut same: Vec<(usize, usize)> = Vec::new();
        for (at, text) in texts.iter().enumerate() {
            let Some(nest) = legal_nest(self.task, text, self.rows) else { continue };
            if let Some(known) = self.entries.iter().position(|one| one.nest == nest) {
                numbers[at] = Some(known);
            } else if let Some((first, ..)) = new.iter().find(|(.., other)| *other == nest) {
                same.push((at, *first));
            } else {
                new.push((at, text, nest));
            }
        }
        let workers = available_parallelism().map_or(1, usize::from);
        for some in new.chunks(workers) {
            if self.is_over() && !self.entries.is_empty() {
                break;
            }
            for ((at, text, nest), us) in some.iter().zip(self.costs(some)) {
                if let Some(us) = us {
                    numbers[*at] = Some(self.entries.len());
                    self.entries.push(PricedSchedule { text: (*text).clone(), nest: nest.clone(), us });
                }
            }
            let best =
                self.best().map(|number| self.us(number) / self.rows as f64).filter(|us| us.is_finite());
            let spent = self.began.elapsed().as_secs_f64() / self.task.budget.as_secs_f64().max(1e-9);
            let rows_in = self.field.as_ref().and(self.task.rows_in());
            self.ended |= watch(&SearchProgress { spent, rows: self.rows, rows_in, best }).is_break();
        }
        for (at, first) in same {
            numbers[at] = numbers[first];
        }
        numbers
    }

    /// The costs of some schedules, computed in parallel.
    fn costs(&self, some: &[(usize, &String, Nest)]) -> Vec<Option<f64>> {
        let cost = |(_, text, nest): &(usize, &String, Nest)| {
            let earlier = self.earlier.iter().find(|(known, _)| known == *text);
            // The cost model generates no code, so it also prices nests that the code generator refuses.
            let predicted = || {
                let cost = self.pricer.price(nest, self.rows as u64)?;
                is_compilable(self.task.model, nest.clone()).then_some(cost.us)
            };
            earlier.map(|(_, us)| us * self.rows as f64).or_else(predicted)
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = some.iter().skip(1).map(|one| scope.spawn(move || cost(one))).collect();
            let mut all: Vec<Option<f64>> = some.iter().take(1).map(cost).collect();
            all.extend(others.into_iter().map(|other| other.join().ok().flatten()));
            all
        })
    }

    /// Times schedules together with the fastest one so far, if there is a GPU.
    fn time(&mut self, texts: &[String], watch: &mut Watch) -> Result<(), Failure> {
        let Some(field) = self.field.as_mut().filter(|_| !self.ended) else { return Ok(()) };
        let mut racing = field.fastest(1);
        racing.extend(field.enter(texts));
        field.race(&racing, CANDIDATES_RACE_SHARE, watch)?;
        self.ended |= field.ended;
        Ok(())
    }

    /// The number of the best schedule so far.
    fn best(&self) -> Option<usize> {
        let all = (0..self.entries.len()).filter(|number| self.may_win(*number));
        all.min_by(|a, b| self.us(*a).total_cmp(&self.us(*b)))
    }

    /// Whether an entry may be the result. Under a strategy other than schedc's own, only its proposals may.
    fn may_win(&self, number: usize) -> bool {
        let is_chosen = self.entries.get(number).is_some_and(|one| one.text == self.chosen);
        self.task.gpu.strategy == Strategy::Neighbours || !is_chosen
    }

    /// The schedules that are nearly as fast as the best, which comes first. Adds all prices to `state`.
    pub fn end(&mut self, state: &mut SearchState, watch: &mut Watch) -> Result<Vec<BestSchedule>, Failure> {
        if let Some(field) = &mut self.field {
            let own = field.entrants.iter().position(|one| one.text == self.chosen);
            let mut last = field.fastest(3);
            last.extend(own.filter(|own| !last.contains(own)));
            if !self.ended {
                field.last_race(&last, watch)?;
                self.ended |= field.ended;
            }
            field.save_times(state);
        } else {
            for one in &self.entries {
                state.put(self.rows, &one.text, one.us / self.rows as f64);
            }
        }
        let nothing = || {
            Failure::usage(
                "no schedule was compared: the budget ran out first, or none compiles",
                "raise --budget; if that does not help, see what `schedc build MODEL --target gpu` reports",
            )
        };
        let best = self.best().filter(|best| self.us(*best).is_finite()).ok_or_else(nothing)?;
        let mut near: Vec<usize> = (0..self.entries.len()).filter(|number| self.may_win(*number)).collect();
        near.retain(|number| self.us(*number) <= NEARLY_BEST_RATIO * self.us(best));
        near.sort_by(|a, b| self.us(*a).total_cmp(&self.us(*b)));
        let own = self.entries.iter().position(|one| one.text == self.chosen);
        let own = own.filter(|own| !self.task.allow_slower && self.us(*own).is_finite());
        let mut slower = None;
        if let Some(own) = own {
            let own_us = self.us(own);
            near.retain(|number| self.us(*number) <= own_us);
            if own_us <= MIN_GAIN_OVER_CHOSEN * self.us(best) {
                near.retain(|number| *number != own);
                near.insert(0, own);
                slower = Some(self.us(best) / own_us)
                    .filter(|slower| best != own && *slower > MIN_GAIN_OVER_CHOSEN);
            }
        }
        let all = near.into_iter().filter_map(|number| self.figures(number, slower));
        Ok(all.collect())
    }

    /// The entry as a result, with its measured or predicted speed.
    fn figures(&self, number: usize, slower: Option<f64>) -> Option<BestSchedule> {
        let entry = self.entries.get(number)?;
        let chosen = self.entries.iter().find(|one| one.text == self.chosen).unwrap_or(entry);
        let place = |text: &str| self.field.as_ref()?.entrants.iter().position(|one| one.text == text);
        let figures = place(&entry.text).map(|at| {
            let own = place(&self.chosen).unwrap_or(at);
            self.field.as_ref().map(|field| field.figures(at, own)).unwrap_or_default()
        });
        let rows = self.rows as f64;
        let predicted = PredictedSpeed {
            us_per_row: entry.us / rows,
            chosen_us_per_row: chosen.us / rows,
            seconds: (self.began.elapsed() - self.since).as_secs_f64(),
        };
        Some(BestSchedule {
            rows: self.rows,
            schedule: entry.text.clone(),
            figures: figures.unwrap_or_default(),
            exact: entry.nest.accumulation == Accumulation::Exact,
            predicted: Some(predicted),
            tried: self.known.len() + 1,
            is_own: entry.text == self.chosen,
            slower: slower.filter(|_| entry.text == self.chosen),
        })
    }
}
