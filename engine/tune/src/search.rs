//! The search without a start schedule: over traversals, layouts, vector widths, block sizes, interleaving
//! and the tiles of layers.

use crate::field::{Entrant, RaceField, Watch};
use crate::limits::{CANDIDATES_RACE_SHARE, MAX_COST_RATIO, MIN_GAIN_OVER_CHOSEN, NEARLY_BEST_RATIO};
use crate::results::{BestSchedule, SearchResult};
use crate::state::SearchState;
use crate::task::TuningTask;
use sched_nest::Variants;
use schedc_driver::choice::{Candidate, ChosenSchedules, Evaluator, PricedCandidate, SIZES, last_where};
use schedc_driver::{CodeDestination, Failure, machines};
use std::time::{Duration, Instant};

/// Candidates of the first race. More find better starting points, and leave less time for their neighbours.
const FIRST_CANDIDATES: usize = 8;
/// Neighbours of the best schedule that are compiled before the next race.
const NEIGHBOURS_PER_RACE: usize = 6;
/// Share of a call size's time budget after which no new candidate is compiled. The rest is for the last
/// race.
const COMPILING_SHARE: f64 = 0.75;

/// Searches the best schedule for each call size.
pub fn search(
    task: &TuningTask,
    state: &mut SearchState,
    watch: &mut Watch,
) -> Result<SearchResult, Failure> {
    let began = Instant::now();
    let machine = machines::of(task.cpu);
    let evaluator = Evaluator::new(task.model, &machine);
    let also: Vec<usize> = task.sizes.to_vec();
    let priced = ChosenSchedules::priced_candidates(&evaluator, CodeDestination::Artefact, &also);
    let own = ChosenSchedules::among(&priced, &evaluator).variants;
    let sizes = SIZES.into_iter().chain(also).collect();
    let mut pool = PricedCandidates { priced, sizes, evaluator };
    let mut found = SearchResult::default();
    let mut near: Vec<Vec<BestSchedule>> = Vec::new();
    for (number, rows) in task.sizes.iter().enumerate() {
        let until = task.budget.mul_f64((number + 1) as f64 / task.sizes.len() as f64);
        let mut field =
            RaceField::new(task, *rows, began, until.max(began.elapsed() + Duration::from_millis(50)));
        near.push(search_one_size(&mut field, *rows, &own, &mut pool, state, watch)?);
        if field.ended {
            found.ended_early = true;
            break;
        }
    }
    found.best = choose_shared(near);
    found.bounds = found.best.windows(2).map(|pair| pool.bound(pair)).collect();
    found.own = Some(own);
    Ok(found)
}

/// Selects one schedule for each size from those that are nearly as fast as the best. Prefers the choice for
/// the next larger size, so that the two sizes share code.
pub fn choose_shared(near: Vec<Vec<BestSchedule>>) -> Vec<BestSchedule> {
    let mut all: Vec<BestSchedule> = Vec::new();
    for mut size in near.into_iter().rev() {
        let same = all.last().and_then(|larger| size.iter().position(|one| one.schedule == larger.schedule));
        if !size.is_empty() {
            all.push(size.swap_remove(same.unwrap_or(0)));
        }
    }
    all.reverse();
    all
}

/// The candidates that the cost model has priced.
struct PricedCandidates<'a> {
    priced: Vec<PricedCandidate>,
    /// The call sizes at which they are priced.
    sizes: Vec<usize>,
    evaluator: Evaluator<'a>,
}

impl PricedCandidates<'_> {
    /// The texts of at most `count` candidates that pass `is_wanted`, the cheapest first, for calls of `rows`
    /// rows. Omits candidates above the limit [`MAX_COST_RATIO`].
    fn cheapest(&self, rows: usize, is_wanted: &dyn Fn(&Candidate) -> bool, count: usize) -> Vec<String> {
        let size = self.sizes.iter().position(|size| *size == rows);
        let cost = |one: &PricedCandidate| {
            size.and_then(|size| one.costs.get(size)).copied().unwrap_or(f64::INFINITY)
        };
        let mut costs: Vec<(f64, &PricedCandidate)> =
            self.priced.iter().map(|one| (cost(one), one)).collect();
        costs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let least = costs.first().map_or(0.0, |(cost, _)| *cost);
        let near = costs
            .into_iter()
            .filter(|(cost, one)| *cost <= MAX_COST_RATIO * least && is_wanted(&one.candidate));
        near.take(count).map(|(_, one)| self.evaluator.text(&one.candidate)).collect()
    }

    /// The candidate of a text.
    fn candidate(&self, text: &str) -> Option<Candidate> {
        self.priced.iter().map(|one| one.candidate).find(|one| self.evaluator.text(one) == text)
    }

    /// The neighbours of a candidate, which are priced and added to the candidates.
    fn add_neighbours(&mut self, of: Candidate) -> Vec<Candidate> {
        let neighbours = self.evaluator.neighbours(&of);
        let mut new = neighbours.clone();
        new.retain(|one| !self.priced.iter().any(|priced| priced.candidate == *one));
        let priced = self.evaluator.price_all(&self.sizes, &new, &self.priced);
        self.priced.extend(priced);
        neighbours
    }

    /// The most rows for which the first of two schedules is faster, by the cost model's curves shifted to
    /// the measured times.
    fn bound(&self, pair: &[BestSchedule]) -> usize {
        let [few, many] = pair else { return 0 };
        let priced = |best: &BestSchedule| {
            self.priced.iter().find(|one| self.evaluator.text(&one.candidate) == best.schedule)
        };
        let (Some(a), Some(b)) = (priced(few), priced(many)) else {
            return (few.rows as f64 * many.rows as f64).sqrt() as usize;
        };
        let (a, b) = (self.evaluator.compile(&a.candidate), self.evaluator.compile(&b.candidate));
        let (a, b) = (self.evaluator.costs(a.as_ref()), self.evaluator.costs(b.as_ref()));
        let curve = |cost: &dyn Fn(usize) -> f64, best: &BestSchedule, rows: usize| {
            let time = best.figures.first().map_or(1.0, |figure| figure.us_per_row.median);
            let at = cost(best.rows) / best.rows as f64;
            cost(rows) * time / at
        };
        last_where((few.rows, many.rows), |rows| curve(&a, few, rows) <= curve(&b, many, rows))
    }
}

/// The schedules for calls of one size that are nearly as fast as the best, which comes first.
fn search_one_size(
    field: &mut RaceField,
    rows: usize,
    own: &Variants<String>,
    pool: &mut PricedCandidates,
    state: &mut SearchState,
    watch: &mut Watch,
) -> Result<Vec<BestSchedule>, Failure> {
    let chosen = own.for_rows(rows).clone();
    let mut texts = vec![chosen.clone()];
    texts.extend(state.fastest(rows).into_iter().take(FIRST_CANDIDATES).map(|tried| tried.schedule.clone()));
    texts.extend(pool.cheapest(rows, &|_| true, FIRST_CANDIDATES));
    let entered = field.enter(&texts);
    field.race(&entered, CANDIDATES_RACE_SHARE, watch)?;
    let size = field.remaining_time().max(Duration::from_millis(1));
    let mut centre = None;
    while !field.ended && field.remaining_time() > size.mul_f64(1.0 - COMPILING_SHARE) {
        let Some((best, _)) = field.best().filter(|(best, _)| centre != Some(*best)) else { break };
        centre = Some(best);
        let Some(candidate) = field.entrants.get(best).and_then(|one| pool.candidate(&one.text)) else {
            break;
        };
        let around = pool.add_neighbours(candidate);
        let entered = field.enter(&pool.cheapest(rows, &|one| around.contains(one), NEIGHBOURS_PER_RACE));
        if entered.is_empty() {
            break;
        }
        let mut racing = field.fastest(1);
        racing.extend(entered);
        field.race(&racing, CANDIDATES_RACE_SHARE, watch)?;
    }
    // The fastest entrants race once more, with schedc's own choice.
    let own = field.entrants.iter().position(|one| one.text == chosen);
    let mut last = field.fastest(3);
    last.extend(own.filter(|own| !last.contains(own)));
    if !field.ended {
        field.last_race(&last, watch)?;
    }
    field.save_times(state);
    let time = |number: &usize| field.entrants.get(*number).map_or(f64::INFINITY, Entrant::time);
    last.retain(|number| time(number).is_finite());
    last.sort_by(|a, b| time(a).total_cmp(&time(b)));
    let Some(least) = last.first().map(time) else {
        return Err(Failure::usage(
            "no schedule was timed: the budget ran out first, or none compiles",
            "raise --budget; if that does not help, see what `schedc bench MODEL` reports",
        ));
    };
    let tried = field.entrants.len();
    let own_time = own.as_ref().map_or(f64::INFINITY, time);
    // A found schedule must be clearly faster than schedc's own, and never serves calls that it slows down.
    let is_own_kept = own_time <= MIN_GAIN_OVER_CHOSEN * least;
    let most = own_time.min(NEARLY_BEST_RATIO * least);
    last.sort_by_key(|number| !(is_own_kept && Some(*number) == own));
    let near = last.into_iter().filter(|number| time(number) <= most).filter_map(|number| {
        let one = field.entrants.get(number)?;
        let figures = field.figures(number, own.unwrap_or(number));
        let (schedule, exact, is_own) = (one.text.clone(), one.exact, Some(number) == own);
        Some(BestSchedule { rows, schedule, figures, exact, predicted: None, tried, is_own, slower: None })
    });
    Ok(near.collect())
}
